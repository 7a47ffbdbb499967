"""ISOMAP-KL: the printed tables come out, and K is chosen honestly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.datasets import load_iris
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import scale

from patchfold import papers
from patchfold.evaluation.sampling import halves
from patchfold.papers import tables
from patchfold.papers.reproduction import isomap_kl
from patchfold.papers.reproduction.cells import Task

# What the project counts as the same number: half a unit of the second digit.
SAME = 0.005


def printed(table, dataset, method):
    return {
        cell.classifier: cell.value
        for cell in tables.read("isomap-kl", table)
        if cell.data_set == dataset and cell.column == method
    }


def compute(table, dataset, method, account="published", **given):
    results = isomap_kl.compute(Task("isomap-kl", table, dataset, method, account), **given)
    return {result.row.partition(" / ")[2]: result for result in results}


def silhouette_is_printed(dataset, method):
    value = compute("I", dataset, method)[""].value
    assert value == pytest.approx(printed("I", dataset, method)[""], abs=SAME)


@pytest.mark.parametrize("method", isomap_kl.METHODS)
@pytest.mark.parametrize("dataset", ["iris", "wine"])
def test_table_one_comes_out(dataset, method):
    silhouette_is_printed(dataset, method)


# The K of transplant is not printed: the best accuracy finds the one that gives the printed cell.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "method", "k"),
    [
        ("transplant", "ISO-KL", 40),
        ("hayes-roth", "ISO", 40),
        ("mu284", "LLE", 40),
        ("triazines", "LAP", 40),
        ("SPECTF", "ISO", 40),
        ("arsenic-male-lung", "KPCA", None),
    ],
)
def test_table_one_comes_out_for_local_data(data_folder, dataset, method, k):
    silhouette_is_printed(dataset, method)
    assert compute("I", dataset, method)[""].note == ("" if k is None else f"K={k}")


@pytest.mark.slow
@pytest.mark.parametrize("method", isomap_kl.METHODS)
def test_table_two_comes_out_for_classifiers_without_a_seed(method):
    found, expected = compute("II", "iris", method), printed("II", "iris", method)
    assert found.keys() == expected.keys()
    for name in ("KNN", "SVM", "NB", "QDA"):
        assert found[name].value == pytest.approx(expected[name], abs=0.01)


def slow_published(X, k):
    """One pair at a time, Floyd and Warshall, the whole spectrum."""
    n, m = X.shape
    D = np.array([[np.sqrt(((a - b) ** 2).sum()) for b in X] for a in X])
    near = []
    for i in range(n):
        order = [j for j in np.argsort(D[i], kind="stable") if j != i][:k]
        near.append([j for j in order if D[i, j] > 0])
    means = [X[rows].mean(axis=0) for rows in near]
    covariances = []
    for rows in near:
        S = np.cov(X[rows], rowvar=False)
        covariances.append(S + 0.001 * np.eye(m) if np.linalg.cond(S) > 2**52 else S)
    G = np.full((n, n), np.inf)
    for i in range(n):
        for j in near[i]:
            u, A, B = means[i] - means[j], covariances[i], covariances[j]
            traces = np.trace(np.linalg.solve(A, B)) + np.trace(np.linalg.solve(B, A))
            shifts = u @ np.linalg.solve(A, u) + u @ np.linalg.solve(B, u)
            G[i, j] = G[j, i] = (traces / 2 + shifts / 2 - m) / 2
    np.fill_diagonal(G, 0)
    for via in range(n):
        G = np.minimum(G, G[:, [via]] + G[[via]])
    G[np.isinf(G)] = 0
    H = np.eye(n) - 1 / n
    values, vectors = eigh(-H @ G**2 @ H / 2)
    return vectors[:, -2:] * np.sqrt(values[-2:])


@pytest.mark.parametrize("case", ["one part", "two parts", "duplicates", "singular"])
def test_the_published_program_agrees_with_a_slow_one(case):
    X = np.random.default_rng(0).normal(size=(60, 3))
    if case == "two parts":
        X[30:] += 100
    if case == "duplicates":
        X[40:45] = X[0]
    if case == "singular":
        X[:, 2] = 0
    fast, slow = isomap_kl.published_isomap_kl(X, 12), slow_published(X, 12)[:, ::-1]
    np.testing.assert_allclose(np.abs(fast), np.abs(slow), rtol=1e-5, atol=1e-8 * np.ptp(slow))


def test_a_classifier_that_cannot_be_fitted_has_accuracy_zero():
    Y, y = np.zeros((20, 2)), np.repeat(["a", "b"], 10)
    half = np.arange(0, 20, 2), np.arange(1, 20, 2)
    assert isomap_kl._accuracies(Y, y, *half, names=["QDA"]) == {"QDA": 0.0}


@pytest.mark.parametrize("method", ["PCA", "ISO-KL"])
def test_the_honest_account_has_an_interval_around_its_mean(method):
    result = compute("I", "iris", method, "honest", n_halves=3)[""]
    assert result.low <= result.value <= result.high
    assert result.note.startswith("" if method == "PCA" else "K=")


@pytest.mark.parametrize("table", ["I", "II"])
def test_the_honest_account_chooses_k_among_points_of_the_training_half(table):
    _, y = isomap_kl.points("iris")
    ((train, test),) = halves(y)
    chosen_by = np.concatenate(isomap_kl._inner(table, y, train))
    assert set(chosen_by) == set(train)
    assert not set(chosen_by) & set(test)


def test_the_equations_choose_k_by_the_labels():
    result = compute("I", "iris", "ISO-KL", "equations", grid=(10, 20))[""]
    X, y = scale(load_iris().data), load_iris().target
    k = int(result.note.removeprefix("K="))
    assert k in {10, 20}
    Y = papers.isomap_kl(k).fit_transform(X)
    assert result.value == pytest.approx(silhouette_score(Y, y))


def test_tasks_are_every_method_of_every_small_data_set_in_a_quick_run(data_folder):
    quick = isomap_kl.tasks("III", None, ["published", "honest"], quick=True)
    assert {task.dataset for task in quick} == {"hayes-roth", "servo"}
    assert len(quick) == len(set(quick)) == 2 * 2 * len(isomap_kl.METHODS)
    every = isomap_kl.tasks("I", None, ["published"], quick=False)
    assert len(every) == 20 * len(isomap_kl.METHODS)
