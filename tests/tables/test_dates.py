"""Dates become days, times hours, in the order in which they are written."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from patchfold.tables.dates import are_dates, as_days, order_of

DAYS = pd.date_range("2019-12-25", periods=40, freq="36h")


@pytest.mark.parametrize(
    ("form", "order"),
    [
        ("%Y-%m-%d", "year first"),
        ("%Y-%m-%dT%H:%M:%S", "year first"),
        ("%d.%m.%Y", "day first"),
        ("%d.%m.%y %H:%M", "day first"),
        ("%d/%m/%Y", "day first"),
        ("%m/%d/%Y", "month first"),
    ],
)
def test_texts_become_the_days_that_they_name(form, order):
    texts = pd.Series(DAYS.strftime(form))
    assert are_dates(texts)
    assert order_of(texts) == order
    expected = pd.to_datetime(texts, format=form).to_numpy().astype("M8[s]").astype(float) / 86400
    np.testing.assert_allclose(as_days(texts, order), expected, rtol=0, atol=1e-9)


def test_dates_of_any_type_are_days():
    typed = pd.Series(DAYS)
    zoned = typed.dt.tz_localize("UTC")
    plain = pd.Series([dt.date(1970, 1, 2), None], dtype=object)
    gaps = pd.Series(pd.to_timedelta([12, 36], unit="h"))
    for values in (typed, zoned, plain, gaps):
        assert are_dates(values)
        assert order_of(values) == "typed"
    assert as_days(plain, "typed").tolist()[0] == 1.0
    assert np.isnan(as_days(plain, "typed")[1])
    assert as_days(gaps, "typed").tolist() == [0.5, 1.5]
    np.testing.assert_allclose(as_days(typed, "typed"), as_days(zoned, "typed"), rtol=0, atol=1e-9)


def test_times_of_the_day_are_hours():
    texts = pd.Series(["12:30", "7:05:36 pm", "12:00 am", None])
    assert order_of(texts) == "clock"
    assert as_days(texts, "clock").tolist()[:3] == [12.5, pytest.approx(19.09333333), 0.0]


def test_what_could_be_both_is_read_by_its_sign():
    assert order_of(pd.Series(["1.2.2020", "3.4.2020"])) == "day first"
    assert order_of(pd.Series(["1/2/2020", "3/4/2020"])) == "month first"


def test_numbers_and_words_are_no_dates():
    for cells in (["1.5", "2.5"], ["may", "june"], [1.0, 2.0], [None, None], ["1.2.2020", "x"]):
        assert not are_dates(pd.Series(cells))


def test_a_date_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match=r"30\.2\.2020|day"):
        as_days(pd.Series(["30.2.2020"]), "day first")


def test_a_date_with_the_year_first_is_read_so_in_every_column():
    for order in ("year first", "day first", "month first"):
        assert as_days(pd.Series(["2023-06-05"]), order).tolist() == [19513.0]
    assert as_days(pd.Series(["05.06.2023", "5.6.23"]), "day first").tolist() == [19513.0] * 2
    assert as_days(pd.Series(["06/05/2023 12:00"]), "month first").tolist() == [19513.5]


@pytest.mark.parametrize(
    ("text", "order"),
    [("05.06.2023", "year first"), ("05.25.2023", "day first"), ("25/06/2023", "month first")],
)
def test_a_date_of_another_order_is_an_error(text, order):
    with pytest.raises(ValueError, match="as others of the column"):
        as_days(pd.Series([text]), order)
