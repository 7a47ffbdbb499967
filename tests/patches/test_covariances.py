from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from sklearn.covariance import ledoit_wolf, oas

from patchfold.patches import covariances
from patchfold.patches.covariances import ESTIMATES, Setting, hazan_weights, principal, singular

SETTING = Setting(gamma=None, rank=2, scale=1.0)


def points(seed, n_points, m, stretch=1.0):
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((n_points, m)) * stretch ** np.linspace(0, 1, m)
    return P - P.mean(axis=0)


def covariance(name, P, divisor, setting=SETTING):
    counts = np.array([float(len(P))])
    spread = ESTIMATES[name](P[None] / np.sqrt(divisor), counts, setting)
    Z = spread.scattered()[0]
    return Z.T @ Z + np.diag(spread.ridge[0] * np.ones(P.shape[1]))


# ------------------------------------------------------------------ the estimates


@pytest.mark.parametrize(("n_points", "m"), [(5, 3), (5, 1), (6, 20), (30, 4), (3, 2)])
@pytest.mark.parametrize(("name", "peer"), [("ledoit-wolf", ledoit_wolf), ("oas", oas)])
def test_estimated_shrinkages_are_those_of_scikit_learn(name, peer, n_points, m):
    P = points(m, n_points, m, stretch=10.0)
    expected, _ = peer(P, assume_centered=True)
    np.testing.assert_allclose(covariance(name, P, n_points), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("n_points", "m"), [(9, 3), (5, 8)])
def test_each_formula_is_the_one_its_docstring_gives(n_points, m):
    P = points(0, n_points, m, stretch=5.0)
    C = P.T @ P / (n_points - 1)
    values, vectors = np.linalg.eigh(C)
    leading = (vectors[:, -2:] * values[-2:]) @ vectors[:, -2:].T
    identity = np.eye(m)
    setting = Setting(gamma=0.2, rank=2, scale=1.0)
    expected = {
        "empirical": C,
        "ridge": C + 0.2 * identity,
        "ridge-if-singular": C + 0.2 * identity * (n_points <= m),
        "shrinkage": 0.8 * C + 0.2 * np.trace(C) / m * identity,
        "diagonal-shrinkage": 0.8 * C + 0.2 * np.diag(np.diag(C)),
        "low-rank": leading + 0.2 * identity,
    }
    for name, value in expected.items():
        got = covariance(name, P, n_points - 1, setting)
        np.testing.assert_allclose(got, value, rtol=1e-10, atol=1e-12, err_msg=name)


def test_every_estimate_has_a_test_of_its_formula():
    tested = {"empirical", "ridge", "ridge-if-singular", "shrinkage", "diagonal-shrinkage"}
    assert set(ESTIMATES) == tested | {"low-rank", "ledoit-wolf", "oas", "hazan"}


@pytest.mark.parametrize("name", ["shrinkage", "diagonal-shrinkage", "ledoit-wolf", "oas"])
def test_shrinking_equal_points_leaves_a_positive_definite_covariance(name):
    estimate = covariance(name, np.zeros((5, 3)), 4, Setting(gamma=None, rank=None, scale=7.0))
    assert np.linalg.eigvalsh(estimate).min() > 0


@pytest.mark.parametrize("name", ["ledoit-wolf", "oas"])
def test_estimated_shrinkages_do_not_overflow_in_float32(name):
    P = (1e12 * points(1, 6, 40)).astype(np.float32)
    spread = ESTIMATES[name](P[None], np.ones(1, np.float32) * 6, Setting(None, None, 1e24))
    Z, ridge = spread.rows, spread.ridge
    assert Z.dtype == ridge.dtype == np.float32
    assert np.isfinite(Z).all()
    assert np.isfinite(ridge).all()
    assert ridge[0] > 0


def test_automatic_gammas_follow_the_scale_of_the_data():
    setting = Setting(gamma=None, rank=None, scale=50.0)
    assert setting.ridge == 50 * covariances.AUTO_RIDGE
    assert setting.intensity == covariances.AUTO_INTENSITY
    assert Setting(gamma=0.3, rank=None, scale=50.0).ridge == 0.3


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 8))
def test_principal_directions_diagonalise_the_covariance(seed, n_points, m):
    Y = np.random.default_rng(seed).standard_normal((3, n_points, m))
    directions, variances = principal(Y, None)
    gram = directions.transpose(0, 2, 1) @ directions
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(gram.shape[1]), gram.shape), atol=1e-12)
    rebuilt = (directions * variances[:, None, :]) @ directions.transpose(0, 2, 1)
    np.testing.assert_allclose(rebuilt, Y.transpose(0, 2, 1) @ Y, atol=1e-10)
    assert (np.diff(variances, axis=1) <= 0).all()


def test_singular_means_a_condition_number_above_one_over_eps():
    eps = np.finfo(float).eps
    Y = np.stack([np.diag([1.0, ratio]) for ratio in (1.0, 2 * eps**0.5, 0.5 * eps**0.5, 0.0)])
    assert singular(Y).tolist() == [False, False, True, True]
    assert singular(np.ones((2, 1, 3))).all()


