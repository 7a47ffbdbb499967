"""``patchfold bridges`` writes the table of suspicious edges that Python gives."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from command_line import done, iris, told
from patchfold import PatchSpace
from patchfold.analysis.bridges import COLUMNS

WORDS = ("--target", "species", "--id", "name", "--drop", "petal width", "--neighbors", "8")


@pytest.fixture
def expected():
    frame = iris()
    # Column by column in memory, as a table lies there: sums of columns are rounded by it, and
    # distances in iris that tie are ordered by rounding.
    X = StandardScaler().fit_transform(np.asfortranarray(frame.iloc[:, 1:4]))
    return PatchSpace(n_neighbors=8, random_state=0).fit(X).bridges(), frame


def test_edges_are_printed_with_the_names_of_rows_and_their_classes(call, expected):
    bridges, frame = expected
    result = done(call("bridges", "iris.csv", *WORDS))
    table = pd.read_csv(io.StringIO(result.stdout))
    assert list(table.columns) == [*COLUMNS, "source species", "target species"]
    assert len(bridges) > 0
    assert table["source"].tolist() == frame["name"][bridges.source].tolist()
    assert table["target species"].tolist() == frame["species"][bridges.target].tolist()
    np.testing.assert_allclose(table["score"], bridges.score, rtol=1e-9)
    assert f"{len(bridges)} suspicious edge" in result.stderr
    assert "PatchSpace(n_neighbors=8" in result.stderr


def test_rows_without_names_have_their_numbers(call, expected):
    bridges, _ = expected
    words = ("--drop", "species", "--drop", "name", *WORDS[4:])
    table = pd.read_csv(io.StringIO(done(call("bridges", "iris.csv", *words)).stdout))
    assert table["source"].tolist() == (bridges.source + 1).tolist()
    assert list(table.columns) == list(COLUMNS)


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.parquet"])
def test_the_table_is_written_in_the_format_of_its_ending(call, expected, name):
    bridges, _ = expected
    result = done(call("bridges", "iris.csv", *WORDS, "-o", name))
    assert result.stdout == ""
    read = pd.read_parquet if name.endswith("parquet") else pd.read_csv
    table = read(name, **({"sep": "\t"} if name.endswith("tsv") else {}))
    np.testing.assert_allclose(table["detour"], bridges.detour, rtol=1e-9)
    assert table["removed"].dtype == bool


@pytest.mark.slow
def test_a_picture_has_the_same_edges_and_is_written_beside_them(call, expected):
    bridges, frame = expected
    result = done(call("bridges", "iris.csv", *WORDS, "--png", "bridges.png"))
    table = pd.read_csv(io.StringIO(result.stdout))
    assert table["source"].tolist() == frame["name"][bridges.source].tolist()
    np.testing.assert_allclose(table["score"], bridges.score, rtol=1e-9)
    assert Path("bridges.png").read_bytes().startswith(b"\x89PNG")
    assert "By PatchIsomap(" in result.stderr
    assert "Wrote bridges.png" in result.stderr


def test_all_edges_are_listed_from_a_score_of_zero(call, expected):
    every = done(call("bridges", "iris.csv", *WORDS, "--min-score", "0")).stdout
    assert len(every.splitlines()) > 600


def test_a_summary_counts_edges(call, expected):
    bridges, _ = expected
    result = done(call("bridges", "iris.csv", *WORDS, "-o", "out.csv", "--json"))
    summary = json.loads(result.stdout)
    assert summary["command"] == "bridges"
    assert (summary["rows"], summary["edges"]) == (149, len(bridges))
    assert summary["removed"] == bridges.removed.sum()
    assert summary["outputs"] == {"output": "out.csv"}


def test_what_cannot_be_done_is_refused(call):
    assert "--divergence='euclidean' is not known" in told(
        call("bridges", "iris.csv", "--divergence", "euclidean")
    )
    assert "--min-score" in told(call("bridges", "iris.csv", "--min-score", "-1"))
    assert "plot.gif" in told(call("bridges", "iris.csv", "--png", "plot.gif"))
    assert "out.xlsx" in told(call("bridges", "iris.csv", "-o", "out.xlsx"))
    assert "no such file" in told(call("bridges", "irs.csv")).lower()
