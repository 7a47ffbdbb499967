"""Any table is read as what it is, or refused in one line that says what to do."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchfold.tables import TableError, read_table
from patchfold.tables import _naming as naming
from patchfold.tables.delimited import _precision

PLAIN = "x,kind\n1.5,a\n-2,b\n"


@pytest.fixture
def read(tmp_path):
    def read(content, name="table.csv", **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(path, **options)

    return read


def columns(table):
    return table.frame.to_dict("list")


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", "|"),
        PLAIN.replace(",", ";").replace("1.5", "1,5"),
        PLAIN.replace(",", ", "),
        PLAIN.replace(",", "  "),
        "\n\n" + PLAIN + "\n",
        " \t \n" + PLAIN + "  \n",
        "sep=;\n" + PLAIN.replace(",", ";"),
        '"x","kind"\n"1.5","a"\n"-2","b"\n',
        PLAIN.rstrip("\n"),
        PLAIN.encode("utf-8-sig"),
        PLAIN.encode("utf-16"),
        b"\xfe\xff" + PLAIN.encode("utf-16-be"),
        PLAIN.encode("utf-32"),
        gzip.compress(PLAIN.encode()),
    ],
    ids=[
        *("plain", "windows", "mac", "semicolons", "tabs", "bars", "decimal-commas"),
        *("spaces-too", "spaces"),
        *(
            "blank-lines",
            "white-lines",
            "excel",
            "quotes",
            "no-end",
            "bom",
            "utf-16",
            "utf-16-be",
            "utf-32",
        ),
        "gzip",
    ],
)
def test_the_same_table_is_read_from_any_text(read, content):
    assert columns(read(content)) == {"x": [1.5, -2.0], "kind": ["a", "b"]}


def test_guesses_are_noted_and_plain_files_need_none(read):
    assert read(PLAIN).notes == []
    assert read(PLAIN.replace(",", ";")).notes == ["columns are separated by semicolons"]
    (note,) = read("x,kind\n1,süß\n2,b\n".encode("cp1252")).notes
    assert note == "the text is not UTF-8 and was read as Windows-1252"
    assert read(b"x\n\x81\nb\n").notes == ["the text is not UTF-8 and was read as Latin-1"]


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


def test_columns_without_a_name_are_called_by_their_place(read):
    table = read(",x\n1,2\n3,4\n")
    assert list(table.frame.columns) == ["column 1", "x"]
    assert table.notes == ["columns without a name were called 'column 1'"]


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


def test_a_dash_is_a_missing_number_and_elsewhere_a_category(read):
    frame = read("x,sign,y\n1.5,+,none\n-,-,7\n?,+,8\n").frame
    assert frame["x"].isna().tolist() == [False, True, True]
    assert frame["x"][0] == 1.5
    assert frame["sign"].tolist() == ["+", "-", "+"]
    assert frame["y"].tolist()[1:] == [7, 8]
    assert read("x;y\n1,5;a\n-;b\n").frame["x"].tolist()[0] == 1.5


def test_blank_lines_of_a_single_column_are_missing_values(read):
    for content in ("x\n1\n\n3\n", "\n \nx\n1\n\n3\n\n", "x\r\n1\r\n \r\n3"):
        assert read(content).frame["x"].isna().tolist() == [False, True, False]
    assert len(read("x,y\n1,2\n\n3,4\n").frame) == 2


def test_columns_are_kept_as_they_are_written(read, tmp_path):
    content = "id,t,x\n001,7,1\n12345678901234567,,2\nNA,1e3,3\n"
    table = read(content, keep=["id", "t", "absent"])
    assert table.kept["id"].tolist() == ["001", "12345678901234567", "NA"]
    assert table.kept["t"].isna().tolist() == [False, True, False]
    assert table.kept["t"].tolist()[::2] == ["7", "1e3"]
    assert table.frame["t"].tolist()[::2] == [7, 1000]
    assert read(content).kept is None
    assert read("id x\n001 2\n002 3\n", keep=["id"]).kept["id"].tolist() == ["001", "002"]
    table = read("001;2,5\n002;3,5\n", keep=["column 1", "column 2"])
    assert table.kept.to_dict("list") == {"column 1": ["001", "002"], "column 2": ["2,5", "3,5"]}
    arff = "@relation r\n@attribute id real\n@attribute x real\n@data\n001,1\n?,2\n"
    assert read(arff, "a.arff", keep=["id"]).kept.to_dict("list") == {"id": ["001", None]}
    frame = pd.DataFrame({"id": pd.array([2**60 + 1, None], dtype="Int64"), "x": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "a.parquet")
    kept = read_table(tmp_path / "a.parquet", keep=["id"]).kept
    assert kept["id"].tolist() == [2**60 + 1, None]


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


# ---------------------------------------------------------------- other files


def test_parquet_keeps_types_and_names(tmp_path):
    frame = pd.DataFrame(
        {"x": [1.5, 2], "kind": ["a", "b"], "day": pd.to_datetime(["2020", "2021"])}
    )
    frame.to_parquet(tmp_path / "a.parquet")
    frame.set_index("kind").to_parquet(tmp_path / "b.parquet")
    for name in "ab":
        table = read_table(tmp_path / f"{name}.parquet")
        assert set(table.frame.columns) == {"x", "kind", "day"}
        assert table.frame["x"].tolist() == [1.5, 2]
        assert table.frame["day"].dtype.kind == "M"


def saved(save, *arguments, **keywords):
    buffer = io.BytesIO()
    save(buffer, *arguments, **keywords)
    return buffer.getvalue()


def test_arrays_become_columns(read):
    X = np.arange(6.0).reshape(3, 2)
    assert columns(read(saved(np.save, X), "a.npy")) == {
        "column 1": [0, 2, 4],
        "column 2": [1, 3, 5],
    }
    table = read(saved(np.savez, X=X, y=np.array([b"a", b"b", b"a"]), t=np.ones(7)), "a.npz")
    assert table.frame["y"].tolist() == ["a", "b", "a"]
    assert table.notes == ["the array 't' of shape (7,) was left out"]
    images = read(saved(np.save, X.reshape(3, 1, 2)), "a.npy")
    assert images.frame.shape == (3, 2)
    assert images.notes == ["each row of shape (1, 2) was laid out as one line of numbers"]
    fields = np.array([(1, "a"), (2, "b")], dtype=[("x", "i4"), ("kind", "U1")])
    assert columns(read(saved(np.save, fields), "a.npy")) == {"x": [1, 2], "kind": ["a", "b"]}
    assert read(saved(np.save, X[:, 0]), "a.npy").frame.shape == (3, 1)


ARFF = r"""% a comment
@RELATION fruit

