"""``patchfold compare`` scores methods on the user's table, and says what it did to the rows."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator
from typer.testing import CliRunner

from command_line import done, iris, table, told
from patchfold import cli
from patchfold.cli import comparing
from patchfold.cli.comparing import Report
from patchfold.evaluation.comparison import Method, Score


def test_methods_are_listed_best_first_with_intervals(call, quick):
    words = ("--target", "species", "--drop", "name", "--halves", 2, "--divergence", "kl")
    result = done(call("compare", "iris.csv", *words, "-o", "page.html"))
    header, *lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert header[:4] == ["method", "divergence", "accuracy", "95 % interval"]
    assert header[4:] == ["trust", "visible", "stress", "seconds"]
    for line in lines:
        assert all(0 < float(cell) <= 1 for cell in line[4:7])
    assert {(line[0], line[1]) for line in lines} == {
        ("PCA", ""),
        ("Isomap", ""),
        ("PatchLLE", "kl"),
    }
    values = [float(line[2]) for line in lines]
    assert values == sorted(values, reverse=True)
    assert "The most frequent of 3 classes has 0.336 of the rows" in result.stderr
    page = Path("page.html").read_text(encoding="utf-8")
    assert "PatchLLE" in page
    assert "corrected for halves that overlap" in page
    assert "Stress is the stress of geodesics" in page


def test_values_are_compared_by_r_squared_and_rows_drawn(call, quick):
    words = ("--target", "petal width", "--drop", "name", "--drop", "species", "--halves", 2)
    result = done(call("compare", "iris.csv", *words, "--sample", 60, "--json", "-o", "page.md"))
    summary = json.loads(result.stdout)
    assert (summary["measure"], summary["rows"]) == ("R squared", 60)
    assert summary["notes"][:2] == [
        "60 of 149 rows were drawn at random (--sample)",
        "intervals of 2 splits say little; give --halves 5 or more",
    ]
    # Of so few rows, some divergences may judge all edges alike.
    assert all("are equal" in note for note in summary["notes"][2:])
    assert {score["name"] for score in summary["scores"]} == {"PCA", "Isomap", "PatchLLE"}
    assert all(score["low"] <= score["mean"] <= score["high"] for score in summary["scores"])
    assert Path("page.md").read_text(encoding="utf-8").startswith("# Comparison on iris")


@pytest.mark.slow
def test_rare_classes_and_rows_without_a_class_are_left_out(call, quick):
    frame = iris().drop(columns="name")
    frame.loc[[0, 1], "species"] = ["daisy", None]
    frame.to_csv("data.csv", index=False)
    result = done(call("compare", "data.csv", "--target", "species", "--halves", 2, "--json"))
    summary = json.loads(result.stdout)
    assert summary["rows"] == 147
    assert "left out, as classes of fewer than 4 rows: 'daisy'" in summary["notes"]
    frame["species"] = [f"s{row // 2}" for row in range(149)]
    frame.to_csv("data.csv", index=False)
    line = told(call("compare", "data.csv", "--target", "species"))
    assert "of which 0 with at least 4 rows" in line
    table(12).to_csv("few.csv", index=False)
    assert "12 rows with a target are too few" in told(
        call("compare", "few.csv", "--target", "kind")
    )


@pytest.mark.slow
def test_classes_that_a_sample_makes_rare_are_left_out(call, quick):
    kinds = ["often"] * 160 + [f"rare {row // 4}" for row in range(40)]
    table(200, kind=kinds).to_csv("data.csv", index=False)
    words = ("compare", "data.csv", "--target", "kind", "--halves", 2, "--sample")
    line = told(call(*words, 20))
    assert line.startswith("data.csv: of --sample 20 rows, which are too few, there are 5 classes")
    for kinds in (["a", "b"] * 90 + ["c"] * 20, [f"c{row % 30}" for row in range(200)]):
        table(200, kind=kinds).to_csv("data.csv", index=False)
        for sample in (30, 195):
            code = call(*words, sample).exit_code
            assert code == (cli.WRONG if sample == 30 and len(set(kinds)) > 3 else 0)


def test_more_neighbours_than_half_the_rows_are_refused_beforehand(call, monkeypatch):
    monkeypatch.setattr("patchfold.evaluation.comparison.evaluate", None)
    table(60).to_csv("data.csv", index=False)
    line = told(call("compare", "data.csv", "--target", "kind", "--neighbors", 500))
    assert "--neighbors=500 needs more than 500 rows in each half, and there are 30" in line
    assert "at most 29" in line


@pytest.mark.slow
def test_the_seed_of_a_comparison_changes_its_splits(call, quick):
    words = ("compare", "iris.csv", "--target", "species", "--drop", "name", "--halves", 2)
    first, again, other = (
        [line.split("\t")[:5] for line in done(call(*words, "--seed", seed)).stdout.splitlines()]
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_methods_that_failed_come_last(call, monkeypatch):
    def scores(method, *_, **__):
        mean = None if method.name == "fails" else -50.0
        numbers = mean, mean, mean, 1.0, 0.5, 0.5, 0.0
        yield Score(method.name, "", True, False, *numbers, "no" * (mean is None))

    monkeypatch.setattr("patchfold.evaluation.comparison.evaluate", scores)
    monkeypatch.setattr(
        "patchfold.cli.methods.methods",
        lambda *_, **__: [Method("fails", "", None), Method("bad", "", None)],
    )
    result = call("compare", "iris.csv", "--target", "species", "--drop", "name")
    assert [line.split("\t")[0] for line in result.stdout.splitlines()[1:]] == ["bad", "fails"]


def test_a_method_that_fails_is_reported_and_the_code_says_so(call, folder, monkeypatch):
    class Fails(BaseEstimator):
        def fit_transform(self, X, y=None):
            raise ArithmeticError("no <way>")

        fit = transform = fit_transform

    monkeypatch.setattr(
        "patchfold.cli.methods.methods", lambda *_, **__: [Method("odd", "kl", Fails())]
    )
    words = ["compare", "iris.csv", "--target", "species", "--drop", "name", "-o", "page.html"]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == cli.FAILED
    assert "odd kl failed: ArithmeticError: no <way>" in result.stderr
    assert "no &lt;way&gt;" in (folder / "page.html").read_text(encoding="utf-8")
    assert result.stdout.splitlines()[1].startswith("odd\tkl\tfailed")


def test_a_terminal_gets_a_table(monkeypatch, capsys):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", "80")
    numbers = 0.95, 0.85, 1.0, 0.987, None, 0.66, 123.45
    score = Score("PatchIsomap, supervised", "wasserstein", True, True, *numbers)
    report = Report("t.csv", "y", 60, 5, 15, "accuracy", [score], [], [])
    comparing._tell(report, None, as_json=False)
    shown = screen.getvalue()
    for word in ("accuracy", "95 % interval", "visible", "stress", "seconds", "supervised"):
        assert word in shown
    for number in ("0.950", "0.850 to 1.000", "0.987", "0.66", "123.45"):
        assert number in shown


def test_the_number_of_neighbours_is_left_to_the_methods_on_request(call, quick):
    words = ("compare", "iris.csv", "--target", "species", "--drop", "name", "--halves", 2)
    result = done(call(*words, "--neighbors", "auto", "--divergence", "kl", "--json"))
    assert json.loads(result.stdout)["neighbors"] == "auto"
    assert "2 splits into halves, chosen neighbours" in result.stderr
