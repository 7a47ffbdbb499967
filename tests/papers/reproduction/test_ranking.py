"""The ranking of all methods: what is compared, and that K is chosen honestly."""

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


def test_the_committed_page_ends_with_the_means_of_its_rows():
    page = PAGE.read_text(encoding="utf-8")
    cells = re.findall(r"^\| (\S+) \| (\w+) \| (\d\.\d{3}).*\|$", page, flags=re.MULTILINE)
    for method in ranking.METHODS:
        *values, (row, mean) = [(row, float(value)) for row, name, value in cells if name == method]
        assert (row, len(values)) == (sheets.MEAN, 50)
        # Rows have three digits, so their mean can differ in the last one.
        assert mean == pytest.approx(np.mean([value for _, value in values]), abs=0.00055)
