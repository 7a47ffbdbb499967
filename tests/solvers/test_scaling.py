"""Scaling: configurations are recovered from distances, or are as close to them as can be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from patchfold.solvers import eigenvectors, scaling
from patchfold.solvers.eigenvectors import Limits
from patchfold.solvers.scaling import classical_mds, least_stress, settled


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


def test_a_start_for_stress_has_half_of_the_digits():
    X = np.random.default_rng(0).normal(size=(300, 40)) * 0.9 ** np.arange(40)
    values, vectors, _ = classical_mds(cdist(X, X), 3, limits=Limits(dense=1))
    rough = classical_mds(cdist(X, X), 3, limits=Limits(dense=1, converged=scaling.START))
    np.testing.assert_allclose(rough[0], values, rtol=1e-10)
    np.testing.assert_allclose(rough[1], vectors, atol=1e-5)
    assert (rough[1] != vectors).any()


@pytest.mark.slow
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


# ------------------------------------------------------------------------------------ least stress


def stress_of(D, places):
    """Sum (d - e)^2 over all pairs, pair by pair."""
    n = len(D)
    return sum(
        (D[i, j] - np.linalg.norm(places[i] - places[j])) ** 2 for i in range(n) for j in range(n)
    )


def distances(n, m, seed):
    """Return distances of points in ``m`` dimensions, in units of the longest."""
    X = np.random.default_rng(seed).normal(size=(n, m))
    return cdist(X, X) / cdist(X, X).max()


def classical(D, d):
    values, vectors, _ = classical_mds(D.copy(), d)
    return vectors * np.sqrt(np.clip(values, 0, None))


def test_classical_scaling_leaves_squares_behind(limits):
    D = distances(60, 5, 0)
    left = D.copy()
    classical_mds(left, 2, limits=limits)
    np.testing.assert_array_equal(left, D**2)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_distances_that_fit_stay_as_they_are(d):
    D = distances(70, d, d)
    start = classical(D, d)
    places = least_stress(D**2, start)
    np.testing.assert_allclose(cdist(places, places), D, atol=1e-7)
    np.testing.assert_allclose(np.abs(places), np.abs(start), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m", "d"), [(12, 4, 2), (14, 5, 2), (10, 3, 2)])
def test_a_general_minimiser_finds_nothing_better_nearby(n, m, d):
    D = distances(n, m, n)
    start = classical(D, d)
    places = least_stress(D**2, start)
    best = minimize(lambda z: stress_of(D, z.reshape(n, d)), places.ravel(), method="BFGS")
    assert stress_of(D, places) == pytest.approx(best.fun, rel=1e-3)
    assert stress_of(D, places) < 0.6 * stress_of(D, start)


@given(
    n=st.integers(3, 40), m=st.integers(1, 6), d=st.integers(1, 3), seed=st.integers(0, 2**31 - 1)
)
def test_stress_never_grows_and_the_axes_are_the_widest(n, m, d, seed):
    D = distances(n, m, seed)
    start = classical(D, min(d, n - 1))
    places = least_stress(D**2, start)
    assert stress_of(D, places) <= stress_of(D, start) + 1e-9
    np.testing.assert_allclose(places.mean(axis=0), 0, atol=1e-12)
    spread = places.T @ places
    np.testing.assert_allclose(spread, np.diag(np.diag(spread)), atol=1e-9)
    assert (np.diff(np.diag(spread)) <= 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_least_stress_does_not_depend_on_threads(dtype):
    D = distances(200, 5, 0).astype(dtype)
    start = classical(D, 2)
    first, second = (least_stress(D**2, start, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_code_finds_the_same_places(dtype, monkeypatch):
    D = distances(150, 5, 2).astype(dtype)
    start = classical(D, 3)
    here = least_stress(D**2, start)
    near = D[:, :40], here[:40], here + 0.1
    new = settled(*near)
    monkeypatch.setattr(scaling, "COMPILED_FROM", 1)
    np.testing.assert_allclose(least_stress(D**2, start), here, atol=1e-10)
    np.testing.assert_allclose(settled(*near), new, atol=1e-9)


@pytest.mark.slow
def test_a_sample_that_moves_first_leaves_as_little_stress(monkeypatch):
    D = distances(300, 6, 1)
    start = classical(D, 2)
    whole = least_stress(D**2, start)
    monkeypatch.setattr(scaling, "SAMPLED_FROM", 300)
    monkeypatch.setattr(scaling, "SAMPLE", 100)
    sampled, again = (least_stress(D**2, start, n_jobs=jobs) for jobs in (1, 2))
    assert not np.array_equal(sampled, whole)
    assert stress_of(D, sampled) < 1.01 * stress_of(D, whole)
    np.testing.assert_array_equal(sampled, again)


def test_points_in_one_place_stay_there():
    places = least_stress(np.zeros((5, 5)), np.zeros((5, 2)))
    np.testing.assert_array_equal(places, 0)


def test_points_settle_where_a_general_minimiser_finds_them():
    rng = np.random.default_rng(0)
    targets, truth = rng.uniform(size=(30, 2)), rng.uniform(size=(12, 2))
    paths = cdist(truth, targets) * rng.uniform(0.9, 1.1, (12, 30))
    start = truth + rng.normal(scale=0.1, size=truth.shape)
    found = settled(paths, targets, start)
    for path, place, from_here in zip(paths, found, start, strict=True):

        def stress(z, path=path):
            return np.square(np.linalg.norm(targets - z, axis=1) - path).sum()

        best = minimize(stress, from_here, method="BFGS")
        assert stress(place) == pytest.approx(best.fun, rel=1e-4)
        np.testing.assert_allclose(place, best.x, atol=2e-3)


def test_exact_distances_settle_at_the_point_and_each_row_by_itself():
    rng = np.random.default_rng(1)
    targets, truth = rng.uniform(size=(40, 2)), rng.uniform(size=(20, 2))
    paths, start = cdist(truth, targets), truth + 0.05
    found = settled(paths, targets, start)
    np.testing.assert_allclose(found, truth, atol=1e-6)
    alone = np.concatenate([settled(paths[[i]], targets, start[[i]]) for i in range(20)])
    np.testing.assert_array_equal(found, alone)
