from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf, oas

from patchfold.patches import covariances
from patchfold.patches.covariances import ESTIMATES, SHARES, Setting, principal, singular
from patchfold.patches.hazan import GAP, hazan_weights

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
    tested |= {"low-rank", "ledoit-wolf", "oas", "hazan", "graphical-lasso"}
    assert set(ESTIMATES) == tested


@pytest.mark.parametrize(("n_points", "m"), [(9, 3), (5, 8)])
def test_the_graphical_lasso_solves_its_equations_in_correlations(n_points, m):
    P = points(3, n_points, m, stretch=100.0)
    got = covariance("graphical-lasso", P, n_points - 1, Setting(0.3, None, scale=1.0))
    C = P.T @ P / (n_points - 1) + covariances.AUTO_RIDGE * np.eye(m)
    units = np.sqrt(np.diag(C))
    R, W = C / np.outer(units, units), got / np.outer(units, units)
    # At the optimum of ln det T - tr(R T) - 0.3 sum |T_pq| off the diagonal, its inverse W has
    # W = R + 0.3 sign(T) where T is not zero, |W - R| <= 0.3 elsewhere, and the diagonal of R.
    T = np.linalg.inv(W)
    off, kept = ~np.eye(m, dtype=bool), np.abs(T) > 1e-3
    np.testing.assert_allclose(np.diag(W), 1.0, rtol=1e-9)
    assert (np.abs(W - R)[off] <= 0.3 + 5e-3).all()
    np.testing.assert_allclose((W - R)[off & kept], 0.3 * np.sign(T[off & kept]), atol=5e-3)
    assert (off & ~kept).any()


def test_the_graphical_lasso_of_one_feature_is_its_variance():
    P = points(0, 6, 1)
    got = covariance("graphical-lasso", P, 5)
    np.testing.assert_allclose(got, P.T @ P / 5 + covariances.AUTO_RIDGE, rtol=1e-12)


def test_a_penalty_that_is_too_small_gets_a_message():
    P = points(1, 4, 30)
    with pytest.raises(ValueError, match=r"gamma=1e-12; use a larger gamma"):
        covariance("graphical-lasso", P, 3, Setting(1e-12, None, scale=1e-12))


@pytest.mark.parametrize("name", [*SHARES, "ledoit-wolf", "oas"])
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


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.floats(0, 12))
def test_products_of_points_give_the_covariance_up_to_its_rounding(seed, n_points, digits):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((3, n_points, 20)) * np.logspace(0, -digits / 2, 20)
    directions, variances = principal(Y, None, by_products=True)
    rebuilt = (directions * variances[:, None, :]) @ directions.transpose(0, 2, 1)
    largest = variances.max()
    np.testing.assert_allclose(rebuilt, Y.transpose(0, 2, 1) @ Y, atol=1e-13 * largest)
    np.testing.assert_allclose(variances, principal(Y, None)[1], atol=1e-13 * largest)
    gram = directions.transpose(0, 2, 1) @ directions
    weight = np.sqrt(variances / largest)
    error = (gram - np.eye(n_points)) * weight[:, :, None] * weight[:, None, :]
    np.testing.assert_allclose(error, 0, atol=1e-11)


def test_singular_means_a_condition_number_above_one_over_eps():
    eps = np.finfo(float).eps
    Y = np.stack([np.diag([1.0, ratio]) for ratio in (1.0, 2 * eps**0.5, 0.5 * eps**0.5, 0.0)])
    assert singular(Y).tolist() == [False, False, True, True]
    assert singular(np.ones((2, 1, 3))).all()


# ------------------------------------------------------------------ Algorithm 1 of X-space

R_EIGENVALUES = {
    "equal": [1.0, 1.0, 1.0],
    "mild": [4.0, 2.0, 1.0, 0.5],
    "spread": [100.0, 10.0, 1.0, 1e-1, 1e-2],
    "small": [5e-3, 2e-3, 1e-3],
    "large": [7000.0, 6000.0, 5000.0, 1000.0, 200.0, 50.0],
    "single": [3.0],
}


def scaled(eigenvalues):
    """The same in the unit in which the inverse has trace one, and so solves the problem."""
    R = np.array(eigenvalues)
    return R * np.sum(1 / R)


def objective(S, R):
    return np.log(S).sum() - (S * R).sum()


def gap_of(S, R):
    return objective(1 / R, R) - objective(S, R)


def plain_algorithm_1(R, rank, gap, most_steps=10**6):
    """Algorithm 1 as printed, on full matrices: the iterate of least gap.

    Where ``S`` is singular its gradient is unbounded in its null space, and the leading direction
    of ``R`` in it is taken until ``S`` has the rank; from then on the leading eigenvector of the
    gradient in the range of ``S``.
    """
    m = len(R)
    start = np.linalg.eigh(R)[1][:, -1]
    S, best = np.outer(start, start), (np.inf, None)
    for t in range(1, most_steps + 1):
        values, vectors = np.linalg.eigh(S)
        within, null = vectors[:, values > 1e-12], vectors[:, values <= 1e-12]
        if within.shape[1] < rank:
            v = null @ np.linalg.eigh(null.T @ R @ null)[1][:, -1]
        else:
            inverse = np.linalg.inv(within.T @ S @ within)
            v = within @ np.linalg.eigh(inverse - within.T @ R @ within)[1][:, -1]
        S = S + min(1, 2 / t) * (np.outer(v, v) - S)
        values, vectors = np.linalg.eigh(S)
        within = vectors[:, values > 1e-12]
        assert within.shape[1] <= min(t, rank, m)
        if within.shape[1] == rank:
            product = within.T @ S @ within @ within.T @ R @ within
            reached = np.trace(product) - np.linalg.slogdet(product)[1] - rank
            best = min(best, (reached, S), key=lambda pair: pair[0])
            if reached <= gap:
                break
    return best[1]


