"""Any table is read as what it is, or refused in one line that says what to do."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchfold.base.validation import require
from patchfold.tables import TableError, read_table
from table_files import PLAIN, columns


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


def test_columns_are_kept_as_they_are_written(read, tmp_path):
    content = "id,t,x\n001,7,1\n12345678901234567,,2\nNA,1e3,3\n"
    table = read(content, keep=["id", "t", "absent"])
    assert table.kept["id"].tolist() == ["001", "12345678901234567", "NA"]
    assert table.kept["t"].isna().tolist() == [False, True, False]
    assert table.kept["t"].tolist()[::2] == ["7", "1e3"]
    assert table.frame["t"].tolist()[::2] == [7, 1000]
    # What is called like an id may become one, and is kept unasked.
    assert list(read(content).kept) == ["id"]
    assert read(content.replace("id", "w")).kept is None
    assert read("id x\n001 2\n002 3\n", keep=["id"]).kept["id"].tolist() == ["001", "002"]
    table = read("001;2,5\n002;3,5\n", keep=["column 1", "column 2"])
    assert table.kept.to_dict("list") == {"column 1": ["001", "002"], "column 2": ["2,5", "3,5"]}
    arff = "@relation r\n@attribute id real\n@attribute x real\n@data\n001,1\n?,2\n"
    assert read(arff, "a.arff", keep=["id"]).kept.to_dict("list") == {"id": ["001", None]}
    frame = pd.DataFrame({"id": pd.array([2**60 + 1, None], dtype="Int64"), "x": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "a.parquet")
    kept = read_table(tmp_path / "a.parquet", keep=["id"]).kept
    assert kept["id"].tolist() == [2**60 + 1, None]


def test_standard_input_is_read_by_what_it_holds(monkeypatch):
    for data in (PLAIN.encode(), gzip.compress(PLAIN.encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert columns(read_table("-")) == {"x": [1.5, -2.0], "kind": ["a", "b"]}


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
        require("pandas", "reading tables")
