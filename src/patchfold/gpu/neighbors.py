"""The k nearest points, exactly, on tensors.

A filter proposes candidates; distances are then taken from differences in double precision, summed
in the order of NumPy. So order and distances have the bits of :mod:`patchfold.neighbors.points`.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from patchfold.base.arrays import unit_and_scale

# Bytes that a step works in at a time.
WORK_BYTES = {"cpu": 2**26, "cuda": 2**32}

# Bytes of a pair of points in the exhaustive search: its row, column, distance and their orders.
PAIR_BYTES = 64

# Squares below vanish in a product. The points are spread over about one.
TINY = 1e-280

# Rounding of a squared distance by products, in units of (features + ROUNDED) eps (|x| + |y|)^2:
# the products, their sums, both squares and centring.
ROUNDED = 8


def nearest(points: Tensor, k: int, queries: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the ``k`` nearest points of every point, itself not counted, or of every query.

    Parameters
    ----------
    points : Tensor of shape (n, m)
        float32 or float64, finite.
    k : int
        Less than n; n where there are queries.
    queries : Tensor of shape (n_queries, m), optional

    Returns
    -------
    indices : Tensor of shape (n_queries, k)
        int64, the nearest point first, equal distances by index.
    distances : Tensor of shape (n_queries, k)
        In the type of the points.
    """
    space = _Space(points, queries)
    rows = torch.arange(len(space.queries), device=points.device)
    indices, distances = space.exhaustive(rows, k)
    unscaled = (distances / space.scale).to(points.dtype)
    if not torch.isfinite(unscaled).all():
        raise ValueError(
            f"Distances between the rows of X overflow {points.dtype}; "
            "rescale X or convert it to float64."
        )
    return indices, unscaled


class _Space:
    """Points and queries: their scale, and their distances."""

    def __init__(self, points: Tensor, queries: Tensor | None) -> None:
        self.own = queries is None
        self.points = points
        self.queries = points if queries is None else queries
        self.work_bytes = WORK_BYTES[points.device.type]
        low, high = points.amin(0).double(), points.amax(0).double()
        self.unit, self.scale = unit_and_scale(float((high / 2 - low / 2).max()))
        self.centre = points.mean(0, dtype=torch.float64)

    def placed(self, X: Tensor) -> Tensor:
        """Return points about the centre, spread over about one, in double precision."""
        return (X - self.centre) * self.unit

    def exact(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return the scaled distances of ``queries[rows]`` and ``points[columns]``, paired."""
        found = torch.empty(len(rows), dtype=torch.float64, device=rows.device)
        step = max(1, self.work_bytes // (32 * self.points.shape[1]))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            gaps = self.queries[rows[part]].double() - self.points[columns[part]].double()
            found[part] = _sums_of_rows((gaps * self.scale).square_())
        return rounded_root(found)

    def exhaustive(self, rows: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the neighbours of some queries by products with all points."""
        indices = torch.empty((len(rows), k), dtype=torch.int64, device=rows.device)
        distances = torch.empty((len(rows), k), dtype=torch.float64, device=rows.device)
        if len(rows) == 0:
            return indices, distances
        placed = self.placed(self.points)
        squares = placed.square().sum(1)
        step = max(1, self.work_bytes // (PAIR_BYTES * len(placed)))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            self._look(rows[part], k, placed, squares, indices[part], distances[part])
        return indices, distances

    def _look(
        self,
        rows: Tensor,
        k: int,
        placed: Tensor,
        squares: Tensor,
        indices: Tensor,
        distances: Tensor,
    ) -> None:
        """Write the neighbours of a block of queries."""
        x = self.placed(self.queries[rows])
        own_squares = x.square().sum(1)
        found = torch.addmm(squares, x, placed.T, alpha=-2).add_(own_squares[:, None])
        if self.own:
            found.scatter_(1, rows[:, None], math.inf)
        kth = found.topk(k, largest=False, sorted=False).values.amax(1)
        # A squared distance d^2 of a near point y is wrong by at most r (|x| + |y|)^2, which is at
        # most r (2 |x| + d)^2, and so r (8 |x|^2 + 2 d^2).
        r = (x.shape[1] + ROUNDED) * torch.finfo(torch.float64).eps
        reach = (kth + 8 * r * own_squares + TINY) / (1 - 2 * r)
        limit = reach * (1 + 2 * r) + 8 * r * own_squares + TINY
        places, columns = (found <= limit[:, None]).nonzero(as_tuple=True)
        exact = self.exact(rows[places], columns)
        # Pairs stand in the order of columns; stable sorts keep it among equals.
        order = exact.argsort(stable=True)
        order = order[places[order].argsort(stable=True)]
        counts = torch.bincount(places, minlength=len(rows))
        first = (counts.cumsum(0) - counts)[:, None] + torch.arange(k, device=rows.device)
        indices.copy_(columns[order][first])
        distances.copy_(exact[order][first])


def rounded_root(values: Tensor) -> Tensor:
    """Return the rounded roots; torch's own on a CPU may be the number beside it."""
    if values.device.type == "cpu":
        return torch.from_numpy(np.sqrt(values.numpy()))
    return values.sqrt()


def _sums_of_rows(values: Tensor) -> Tensor:
    """Return the sums of rows, added in the order of NumPy, to the same bits.

    NumPy adds up to 128 numbers in eight interleaved sums, and more in two halves.
    """
    m = values.shape[1]
    if m > 128:
        half = m // 2 // 8 * 8
        return _sums_of_rows(values[:, :half]) + _sums_of_rows(values[:, half:])
    whole = m // 8 * 8
    if whole:
        eight = values[:, :8].clone()
        for start in range(8, whole, 8):
            eight += values[:, start : start + 8]
        four = eight[:, 0::2] + eight[:, 1::2]
        two = four[:, 0::2] + four[:, 1::2]
        total = two[:, 0] + two[:, 1]
    else:
        total = torch.zeros_like(values[:, 0])
    for column in range(whole, m):
        total = total + values[:, column]
    return total
