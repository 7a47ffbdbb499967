"""Algorithm 1 of X-space, compiled: a low-rank solution of the unit-trace problem (6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patchfold.base.compiling import compiled

if TYPE_CHECKING:
    from patchfold.base.types import Doubles

# The algorithm stops at a duality gap of GAP: the estimate's Kullback-Leibler divergence is then at
# most GAP / 2, and no variance is off by more than about sqrt(2 GAP), 4.5 %.
GAP = 1e-3

# It stops after MOST_STEPS steps in any case, about 20 ms a patch, and returns its best iterate.
# Twenty directions whose variances differ by a factor of 1e3 need half as many; beyond 1e4 the gap
# may stay open.
MOST_STEPS = 100_000


@compiled
def hazan_weights(eigenvalues: Doubles, gap: float = GAP, most_steps: int = MOST_STEPS) -> Doubles:
    """Run Algorithm 1 of X-space (Hazan's method) for the unit-trace problem (6).

    Problem (6) asks for the precision matrix ``S`` that maximises ``log det S - tr(S R)`` over the
    positive semi-definite matrices of trace one. Here ``tr(R^-1) = 1``, so that the optimum is
    ``R^-1`` and the duality gap, with the multiplier zero of the constraint, is
    ``tr(S R) - log det(S R) - k``.

    The algorithm may start from any unit vector; this one is an eigenvector of ``R``. Then every
    iterate commutes with ``R``, and the iteration runs on eigenvalues alone. While ``S`` is
    singular its gradient ``S^-1 - R`` is unbounded in every direction that is not reached, and the
    first of these is taken.

    Parameters
    ----------
    eigenvalues : array of shape (batch, k)
        The eigenvalues of ``R``, positive; directions with an infinite one are left out.
    gap : float
        The duality gap at which the algorithm stops.
    most_steps : int
        Steps after which it stops in any case.

    Returns
    -------
    array of shape (batch, k)
        The eigenvalues of ``S`` in the eigenvectors of ``R``: non-negative, of sum one. Those of
        the iterate with the least gap.

    Examples
    --------
    >>> R = np.array([[5.0, 1.25]])  # the inverse has trace one
    >>> hazan_weights(R).round(2), hazan_weights(R, most_steps=3).round(2)
    (array([[0.2, 0.8]]), array([[0.33, 0.67]]))
    """
    best = np.zeros(eigenvalues.shape)
    for row in range(len(eigenvalues)):
        kept = np.flatnonzero(np.isfinite(eigenvalues[row]))
        R = eigenvalues[row][kept]
        S = np.zeros(len(R))
        S[0] = 1.0
        least = np.inf
        for t in range(1, most_steps + 1):
            steepest, choice = -np.inf, 0
            for j in range(len(R)):
                gradient = np.inf if S[j] == 0.0 else 1 / S[j] - R[j]
                if gradient > steepest:
                    steepest, choice = gradient, j
            step = min(1.0, 2.0 / t)
            S *= 1 - step
            S[choice] += step
            reached = 0.0
            for j in range(len(R)):
                reached += S[j] * R[j] - 1 - np.log(S[j] * R[j]) if S[j] > 0 else np.inf
            if reached < least or t == 1:
                least = reached
                for j in range(len(R)):
                    best[row, kept[j]] = S[j]
            if reached <= gap:
                break
    return best
