"""Header and decimal sign are found by looking."""

from __future__ import annotations

import pytest


def test_rows_without_names_get_them_by_place(read):
    table = read("5.1,3.5,setosa\n4.9,3.0,setosa\n")
    assert list(table.frame.columns) == ["column 1", "column 2", "column 3"]
    assert table.notes == ["there is no row of names; columns are 'column 1' to 'column 3'"]
    assert len(read("1,2\n3,4\n", header=True).frame) == 1
    assert len(read("a,b\nc,d\n", header=False).frame) == 2
    assert len(read("1,2\n").frame) == 1


def test_years_are_names_where_the_caller_asks_for_one_or_text_stands_among_them(read):
    years = "2019,2020\n1,2\n3,4\n"
    assert len(read(years).frame) == 3
    assert list(read(years, expected=["2020"]).frame.columns) == ["2019", "2020"]
    assert read("id,2019,2020\n7,1,2\n8,3,4\n").frame["id"].tolist() == [7, 8]


def test_decimal_commas_are_not_taken_where_a_point_is_one(read):
    table = read("x;y\n1,5;2.5\n2,5;3.5\n")
    assert table.frame["x"].tolist() == ["1,5", "2,5"]
    assert read("text\nof words\nand more\n").frame.shape == (2, 1)
    assert table.frame["y"].tolist() == [2.5, 3.5]


@pytest.mark.parametrize(
    ("content", "cells"),
    [
        ('city,x\nA,"1,234"\nB,"12,345"\nC,999\n', ["1,234", "12,345", "999"]),
        ('city,x\nA,"1,5"\nB,"2,25"\n', ["1,5", "2,25"]),
        ("city;x\nA;1,234\nB;12,345\n", ["1,234", "12,345"]),
        ("city;x\nA;0,234\nB;12,345\n", [0.234, 12.345]),
        ("city;x\nA;1,234\nB;1234,567\n", [1.234, 1234.567]),
    ],
)
def test_commas_that_may_stand_between_thousands_are_no_decimal_commas(read, content, cells):
    assert read(content).frame["x"].tolist() == cells


def test_a_first_row_with_a_missing_value_is_a_row(read):
    for sign in ("?", "", "NA", "-"):
        table = read(f"2,30,{sign},1\n2,50,1.5,2\n1,40,2.5,2\n")
        assert table.frame.shape == (3, 4)
        assert table.frame["column 3"].isna().tolist() == [True, False, False]
    assert len(read("?,a\nb,c\n").frame) == 2
    assert list(read("x,-\n1,2\n").frame.columns) == ["x", "-"]
