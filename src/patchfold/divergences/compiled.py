"""Compiled code for both terms of the Jeffreys divergence of factored patches on edges.

It computes the same as :func:`~patchfold.divergences.geometry.factored_jeffreys`, in one pass over
the edges: it reads patches in place instead of gathering them, works in a few buffers, and
directions without variance cost nothing. Most of the time goes into the products of the directions
of two patches. They are taken in tiles of TILE: a library for matrices is slower on so small ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patchfold.base.compiling import compiled, compiled_freely

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Floats, Indices
    from patchfold.patches.gaussians import Patches


# The squared length of a vector off a patch's directions is a difference of squares. If its share
# of the whole is below this power of eps, the vector itself is formed instead. The difference costs
# about eps^(5/6) of the value.
LEFT_POWER = 1 / 6

# Directions of two patches that are multiplied at once, written out in _products: as many products
# as there are registers for. Each number that is read is used several times.
TILE = 2, 5


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
        np.ascontiguousarray(patches.means),
        # Each direction is contiguous, as in fitted patches.
        np.ascontiguousarray(patches.directions.transpose(0, 2, 1)),
        np.ascontiguousarray(patches.variances),
        np.ascontiguousarray(patches.ridge),
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
    room = (directions_a.shape[1], directions_b.shape[1])
    cosines, turned = np.empty(room, means_a.dtype), np.empty(room[::-1], means_a.dtype)
    gap = np.empty(m, means_a.dtype)
    spare = np.empty(max(room)), np.empty(max(room), means_a.dtype), np.empty(m, means_a.dtype)
    for e in range(len(i)):
        a, b = i[e], j[e]
        Qa = directions_a[a, : _used(variances_a[a])]
        Qb = directions_b[b, : _used(variances_b[b])]
        r = max(len(Qa), len(Qb))
        _products(Qa, Qb, cosines, turned)
        for x in range(m):
            gap[x] = means_a[a, x] - means_b[b, x]
        ridge_a, ridge_b = float(ridges_a[a]), float(ridges_b[b])
        trace_ab, square_a = _seen_from(
            Qa, variances_a[a], ridge_a, Qb, variances_b[b], ridge_b, cosines, gap, left, *spare
        )
        trace_ba, square_b = _seen_from(
            Qb, variances_b[b], ridge_b, Qa, variances_a[a], ridge_a, turned, gap, left, *spare
        )
        apart = ridge_a - ridge_b
        gaps[e] = square_a + square_b
        excess[e] = (trace_ab + trace_ba - 2 * r) + (m - r) * (apart / ridge_a) * (apart / ridge_b)


@compiled
def _used(variances: Floats) -> int:
    """Count the directions up to the last one with a variance."""
    r = len(variances)
    while r > 1 and variances[r - 1] == 0:
        r -= 1
    return r


@compiled_freely
def _products(Qa: Floats, Qb: Floats, products: Floats, turned: Floats) -> None:
    """Write the products of the rows of ``Qa`` and ``Qb``, and the same turned.

    A tile at the margin takes the last row several times.
    """
    zero = Qa.dtype.type(0)
    last_a, last_b = len(Qa) - 1, len(Qb) - 1
    for p0 in range(0, len(Qa), TILE[0]):
        p1 = min(p0 + 1, last_a)
        a0, a1 = Qa[p0], Qa[p1]
        for q0 in range(0, len(Qb), TILE[1]):
            q1, q2 = min(q0 + 1, last_b), min(q0 + 2, last_b)
            q3, q4 = min(q0 + 3, last_b), min(q0 + 4, last_b)
            b0, b1, b2, b3, b4 = Qb[q0], Qb[q1], Qb[q2], Qb[q3], Qb[q4]
            s00 = s01 = s02 = s03 = s04 = s10 = s11 = s12 = s13 = s14 = zero
            for x in range(len(a0)):
                s00 += a0[x] * b0[x]
                s01 += a0[x] * b1[x]
                s02 += a0[x] * b2[x]
                s03 += a0[x] * b3[x]
                s04 += a0[x] * b4[x]
                s10 += a1[x] * b0[x]
                s11 += a1[x] * b1[x]
                s12 += a1[x] * b2[x]
                s13 += a1[x] * b3[x]
                s14 += a1[x] * b4[x]
            products[p0, q0] = turned[q0, p0] = s00
            products[p0, q1] = turned[q1, p0] = s01
            products[p0, q2] = turned[q2, p0] = s02
            products[p0, q3] = turned[q3, p0] = s03
            products[p0, q4] = turned[q4, p0] = s04
            products[p1, q0] = turned[q0, p1] = s10
            products[p1, q1] = turned[q1, p1] = s11
            products[p1, q2] = turned[q2, p1] = s12
            products[p1, q3] = turned[q3, p1] = s13
            products[p1, q4] = turned[q4, p1] = s14


@compiled
def _seen_from(
    Qa: Floats,
    variances_a: Floats,
    ridge_a: float,
    Qb: Floats,
    variances_b: Floats,
    ridge_b: float,
    cosines: Floats,
    gap: Floats,
    left: float,
    shares: Floats,
    along: Floats,
    room: Floats,
) -> tuple[float, float]:
    """Return ``tr(Sa^-1 Sb)``, without dimensions that have ridges only, and ``u' Sa^-1 u``.

    The trace is over as many directions as the wider patch has. ``cosines`` are ``Qa Qb'``, ``gap``
    is ``u``; ``shares``, ``along`` and ``room`` are written over.
    """
    trace = max(0, len(Qb) - len(Qa)) * (ridge_b / ridge_a)
    whole, within, square = _square(gap), 0.0, 0.0
    for p in range(len(Qa)):
        shares[p] = 1 / (float(variances_a[p]) + ridge_a)
        trace += ridge_b * shares[p]
        along[p] = _product(Qa[p], gap)
        part = float(along[p]) * float(along[p])
        within += part
        square += part * shares[p]
    off = whole - within
    if off < left * whole:
        off = _off(Qa, gap, along, room)
    square += off / ridge_a
    for q in range(len(Qb)):
        within, seen = 0.0, 0.0
        for p in range(len(Qa)):
            part = float(cosines[p, q]) * float(cosines[p, q])
            within += part
            seen += part * shares[p]
        off = 1.0 - within  # a direction of length zero has no variance and adds nothing
        if off < left:
            for p in range(len(Qa)):
                along[p] = cosines[p, q]
            off = _off(Qa, Qb[q], along, room)
        trace += float(variances_b[q]) * (seen + off / ridge_a)
    return trace, square


@compiled_freely
def _product(a: Floats, b: Floats) -> float:
    total = a.dtype.type(0)
    for x in range(len(a)):
        total += a[x] * b[x]
    return float(total)


@compiled_freely
def _square(vector: Floats) -> float:
    total = 0.0
    for x in range(len(vector)):
        total += float(vector[x]) * float(vector[x])
    return total


@compiled_freely
def _off(Q: Floats, vector: Floats, along: Floats, room: Floats) -> float:
    """Return the squared length of the part of a vector that is off the directions ``Q``."""
    for x in range(len(room)):
        room[x] = vector[x]
    for p in range(len(Q)):
        for x in range(len(room)):
            room[x] -= along[p] * Q[p, x]
    return _square(room)