# ------------------------------------------------------------------ Algorithm 1 of X-space

R_EIGENVALUES = {
    "equal": [1.0, 1.0, 1.0],
    "mild": [0.5, 1.0, 2.0, 4.0],
    "spread": [1e-2, 1e-1, 1.0, 10.0, 100.0],
    "small": [1e-3, 2e-3, 5e-3],
    "large": [50.0, 200.0, 1000.0, 5000.0, 6000.0, 7000.0],
    "single": [3.0],
}


def objective(S, R):
    return np.log(S).sum() - (S * R).sum()


def optimum(R):
    """``(R + lambda I)^-1`` of trace one."""
    least = R.min()
    shift = brentq(lambda x: (1 / (R + x)).sum() - 1, -least + 1e-12, len(R) * 2.0 + 1)
    return 1 / (R + shift)


def plain_algorithm_1(R, start, n_steps):
    """Algorithm 1 as printed, on matrices: an eigen-decomposition of the gradient a step."""
    S = np.outer(start, start)
    for t in range(1, n_steps + 1):
        values, vectors = np.linalg.eigh(S)
        null = vectors[:, values < 1e-12]
        if null.shape[1]:  # the gradient is unbounded there; -R decides within
            _, inside = np.linalg.eigh(null.T @ R @ null)
            v = null @ inside[:, 0]
        else:
            _, vectors = np.linalg.eigh(np.linalg.inv(S) - R)
            v = vectors[:, -1]
        S = S + min(1, 2 / t) * (np.outer(v, v) - S)
    return S


@pytest.mark.parametrize("R", R_EIGENVALUES.values(), ids=R_EIGENVALUES)
def test_hazans_iterate_has_trace_one_and_rank_at_most_t(R):
    R = np.array(R)
    for t in [1, 2, 3, 4, 5, 10, 100, 1001]:
        S = hazan_weights(R[None], t)[0]
        assert S.sum() == pytest.approx(1, abs=1e-12)
        assert (S >= 0).all()
        assert np.count_nonzero(S) <= t


@pytest.mark.slow
@pytest.mark.parametrize("R", R_EIGENVALUES.values(), ids=R_EIGENVALUES)
def test_hazans_gap_to_the_optimum_shrinks_like_one_over_t(R):
    R = np.array(R)
    best = objective(optimum(R), R)
    starts = np.array([250, 1000, 4000])
    worst = np.array(
        [
            # The gap of a step is not monotone: the worst one of a stretch [t, 2t] is looked at.
            max(best - objective(hazan_weights(R[None], int(t))[0], R) for t in stretch)
            for stretch in np.linspace(starts, 2 * starts, 8, axis=1)
        ]
    )
    assert (worst >= -1e-9 * abs(best)).all()
    assert (starts * worst <= 1.5 * starts[0] * worst[0] + 1e-6).all()


def test_hazans_iterates_on_eigenvalues_are_those_of_the_algorithm_on_matrices():
    rng = np.random.default_rng(2)
    R_values = np.array([0.3, 0.9, 2.0, 5.0])
    V = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    R = (V * R_values) @ V.T
    for t in [1, 2, 3, 4, 6, 20]:
        S = plain_algorithm_1(R, V[:, 0], t)
        expected = (V * hazan_weights(R_values[None], t)[0]) @ V.T
        np.testing.assert_allclose(S, expected, atol=1e-9)


def test_the_optimum_of_the_unit_trace_problem_is_the_inverse_of_a_shifted_matrix():
    # The gradient S^-1 - R of the optimum is a multiple of I, to 50 digits.
    R = [mp.mpf(x) for x in ("0.5", "1", "4")]
    with mp.workdps(50):
        shift = mp.findroot(lambda x: sum(1 / (r + x) for r in R) - 1, 1)
        S = [1 / (r + shift) for r in R]
        gradient = [1 / s - r for s, r in zip(S, R, strict=True)]
        assert abs(sum(S) - 1) < mp.mpf(10) ** -40
        assert max(gradient) - min(gradient) < mp.mpf(10) ** -40
    np.testing.assert_allclose(optimum(np.array([0.5, 1, 4])), [float(s) for s in S], rtol=1e-9)


def test_the_hazan_estimate_tends_to_the_regularised_covariance():
    P = points(4, 30, 3, stretch=4.0)
    R = covariance("ridge", P, 29, Setting(gamma=0.1, rank=None, scale=1.0))
    errors = []
    for steps in [50, 500, 5000]:
        got = covariance("hazan", P, 29, Setting(gamma=0.1, rank=steps, scale=1.0))
        errors.append(np.abs(got - R).max() / np.abs(R).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


def test_the_hazan_estimate_does_not_depend_on_the_units_of_the_data():
    P = points(4, 6, 10)
    one = covariance("hazan", P, 5, Setting(gamma=None, rank=40, scale=1.0))
    other = covariance("hazan", 2.0**10 * P, 5, Setting(gamma=None, rank=40, scale=2.0**20))
    np.testing.assert_allclose(other, 2.0**20 * one, rtol=1e-12)
