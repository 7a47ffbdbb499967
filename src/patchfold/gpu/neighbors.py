"""The k nearest points, exactly, on tensors.

A filter proposes candidates: on a GPU a kernel that multiplies and selects at once, elsewhere, and
for rows in which the kernel may have missed a neighbour, products in double precision. Distances
are then taken from differences in double precision, summed in the order of NumPy. So order and
distances have the bits of :mod:`patchfold.neighbors.points`.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from patchfold.base.arrays import unit_and_scale
from patchfold.gpu.local_order import blocks

# Bytes that a step works in at a time; what is no GPU has as many as a CPU.
WORK_BYTES = {"cpu": 2**26, "cuda": 2**32}

# Bytes of a pair of points in the exhaustive search, and of one that is near: its row, column,
# distance and their orders.
SEEN_BYTES, NEAR_BYTES = 24, 64

# Bytes of a coordinate of a query before the kernel: in double precision, and what it is made of.
QUERY_BYTES = 24

# Points from which the kernel is used, and the most neighbours it finds.
KERNEL_FROM, KERNEL_NEIGHBOURS = 4096, 255

# The kernel looks at cells of CELL_BLOCKS blocks of near points, and takes at most CHUNK blocks of
# queries at a time.
CELL_BLOCKS, CHUNK = 16, 2048

# Candidates of a row that are compared, in units of the neighbours wanted.
COMPARED = 2

# The kernel's coordinates are up to about this large. Half precision has no larger numbers than
# 65504: queries beyond FARTHEST are searched by products in double precision.
RANGE, FARTHEST = 256.0, 16384.0

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
    indices, distances, rows = _filtered(space, k) if _is_large(points, k) else _nothing(space, k)
    indices[rows], distances[rows] = space.exhaustive(rows, k)
    unscaled = (distances / space.scale).to(points.dtype)
    if not torch.isfinite(unscaled).all():
        raise ValueError(
            f"Distances between the rows of X overflow {points.dtype}; "
            "rescale X or convert it to float64."
        )
    return indices, unscaled


def recall(points: Tensor, indices: Tensor, sample: int = 1000) -> float:
    """Return the share of true neighbours among those found, in a random sample of the points."""
    space = _Space(points, None)
    rows = torch.randperm(len(points), generator=torch.Generator().manual_seed(0))[:sample]
    expected = space.exhaustive(rows.to(points.device), indices.shape[1])[0]
    found = indices[rows.to(points.device)]
    return float((expected[:, :, None] == found[:, None, :]).any(2).double().mean())


class _Space:
    """Points and queries: their scale, and their distances."""

    def __init__(self, points: Tensor, queries: Tensor | None) -> None:
        self.own = queries is None
        self.points = points
        self.queries = points if queries is None else queries
        self.work_bytes = WORK_BYTES.get(points.device.type, WORK_BYTES["cpu"])
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
        step = max(1, self.work_bytes // (SEEN_BYTES * len(placed)))
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
        near = found <= limit[:, None]
        del found
        if len(rows) > 1 and int(near.sum()) * NEAR_BYTES > self.work_bytes:  # many equals
            for part in (slice(0, len(rows) // 2), slice(len(rows) // 2, None)):
                self._look(rows[part], k, placed, squares, indices[part], distances[part])
            return
        places, columns = near.nonzero(as_tuple=True)
        exact = self.exact(rows[places], columns)
        # Pairs stand in the order of columns; stable sorts keep it among equals.
        order = exact.argsort(stable=True)
        order = order[places[order].argsort(stable=True)]
        counts = torch.bincount(places, minlength=len(rows))
        first = (counts.cumsum(0) - counts)[:, None] + torch.arange(k, device=rows.device)
        indices.copy_(columns[order][first])
        distances.copy_(exact[order][first])


def _is_large(points: Tensor, k: int) -> bool:
    return points.is_cuda and len(points) >= KERNEL_FROM and k <= KERNEL_NEIGHBOURS


def _nothing(space: _Space, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return room for neighbours, and all rows as those that are still to be searched."""
    n, device = len(space.queries), space.points.device
    return (
        torch.full((n, k), -1, dtype=torch.int64, device=device),
        torch.full((n, k), math.inf, dtype=torch.float64, device=device),
        torch.arange(n, device=device),
    )


