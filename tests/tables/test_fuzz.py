"""Whatever bytes a file has, reading it gives a table or one clear error.

A test run tries a few hundred files; ``make fuzz`` tries many, and others every time.
"""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchfold.tables import TableError, read_table, select
from table_files import saved

FRAME = pd.DataFrame(
    {
        "x": [1.5, -2.0, 3.25, 1e300],
        "n": [1, 2, 3, 4],
        "kind": ["a", "b", None, "c, d"],
        "day": pd.to_datetime(["2020-01-01", None, "2020-01-03", "2020-01-04"]),
    }
)
ARFF = """@relation r
@attribute x real
@attribute 'a kind' {a, 'b c'}
@data
1.5, a
?, 'b c'
"""
ARRAYS = {"points": FRAME[["x", "n"]].to_numpy(), "kind": np.array(list("abcd"))}
SEEDS = {
    "csv": FRAME.to_csv(index=False).encode(),
    "semicolons": FRAME.to_csv(index=False, sep=";", decimal=",").encode("utf-8-sig"),
    "utf-16": FRAME.to_csv(index=False, sep="\t").encode("utf-16"),
    "arff": ARFF.encode(),
    "npy": saved(np.save, ARRAYS["points"]),
    "structured": saved(np.save, FRAME[["x", "n"]].to_records(index=False)),
    "npz": saved(np.savez, **ARRAYS),
    "packed npz": saved(np.savez_compressed, **ARRAYS),
    "parquet": FRAME.to_parquet(),
    "gzip": gzip.compress(FRAME.to_csv(index=False).encode(), mtime=0),
}
ENDINGS = st.sampled_from([".csv", ".tsv", ".arff", ".npy", ".npz", ".parquet", ".csv.gz", ""])
OPTIONS = st.fixed_dictionaries(
    {
        "header": st.none() | st.booleans(),
        "keep": st.sampled_from([(), ("kind",), ("x", "no such")]),
        "text": st.sampled_from([(), ("n",)]),
    }
)
# A folder for each of the many examples would be slow; each file is written over.
IN_ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def damaged(draw):
    """Return the bytes of a good file of which some were changed, cut out or put in."""
    data = bytearray(SEEDS[draw(st.sampled_from(sorted(SEEDS)))])
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        kind = draw(st.sampled_from(["byte", "cut", "end", "insert", "repeat"]))
        if kind == "byte" and data:
            data[place] = draw(st.integers(0, 255))
        elif kind == "cut":
            del data[place : place + draw(st.integers(1, 40))]
        elif kind == "end":
            del data[place:]
        elif kind == "insert":
            data[place:place] = draw(st.binary(min_size=1, max_size=8))
        else:
            data[place:place] = data[place : place + draw(st.integers(1, 200))]
    return bytes(data)


def check(folder, data, ending, options):
    path = folder / f"table{ending}"
    path.write_bytes(data)
    try:
        table = read_table(path, **options)
        assert len(table.frame) > 0
        assert table.kept is None or len(table.kept) == len(table.frame)
        selection = select(table.frame, missing="drop", written=table.kept)
    except TableError as error:
        words = str(error)
    else:
        words = "a table."
        assert len(selection.features) == len(selection.rows) <= selection.n_rows
    assert words.endswith((".", "?"))  # a whole sentence


@IN_ONE_FOLDER
@given(data=damaged(), ending=ENDINGS, options=OPTIONS)
def test_a_damaged_file_is_a_table_or_an_error_in_words(tmp_path, data, ending, options):
    check(tmp_path, data, ending, options)


NUMBERS = ["1", "-2.5", "1e5", "1,5", "inf", "nan", "1_000", "0x1F", "9" * 400, "1e999"]
WORDS = ["a", "", "NA", "?", "-", '"', '""', "'", "\x00", "\u00e9", "True", "\ufeff", "\u2028"]
CELLS = st.sampled_from([*NUMBERS, *WORDS, "2020-01-01"])
SEPARATORS = st.sampled_from([",", ";", "\t", "|", " ", "\n", "\r\n", "\r", "\n\n", "@data\n", "{"])


@IN_ONE_FOLDER
@given(
    parts=st.lists(st.tuples(CELLS, SEPARATORS), max_size=40),
    start=st.sampled_from(["", "sep=;\n", "@relation r\n@attribute a real\n", "\n\n", "x,y\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"]),
    ending=ENDINGS,
    options=OPTIONS,
)
def test_any_text_is_a_table_or_an_error_in_words(
    tmp_path, parts, start, encoding, ending, options
):
    text = start + "".join(cell + separator for cell, separator in parts)
    check(tmp_path, text.encode(encoding), ending, options)


MARKS = st.sampled_from(
    [b"", b"PAR1", b"\x93NUMPY", b"\x93NUMPY\x01\x00v\x00", b"PK\x03\x04", b"\x1f\x8b\x08\x00"]
)


@IN_ONE_FOLDER
@given(mark=MARKS, data=st.binary(max_size=200), ending=ENDINGS, options=OPTIONS)
def test_any_bytes_are_a_table_or_an_error_in_words(tmp_path, mark, data, ending, options):
    check(tmp_path, mark + data, ending, options)
