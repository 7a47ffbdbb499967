"""A table is written so that no cell of it is run by a spreadsheet."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from patchfold.tables import encode_table

RUN = ["=cmd|' /C calc'!A1", "+1+1", "-A1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1"]
HARMLESS = ["-1.5", "+2", "-1e-3", "-1,5", "-", "+", "--", "a=b", "'=1", "", "x-1", "001", "1-2"]


@pytest.mark.parametrize("dtype", [object, "str", "category"])
@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_text_that_spreadsheets_run_gets_an_apostrophe_and_other_text_none(ending, dtype):
    frame = pd.DataFrame({"name": pd.Series([*RUN, *HARMLESS], dtype=dtype)})
    separator = "\t" if ending == ".tsv" else ","
    options = {"sep": separator, "keep_default_na": False, "dtype": str, "lineterminator": "\n"}
    written = pd.read_csv(io.BytesIO(encode_table(frame, ending)), **options)
    assert written["name"].tolist() == [*(f"'{cell}" for cell in RUN), *HARMLESS]
    kept = pd.read_csv(io.BytesIO(encode_table(frame, ending, formulas=True)), **options)
    assert kept["name"].tolist() == [*RUN, *HARMLESS]


def test_names_of_columns_are_text_too():
    assert encode_table(pd.DataFrame({"=1+1": [1.5]}), ".csv") == b"'=1+1\n1.5\n"


def test_numbers_dates_and_missing_values_stay_what_they_are():
    frame = pd.DataFrame(
        {
            "float": [-1.5, -np.inf, np.nan],
            "int": [-1, -2, -3],
            "nullable": pd.array([-1, None, -3], dtype="Int64"),
            "mixed": pd.Series([-1, None, "-A1"], dtype=object),
            "bool": [True, False, True],
            "day": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
            "days": pd.Categorical(pd.to_datetime(["2020-01-01", None, "2020-01-03"])),
        }
    )
    plain = frame.to_csv(index=False, lineterminator="\n").encode()
    assert encode_table(frame, ".csv") == plain.replace(b"-A1", b"'-A1")
    assert frame["mixed"].tolist()[2] == "-A1"


def test_parquet_has_types_and_keeps_all_text():
    frame = pd.DataFrame({"=name": RUN})
    assert pd.read_parquet(io.BytesIO(encode_table(frame, ".parquet"))).equals(frame)
