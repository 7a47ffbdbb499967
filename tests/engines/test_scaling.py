"""Classical scaling: configurations are recovered from their distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from patchfold.engines import eigenvectors, scaling
from patchfold.engines.eigenvectors import Limits
from patchfold.engines.scaling import classical_mds


def centring(n):
    return np.eye(n) - np.full((n, n), 1 / n)


@pytest.fixture(params=["dense", "iterative"])
def limits(request):
    """Run a test with either solver."""
    return Limits() if request.param == "dense" else Limits(dense=1)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_classical_scaling_recovers_points_up_to_rotation(m, limits):
    X = np.random.default_rng(m).normal(size=(60, m))
    D = cdist(X, X)
    values, vectors, means = classical_mds(D.copy(), m, limits=limits)
    found = vectors * np.sqrt(values)
    np.testing.assert_allclose(cdist(found, found), D, atol=1e-10)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(means, (D**2).mean(axis=0))


def test_classical_scaling_has_the_leading_eigenpairs_of_the_centred_matrix(limits):
    rng = np.random.default_rng(0)
    D = rng.uniform(1, 2, (50, 50))
    D = np.triu(D, 1) + np.triu(D, 1).T
    B = -centring(50) @ D**2 @ centring(50) / 2
    expected = np.linalg.eigvalsh(B)[::-1][:4]
    values, vectors, _ = classical_mds(D.copy(), 4, limits=limits)
    np.testing.assert_allclose(values, expected, rtol=1e-10)
    np.testing.assert_allclose(B @ vectors, vectors * values, atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-10)


def test_the_iterative_solver_gives_the_same_bits_every_time():
    X = np.random.default_rng(0).normal(size=(120, 6))
    first, second = (classical_mds(cdist(X, X), 3, limits=Limits(dense=1)) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_both_solvers_scale_alike():
    X = np.random.default_rng(0).normal(size=(120, 6))
    dense = classical_mds(cdist(X, X), 3)
    iterative = classical_mds(cdist(X, X), 3, limits=Limits(dense=1))
    for a, b in zip(dense, iterative, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_products_are_those_with_the_centred_matrix():
    rng = np.random.default_rng(0)
    squared = rng.uniform(size=(1500, 1500))
    V = rng.normal(size=(1500, 3))
    H = centring(1500)
    found = scaling._centred_product(squared, V, 2)
    np.testing.assert_allclose(found, -H @ squared @ H @ V / 2, atol=1e-10)
    np.testing.assert_array_equal(found, scaling._centred_product(squared, V, None))


def test_distances_in_float32_are_scaled_in_float64(limits):
    X = np.random.default_rng(0).normal(size=(120, 3))
    exact = classical_mds(cdist(X, X), 3, limits=limits)
    rounded = classical_mds(cdist(X, X).astype(np.float32), 3, limits=limits)
    for a, b in zip(exact, rounded, strict=True):
        assert b.dtype == np.float64
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def test_a_block_solver_that_is_stopped_early_is_reported():
    D = np.random.default_rng(0).uniform(1, 2, (80, 80))
    with pytest.warns(ConvergenceWarning, match="residual"):
        classical_mds(D + D.T, 2, limits=Limits(dense=1, passes=2))


def wrong_pairs(*args, **kwargs):
    return np.array([0.5, 0.7]), np.linalg.qr(np.cos(np.arange(160.0)).reshape(80, 2))[0]


def test_vectors_that_are_none_of_the_matrix_are_reported(monkeypatch):
    monkeypatch.setattr(eigenvectors, "eigh", wrong_pairs)
    X = np.random.default_rng(0).normal(size=(80, 3))
    with pytest.warns(ConvergenceWarning, match="residual"):
        classical_mds(cdist(X, X), 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_axes_as_short_as_rounding_place_nothing(dtype):
    along = np.linspace(-1, 1, 50)
    rounding = np.sqrt(np.finfo(dtype).eps) * np.cos(9 * along)
    axes = scaling.triangulation(np.column_stack([along, rounding]), precision=dtype)
    np.testing.assert_allclose(axes[:, 0] @ along, 1, atol=1e-6)
    off = np.square(np.abs(along - 0.3)) + 1e-3 * np.cos(5 * along)  # a point that misses the line
    assert np.abs(off @ axes)[1] < 1e-3


def test_short_axes_above_rounding_are_kept():
    along = np.linspace(-1, 1, 50)
    across = 1e-5 * np.cos(np.pi * along)
    axes = scaling.triangulation(np.column_stack([along, across]))
    np.testing.assert_allclose(axes[:, 1] @ (across - across.mean()), 1, rtol=1e-6)
