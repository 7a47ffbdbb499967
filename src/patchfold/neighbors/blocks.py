"""Candidates for the neighbours of many points, from blocks of near points.

Where data fill few dimensions of many, hardly any block is near a query. Where they do not, a few
directions in which the data vary most still tell most pairs of points apart. As with a scan of all
pairs, no neighbour is missing.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np

from patchfold.base import row_order
from patchfold.base.threads import block_slices, one_blas_thread

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.neighbors.points import SearchedPoints


# Directions in which points are compared first, and in which second. Only where there are more
# features than MANY is there a second comparison.
FIRST, SECOND, MANY = 31, 63, 160

# Rows that directions are found from, and rounds of a power iteration. Better directions save time,
# results do not depend on them.
SAMPLE, ROUNDS = 4000, 3

# Candidates beyond the wanted ones: rounding leaves no more open.
SPARE = 16

# Bounds of blocks are lowered by this share of the radius of all points, far more than rounding.
MARGIN = 1e-6

# A thread takes about a thousand queries at a time.
ROW_BYTES = 2**14

# What it costs to bound the distance of two points, and to take a coordinate of a distance, where a
# scan of m features in one thread costs CHOOSING + 2 m. Measured on 10 000 x 50 and 5000 x 300
# random numbers, and on images.
BOUND, COORDINATE, CHOOSING = 500, 35, 150

# Blocks of queries that are tried, and their neighbours, to tell whether blocks are worth it.
TRIED, NEAREST = 4, 20


class Blocks:
    """Candidates from blocks of near points, by distances in single precision.

    The method is that of :class:`~patchfold.neighbors.candidates.Scan`.
    """

    def __init__(self, space: SearchedPoints) -> None:
        # Here and not above: small data should not wait for the compiler to be imported.
        from patchfold.neighbors import block_kernel

        self._kernel, self._space = block_kernel, proxy(space)
        n = space.n_samples
        placed = space.placed(space.points, np.float32)
        sample = placed[np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp)].astype(np.float64)
        # Coordinates that vary much first: they give up a long distance sooner.
        self._columns = np.argsort(-sample.var(axis=0), kind="stable")
        self._directions = _directions(sample[:, self._columns])
        self._points, first, second = self._placed(placed)
        self.order = _by_halves(first[:, :FIRST], block_kernel.BLOCK)
        self._points, first = self._points[self.order], first[self.order]
        self._further = second[self.order]
        self._centres, self._radii = self._balls(self._points)
        size, missing = block_kernel.BLOCK, -n % block_kernel.BLOCK
        first = np.pad(first, ((0, missing), (0, 0)), constant_values=np.inf)
        blocks = first.reshape(-1, size, first.shape[1]).transpose(0, 2, 1)
        self._blocks = np.ascontiguousarray(blocks)
        self._margin = MARGIN * float(np.linalg.norm(self._points, axis=1).max(initial=0.0))

    def pay(self) -> bool:
        """Tell whether a scan of all points would take longer."""
        return bool(self.cost < CHOOSING + 2 * self._points.shape[1])

    @cached_property
    def cost(self) -> float:
        """What a pair of points costs on average, in the unit of CHOOSING.

        Where data fill many dimensions evenly, hardly any points are left out, and it is much.
        """
        (n, m), size = self._points.shape, self._kernel.BLOCK
        cost = 0.0
        for start in np.linspace(0, max(0, n - size), TRIED).astype(np.intp):
            queries = self._space.points[self.order[start : start + size]]
            reach = self.nearest(queries, min(NEAREST, n))[2] * self._space.unit
            placed, first, second = self._placed(self._space.placed(queries, np.float32))
            cost += BOUND * (self._bounds(placed) <= reach.max()).mean()
            for q in range(0, len(queries), size // TRIED):
                gaps = np.square(self._blocks - first[q][:, None])
                near = np.flatnonzero(gaps.sum(axis=1) <= reach[q] ** 2)
                taken = second.shape[1] * len(near)
                if taken:
                    squares = gaps[:, :-1].sum(axis=1).ravel()[near]
                    squares += np.square(self._further[near] - second[q]).sum(axis=1)
                    near = near[squares <= reach[q] ** 2]
                cost += COORDINATE * (taken + m * len(near)) / n / TRIED
        return float(cost / TRIED)

    def row_bytes(self, k: int) -> int:
        """Return the bytes that a row of :meth:`nearest` needs."""
        return max(ROW_BYTES, 32 * (k + SPARE) + 16 * int(self._space.n_features))

    def walk(self, queries: Any) -> Indices:
        """Return an order in which near queries follow each other."""
        return self.order if queries is self._space.points else row_order.walk(queries)

    def nearest(self, queries: Any, count: int) -> tuple[Indices, Indices, Floats]:
        """Return degrees, candidates and a bound of the ``count``-th distance."""
        placed, first, second = self._placed(self._space.placed(queries, np.float32))
        wanted = min(count + SPARE, self._space.n_samples)
        columns = np.full((len(placed), wanted), -1, dtype=np.intp)
        squares = np.full((len(placed), wanted), np.inf)
        limits = np.empty(len(placed))
        bounds = self._bounds(placed)
        with np.errstate(over="ignore"):
            sizes = np.linalg.norm(placed.astype(np.float64), axis=1)
        chosen = np.argsort(bounds, axis=1)
        self._kernel.search(
            placed,
            first,
            second,
            sizes,
            self._points,
            self._blocks,
            self._further,
            chosen,
            np.take_along_axis(bounds, chosen, axis=1),
            count,
            float(np.finfo(np.float32).eps),
            columns,
            squares,
            limits,
        )
        near = (squares <= limits[:, None]) & np.isfinite(limits)[:, None]
        if wanted < self._space.n_samples:
            near[near[:, -1]] = False  # even the last candidate is near: some may be missing
        return near.sum(axis=1), self.order[columns[near]], np.sqrt(limits) / self._space.unit

    def _placed(self, placed: Floats) -> tuple[Floats, Floats, Floats]:
        """Return points with reordered coordinates, and what they are compared by first and second.

        These are coordinates in the directions, and the length of the rest, in double precision:
        it may be short.
        """
        points = np.ascontiguousarray(placed[:, self._columns])
        n, m = points.shape
        if self._directions is None:
            padded = np.zeros((n, m + -m % 4), dtype=np.float32)
            padded[:, :m] = points
            return points, padded, np.empty((n, 0), dtype=np.float32)
        count = self._directions.shape[1]
        first = np.empty((n, FIRST + 1), dtype=np.float32)
        second = np.empty((n, count - FIRST + 1 if count > FIRST else 0), dtype=np.float32)
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for rows in block_slices(n, 16 * m):
                wide = points[rows].astype(np.float64)
                along = wide @ self._directions
                whole = np.square(wide).sum(axis=1)
                first[rows, :FIRST] = along[:, :FIRST]
                first[rows, FIRST] = _rest(whole, along[:, :FIRST])
                if count > FIRST:
                    second[rows, :-1] = along[:, FIRST:]
                    second[rows, -1] = _rest(whole, along)
        return points, first, second

    def _balls(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the centre of each block of points and its radius."""
        size = self._kernel.BLOCK
        starts = np.arange(0, len(points), size)
        counts = np.minimum(size, len(points) - starts)
        centres = np.add.reduceat(points, starts, axis=0, dtype=np.float64) / counts[:, None]
        radii = np.empty(len(starts))
        for block in range(len(starts)):
            part = points[starts[block] : starts[block] + size] - centres[block]
            radii[block] = np.sqrt(np.square(part).sum(axis=1).max())
        return centres, radii

    def _bounds(self, queries: Floats) -> Floats:
        """Return how far each block is from each group of queries at least."""
        with np.errstate(over="ignore", invalid="ignore"):
            centres, radii = self._balls(queries)
            squares = np.square(self._centres).sum(axis=1) - 2 * (centres @ self._centres.T)
            squares += np.square(centres).sum(axis=1)[:, None]
            apart = np.sqrt(np.maximum(squares, 0.0))
            return np.asarray(apart - radii[:, None] - self._radii - self._margin)