def _filtered(space: _Space, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return neighbours by the kernel's candidates, and the rows that it does not prove.

    It visits all cells of up to 2 million points. Of more, a query sees the 2 million in the
    cells nearest to it, and rows are left over only where these do not have k points.
    """
    from patchfold.gpu.neighbors_kernel import BLOCK_QUERIES

    indices, distances, rows = _nothing(space, k)
    size = BLOCK_QUERIES.value
    table = blocks(space.placed(space.points), size)
    cells = _Cells(space, table.view(-1, min(CELL_BLOCKS, len(table)) * table.shape[1]))
    if not space.own:
        table = blocks(space.placed(space.queries), size)
    proven = torch.zeros(len(rows), dtype=torch.bool, device=rows.device)
    step = max(1, min(CHUNK, space.work_bytes // (QUERY_BYTES * size * space.points.shape[1])))
    for start in range(0, len(table), step):
        some = pad(table[start : start + step], (0, size - table.shape[1]), value=-1)
        real = some.flatten() >= 0
        columns, bound, x = cells.candidates(some, k + space.own)
        some, columns, bound = some.flatten()[real], columns[real], bound[real]
        columns, exact = _compared(space, some, columns)
        indices[some], distances[some] = columns[:, :k], exact[:, :k]
        # Coordinates in single precision are wrong by less than 2**-24 of x. A point y that is no
        # candidate is as far away as the bound, less that of x and that of y, |y| <= |x| + d.
        x = x[real]
        beyond = (bound.sqrt() - 2**-22 * x.norm(dim=1)) * (1 - 1e-6)
        last = exact[:, k - 1] * (RANGE * space.unit / space.scale)
        proven[some] = last < beyond if cells.are_all_visited else last < math.inf
        proven[some] &= x.abs().amax(1) < FARTHEST
    return indices, distances, rows[~proven]


def _compared(space: _Space, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """Return candidates and their distances, nearest first; n stands for no candidate."""
    n = len(space.points)
    if space.own:
        columns = columns.masked_fill(columns == rows[:, None], n)
    columns = columns.sort(1).values
    pairs = rows.repeat_interleave(columns.shape[1]), columns.flatten().clamp(max=n - 1)
    exact = space.exact(*pairs).view(columns.shape).masked_fill(columns == n, math.inf)
    exact, places = exact.sort(dim=1, stable=True)
    return columns.gather(1, places), exact


class _Cells:
    """Cells of near points, each point about the centre of its cell, for the kernel."""

    def __init__(self, space: _Space, cells: Tensor) -> None:
        from patchfold.gpu import neighbors_kernel as kernel

        self.space = space
        self.tiles = -(-cells.shape[1] // kernel.LANES.value)
        empty = self.tiles * kernel.LANES.value - cells.shape[1]
        self.cells = pad(cells, (0, empty), value=-1)
        m, device = space.points.shape[1], cells.device
        # Rows of few columns are one short part of a product; long rows are several.
        self.part = min(64, max(16, 1 << (m - 1).bit_length()))
        width = -(-m // self.part) * self.part
        # Each of two factors is rounded to half precision, by 2**-11; their squares to single; sums
        # of a tensor core are truncated. Below 2**-24 half precision knows no numbers but 2**-24
        # times integers; a bound of that is a share of 2**-16 and the absolute error.
        relative = 2.0**-10 * 1.01 + 2.0**-16 + (width + m + 32) * 2.0**-23
        self.shrink, self.vanished = 1 - relative, m * 2.0**-32
        self.points = torch.zeros(*self.cells.shape, width, dtype=torch.float16, device=device)
        self.squares = torch.full(self.cells.shape, math.inf, device=device)
        self.centres = torch.zeros(len(cells), width, device=device)
        self.radii = torch.zeros(len(cells), dtype=torch.float64, device=device)
        step = max(1, space.work_bytes // (32 * self.cells.shape[1] * m))
        for start in range(0, len(cells), step):
            part = slice(start, start + step)
            x, real, centres, self.radii[part] = self._about_centres(self.cells[part], space.points)
            self.centres[part, :m] = centres
            gaps = torch.where(real, x - centres[:, None], 0)
            self.points[part, :, :m] = gaps.half()
            self.squares[part] = torch.where(
                real[..., 0], gaps.square().sum(2) * self.shrink, math.inf
            )
        self.visited = min(len(cells), kernel.MOST_STEPS // self.tiles)
        self.are_all_visited = self.visited == len(cells)

    def _about_centres(self, rows: Tensor, X: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the points of blocks in single precision, which are real, centres and radii."""
        real = (rows >= 0)[..., None]
        x = (self.space.placed(X[rows.clamp(min=0)]) * RANGE).clamp(-FARTHEST, FARTHEST).float()
        count = real.sum(1).clamp(min=1)
        centres = (torch.where(real, x, 0).double().sum(1) / count).float()
        gaps = torch.where(real, x.double() - centres[:, None].double(), 0)
        return x, real, centres, gaps.square().sum(2).amax(1).sqrt() * (1 + 1e-6)

    def _gaps(self, centres: Tensor, radii: Tensor) -> Tensor:
        """Return how far balls are from the cells at least, less all rounding."""
        a, b = centres, self.centres[:, : centres.shape[1]].double()
        a2, b2 = a.square().sum(1)[:, None], b.square().sum(1)
        lost = (len(a.T) + ROUNDED) * 2 * torch.finfo(torch.float64).eps
        squares = torch.addmm((a2 + b2) * (1 - lost), a, b.T, alpha=-2).clamp_(min=0)
        gaps = squares.sqrt_().mul_(1 - 1e-6)
        return gaps.sub_(radii[:, None]).sub_(self.radii).clamp_(min=0).mul_(1 - 1e-6)

    def candidates(self, rows: Tensor, wanted: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return the candidates of blocks of queries, and how near other points may be.

        The bound is that of squared distances, in the kernel's coordinates, which come last.
        """
        from patchfold.gpu import neighbors_kernel as kernel

        m, n_blocks = self.space.points.shape[1], len(rows)
        x, real, centres, radii = self._about_centres(rows, self.space.queries)
        # An empty place takes the centre, where it hardly delays the end of the search.
        x = torch.where(real, x, centres[:, None])
        bounds, order = self._gaps(centres.double(), radii).square_().sort(dim=1)
        splits = 1 << (-(-wanted // kernel.GROUPS.value) - 1).bit_length()
        shape = (rows.numel(), splits, kernel.KEPT.value, kernel.LANES.value)
        kept = torch.empty(shape, dtype=torch.int32, device=rows.device)
        reached = torch.empty((n_blocks, splits), device=rows.device)
        order = order[:, : self.visited].contiguous()
        with torch.cuda.device_of(rows):  # Triton takes the current device
            kernel.candidates[(n_blocks, splits)](
                pad(x.view(-1, m), (0, self.points.shape[2] - m)),
                self.points,
                self.squares,
                self.centres,
                order.to(torch.int32),
                bounds[:, : self.visited].float().contiguous(),
                kept,
                reached,
                self.tiles,
                self.visited,
                self.shrink,
                self.vanished,
                self.points.shape[2],
                self.part,
                num_warps=8,
                num_stages=3,
            )
        infinite, steps = 0x7F800000, -kernel.BOUND_BITS.value - 1
        dropped = kept[:, :, -1].amin((1, 2))
        keys, places = kept.flatten(1).topk(
            min(max(32, COMPARED * wanted), shape[1] * shape[2] * shape[3]), largest=False
        )
        bound = torch.minimum(dropped, keys.amax(1)).clamp(max=infinite) & ~steps
        step = (keys & steps).long()
        block = torch.arange(len(step), device=rows.device)[:, None] // rows.shape[1]
        cell = order[block, (step // self.tiles).clamp(max=self.visited - 1)]
        columns = self.cells[cell, step % self.tiles * kernel.LANES.value + places % shape[3]]
        missing = (keys >= infinite) | (columns < 0)
        bound = torch.minimum(
            bound.view(torch.float32), reached.amin(1).repeat_interleave(rows.shape[1])
        )
        return (columns.masked_fill(missing, len(self.space.points)), bound.double(), x.view(-1, m))


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
