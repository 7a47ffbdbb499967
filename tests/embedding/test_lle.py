"""Locally linear embedding: its weights are exact, however large divergences are."""

import mpmath as mp
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from sklearn.manifold import LocallyLinearEmbedding

import slow_reference as slow
from equations import (
    DATA,
    PLAIN,
    assert_equal_up_to_sign,
    slow_space,
)
from patchfold import PatchLLE
from patchfold.embedding.lle import centred_bottom, entropic_weights, euclidean_weights
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.solvers.eigenvectors import bottom_eigenvectors


@pytest.mark.parametrize("reg", [1e-6, 1.0, 100.0])
@pytest.mark.parametrize("weights", ["entropic", "euclidean"])
def test_any_regularisation_follows_the_equations(weights, reg):
    estimator = PatchLLE(n_neighbors=5, **PLAIN, weights=weights, reg=reg)
    found = estimator.fit_transform(DATA["k < m"][0])
    expected = slow.lle(slow_space("k < m"), 2, weights, reg)[1]
    assert_equal_up_to_sign(found, expected, 1e-8)


def test_given_distances_have_no_euclidean_weights():
    with pytest.raises(ValueError, match=r"weights='euclidean' needs points.*weights='entropic'"):
        PatchLLE(weights="euclidean", divergence="precomputed").fit(np.ones((9, 9)))


# ------------------------------------------------------------------- entropic weights


def rows_of(lengths):
    lengths = [np.asarray(row, dtype=float) for row in lengths]
    return Neighborhoods(
        np.cumsum([0, *map(len, lengths)]),
        np.concatenate([np.arange(len(row)) for row in lengths]),
        np.concatenate(lengths),
    )


@pytest.mark.parametrize("reg", [1e-3, 1.0])
def test_entropic_weights_solve_the_equations_of_the_seed(reg):
    rng = np.random.default_rng(0)
    lengths = [rng.uniform(0, 3, k) for k in (1, 2, 5, 5, 15, 40)]
    solved = [
        np.linalg.solve(np.outer(d, d) + reg * np.eye(len(d)), np.ones(len(d))) for d in lengths
    ]
    expected = np.concatenate([w / w.sum() for w in solved])
    np.testing.assert_allclose(entropic_weights(rows_of(lengths), reg), expected, atol=1e-9)


@pytest.mark.parametrize("largest", [1.0, 1e2, 1e4, 1e6, 1e8])
def test_entropic_weights_are_exact_for_large_divergences(largest):
    rng = np.random.default_rng(1)
    lengths = [largest * rng.uniform(0, 1, 12), largest * 10.0 ** -rng.uniform(0, 8, 12)]
    found = entropic_weights(rows_of(lengths), 1e-3)
    expected = np.concatenate([slow.entropic_weights(row, 1e-3) for row in lengths])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose([found[:12].sum(), found[12:].sum()], 1, rtol=1e-12)


@pytest.mark.parametrize("length", [0.0, 0.1, 1e3])
@pytest.mark.parametrize("k", [1, 3, 7, 30])
def test_equal_divergences_share_the_weight(length, k):
    found = entropic_weights(rows_of([[length] * k]), 1e-3)
    np.testing.assert_allclose(found, 1 / k, rtol=1e-9)


@pytest.mark.parametrize("d", [[1e8 / 3] * 7, [1e8, 1e8 + 1, 1e8 + 3], [5.0] * 3])
def test_entropic_weights_of_large_almost_equal_divergences_are_exact(d):
    with mp.workdps(60):
        column = mp.matrix(d)
        C = column * column.T + mp.mpf(1e-3) * mp.eye(len(d))
        w = mp.lu_solve(C, mp.ones(len(d), 1))
        expected = [float(value / sum(w)) for value in w]
    np.testing.assert_allclose(entropic_weights(rows_of([d]), 1e-3), expected, rtol=1e-9)


def sheet(n):
    u, v = np.random.default_rng(0).random((2, n))
    return np.column_stack([2 * u, v, 0.8 * u * u])


def test_euclidean_lle_is_scikit_learns_with_its_regularisation():
    X = sheet(200)
    ours = PatchLLE(divergence="euclidean", reg=1e-3).fit_transform(X)
    theirs = LocallyLinearEmbedding(n_neighbors=15, eigen_solver="dense").fit_transform(X)
    assert np.corrcoef(pdist(ours), pdist(theirs))[0, 1] > 0.999


