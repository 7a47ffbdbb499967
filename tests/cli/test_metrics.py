"""``--metric`` means the same in every command: the rows in that metric."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from command_line import done
from patchfold import PatchSpace
from patchfold.base.row_metric import in_metric

COLUMNS = ["a", "b", "c", "d"]


@pytest.fixture
def rows(folder):
    """Write a table of rows, one of their directions, and return the rows and their classes."""
    random = np.random.default_rng(0)
    kind = np.repeat([0, 1], 40)
    waves = np.cos(np.outer(random.uniform(0, 1, 80) + kind, np.arange(1, 5)))
    X = (waves + 1.5) * random.uniform(1, 40, (80, 1))
    y = np.array(["low", "high"])[kind]
    pd.DataFrame(X, columns=COLUMNS).assign(kind=y).to_csv("t.csv", index=False)
    directions = pd.DataFrame(in_metric(X, "cosine"), columns=COLUMNS)
    directions.assign(kind=y).to_csv("directions.csv", index=False, float_format="%.17g")
    return X


WORDS = ("--target", "kind", "--raw")


def test_bridges_are_those_by_the_metric(call, rows):
    words = (*WORDS, "--neighbors", 8, "--metric", "cosine", "--min-score", 0)
    result = done(call("bridges", "t.csv", *words))
    assert "metric='cosine'" in result.stderr
    expected = PatchSpace(n_neighbors=8, metric="cosine", random_state=0).fit(rows).bridges(0)
    found = pd.read_csv(io.StringIO(result.stdout))
    assert found["source"].tolist() == (expected.source + 1).tolist()
    np.testing.assert_allclose(found["score"], expected.score, rtol=1e-6)


def test_all_methods_are_compared_on_rows_in_the_metric(call, rows, quick):
    words = (*WORDS, "--halves", 2, "--divergence", "kl", "--neighbors", 8)
    by_metric = done(call("compare", "t.csv", *words, "--metric", "cosine")).stdout
    expected = done(call("compare", "directions.csv", *words)).stdout
    plain = done(call("compare", "t.csv", *words)).stdout

    def scores(printed):
        table = pd.read_csv(io.StringIO(printed), sep="\t").fillna("")
        return table.drop(columns="seconds").sort_values(["method", "divergence"]).values.tolist()

    assert scores(by_metric) == scores(expected) != scores(plain)


@pytest.mark.slow
def test_a_page_is_made_by_the_metric(call, rows, folder, opened):
    words = (*WORDS, "--neighbors", 8, "--divergence", "kl", "--no-open")
    result = done(call("explore", "t.csv", *words, "--metric", "cosine"))
    assert "with kl and metric='cosine' at 8 neighbours" in result.stderr
    by_metric = (folder / "t-explorer.html").read_text("utf-8")
    done(call("explore", "t.csv", *words))
    assert (folder / "t-explorer.html").read_text("utf-8") != by_metric


@pytest.mark.parametrize("command", ["embed", "bridges", "explore", "compare"])
def test_a_row_without_direction_is_named(call, rows, command):
    frame = pd.read_csv("t.csv")
    frame.loc[3, COLUMNS] = 0
    frame.to_csv("zero.csv", index=False)
    more = ("-o", "page.html") if command == "explore" else ()
    result = call(command, "zero.csv", *WORDS, "--metric", "cosine", *more)
    assert result.exit_code == 2
    assert "Error: zero.csv: row 3 of X has only zeros" in result.stderr
