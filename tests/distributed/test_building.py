"""The graph of rows in parts, and where new rows go in it: those of one process."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra
from sklearn.datasets import make_swiss_roll

from patchfold import GaussianPatch
from patchfold.distributed import building, rows, weighing
from patchfold.distributed.building import build_on_cluster, scale_of
from patchfold.distributed.placing import NewRows
from patchfold.graph.building import build_graph
from patchfold.graph.patch_graph import GraphSetting
from patchfold.patches.fitting import Part
from patchfold.supervision import Dissimilarity

RECOMMENDED = GraphSetting(
    degree=6,
    patch=GaussianPatch(size=8, denoise=True),
    patch_size=8,
)
WITHIN = {"degree": None, "radius": 9.0, "patch_size": 0}
SETTINGS = {
    "recommended": RECOMMENDED,
    "many-neighbours": replace(RECOMMENDED, degree=20),
    "not-denoised": replace(RECOMMENDED, patch=GaussianPatch(size=8)),
    "adaptive": replace(RECOMMENDED, patch=GaussianPatch("adaptive"), patch_size=12),
    "divergences": replace(RECOMMENDED, patch=GaussianPatch(size=8), pruned=False),
    "euclidean": GraphSetting(degree=6, divergence="euclidean"),
    "radius": replace(RECOMMENDED, patch=GaussianPatch(denoise=True), **WITHIN),
    "euclidean-radius": GraphSetting(degree=None, radius=9.0, divergence="euclidean"),
}
RULES = {"cut": "cut", "min-sum": "min-sum", "dissimilarity": Dissimilarity()}


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(150, noise=0.5, random_state=1)[0]


@pytest.fixture(scope="module")
def islands():
    rng = np.random.default_rng(0)
    far = [rng.normal(size=(70, 3)), rng.normal(size=(60, 3)) + 60, [[300.0, 0.0, 0.0]]]
    return np.concatenate(far)[rng.permutation(131)]


def on_cluster(cluster, X, setting, codes=None):
    shared = rows.share_out(cluster, rows.read(cluster, X), codes=codes)
    return build_on_cluster(cluster, shared, setting)


def assert_same_edges(found, expected, tolerance):
    """Compare sparse matrices: the same edges, and lengths up to rounding."""
    found.sort_indices()
    expected.sort_indices()
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.data, expected.data, rtol=tolerance)


def assert_same(found, expected):
    tolerance = 1e-9 if expected.matrix.dtype == np.float64 else 1e-3
    n = len(expected)
    assert_same_edges(found.matrix, expected.matrix, tolerance)
    near = [graph.neighborhoods.matrix(n) for graph in (found, expected)]
    assert_same_edges(*near, tolerance)
    np.testing.assert_allclose(found.centres, expected.centres, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(found.removed, expected.removed)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_graph_in_parts_and_its_new_rows_have_the_edges_of_one_process(
    cluster, roll, name, dtype
):
    X, setting = roll.astype(dtype), SETTINGS[name]
    graph, alone = on_cluster(cluster, X, setting), build_graph(X, setting)
    assert len(graph.shared.ids) == 4
    assert_same(graph.collected(with_centres=True), alone)
    assert graph.recall == 1.0

    new = make_swiss_roll(20, noise=0.5, random_state=2)[0].astype(dtype)
    new = np.concatenate([new, X[:3], X[:1] + dtype(1e-3)])
    near, same = NewRows(graph, rows.read(cluster, new, fitted=False)).gathered()
    order = np.append(np.argsort(graph.numbers), -1)
    np.testing.assert_array_equal(order[same], alone.fitted_as(new))
    near = replace(near, indices=order[near.indices])
    both = near.matrix(len(X)), alone.neighbors_of_new(new).matrix(len(X))
    assert_same_edges(*both, 1e-9 if dtype == np.float64 else 1e-3)


@pytest.mark.parametrize("name", ["recommended", "divergences", "euclidean"])
def test_components_are_joined_and_told_as_in_one_process(cluster, islands, name):
    message = "graph has . components; they were joined by their closest pairs"
    with pytest.warns(UserWarning, match=message):
        graph = on_cluster(cluster, islands, SETTINGS[name])
    with pytest.warns(UserWarning, match=message):
        alone = build_graph(islands, SETTINGS[name])
    assert_same(graph.collected(with_centres=True), alone)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["recommended", "divergences", "radius"])
def test_labels_change_lengths_and_join_components_as_in_one_process(cluster, roll, name, rule):
    setting = replace(SETTINGS[name], supervision=RULES[rule])
    codes = np.random.default_rng(0).integers(-1, 2, size=150)
    codes[roll[:, 1] > 15] = 2
    graph, alone = on_cluster(cluster, roll, setting, codes), build_graph(roll, setting, codes)
    assert_same(graph.collected(with_centres=True), alone)
    new = make_swiss_roll(20, noise=0.5, random_state=2)[0]
    near, _ = NewRows(graph, rows.read(cluster, new, fitted=False)).gathered()
    near = replace(near, indices=np.argsort(graph.numbers)[near.indices])
    assert_same_edges(near.matrix(150), alone.neighbors_of_new(new).matrix(150), 1e-9)


@pytest.mark.slow
def test_the_mean_length_is_that_of_the_pairs_of_one_process(cluster):
    X = make_swiss_roll(1500, noise=0.5, random_state=1)[0]  # more pairs than are taken
    codes = np.arange(1500) % 2
    setting = replace(RECOMMENDED, supervision="dissimilarity")
    graph, alone = on_cluster(cluster, X, setting, codes), build_graph(X, setting, codes)
    assert graph.learned[1] == pytest.approx(alone.lengths.mean, rel=1e-9)
    assert_same(graph.collected(with_centres=True), alone)


def test_a_graph_in_parts_has_the_geodesics_of_its_matrix(cluster, roll):
    graph = on_cluster(cluster, roll, SETTINGS["euclidean"])
    landmarks = np.array([3, 77, 140])
    parts, unit, between = graph.geodesics(landmarks)
    expected = dijkstra(graph.matrix, directed=False, indices=landmarks).T
    assert unit == pytest.approx(expected.max())
    for own, paths in zip(graph.shared.ids, parts, strict=True):
        np.testing.assert_allclose(paths * unit, expected[own])
    np.testing.assert_allclose(between * unit, expected[landmarks])


def test_geodesics_that_overflow_are_refused(cluster):
    X = np.linspace(0, 1e38, 64, dtype=np.float32)[:, None] * np.float32(3)
    X = X.astype(np.float64)
    graph = on_cluster(cluster, X, GraphSetting(degree=2, divergence="euclidean"))
    graph.weighted.matrix.data *= 1e308 / graph.weighted.matrix.data.max()
    with pytest.raises(ValueError, match="geodesics between the points overflow float64"):
        graph.geodesics(np.array([0, 63]))


@pytest.mark.parametrize("seed", [0, np.random.RandomState(0)])
def test_landmarks_are_no_copies_while_there_are_other_rows(cluster, roll, seed):
    X = np.concatenate([roll, roll[:100]])
    shared = rows.share_out(cluster, rows.read(cluster, X), merge=False)
    graph = build_on_cluster(cluster, shared, SETTINGS["euclidean"])
    assert (graph.landmarks(150, seed) == np.arange(150)).all()
    assert len(np.unique(graph.landmarks(200, seed))) == 200


def test_components_stay_apart_if_they_are_not_to_be_joined(cluster, islands):
    setting = replace(SETTINGS["euclidean"], joined=False)
    graph = on_cluster(cluster, islands, setting)
    assert_same(graph.collected(with_centres=True), build_graph(islands, setting))


def test_an_approximate_graph_tells_its_recall_and_is_nearly_the_exact_one(cluster, roll):
    exact = on_cluster(cluster, roll, RECOMMENDED)
    graph = on_cluster(cluster, roll, replace(RECOMMENDED, knn="approximate"))
    assert 0.9 < graph.recall <= 1
    assert abs(graph.matrix - exact.matrix).sum() < 0.2 * exact.matrix.sum()


def test_a_low_recall_is_told(cluster, roll, monkeypatch):
    monkeypatch.setattr(building, "LOW_RECALL", 1.1)
    setting = replace(SETTINGS["euclidean"], knn="approximate")
    with pytest.warns(UserWarning, match="of the nearest rows; knn='exact' finds all"):
        on_cluster(cluster, roll, setting)


def test_patches_of_more_rows_than_there_are_are_refused(cluster, roll):
    with pytest.raises(ValueError, match="size=8 needs more than 8 samples, got 8; lower the size"):
        on_cluster(cluster, roll[:8], RECOMMENDED)


def test_workers_without_memory_for_the_edges_are_refused(cluster, roll, monkeypatch):
    monkeypatch.setattr(weighing, "EDGE_BYTES", 10**7)
    with pytest.raises(RuntimeError, match=r"edges of 150 rows need about 10\.6 GB in one worker"):
        on_cluster(cluster, roll, SETTINGS["euclidean"])


def test_new_rows_without_neighbours_within_the_radius_are_named(cluster, roll):
    graph = on_cluster(cluster, roll, SETTINGS["radius"])
    new = np.concatenate([roll[:3], [[1e4, 0.0, 0.0]]])
    with pytest.raises(ValueError, match="row 3 of X has no neighbour among the fitted points"):
        NewRows(graph, rows.read(cluster, new, fitted=False)).gathered()


def test_the_scale_of_rows_in_parts_is_that_of_all_rows(cluster):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(5000, 3)) * [1, 10, 100] + 1e5).astype(np.float32)
    found = scale_of(cluster, np.array_split(X, 7), 5000, X.dtype)
    assert found == pytest.approx(Part.of(X).scale, rel=1e-12)


def test_a_graph_on_a_cluster_says_what_it_does_not_have(cluster, roll):
    graph = on_cluster(cluster, roll, SETTINGS["euclidean"])
    with pytest.raises(AttributeError, match="has no lengths in this process, and patches_, trust"):
        graph.lengths  # noqa: B018
