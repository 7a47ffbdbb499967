"""PatchSpace.distances: the divergences of points from all fitted ones."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy.spatial.distance import cdist
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

import slow_reference as slow
from equations import DATA, PLAIN, normal, slow_space
from patchfold import PatchSpace, divergences


@pytest.mark.parametrize("name", ["kl", "hellinger", "bhattacharyya-riemann"])
@pytest.mark.parametrize("data", ["k > m", "k < m"])
def test_new_points_are_compared_with_all_fitted_ones_by_the_equations(name, data):
    X, k = DATA[data]
    space = slow_space(data, name)
    Y = normal(9, 5, X.shape[1])
    members = slow.nearest(slow.distances(Y, X), k, None, own=False)
    new = slow.patches(Y, X, space.patch_members(members), None)
    expected = [[slow.divergence(name, a, b) for b in space.patches] for a in new]
    fitted = PatchSpace(n_neighbors=k, divergence=name, **PLAIN).fit(X)
    np.testing.assert_allclose(fitted.distances(Y), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("memory", [1024, 0.001])
@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
def test_fitted_points_have_the_divergences_of_all_pairs_and_the_edges_of_the_graph(graph, memory):
    X, k = DATA["k > m"]
    fitted = PatchSpace(n_neighbors=k, graph=graph, divergence="hellinger", **PLAIN).fit(X)
    with sklearn.config_context(working_memory=memory):
        D = fitted.distances(np.concatenate([X[::-1], X[:1] + 1e-3]))
    every = divergences.pairwise(fitted.patches_, "hellinger")
    np.testing.assert_array_equal(D[:-1], every[::-1])
    assert np.isfinite(D).all()
    edges = fitted.graph_.tocoo()
    np.testing.assert_array_equal(edges.data, every[edges.row, edges.col])
    row = fitted.transform(X[:1] + 1e-3).tocoo()
    np.testing.assert_allclose(D[-1, row.col], row.data, rtol=1e-9)


def test_default_patches_are_compared_with_copies_merged_and_points_without_patches_by_distance():
    X = np.concatenate([normal(0, 60, 3), normal(0, 8, 3)])
    fitted = PatchSpace().fit(X)
    D = fitted.distances(X)
    assert D.shape == (68, 68)
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_array_equal(D[60:], fitted.distances(X[:8]))
    plain = PatchSpace(divergence="euclidean").fit(X)
    np.testing.assert_allclose(plain.distances(X[:4] + 1), cdist(X[:4] + 1, X))


def test_blocks_do_not_change_distances(monkeypatch):
    X, Y = normal(0, 60, 3), normal(1, 20, 3)
    fitted = PatchSpace(n_neighbors=6).fit(X)
    both = np.concatenate([Y[:7], X[:9], Y[7:]])
    whole = fitted.distances(both)
    monkeypatch.setattr("patchfold.graph.new_points.BLOCK_PAIRS", 200)
    np.testing.assert_array_equal(fitted.distances(both), whole)
    np.testing.assert_allclose(fitted.distances(Y), np.delete(whole, np.s_[7:16], axis=0))


def test_rows_too_far_away_for_a_patch_are_refused():
    fitted = PatchSpace().fit(normal(0, 60, 3).astype(np.float32))
    with pytest.raises(ValueError, match="so far from the fitted points that its patch overflows"):
        fitted.distances(np.array([[1e30, 0, 0]], dtype=np.float32))


def test_given_distances_have_no_others():
    fitted = PatchSpace(n_neighbors=5, divergence="precomputed").fit(1 - np.eye(20))
    with pytest.raises(ValueError, match="no other distances than those given"):
        fitted.distances(np.ones((2, 20)))


def test_distances_serve_nearest_neighbours_with_patches_of_new_points():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[:120], rows[120:]
    space = PatchSpace(divergence="bhattacharyya").fit(X[train])
    model = KNeighborsClassifier(5, metric="precomputed").fit(space.distances(X[train]), y[train])
    assert model.score(space.distances(X[test]), y[test]) > 0.9
