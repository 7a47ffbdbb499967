"""Divergences between two Gaussians to 50 digits, straight from their textbook formulas."""

from __future__ import annotations

import mpmath as mp

DIGITS = 50


def matrix(array):
    """Take float64 numbers over exactly."""
    return mp.matrix(array.tolist())


def factored_covariance(directions, variances, ridge):
    """``ridge I + Q diag(variances) Q'`` without rounding."""
    with mp.workdps(DIGITS):
        Q = matrix(directions)
        return mp.mpf(float(ridge)) * mp.eye(Q.rows) + Q * mp.diag(variances.tolist()) * Q.T


def divergences(mean_a, S_a, mean_b, S_b):
    """Evaluate all divergences of one pair; means (as columns) and covariances are exact."""
    with mp.workdps(DIGITS):
        u, G = mean_a - mean_b, (S_a + S_b) / 2
        m = u.rows
        inverse_a, inverse_b = S_a**-1, S_b**-1
        log_a, log_b, log_G = (_log_det(S) for S in (S_a, S_b, G))

        mahalanobis = (u.T * (inverse_a + inverse_b) * u)[0]
        pooled = (u.T * mp.lu_solve(G, u))[0]
        jeffreys = mahalanobis / 2 + _trace_of_product(inverse_a, S_b) / 2 - m
        jeffreys += _trace_of_product(inverse_b, S_a) / 2
        bhattacharyya = pooled / 8 + (log_G - (log_a + log_b) / 2) / 2
        riemann = _riemann(S_a, S_b)
        root_a = mp.cholesky(S_a)
        cross = sum(
            mp.sqrt(value) for value in mp.eigsy(root_a.T * S_b * root_a, eigvals_only=True)
        )
        length = (u.T * u)[0]

        # int p q is the density of N(0, Sa + Sb) at u, int p^2 that of N(0, 2 Sa) at 0.
        log_pq = -(m * mp.log(2 * mp.pi) + log_G + m * mp.log(2) + pooled / 2) / 2
        log_pp, log_qq = (
            -(m * mp.log(2 * mp.pi) + log + m * mp.log(2)) / 2 for log in (log_a, log_b)
        )
        return {
            "kl": jeffreys / 2,
            "jeffreys": jeffreys,
            "bhattacharyya": bhattacharyya,
            "hellinger": mp.sqrt(1 - mp.exp(-bhattacharyya)),
            "jeffreys-riemann": mp.sqrt(mahalanobis / 2) + riemann,
            "bhattacharyya-riemann": mp.sqrt(pooled) + riemann,
            "wasserstein": mp.sqrt(length + _trace(S_a) + _trace(S_b) - 2 * cross),
            "cauchy-schwarz": (log_pp + log_qq) / 2 - log_pq,
            "fisher-rao": _riemann(_lift(mean_a, S_a, mean_a), _lift(mean_b, S_b, mean_a)) / 2,
            "calvo-oller": _riemann(_embed(mean_a, S_a), _embed(mean_b, S_b)) / mp.sqrt(2),
            "euclidean": mp.sqrt(length),
        }


def _riemann(S_a, S_b):
    inverse_root = mp.cholesky(S_b) ** -1
    values = mp.eigsy(inverse_root * S_a * inverse_root.T, eigvals_only=True)
    return mp.sqrt(sum(mp.log(value) ** 2 for value in values))


def _embed(mean, S):
    m = mean.rows
    big = mp.eye(m + 1)
    outer = S + mean * mean.T
    for p in range(m):
        big[p, m] = big[m, p] = mean[p]
        for q in range(m):
            big[p, q] = outer[p, q]
    return big


def _lift(mean, S, origin):
    """Eriksen's matrix of 2 m + 1 rows, with another mean as origin."""
    m, gap = mean.rows, mean - origin
    shift, middle = mp.zeros(2 * m + 1), mp.zeros(2 * m + 1)
    inverse = S**-1
    middle[m, m] = 1
    for p in range(m):
        shift[m, p], shift[m + 1 + p, m] = gap[p], -gap[p]
        for q in range(m):
            middle[p, q], middle[m + 1 + p, m + 1 + q] = inverse[p, q], S[p, q]
    shift = mp.eye(2 * m + 1) + shift + shift * shift / 2  # its exponential
    return shift * middle * shift.T


def _log_det(S):
    root = mp.cholesky(S)
    return 2 * sum(mp.log(root[p, p]) for p in range(S.rows))


def _trace(S):
    return sum(S[p, p] for p in range(S.rows))


def _trace_of_product(A, B):
    return sum(A[p, q] * B[q, p] for p in range(A.rows) for q in range(A.rows))
