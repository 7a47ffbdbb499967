"""Numbers are read as people write them, in one way for a whole column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchfold.tables.numbers import mixed_units, read_numbers


@pytest.mark.parametrize(
    ("cells", "values", "how"),
    [
        (["1,234", "999"], [1234, 999], "commas between thousands"),
        (["1.234,5", "7"], [1234.5, 7], "decimal comma, points between thousands"),
        (["0,5", "1,25"], [0.5, 1.25], "decimal comma"),
        (["1'234.5", "12'000"], [1234.5, 12000], "apostrophes between thousands"),
        (["1 234", "12\u00a0000 000"], None, ""),
        (["1\u202f234,5", "2"], [1234.5, 2], "decimal comma, spaces between thousands"),
        (["7 %", "8%"], [7, 8], "in %"),
        (["€ 1,234.50", "€ 2"], [1234.5, 2], "commas between thousands, in €"),
        (["12 kg", "7.5kg"], [12, 7.5], "in kg"),
        (["-3 °C", "\u22124 °C"], [-3, -4], "in °C"),
        (["1e3 m", "2 m"], [1000, 2], "in m"),
        (["1.2.3", "1.2.4"], None, ""),
        (["1,5", "1.5"], None, ""),
        (["2 kg", "500 g"], None, ""),
        (["7 %", "8"], None, ""),
        (["a", "1"], None, ""),
        (["D-12345", "CH-8000"], None, ""),
    ],
)
def test_a_column_is_read_in_one_way_or_not_at_all(cells, values, how):
    found = read_numbers(pd.Series([*cells, None]))
    if values is None:
        assert found is None
    else:
        numbers, words = found
        assert numbers[:-1].tolist() == values
        assert np.isnan(numbers[-1])
        assert words == how


def test_what_can_be_read_both_ways_follows_the_decimal_sign_of_the_file():
    cells = pd.Series(["1.234 kg", "5 kg"])
    assert read_numbers(cells, ".")[0].tolist() == [1.234, 5]
    assert read_numbers(cells, ",")[0].tolist() == [1234, 5]


@given(
    st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 2)), min_size=1, max_size=20),
    st.sampled_from([(".", ","), (",", "."), (".", "'"), (",", " "), (".", "")]),
    st.sampled_from(["", " kg", "%", " €"]),
)
def test_numbers_that_were_written_are_read_again(numbers, signs, unit):
    point, between = signs
    texts = [
        f"{number:,.2f}".replace(",", "!").replace(".", point).replace("!", between) + unit
        for number in numbers
    ]
    assert read_numbers(pd.Series(texts), point)[0].tolist() == numbers


def test_units_that_differ_are_named_and_codes_are_no_units():
    assert mixed_units(pd.Series(["2 kg", "1 kg", "500 g", None])) == ["kg", "g"]
    assert mixed_units(pd.Series(["3a", "4b"])) == []
    assert mixed_units(pd.Series(["3 kg", "much"])) == []
    assert mixed_units(pd.Series(["3", "4"])) == []


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1.234,50", "-", "2.000,00"], [1234.5, np.nan, 2000.0]),
        (["1,234.50", "2,000.00", "--", None], [1234.5, 2000.0, np.nan, np.nan]),
        (["12 %", "none", "7 %"], [12.0, np.nan, 7.0]),
    ],
)
def test_signs_for_missing_numbers_are_missing_beside_thousands_and_units(cells, expected):
    found = read_numbers(pd.Series(cells, dtype=object))
    assert found is not None
    np.testing.assert_array_equal(found[0], expected)


def test_signs_for_missing_numbers_alone_are_no_numbers():
    assert read_numbers(pd.Series(["-", "--"])) is None
