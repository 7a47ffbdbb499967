"""Given distances, or a given graph, replace the points."""

import warnings

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph

import slow_reference as slow
from equations import (
    DATA,
    assert_equal_up_to_sign,
    normal,
    slow_space,
)
from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE

JOINED = "the neighbourhood graph has .* components"


GIVEN = [
    pytest.param(PatchIsomap(n_neighbors=7, scaling="classical"), id="isomap"),
    pytest.param(PatchIsomap(n_neighbors=7, scaling="stress"), id="isomap of least stress"),
    pytest.param(PatchLLE(n_neighbors=7, weights="entropic"), id="entropic"),
    pytest.param(PatchEigenmaps(n_neighbors=7, bandwidth="median"), id="eigenmaps"),
]


@pytest.mark.parametrize("estimator", GIVEN)
def test_given_distances_or_a_graph_replace_the_points(estimator):
    X, Y = DATA["k > m"][0], normal(8, 5, 3)
    points = sklearn.clone(estimator).set_params(divergence="euclidean").fit(X)
    given = sklearn.clone(estimator).set_params(divergence="precomputed")
    dense = sklearn.clone(given).fit(cdist(X, X))
    directed = kneighbors_graph(X, 7, mode="distance")
    sparse = sklearn.clone(given).fit(directed)
    assert_equal_up_to_sign(dense.embedding_, points.embedding_, 1e-9)
    assert_equal_up_to_sign(sparse.embedding_, points.embedding_, 1e-9)
    assert dense.patches_ is None
    new = points.transform(Y)
    np.testing.assert_allclose(dense.transform(cdist(Y, X)), new, atol=1e-9)
    to_fitted = cdist(Y, X)
    far = np.sort(to_fitted, axis=1)[:, 7:8]
    rows = csr_array(np.where(to_fitted < far, to_fitted, 0))
    np.testing.assert_allclose(sparse.transform(rows), new, atol=1e-9)


@pytest.mark.parametrize("estimator", GIVEN)
def test_the_fitted_graph_given_again_gives_the_same_embedding(estimator):
    X = DATA["k < m"][0]
    fitted = sklearn.clone(estimator).fit(X)
    again = sklearn.clone(estimator).set_params(divergence="precomputed").fit(fitted.graph_)
    assert abs(again.graph_ - fitted.graph_).max() == 0
    if not isinstance(estimator, PatchLLE):  # whose neighbourhoods are directed
        assert_equal_up_to_sign(again.embedding_, fitted.embedding_, 1e-9)


def test_parts_of_given_distances_are_joined_by_the_closest_pair():
    X, k = DATA["disconnected"]
    expected = slow.isomap(slow_space("disconnected", "euclidean"), 2)[1]
    isomap = PatchIsomap(n_neighbors=k, divergence="precomputed", scaling="classical")
    with pytest.warns(UserWarning, match=JOINED):
        found = isomap.fit_transform(cdist(X, X))
    assert_equal_up_to_sign(found, expected, 1e-8)


def assert_refused(X, match, error=ValueError):
    with pytest.raises(error, match=match):
        PatchIsomap(n_neighbors=2, divergence="precomputed").fit(X)


def test_bad_given_distances_are_refused():
    D = cdist(np.arange(8.0)[:, None], np.arange(8.0)[:, None])
    assert_refused(
        D[:, :5], r"needs a square matrix of distances, X has shape \(8, 5\); give those between"
    )
    assert_refused(-D, r"needs distances >= 0, X has -7; give distances, e.g. 1 - X")
    assert_refused(csr_array(-D), r"needs distances >= 0, X has -7")
    assert_refused(np.where(D == 3, np.nan, D), "NaN")
    assert_refused(np.where(D == 3, np.inf, D), "inf")
    apart = np.kron(np.eye(2), np.ones((4, 4)))
    assert_refused(csr_array(apart), r"graph has 2 components; add edges until it is connected")


def test_distances_to_another_number_of_points_are_refused():
    D = cdist(DATA["k > m"][0], DATA["k > m"][0])
    fitted = PatchIsomap(n_neighbors=5, divergence="precomputed").fit(D)
    with pytest.raises(ValueError, match=r"X has 44 features, but .* 45 .* Give X the columns"):
        fitted.transform(D[:2, :44])


def test_zeros_of_a_given_graph_are_edges():
    # A path whose middle edge has length zero.
    i, lengths = np.arange(5), np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    both = np.r_[i, i + 1], np.r_[i + 1, i]
    path = csr_array((np.r_[lengths, lengths], both), shape=(6, 6))
    found = PatchIsomap(1, n_neighbors=2, divergence="precomputed").fit(path)
    place = np.array([0.0, 1, 2, 2, 3, 4]) - 2
    assert_equal_up_to_sign(found.embedding_, place[:, None], 1e-12)


def test_a_radius_cuts_given_distances_as_it_cuts_points():
    X = np.random.default_rng(4).normal(size=(60, 2))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the neighbourhood graph has")
        points = PatchIsomap(divergence="euclidean", radius=0.9).fit(X)
        given = PatchIsomap(divergence="precomputed", radius=0.9).fit(cdist(X, X))
    assert points.graph_.nnz == given.graph_.nnz < 60 * 59
    np.testing.assert_allclose(given.graph_.toarray(), points.graph_.toarray(), rtol=1e-12)


def test_a_sparse_graph_needs_no_n_neighbors():
    lengths = csr_array(np.diag(np.ones(9), 1) + np.diag(np.ones(9), -1))
    embedding = PatchIsomap(1, divergence="precomputed").fit_transform(lengths)
    np.testing.assert_allclose(np.abs(np.diff(embedding[:, 0])), 1.0, rtol=1e-9)


def test_sparse_matrix_is_taken_as_the_sparse_array_of_its_entries():
    X = DATA["k > m"][0]
    graph = kneighbors_graph(X, 8, mode="distance")
    labels = np.arange(len(X)) % 3
    model = PatchIsomap(divergence="precomputed", supervision="min-sum")
    places = [clone(model).fit_transform(kind(graph), labels) for kind in (csr_matrix, csr_array)]
    np.testing.assert_array_equal(*places)