def _by_halves(X: Floats, size: int) -> Indices:
    """Return the rows in an order in which blocks of ``size`` are near each other.

    The rows are halved across the column in which they spread most, and each half again.
    """
    parts, done = [np.arange(len(X))], []
    while parts:
        rows = parts.pop()
        blocks = -(-len(rows) // size)
        if blocks == 1:
            done.append(rows)
            continue
        near = X[rows]
        values = near[:, np.argmax(np.ptp(near, axis=0))]
        cut = size * (blocks // 2)
        halves = rows[np.argpartition(values, cut)]
        parts += [halves[cut:], halves[:cut]]
    return np.concatenate(done)


def _rest(whole: Floats, along: Floats) -> Floats:
    """Return the lengths of what is left of vectors, given their squares and some coordinates."""
    return np.asarray(np.sqrt(np.maximum(whole - np.square(along).sum(axis=1), 0.0)))


def _directions(sample: Floats) -> Floats | None:
    """Return orthonormal directions in which the rows vary most, or None where there are few."""
    m = sample.shape[1]
    if m <= FIRST + 1:
        return None
    count = FIRST + SECOND if m > MANY else FIRST
    found = np.random.default_rng(0).standard_normal((m, count))
    with one_blas_thread():
        for _ in range(ROUNDS):
            found = np.linalg.qr(sample.T @ (sample @ found))[0]
        seen = sample @ found
        turn = np.linalg.eigh(seen.T @ seen)[1][:, ::-1]  # the widest first
        return np.ascontiguousarray(found @ turn)
