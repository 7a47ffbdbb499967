"""The graph of rows in parts, and where new rows go in it: those of one place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra
from sklearn.datasets import make_swiss_roll

from patchfold import GaussianPatch
from patchfold.distributed import building, rows
from patchfold.distributed.building import build_on_cluster
from patchfold.distributed.placing import Placing
from patchfold.graph.building import build_graph
from patchfold.graph.patch_graph import GraphSetting

RECOMMENDED = GraphSetting(
    degree=6,
    recipe=GaussianPatch(size=8, denoise=True),
    patch_size=8,
)
SETTINGS = {
    "recommended": RECOMMENDED,
    "many-neighbours": replace(RECOMMENDED, degree=20),
    "not-denoised": replace(RECOMMENDED, recipe=GaussianPatch(size=8)),
    "divergences": replace(RECOMMENDED, recipe=GaussianPatch(size=8), pruned=False),
    "euclidean": GraphSetting(degree=6, divergence="euclidean"),
}


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(150, noise=0.5, random_state=1)[0]


@pytest.fixture(scope="module")
def islands():
    rng = np.random.default_rng(0)
    far = [rng.normal(size=(70, 3)), rng.normal(size=(60, 3)) + 60, [[300.0, 0.0, 0.0]]]
    return np.concatenate(far)[rng.permutation(131)]


def on_cluster(cluster, X, setting):
    return build_on_cluster(cluster, rows.share_out(cluster, rows.read(cluster, X)), setting)


def assert_same(found, expected):
    for name in ("indptr", "indices", "data"):
        one, other = getattr(found.matrix, name), getattr(expected.matrix, name)
        np.testing.assert_array_equal(one, other, err_msg=name)
    for name in ("indptr", "indices", "distances"):
        one, other = getattr(found.neighborhoods, name), getattr(expected.neighborhoods, name)
        np.testing.assert_array_equal(one, other, err_msg=name)
    np.testing.assert_array_equal(found.centres, expected.centres)
    removed = {tuple(pair) for pair in found.removed.tolist()}
    assert removed == {tuple(pair) for pair in expected.removed.tolist()}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_graph_in_parts_and_its_new_rows_have_the_bits_of_one_place(cluster, roll, name, dtype):
    X, setting = roll.astype(dtype), SETTINGS[name]
    graph, alone = on_cluster(cluster, X, setting), build_graph(X, setting)
    assert len(graph.links) == 4
    assert_same(graph.collected(), alone)
    assert graph.recall == 1.0

    new = make_swiss_roll(20, noise=0.5, random_state=2)[0].astype(dtype)
    new = np.concatenate([new, X[:3], X[:1] + 1e-3])
    near, same = Placing(graph, [new[:9], new[9:]]).gathered()
    np.testing.assert_array_equal(same, alone.fitted_as(new))
    expected = alone.place(new)
    for field in ("indptr", "indices", "distances"):
        np.testing.assert_array_equal(getattr(near, field), getattr(expected, field))


@pytest.mark.parametrize("name", ["recommended", "divergences", "euclidean"])
def test_components_are_joined_and_told_as_in_one_place(cluster, islands, name):
    message = "graph has . components; they were joined by their closest pairs"
    with pytest.warns(UserWarning, match=message):
        graph = on_cluster(cluster, islands, SETTINGS[name])
    with pytest.warns(UserWarning, match=message):
        alone = build_graph(islands, SETTINGS[name])
    assert_same(graph.collected(), alone)
    assert len(graph.bridges) >= 1


@pytest.mark.parametrize("together", [0, None])
def test_a_graph_in_parts_has_the_geodesics_of_its_matrix(cluster, roll, together):
    graph = on_cluster(cluster, roll, SETTINGS["euclidean"])
    landmarks = np.array([140, 3, 77])
    parts, longest = graph.geodesics(landmarks, together)
    expected = dijkstra(graph.matrix, directed=False, indices=landmarks).T
    assert longest == expected.max()
    for own, blocks in zip(graph.fitted.ids, parts, strict=True):
        np.testing.assert_array_equal(np.hstack(blocks), expected[own])


def test_components_stay_apart_if_they_are_not_to_be_joined(cluster, islands):
    setting = replace(SETTINGS["euclidean"], joined=False)
    graph = on_cluster(cluster, islands, setting)
    assert graph.bridges == ()
    assert_same(graph.collected(), build_graph(islands, setting))


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
