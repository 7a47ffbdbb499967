"""Multigrid: makes an eigensolver quick on the Laplacian of a large graph.

pyamg joins points into groups, and groups into larger ones (smoothed aggregation), until the graph
is small enough for a direct solver. The eigenvectors of that coarsest graph start the search for
those of the whole graph. Corrections on the coarser graphs remove errors that no local average
removes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pyamg.aggregation import smoothed_aggregation_solver, standard_aggregation
from scipy.linalg import eigh
from scipy.sparse import csr_array, csr_matrix, diags_array

from patchfold.solvers.eigenvectors import LIMITS

if TYPE_CHECKING:
    from patchfold.base.types import Floats


# More levels than any graph has: each has at most half as many points as the one before.
LEVELS = 40

# Groups from which the degree of the graph of groups is estimated.
SAMPLE = 100

# Power iterations that estimate the largest eigenvalue, and the share added for what they miss.
POWER_STEPS, MARGIN = 10, 0.1

# Smoothing damps errors above this share of the largest eigenvalue; coarser graphs take the rest.
SMOOTHED = 0.25


def has_sparse_groups(L: Any) -> bool:
    """Tell whether the graph of groups of points has fewer edges than the graph itself.

    It does if points lie near a surface of few dimensions. If a few steps lead from any point to
    any other, all groups are neighbours, and multigrid gains nothing.
    """
    groups = standard_aggregation(csr_matrix(L))[0]
    n_groups = groups.shape[1]
    some = groups.T.tocsr()[:: max(1, n_groups // SAMPLE)]
    met = (some @ csr_matrix((np.ones_like(L.data), L.indices, L.indptr), L.shape)) @ groups
    degree = met.nnz / met.shape[0]
    # Smoothing makes the neighbours of a group's neighbours its neighbours, too.
    return bool(n_groups * min(n_groups, degree**2) <= L.nnz)


class Multigrid:
    """Approximate solutions of ``L x = b``, and eigenvectors, for a connected graph's Laplacian.

    ``L`` may be normalised or not; ``kernel`` is positive, with ``L @ kernel == 0``. Groups are
    joined until there are no more than ``coarsest`` of them, which a direct method solves.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import diags_array
    >>> n, ones = 5000, np.ones(4999)
    >>> path = diags_array([-ones, np.r_[1, 2 * ones[1:], 1], -ones], offsets=[-1, 0, 1])
    >>> values, vectors = Multigrid(path, np.ones(n)).coarse_eigenvectors(2)
    >>> bool(abs(values[1] * (n / np.pi) ** 2 - 1) < 0.01)
    True
    """

    def __init__(self, L: Any, kernel: Floats, *, coarsest: int = LIMITS.coarsest) -> None:
        # With ones on the diagonal, smoothing is a polynomial in the matrix alone.
        root = np.sqrt(L.diagonal())
        self._root = root[:, None]
        scale = diags_array(1 / root)
        # Without the steps that pyamg takes at random.
        levels = smoothed_aggregation_solver(
            csr_matrix(scale @ L @ scale),
            B=(kernel * root)[:, None],
            symmetry="symmetric",
            smooth=("jacobi", {"weighting": "local"}),
            presmoother=None,
            postsmoother=None,
            improve_candidates=None,
            max_levels=LEVELS,
            max_coarse=coarsest,
        ).levels
        self._levels = [_Level(level.A, level.P) for level in levels[:-1]]
        # A coarse vector is as long as the vector of the whole graph that it stands for.
        mass: Any = diags_array(1 / L.diagonal(), format="csr")
        for level in levels[:-1]:
            mass = level.P.T @ mass @ level.P
        self._values, self._modes = eigh(levels[-1].A.toarray(), mass.toarray())
        # The pseudo-inverse: the kernel is left out.
        rounding = len(self._values) * np.finfo(np.float64).eps * float(L.diagonal().max())
        inverse = np.zeros_like(self._values)
        np.divide(1, self._values, out=inverse, where=self._values > rounding)
        self._solution = (self._modes * inverse) @ self._modes.T

    def coarse_eigenvectors(self, count: int) -> tuple[Floats, Floats]:
        """Return at most ``count`` bottom eigenpairs of the coarsest graph."""
        vectors = self._modes[:, :count]
        for level in reversed(self._levels):
            vectors = level.finer @ vectors
        return self._values[:count], vectors / self._root

    def solve(self, b: Floats) -> Floats:
        """Return an approximate solution for every column of ``b``, linear and symmetric in it."""
        return np.asarray(self._solve(0, b / self._root) / self._root)

    def _solve(self, depth: int, b: Floats) -> Floats:
        if depth == len(self._levels):
            return np.asarray(self._solution @ b)
        level = self._levels[depth]
        x = level.smoothed(b)
        coarse = self._solve(depth + 1, level.coarser @ level.rest(b, x))
        x += level.finer @ coarse
        x += level.smoothed(level.rest(b, x))
        return x


class _Level:
    """One graph, and the maps between it and the next coarser one."""

    def __init__(self, A: Any, P: Any) -> None:
        self._matrix = csr_array(A)
        self.finer, self.coarser = csr_array(P), csr_array(P.T)
        v = np.cos(np.arange(A.shape[0]))
        for _ in range(POWER_STEPS):
            v = self._matrix @ (v / np.linalg.norm(v))
        largest = (1 + MARGIN) * float(np.linalg.norm(v))
        # Two steps of Chebyshev's iteration from zero, written as c0 b + c1 A b.
        middle, half = (1 + SMOOTHED) / 2 * largest, (1 - SMOOTHED) / 2 * largest
        ratio = 1 / (2 * middle / half - half / middle)
        second = 2 * ratio / half
        self._c0 = (1 + ratio * half / middle) / middle + second
        self._c1 = -second / middle

    def smoothed(self, b: Floats) -> Floats:
        """Return an approximate solution of ``A x = b`` by local averages."""
        x = self._matrix @ b
        x *= self._c1
        x += self._c0 * b
        return x

    def rest(self, b: Floats, x: Floats) -> Floats:
        """Return ``b - A x``."""
        product = self._matrix @ x
        return np.subtract(b, product, out=product)