@attribute 'weight in g' REAL
@attribute colour {red, 'dark green', "so, so"}
@attribute note string
@data
150.5, 'dark green', 'it\'s'
?, "so, so", ?
"""


def test_arff_keeps_declared_categories_in_their_order(read):
    frame = read(ARFF, "fruit.arff").frame
    assert frame["weight in g"].tolist()[0] == 150.5
    assert np.isnan(frame["weight in g"][1])
    assert list(frame["colour"].cat.categories) == ["red", "dark green", "so, so"]
    assert frame["colour"].tolist() == ["dark green", "so, so"]
    assert frame["note"][0] == "it's"
    assert frame["note"].isna().tolist() == [False, True]
    assert read(ARFF, "unknown.txt").frame.equals(frame)


def test_an_attribute_may_have_any_name(read):
    frame = read("@relation r\n@attribute self real\n@data\n1\n2\n", "a.arff").frame
    assert frame["self"].tolist() == [1, 2]


def test_standard_input_is_read_by_what_it_holds(monkeypatch):
    for data in (PLAIN.encode(), gzip.compress(PLAIN.encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert columns(read_table("-")) == {"x": [1.5, -2.0], "kind": ["a", "b"]}


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("", "a.csv", "the file is empty"),
        (" \n\n", "a.csv", "the file is empty"),
        ("sep=;\n", "a.csv", "the file is empty"),
        ("x,y\n", "a.csv", "no rows, only names of columns: 'x', 'y'"),
        ("x,y,x\n1,2,3\n", "a.csv", "columns 1 and 3 are both named 'x'"),
        ("x,y\n1,2,3\n", "a.csv", "row 1 has 3 fields and the row of names 2"),
        ("1,2\n1,2,3\n", "a.csv", "row 2 has 3 fields and the first row 2"),
        ("x,y\n" + "1,2\n" * 300 + "1,2,3\n", "a.csv", "one row has 3 fields and the others 2"),
        ('x,y\n1,"2\n3,4\n', "a.csv", "a quotation mark is never closed"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "a.csv", "no table but a binary file"),
        (b"\x80\x04\x95\x00", "a.pkl", "no table but a binary file"),
        (b"\xff\xfea", "a.csv", "begins like utf-16-le"),
        (PLAIN.encode("utf-16-le"), "a.csv", "UTF-16 without the mark that says so; save it as"),
        (PLAIN.encode("utf-16-be"), "a.csv", "UTF-16 without the mark that says so; save it as"),
        (gzip.compress(b"x,y\n1,2\n", mtime=0)[:-6], "a.csv.gz", "the compressed file is damaged"),
        (b"PAR1nothing", "a.parquet", "the Parquet file is damaged"),
        (b"PK\x03\x04nothing", "a.npz", "the NPZ file is damaged"),
        (b"\x93NUMPYnothing", "a.npy", "the array cannot be read"),
        ("@relation x\n", "a.arff", "no line '@data'"),
        ("@relation x\n@data\n1\n", "a.arff", "declares no attributes"),
        ("@relation x\n@attribute a\n@data\n1\n", "a.arff", "declares no attribute"),
        ("@relation x\n@attribute a real\n@data\n1,2\n", "a.arff", "row 1 has 2 values for 1"),
        ("@relation x\n@attribute a real\n@data\n{0 1}\n", "a.arff", "the rows are sparse"),
        ("@relation x\n@attribute a real\n@data\nred\n", "a.arff", "is not all numbers"),
        ("@relation x\n@attribute a {r}\n@data\nb\n", "a.arff", "the value 'b', which is not"),
        ("@relation x\n@attribute a real\n@attribute a real\n@data\n", "a.arff", "two attributes"),
        ("@relation x\n@attribute a real\n@data\n", "a.arff", "there are no rows"),
        ("@relation x\n@attribute a string\n@data\n'b' c\n", "a.arff", "text beside quotes"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(read, content, name, words):
    with pytest.raises(TableError) as caught:
        read(content, name)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_arrays_that_are_no_table_are_refused(read, tmp_path):
    objects = np.array([{}, {}], dtype=object)
    with pytest.raises(TableError, match="not Python objects"):
        read(saved(np.save, objects, allow_pickle=True), "a.npy")
    X = np.ones((3, 2))
    with pytest.raises(TableError, match="'column 1' has the name that a column of the points"):
        read(saved(np.savez, **{"X": X, "column 1": np.zeros(3)}), "a.npz")
    with pytest.raises(TableError, match="not one array of points but 'X"):
        read(saved(np.savez, X=X, Z=X), "a.npz")
    with pytest.raises(TableError, match="not one array of points"):
        read(saved(np.save, np.array(3.0)), "a.npy")
    packed = {"method": "zip", "archive_name": "a.xml"}
    pd.DataFrame({"x": [1.0]}).to_csv(tmp_path / "a.zip", compression=packed)
    with pytest.raises(TableError, match="a zip archive, perhaps a spreadsheet"):
        read_table(tmp_path / "a.zip")


@given(st.binary(max_size=200))
def test_no_bytes_end_in_anything_but_a_table_or_a_refusal(tmp_path_factory, data):
    path = Path(tmp_path_factory.mktemp("table")) / "table.csv"
    path.write_bytes(data)
    try:
        assert len(read_table(path).frame)
    except TableError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - either end is right


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas; .* pip install 'patchfold\[cli\]'"):
        naming.require("pandas", "reading tables")