@pytest.mark.parametrize("power", [-1000, -600, -500, -30, 30, 500, 600, 900])
def test_euclidean_lle_does_not_depend_on_units(power):
    X = sheet(80)
    expected = PatchLLE(divergence="euclidean").fit(X)
    found = PatchLLE(divergence="euclidean").fit(np.ldexp(X, power))
    assert_equal_up_to_sign(found.embedding_, expected.embedding_, 1e-6)
    new = X[:9] + 0.01
    placed = found.transform(np.ldexp(new, power))
    assert_equal_up_to_sign(placed, expected.transform(new), 1e-6)


def test_weights_of_a_point_in_other_units_than_the_rest_are_its_own():
    points = np.random.default_rng(0).normal(size=(12, 3))
    near = Neighborhoods(np.array([0, 5, 10]), np.arange(10), np.ones(10))
    fitted = np.vstack([points[:5] * 1e-200, points[5:10]])
    expected = euclidean_weights(near, np.zeros((2, 3)), points, 1e-3)
    found = euclidean_weights(near, np.zeros((2, 3)), fitted, 1e-3)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*components:UserWarning")
@pytest.mark.filterwarnings("ignore:.*unreadable|.*cannot be:UserWarning")
def test_many_clusters_are_embedded():
    rng = np.random.default_rng(0)
    X = (100 * rng.normal(size=(60, 1, 3)) + rng.normal(size=(60, 20, 3))).reshape(-1, 3)
    Y = PatchLLE().fit_transform(X)
    assert Y.shape == (1200, 2)
    assert np.isfinite(Y).all()


@pytest.mark.parametrize("scale", [1e150, 1e200, 1e300])
def test_entropic_weights_are_those_without_a_ridge_where_squares_overflow(scale):
    rows = np.array([0, 4, 8])
    d = np.array([0.5, 0.7, 1.0, 1.1, 2.0, 2.0, 2.0, 2.0])
    found = entropic_weights(Neighborhoods(rows, np.arange(8), d * scale), 1e-3)
    expected = entropic_weights(Neighborhoods(rows, np.arange(8), d * 1e30), 1e-3)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# ------------------------------------------------------------------- too few neighbours


def groups_written_in_themselves(count, size=5):
    """Return ``(I - W)'(I - W)`` of points that are the means of the others of their group."""
    W = np.kron(np.eye(count), (1 - np.eye(size)) / (size - 1))
    R = np.eye(len(W)) - W
    return csr_array(R.T @ R)


def test_constant_is_no_part_of_the_embedding_where_three_groups_are_written_in_themselves():
    M = groups_written_in_themselves(3)
    values, Y = centred_bottom(M, 2)
    np.testing.assert_allclose(values, 0, atol=1e-13)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Y.T @ Y, np.eye(2), atol=1e-12)
    corners = Y.reshape(3, 5, 2)
    np.testing.assert_allclose(np.ptp(corners, axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(pdist(corners[:, 0]), (2 / 5) ** 0.5)


def test_more_groups_than_dimensions_are_said_to_be_arbitrary():
    M = groups_written_in_themselves(4)
    with pytest.warns(UserWarning, match=r"more than 3 parts.*rounding decides which 2.*raise n_n"):
        centred_bottom(M, 2)
    assert centred_bottom(M, 3)[1].shape == (20, 3)  # without a warning


def test_one_zero_eigenvalue_is_the_constant_and_left_out():
    M = groups_written_in_themselves(1, size=9)
    values, Y = centred_bottom(M, 2)
    expected = bottom_eigenvectors(M, 2, skip=1)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(Y, expected[1])


@pytest.mark.filterwarnings("ignore:.*components:UserWarning")
@pytest.mark.filterwarnings("ignore:.*unreadable|.*cannot be:UserWarning")
def test_the_order_of_columns_changes_no_embedding_by_two_neighbours():
    X = sheet(60)
    first, second = (
        PatchLLE(n_neighbors=2, divergence="euclidean").fit_transform(X[:, order])
        for order in ([0, 1, 2], [2, 0, 1])
    )
    np.testing.assert_allclose(pdist(first), pdist(second), atol=1e-9)
