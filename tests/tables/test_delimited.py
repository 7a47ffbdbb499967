"""Cells of a text become the numbers and words they stand for."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchfold.tables import Roles, read_table, select
from patchfold.tables.delimited import _precision
from patchfold.tables.preparation import chosen


def test_quoted_fields_keep_separators_newlines_and_quotes(read):
    table = read('x,text\n1,"two\nlines"\n2,"a, ""b"""\n3,plain\n')
    assert table.frame["text"].tolist() == ["two\nlines", 'a, "b"', "plain"]
    table = read('"a\nb",y\n1,2\n3,4\n')
    assert list(table.frame.columns) == ["a\nb", "y"]
    assert table.frame["y"].tolist() == [2, 4]


def test_a_cell_may_hold_a_million_characters(read):
    long = "x" * 1_000_000
    assert read(f"x,text\n1,{long}\n2,b\n").frame["text"][0] == long


@pytest.mark.parametrize(
    "sign", ["", "?", "NA", "na", "N/A", "n.a.", "NaN", "NAN", "null", "None", "<NA>"]
)
def test_signs_of_missing_values_are_known(read, sign):
    table = read(f"x,kind\n1,a\n{sign},b\n3,{sign}\n")
    assert table.frame["x"].isna().tolist() == [False, True, False]
    assert table.frame["kind"].isna().tolist() == [False, False, True]


def test_columns_without_a_name_are_called_by_their_place(read):
    table = read(",x\n1,2\n3,4\n")
    assert list(table.frame.columns) == ["column 1", "x"]
    assert table.notes == ["columns without a name were called 'column 1'"]


def test_a_dash_is_a_missing_number_and_elsewhere_a_category(read):
    frame = read("x,sign,y\n1.5,+,none\n-,-,7\n?,+,8\n").frame
    assert frame["x"].isna().tolist() == [False, True, True]
    assert frame["x"][0] == 1.5
    assert frame["sign"].tolist() == ["+", "-", "+"]
    assert frame["y"].tolist()[1:] == [7, 8]
    assert read("x;y\n1,5;a\n-;b\n").frame["x"].tolist()[0] == 1.5


def test_numbers_that_begin_with_a_zero_are_told(read):
    table = read("plz,x,y,n\n02366,1,0.5,1\n98651,0,00.5,2\n27254,3,0,0\n")
    assert table.codes == ("plz",)
    selection = chosen(table, Roles(), [], missing="error", dates=False)
    words = "numbers with a zero before others may be codes, and are embedded as numbers: 'plz' "
    assert selection.notes == [words + "(--info 'plz' only shows it)"]
    assert chosen(table, Roles(info=("plz",)), [], missing="error", dates=False).notes == []


def test_blank_lines_of_a_single_column_are_missing_values(read):
    for content in ("x\n1\n\n3\n", "\n \nx\n1\n\n3\n\n", "x\r\n1\r\n \r\n3"):
        assert read(content).frame["x"].isna().tolist() == [False, True, False]
    assert len(read("x,y\n1,2\n\n3,4\n").frame) == 2


def test_columns_of_text_hold_no_numbers(read):
    table = read("code,x\n01,1\nNA,-\n02,3\n", text=["code", "absent"])
    assert table.frame["code"].tolist()[::2] == ["01", "02"]
    assert table.frame["code"].isna().tolist() == [False, True, False]
    assert table.frame["x"].tolist()[::2] == [1, 3]


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8),
        ),
        min_size=2,
        max_size=10,
    )
)
def test_what_pandas_writes_is_read_again_to_the_last_digit(tmp_path_factory, rows):
    # A letter before the text: alone it might be a number, or a sign of a missing value.
    written = pd.DataFrame({"x": [x for x, _ in rows], "text": [f"t{text}" for _, text in rows]})
    path = tmp_path_factory.mktemp("table") / "table.csv"
    written.to_csv(path, index=False)
    frame = read_table(path, header=True).frame
    assert frame["x"].tolist() == written["x"].tolist()
    assert frame["text"].tolist() == written["text"].tolist()


def test_older_pandas_is_asked_for_exact_numbers():
    assert _precision("2.2.3") == {"float_precision": "round_trip"}
    assert _precision("3.1.0") == {}


def test_points_between_thousands_are_no_decimal_points(read):
    content = "stadt;einwohner\na;1.234\nb;980\nc;12.500\nd;2.750\n"
    table = read(content)
    assert table.frame["einwohner"].tolist() == [1234, 980, 12500, 2750]
    assert any("points stand between thousands in 'einwohner'" in note for note in table.notes)
    assert read(content, decimal=".").frame["einwohner"].tolist() == [1.234, 980, 12.5, 2.75]
    later = content + "e;1.000\n" * 200 + "f;1.5\n"
    assert read(later).frame["einwohner"].tolist()[:2] == [1.234, 980]  # row 205 has decimals


def test_german_files_have_decimal_commas_and_points_between_thousands(read):
    table = read("ort;preis;menge\na;1.234,50;3,5\nb;99,00;1.250\n")
    assert table.decimal == ","
    assert table.frame["menge"].tolist() == ["3,5", "1.250"]  # read with the other columns' sign
    features = select(table.frame, drop=["ort"], decimal=table.decimal).features
    assert features["preis"].tolist() == [1234.5, 99]
    assert features["menge"].tolist() == [3.5, 1250]