@pytest.mark.parametrize("eigenvalues", R_EIGENVALUES.values(), ids=R_EIGENVALUES)
def test_hazans_iterate_has_trace_one_and_rank_at_most_t(eigenvalues):
    R = scaled(eigenvalues)
    for t in [1, 2, 3, 4, 5, 10, 100, 1001]:
        S = hazan_weights(R[None], 0.0, t)[0]
        assert S.sum() == pytest.approx(1, abs=1e-12)
        assert (S >= 0).all()
        assert np.count_nonzero(S) <= t


@pytest.mark.parametrize("eigenvalues", R_EIGENVALUES.values(), ids=R_EIGENVALUES)
@pytest.mark.parametrize("gap", [0.1, 0.01, GAP])
def test_hazans_algorithm_stops_at_the_gap_to_the_known_optimum(eigenvalues, gap):
    R = scaled(eigenvalues)
    S = hazan_weights(R[None], gap)[0]
    assert -1e-12 <= gap_of(S, R) <= gap
    assert np.abs(S * R - 1).max() <= 1.05 * np.sqrt(2 * gap) + gap


def test_hazans_algorithm_ends_where_the_gap_cannot_be_reached():
    R = scaled(np.geomspace(1e8, 1, 20))
    gaps = [gap_of(hazan_weights(R[None], GAP, most)[0], R) for most in (100, 1000, 10_000)]
    assert gaps[0] >= gaps[1] >= gaps[2] > GAP


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_the_hazan_estimate_is_the_algorithm_on_full_matrices(rank):
    P, gamma = points(2, 12, 4, stretch=4.0), 0.05
    R = P.T @ P / 11 + gamma * np.eye(4)
    leading = np.linalg.eigh(R)[1][:, ::-1][:, :rank]
    unit = np.trace(np.linalg.inv(leading.T @ R @ leading))
    S = plain_algorithm_1(R * unit, rank, GAP)
    inverse = np.linalg.pinv(S * unit, rcond=1e-9, hermitian=True)
    expected = inverse + gamma * (np.eye(4) - leading @ leading.T)
    got = covariance("hazan", P, 11, Setting(gamma=gamma, rank=rank, scale=1.0))
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("m", [3, 9])
@pytest.mark.parametrize("rank", [1, 2, 3, None])
def test_the_hazan_estimate_is_of_its_rank_and_within_the_gap_of_its_optimum(rank, m):
    P = points(4, 6, m, stretch=4.0)
    setting = Setting(gamma=0.1, rank=rank, scale=1.0)
    got = covariance("hazan", P, 5, setting)
    values = np.linalg.eigvalsh(got - 0.1 * np.eye(m))
    kept = min(rank or 5, m, 5)
    assert np.count_nonzero(values > 1e-9) <= kept
    assert values.min() > -1e-9
    name = "ridge" if rank is None else "low-rank"
    product = np.linalg.solve(covariance(name, P, 5, setting), got)
    excess = np.trace(np.linalg.inv(product)) + np.linalg.slogdet(product)[1] - m
    assert 0 < excess + 1e-12 <= GAP + 1e-9


def test_the_optimum_of_the_unit_trace_problem_is_the_inverse_of_a_shifted_matrix():
    # The gradient S^-1 - R of the optimum is a multiple of I, to 50 digits; the shift is zero in
    # the unit in which the inverse of R has trace one.
    R = [mp.mpf(x) for x in ("0.5", "1", "4")]
    with mp.workdps(50):
        for unit in (mp.mpf(1), sum(1 / r for r in R)):
            shift = mp.findroot(lambda x, unit=unit: sum(1 / (unit * r + x) for r in R) - 1, 1)
            S = [1 / (unit * r + shift) for r in R]
            gradient = [1 / s - unit * r for s, r in zip(S, R, strict=True)]
            assert abs(sum(S) - 1) < mp.mpf(10) ** -40
            assert max(gradient) - min(gradient) < mp.mpf(10) ** -40
        assert abs(shift) < mp.mpf(10) ** -40


def test_the_hazan_estimate_does_not_depend_on_the_units_of_the_data():
    P = points(4, 6, 10)
    one = covariance("hazan", P, 5, Setting(gamma=None, rank=4, scale=1.0))
    other = covariance("hazan", 2.0**10 * P, 5, Setting(gamma=None, rank=4, scale=2.0**20))
    np.testing.assert_allclose(other, 2.0**20 * one, rtol=1e-12)
