"""The ranking of all methods: what is compared, and that K is chosen honestly."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from patchfold.papers.reproduction import load_paper, ranking, sheets
from patchfold.papers.reproduction.cells import Task

PAGE = Path(__file__).parents[3] / "docs" / "reproduction" / "ranking.md"


def test_every_method_is_compared_on_every_data_set_at_hand():
    tasks = ranking.tasks("accuracy", None, ["honest"], quick=True)
    names = {task.dataset for task in tasks}
    assert {"iris", "wine"} <= names
    assert len(tasks) == len(names) * len(ranking.METHODS)
    assert ranking.tasks("accuracy", None, ["published", "equations"], quick=False) == []
    few = ranking.tasks("accuracy", ["iris", "mnist"], ["honest"], quick=False)
    assert {task.dataset for task in few} == {"iris"}
    assert load_paper("ranking") is ranking


@pytest.mark.parametrize("method", ["PCA", "HLLE", "PatchIsomap"])
def test_iris_is_classified_in_the_plane(method):
    (result,) = ranking.compute(Task("ranking", "accuracy", "iris", method, "honest"))
    assert result.row == "iris"
    assert 0.75 < result.low < result.value < result.high < 1
    assert result.note.startswith("K=") is (method != "PCA")


def test_the_committed_page_has_the_means_of_the_results_beside_it():
    page = PAGE.read_text(encoding="utf-8")
    means = re.findall(
        rf"^\| {sheets.MEAN} \| (\w+) \| (\d\.\d{{3}}) \|$", page, flags=re.MULTILINE
    )
    assert [method for method, _ in means] == list(ranking.METHODS)
    lines = PAGE.with_suffix(".csv").read_text(encoding="utf-8").splitlines()[1:]
    results = list(csv.DictReader(lines))
    for method, mean in means:
        values = [float(line["value"]) for line in results if line["method"] == method]
        assert len(values) == 50
        assert f"{np.mean(values):.3f}" == mean
