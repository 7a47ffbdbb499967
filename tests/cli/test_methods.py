"""Every estimator and classical method is compared, on the same terms."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from patchfold.cli.methods import equal_rows, euclidean_graph, methods
from patchfold.evaluation.comparison import Score, evaluate, geodesics
from patchfold.evaluation.sampling import halves

DATA = load_iris(as_frame=True)
FEATURES, Y = DATA.data, DATA.target.to_numpy().astype(str)


class Umap(PCA):
    """Stands in for umap-learn's, which compiles for a while when it is imported."""

    def __init__(self, n_components=2, n_neighbors=15, random_state=None, n_jobs=-1):
        super().__init__(n_components, random_state=random_state)
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs


@pytest.fixture(autouse=True)
def umap_stand_in(monkeypatch):
    module = ModuleType("umap")
    module.__spec__, module.UMAP = ModuleSpec("umap", None), Umap
    monkeypatch.setitem(sys.modules, "umap", module)


def names_of(found):
    return [method.name for method in found]


def test_every_estimator_and_baseline_is_there_with_every_divergence():
    found = methods(75, divergences=["kl", "hellinger"], n_neighbors=10)
    names = [(method.name, method.divergence) for method in found]
    assert len(set(names)) == len(names)
    for name in ("PatchIsomap", "PatchLLE", "PatchEigenmaps", "PatchTSNE"):
        assert (name, "kl") in names
        assert (name, "hellinger") in names
    for name in ("PCA", "Isomap", "LLE", "spectral embedding", "t-SNE", "UMAP", "all columns"):
        assert (name, "") in names
    assert [m.name for m in found if m.supervised] == ["PatchIsomap, supervised"] * 2
    assert not any(m.supervised for m in methods(75, divergences=["kl"], classes=False))


@pytest.mark.parametrize("absent", ["umap", "openTSNE"])
def test_a_method_whose_package_is_missing_is_left_out(absent):
    everyone = names_of(methods(75, divergences=["kl"], installed=lambda _: True))
    others = names_of(methods(75, divergences=["kl"], installed=lambda name: name != absent))
    assert set(everyone) - set(others) == {"umap": {"UMAP"}, "openTSNE": {"PatchTSNE"}}[absent]


def test_the_supervised_method_has_the_lengths_and_the_map_of_the_paper():
    found = [m for m in methods(75, divergences=["kl", "hellinger"]) if m.supervised]
    assert [m.divergence for m in found] == ["kl", "hellinger"]
    for method in found:
        given = method.estimator.get_params()
        assert (given["lengths"], given["out_of_sample"]) == ("divergence", "krr")
        assert given["supervision"] == "dissimilarity"


@pytest.mark.parametrize("n_neighbors", [6, "auto"])
def test_all_methods_have_the_same_number_of_neighbours_unless_some_choose(n_neighbors):
    for method in methods(11, divergences=["kl"], n_neighbors=n_neighbors):
        if hasattr(method.estimator, "n_neighbors"):
            own = method.name.startswith("Patch")
            expected = n_neighbors if own or n_neighbors == 6 else 10
            assert method.estimator.n_neighbors == expected, method.name


@pytest.mark.slow
def test_all_quick_methods_score_on_few_rows():
    features, y = FEATURES.iloc[::4].reset_index(drop=True), Y[::4]
    splits = halves(y, 2)
    paths = geodesics(euclidean_graph(StandardScaler(), features))
    for method in methods(19, divergences=["kl"], n_neighbors=6):
        if method.name in {"UMAP", "t-SNE", "PatchTSNE"}:  # slow
            continue
        *_, score = evaluate(
            method, StandardScaler(), features, y, splits, classes=True, paths=paths
        )
        assert not score.error, score
        assert 0.5 < score.mean <= 1


def shortest(points, k):
    """Return shortest paths through the graph of k neighbours, joined by its closest pairs."""
    D = cdist(points, points)
    rank = np.argsort(np.argsort(D + 1e9 * np.eye(len(D)), axis=1, kind="stable"), axis=1)
    near = (rank < k) | (rank < k).T
    while True:
        count, label = connected_components(near)
        if count == 1:
            break
        gaps = np.where(label[:, None] == label, np.inf, D)
        i, j = np.unravel_index(np.argmin(gaps), gaps.shape)
        near[i, j] = near[j, i] = True
    paths = np.where(near, D, np.inf)
    np.fill_diagonal(paths, 0)
    for middle in range(len(D)):
        paths = np.minimum(paths, paths[:, [middle]] + paths[[middle]])
    return paths


def test_the_graph_joins_fifteen_neighbours_and_parts_by_their_closest_pairs():
    # Raw values of wine have no two equal distances, which either neighbour could be chosen by.
    features = load_wine(as_frame=True).data
    features.iloc[:40] += 1000  # a part of its own
    graph = euclidean_graph(StandardScaler(), features)
    expected = shortest(StandardScaler().fit_transform(features), 15)
    np.testing.assert_allclose(shortest_path(graph, directed=False), expected, atol=1e-12)


def test_few_rows_are_all_neighbours():
    graph = euclidean_graph(StandardScaler(), FEATURES.iloc[:100:10])
    assert graph.nnz == 90


def score(divergence, mean, name="PatchIsomap"):
    return Score(name, divergence, True, False, mean, mean, mean, 0.9, 1.0, 0.1, 0.0)


@pytest.mark.slow
def test_equal_rows_are_explained():
    X = load_wine().data / load_wine().data.std(axis=0)
    rows = [score("kl", 0.8), score("hellinger", 0.7), score("wasserstein", 0.7), score("", 0.7)]
    (note,) = equal_rows(rows, lambda: X, 15)
    assert note.startswith("PatchIsomap: the rows of hellinger, wasserstein are equal, because")
    assert note.endswith("find no short circuit here and stretch nothing")
    chance = [score("kl", 0.8), score("hellinger", 0.8)]
    assert equal_rows(chance, lambda: X, 15) == ["PatchIsomap: the rows of kl, hellinger are equal"]
    assert equal_rows(rows[:2], lambda: 1 / 0, 15) == []
