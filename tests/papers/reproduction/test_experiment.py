"""The experiments of ELAP and PELLE: honest choice, classifiers, baselines and tasks."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from patchfold import papers
from patchfold.papers import tables
from patchfold.papers.reproduction import elap, experiment, pelle
from patchfold.papers.reproduction.cells import Task


def test_honest_choice_of_k_never_reads_the_test_half():
    X, y = experiment.standardised("wine")
    seen = []

    def score(_, y_train, plane, y_test):
        seen.append(len(y_train) + len(y_test))
        return float(plane[:, 0].mean())

    experiment.Experiment(X, y, lambda X, k: X[:, :2] * k, score).honest((5, 10), n_halves=3)
    # For every half: two inner scores on the 89 training points, then one on all 178.
    assert seen == [89, 89, 178] * 3


@pytest.mark.parametrize("module", [elap, pelle])
def test_every_column_has_an_honest_account(module):
    paper = module.__name__.rpartition(".")[2]
    preset = getattr(papers, paper)
    columns = {cell.column for cell in tables.read(paper, module.TABLES[0]) if cell.data_set}
    for column in sorted(columns - {"UMAP"}):
        task = Task(paper, module.TABLES[0], "parity5", column, "honest")
        own = paper.upper()
        (result,) = experiment.compute(task, own, module.published, preset, n_halves=2)
        assert np.isfinite(result.value)
    assert experiment.honest_sizes("UMAP", 100) == [15]
    assert experiment.honest_sizes("HLAP", 100) == [10, 15, 20, 30, 40]


def test_every_printed_column_has_its_method():
    X, _ = experiment.standardised("wine")
    columns = {c.column for p, t in [("elap", "I"), ("pelle", "1")] for c in tables.read(p, t)}
    for column in columns - {"ELAP", "PELLE", "UMAP"}:
        plane = experiment.baseline(column, X, 20)
        assert plane.shape == (178, 2)
    with pytest.raises(ValueError, match="method='SOM'"):
        experiment.baseline("SOM", X, 20)


@pytest.mark.parametrize("module", [elap, pelle])
def test_tasks_are_the_printed_columns_and_equations_only_the_papers_own(module):
    table = module.TABLES[0]
    everything = module.tasks(table, ["parity5"], ["published", "equations", "honest"], quick=False)
    assert len(everything) == 7 + 1 + 7
    assert {t.method for t in everything if t.account == "equations"} <= {"ELAP", "PELLE"}
    quick = {t.dataset for t in module.tasks(table, None, ["published"], quick=True)}
    assert "parity5" in quick
    assert "tic-tac-toe" not in quick


def test_quadratic_discriminant_agrees_with_scikit_learn_where_it_accepts_the_data():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 2)) * [3, 1], rng.integers(0, 3, 200)
    X[y == 1] += 2
    theirs = QuadraticDiscriminantAnalysis().fit(X, y).predict(X)
    ours = experiment.quadratic_discriminant(X, y, X)
    # Their divisor has become n, and was n - 1; points on a border can change sides.
    assert np.mean(ours == theirs) > 0.97


def test_a_class_without_variance_wins_everywhere():
    plane = np.array([[0.0, 0], [0, 0], [1, 2], [2, 1], [3, 3]])
    y = np.array(["a", "a", "b", "b", "b"])
    assert set(experiment.quadratic_discriminant(plane, y, plane)) == {"a"}
