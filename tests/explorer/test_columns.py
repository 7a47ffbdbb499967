"""Columns and names of rows reach the page as they are."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from explorer_pages import unpacked
from patchfold.explorer.columns import (
    MISSING,
    best_to_colour,
    pack_column,
    pack_ids,
    with_text,
)
from patchfold.explorer.packing import ArrayStore


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, None], [1.0, 2.0, np.nan]),
        (np.array([1.5, np.nan, 3.0]), [1.5, np.nan, 3.0]),
        (np.array([0.1, 0.2, 0.3], dtype=np.float32), [0.1, 0.2, 0.3]),
        (np.ma.masked_array([1, 2, 3], mask=[0, 1, 0]), [1.0, np.nan, 3.0]),
        (pd.array([1, None, 3], dtype="Int64"), [1.0, np.nan, 3.0]),
        (pd.Series([1.0, 2.0, 3.0], index=[5, 6, 7]), [1.0, 2.0, 3.0]),
    ],
)
def test_numbers_are_kept_exactly(values: Any, expected: list[float]) -> None:
    store = ArrayStore()
    column = pack_column("c", values, 3, store)
    assert column["kind"] == "number"
    np.testing.assert_array_equal(unpacked(store, column["values"]), expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", "", None], ["a", "", None]),
        ([True, False, True], ["True", "False", "True"]),
        ([1, "1", 2.5], ["1", "1", "2.5"]),
        ([2**53 + 1, 0, 1], ["9007199254740993", "0", "1"]),
        ([None, float("nan"), pd.NA], [None, None, None]),
        (pd.Categorical(["b", None, "b"]), ["b", None, "b"]),
    ],
)
def test_what_is_not_all_numbers_is_text(values: Any, expected: list[str | None]) -> None:
    store = ArrayStore()
    column = pack_column("c", values, 3, store)
    assert column["kind"] == "text"
    codes = unpacked(store, column["codes"])
    texts = [None if code == MISSING else column["texts"][code] for code in codes]
    assert texts == expected


DAYS = [19724.0, np.nan, 19782.0]  # 2 January and 29 February 2024


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(pd.Series(["2024-01-02", None, "2024-02-29"])),
        np.array(["2024-01-02", "NaT", "2024-02-29"], dtype="datetime64[D]"),
        [dt.date(2024, 1, 2), None, dt.date(2024, 2, 29)],
        ["2.1.2024", None, "29.2.2024"],
        ["1/2/2024", None, "2/29/2024"],
        ["2024-01-02 00:00", None, "2024-02-29T00:00:00Z"],
    ],
    ids=["pandas", "numpy", "dates", "day first", "month first", "times"],
)
def test_dates_in_any_format_are_days_on_a_scale(values: Any) -> None:
    store = ArrayStore()
    column = pack_column("when", values, 3, store)
    assert (column["kind"], column["time"], column["whole"]) == ("number", "day", True)
    np.testing.assert_array_equal(unpacked(store, column["values"]), DAYS)


def test_times_of_the_day_are_hours_and_dates_that_do_not_exist_stay_text() -> None:
    store = ArrayStore()
    column = pack_column("at", ["9:30", "23:15", None], 3, store)
    assert column["time"] == "clock"
    np.testing.assert_array_equal(unpacked(store, column["values"]), [9.5, 23.25, np.nan])
    assert pack_column("when", ["31.2.2020", "1.2.2020", None], 3, store)["kind"] == "text"


def test_a_page_is_coloured_by_classes_rather_than_by_a_few_dates() -> None:
    columns = {"when": ["2024-01-02", "2024-01-03"] * 10, "kind": list("ab") * 10}
    assert next(iter(best_to_colour(columns, 20))) == "kind"


@pytest.mark.parametrize("ids", [["a", 8], [7.5, 8.0], [-1, 2], [2**32, 1], [None, 1], [True, 2]])
def test_ids_are_text(ids: list[Any]) -> None:
    packed = pack_ids("id", ids, 2, ArrayStore())
    assert packed["kind"] == "text"
    assert packed["texts"] == [str(one) for one in ids if one is not None]


def test_ids_that_are_numbers_of_rows_stay_numbers() -> None:
    store = ArrayStore()
    packed = pack_ids("row", [7, 2, 2**32 - 1], 3, store)
    assert packed["kind"] == "number"
    np.testing.assert_array_equal(unpacked(store, packed["values"]), [7, 2, 2**32 - 1])


@pytest.mark.parametrize("values", ["abc", 5])
def test_a_column_must_be_a_sequence(values: Any) -> None:
    with pytest.raises(TypeError, match="column 'c' is"):
        pack_column("c", values, 3, ArrayStore())


def test_a_column_must_have_a_value_a_point() -> None:
    with pytest.raises(ValueError, match="column 'c' has 2 values for 3 points"):
        pack_column("c", [1, 2], 3, ArrayStore())


def test_ids_whose_differences_are_the_codes_of_a_column_keep_their_values() -> None:
    store = ArrayStore()
    ids = pack_ids("row", [0, 1, 2], 3, store)
    kinds = pack_column("kind", ["a", "b", "b"], 3, store)
    np.testing.assert_array_equal(unpacked(store, ids["values"]), [0, 1, 2])
    np.testing.assert_array_equal(unpacked(store, kinds["codes"]), [0, 1, 1])


def test_texts_are_a_column_by_name_or_their_own() -> None:
    columns = {"text": [1, 2], "remark": ["a", "b"]}
    assert with_text(None, columns) == (columns, None)
    assert with_text("remark", columns) == (columns, "remark")
    assert with_text(["x", "y"], columns) == ({**columns, "text (text)": ["x", "y"]}, "text (text)")
    with pytest.raises(ValueError, match="text='body' is none of the columns"):
        with_text("body", columns)


@pytest.mark.parametrize(
    ("columns", "first"),
    [
        ({"constant": [1.0] * 6, "width": [1.0, 2.0] * 3, "kind": list("ababab")}, "kind"),
        ({"constant": [1.0] * 6, "width": [1.0, 2.0] * 3, "name": list("abcdef")}, "width"),
        ({"name": list("abcdef"), "one": ["x"] * 6}, "name"),
        ({"gap": [None] * 6, "kind": ["a", None, "b", None, "a", "b"]}, "kind"),
    ],
)
def test_points_are_coloured_by_classes_or_by_what_varies(
    columns: dict[str, Any], first: str
) -> None:
    found = list(best_to_colour(columns, 6))
    assert found == [first, *(name for name in columns if name != first)]
