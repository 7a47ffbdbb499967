"""Compiled code for both terms of the Jeffreys divergence of factored patches on edges.

It computes the same as :func:`~patchfold.divergences.geometry.factored_jeffreys`, in one pass over
the edges: it reads patches in place instead of gathering them, no temporary is larger than a patch,
and directions without variance cost nothing. What remains is one small call of BLAS an edge, for
the product of the directions of two patches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patchfold.base.compiling import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Floats, Indices
    from patchfold.patches.gaussians import Patches


# The squared length of a vector off a patch's directions is a difference of squares. If its share
# of the whole is below this power of eps, the vector itself is formed instead. The difference costs
# about eps^(5/6) of the value.
LEFT_POWER = 1 / 6


def jeffreys_terms(a: Patches, b: Patches) -> Callable[[Indices, Indices], tuple[Floats, Floats]]:
    """Return a function that compares pairs ``a[i]``, ``b[j]``.

    It gives their ``mahalanobis`` and ``trace_excess``. Both are factored, in numpy arrays of one
    type.
    """
    first = _factors(a)
    second = first if b is a else _factors(b)
    left = float(np.finfo(a.means.dtype).eps ** LEFT_POWER)

    def terms(i: Indices, j: Indices) -> tuple[Floats, Floats]:
        gaps, excess = np.empty((2, len(i)), a.means.dtype)
        _terms(*first, i, *second, j, left, gaps, excess)
        return gaps, excess

    return terms


def _factors(patches: Patches) -> tuple[Floats, Floats, Floats, Floats]:
    return (
        patches.means,
        # Each direction is contiguous, as in fitted patches.
        np.ascontiguousarray(patches.directions.transpose(0, 2, 1)),
        patches.variances,
        patches.ridge,
    )


@compiled
def _terms(
    means_a: Floats,
    directions_a: Floats,
    variances_a: Floats,
    ridges_a: Floats,
    i: Indices,
    means_b: Floats,
    directions_b: Floats,
    variances_b: Floats,
    ridges_b: Floats,
    j: Indices,
    left: float,
    gaps: Floats,
    excess: Floats,
) -> None:
    m = directions_a.shape[2]
    for e in range(len(i)):
        a, b = i[e], j[e]
        Qa, Qb = _used(directions_a[a], variances_a[a]), _used(directions_b[b], variances_b[b])
        r = max(len(Qa), len(Qb))
        cosines = np.dot(Qa, Qb.T)
        gap = means_a[a] - means_b[b]
        ridge_a, ridge_b = ridges_a[a], ridges_b[b]
        widths_a = _widths(variances_a[a], ridge_a, r)
        widths_b = _widths(variances_b[b], ridge_b, r)
        trace_ab = _trace(Qa, widths_a, ridge_a, Qb, variances_b[b], ridge_b, cosines, left)
        trace_ba = _trace(Qb, widths_b, ridge_b, Qa, variances_a[a], ridge_a, cosines.T, left)
        apart = ridge_a - ridge_b
        gaps[e] = _square(Qa, widths_a, ridge_a, gap, left) + _square(
            Qb, widths_b, ridge_b, gap, left
        )
        excess[e] = (trace_ab + trace_ba - 2 * r) + (m - r) * (apart / ridge_a) * (apart / ridge_b)


@compiled
def _used(Q: Floats, variances: Floats) -> Floats:
    """Return the directions, the rows of ``Q``, up to the last one with a variance."""
    r = len(variances)
    while r > 1 and variances[r - 1] == 0:
        r -= 1
    return Q[:r]


@compiled
def _widths(variances: Floats, ridge: float, r: int) -> Floats:
    """Return the widths of ``r`` directions; those beyond ``variances`` have the ridge only."""
    widths = np.full(r, ridge)
    for p in range(min(r, len(variances))):
        widths[p] += variances[p]
    return widths


@compiled
def _trace(
    Qa: Floats,
    widths_a: Floats,
    ridge_a: float,
    Qb: Floats,
    variances_b: Floats,
    ridge_b: float,
    cosines: Floats,
    left: float,
) -> float:
    """``tr(Sa^-1 Sb)`` over the directions, without the dimensions that have ridges only."""
    trace = 0.0
    for q in range(len(Qb)):
        along = seen = 0.0
        for p in range(len(Qa)):
            square = cosines[p, q] * cosines[p, q]
            along += square
            seen += square / widths_a[p]
        off = 1.0 - along  # a direction of length zero has no variance and adds nothing
        if off < left:
            off = _off(Qa, Qb[q], np.ascontiguousarray(cosines[:, q]))
        trace += variances_b[q] * (seen + off / ridge_a)
    for width in widths_a:
        trace += ridge_b / width
    return trace


@compiled
def _square(Q: Floats, widths: Floats, ridge: float, gap: Floats, left: float) -> float:
    """``u' S^-1 u`` for the gap ``u``."""
    along = np.dot(Q, gap)
    off = 0.0
    for x in range(len(gap)):
        off += gap[x] * gap[x]
    whole = off
    square = 0.0
    for p in range(len(along)):
        off -= along[p] * along[p]
        square += along[p] * along[p] / widths[p]
    if off < left * whole:
        off = _off(Q, gap, along)
    return square + off / ridge


@compiled
def _off(Q: Floats, vector: Floats, along: Floats) -> float:
    """Return the squared length of the part of a vector that is off the directions ``Q``."""
    within = np.dot(Q.T, along)
    off = 0.0
    for x in range(len(vector)):
        off += (vector[x] - within[x]) ** 2
    return off
