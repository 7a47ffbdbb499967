"""The ranking of all methods: what is compared, and that K is chosen honestly."""

import pytest

from patchfold.papers.reproduction import load_paper, ranking
from patchfold.papers.reproduction.cells import Task


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
