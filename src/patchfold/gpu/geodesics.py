"""Geodesics on tensors, by relaxation to the fixed point.

A path's length is the sum of its edges in order, in float64. Rounded addition is monotone, so that
the least over all paths does not depend on how it is found: bits are those of
:mod:`patchfold.graph.geodesics`, in any two runs.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from patchfold.gpu.local_order import blocks

# Bytes that a sweep over whole arrays works in at a time.
SWEEP_BYTES = 2**26

# A tile has CHUNKS (at most 63) times ROWS points. With LANES sources, their distances take 128 kB,
# half of the fast memory of a multiprocessor.
CHUNKS, ROWS, LANES = 32, 64, 8

# Paths longer than others that wait, by more than so many mean edges, wait longer: most become
# shorter meanwhile. On a roll of 100 000 points each tile is looked through 47 times, 143 times if
# no chunk and no tile ever waits.
AHEAD = 16

# Bytes of the distances that are at work at a time.
FAR_BYTES = 2**34

# Points whose geodesics are the coordinates by which the points of a graph are put in order.
LANDMARKS = 8


def shortest_paths(
    indptr: Tensor,
    indices: Tensor,
    lengths: Tensor,
    sources: Tensor,
    *,
    order: Tensor | None = None,
) -> Tensor:
    """Return the lengths of the shortest paths from the sources to all points.

    Parameters
    ----------
    indptr, indices, lengths : Tensor
        A symmetric graph in compressed rows; lengths finite and not negative, zeros are edges.
    sources : Tensor of shape (n_sources,)
    order : Tensor of shape (n,), optional
        The points in an order in which near ones follow each other; found from the graph where it
        is not given. No bit of the result depends on it.

    Returns
    -------
    Tensor of shape (n_sources, n), infinite where there is no path
        float32 for float32 lengths, rounded once, after the sums; float64 otherwise.

    Examples
    --------
    >>> indptr, indices = torch.tensor([0, 1, 3, 4]), torch.tensor([1, 0, 2, 1])
    >>> lengths = torch.tensor([1.0, 1.0, 2.0, 2.0], dtype=torch.float64)
    >>> shortest_paths(indptr, indices, lengths, torch.tensor([0, 2]))
    tensor([[0., 1., 3.],
            [3., 2., 0.]], dtype=torch.float64)
    """
    return Paths(indptr, indices, lengths, order)(sources)


class Paths:
    """A graph prepared for :func:`shortest_paths` from some sources after others."""

    def __init__(
        self, indptr: Tensor, indices: Tensor, lengths: Tensor, order: Tensor | None = None
    ) -> None:
        kind = _Tiles if _has_kernel(lengths) else _Arrays
        self._graph = kind(indptr, indices, lengths.double(), order)
        self._dtype = torch.float32 if lengths.dtype == torch.float32 else torch.float64

    def __call__(self, sources: Tensor) -> Tensor:
        """Return the lengths of the shortest paths from the sources to all points."""
        shape = (len(sources), self._graph.n)
        result = torch.empty(shape, dtype=self._dtype, device=sources.device)
        self._graph.write(sources, result)
        return result


def _has_kernel(lengths: Tensor) -> bool:
    return bool(lengths.is_cuda)


class _Arrays:
    """A graph whose edges are all looked at in every sweep."""

    def __init__(
        self, indptr: Tensor, indices: Tensor, lengths: Tensor, order: Tensor | None
    ) -> None:
        self.n = len(indptr) - 1
        self.indices, self.lengths = indices, lengths
        self.ends = torch.arange(self.n, device=lengths.device).repeat_interleave(indptr.diff())

    def write(self, sources: Tensor, result: Tensor) -> None:
        """Write the lengths of the shortest paths from the sources to all points."""
        step = max(1, SWEEP_BYTES // (16 * max(len(self.indices), 1)))
        for rows in torch.arange(len(sources), device=sources.device).split(step):
            far = self.lengths.new_full((len(rows), self.n), math.inf)
            far.scatter_(1, sources[rows][:, None], 0.0)
            ends = self.ends.expand(len(rows), -1)
            while True:
                through = far[:, self.indices] + self.lengths
                improved = far.scatter_reduce(1, ends, through, "amin")
                if torch.equal(improved, far):
                    break
                far = improved
            result[rows] = far.to(result.dtype)


class _Tiles:
    """A graph on a GPU in tiles of near points, each relaxed to rest by itself."""

    def __init__(
        self, indptr: Tensor, indices: Tensor, lengths: Tensor, order: Tensor | None
    ) -> None:
        self.n = n = len(indptr) - 1
        device, size = lengths.device, CHUNKS * ROWS
        if order is None:
            order = torch.arange(n, device=device)
            if n > size:  # the geodesics from a few points tell where the others are
                seeds = torch.randperm(n, generator=torch.Generator().manual_seed(0))[:LANDMARKS]
                places = torch.empty(len(seeds), n, device=device)
                _Tiles(indptr, indices, lengths, order).write(seeds.to(device), places)
                known = places.isfinite()
                places = torch.where(known, places, 2 * places[known].max())
                order = blocks(places.T, size).flatten()
                order = order[order >= 0]
        self.rank = torch.empty_like(order)
        self.rank[order] = torch.arange(n, device=device)
        self.n_tiles = max(1, -(-n // size))
        self.n_points = self.n_tiles * size
        self._set_arcs(indptr, indices, lengths, order)

    def _set_arcs(self, indptr: Tensor, indices: Tensor, lengths: Tensor, order: Tensor) -> None:
        """Lay the arcs of ROWS points side by side, filled up by arcs of no length to themselves.

        ROWS points have as many arcs each as the one that has most, and a multiple of TOGETHER.
        """
        from patchfold.gpu.geodesics_kernel import TOGETHER

        device, together = lengths.device, TOGETHER.value
        degrees = torch.zeros(self.n_points, dtype=torch.int64, device=device)
        degrees[: len(order)] = indptr.diff()[order]
        most = degrees.view(-1, ROWS).amax(1)
        sizes = (most + together - 1) // together * together * ROWS
        self.starts = torch.cat((sizes.new_zeros(1), sizes.cumsum(0)))
        total = int(self.starts[-1])
        first = torch.arange(len(sizes), device=device) * ROWS
        row = torch.arange(total, device=device) % ROWS
        self.ends = (first.repeat_interleave(sizes) + row).int()
        self.lengths = torch.zeros(total, dtype=torch.float64, device=device)
        place = self.rank.repeat_interleave(indptr.diff())
        turn = torch.arange(len(indices), device=device) - indptr[:-1].repeat_interleave(
            indptr.diff()
        )
        at = self.starts[place // ROWS] + turn * ROWS + place % ROWS
        self.ends[at] = self.rank[indices].int()
        self.lengths[at] = lengths
        self.ahead = AHEAD * float(lengths.mean()) if len(lengths) else 0.0
        # When a chunk changes, others have to be looked at: those with arcs to it.
        others, changed = place // ROWS, self.rank[indices] // ROWS
        same = others // CHUNKS == changed // CHUNKS
        bits = torch.zeros(len(sizes), CHUNKS, dtype=torch.int64, device=device)
        bits[changed[same], others[same] % CHUNKS] = 1
        self.within = self._packed(bits)
        pairs = torch.unique(others[~same] * len(sizes) + changed[~same])
        self.others, self.changed = pairs // len(sizes), pairs % len(sizes)

    def _packed(self, bits: Tensor) -> Tensor:
        """Return CHUNKS bits, along dimension 1, as one number."""
        shift = torch.arange(CHUNKS, device=bits.device).view(-1, *[1] * (bits.ndim - 2))
        return (bits.long() << shift).sum(1)

    def write(self, sources: Tensor, result: Tensor) -> None:
        """Write the lengths of the shortest paths from the sources to all points."""
        lanes = min(LANES, 1 << max(len(sources) - 1, 0).bit_length())
        groups = max(1, FAR_BYTES // (8 * lanes * self.n_points))
        # Near sources share a group: their paths change the same tiles at the same time.
        together = self.rank[sources].argsort()
        for some in together.split(groups * lanes):
            far = self._relaxed(self.rank[sources[some]], lanes)
            for group, rows in enumerate(some.split(lanes)):
                result[rows] = far[group, self.rank, : len(rows)].T.to(result.dtype)

    def _relaxed(self, starts: Tensor, lanes: int) -> Tensor:
        """Return distances (groups, n_points, lanes) from some points, in the order of tiles."""
        from patchfold.gpu.geodesics_kernel import relax

        groups = -(-len(starts) // lanes)
        shape = (groups, self.n_points, lanes)
        far = torch.full(shape, math.inf, dtype=torch.float64, device=starts.device)
        number = torch.arange(len(starts), device=starts.device)
        far[number // lanes, starts, number % lanes] = 0.0
        n_chunks = len(self.within)
        shortened = far.new_full((n_chunks, groups), math.inf)
        shortened[starts // ROWS, number // lanes] = 0.0
        # How short the paths are by which chunks may become shorter: none where they cannot.
        due = self._spread(shortened)
        tiles = due.view(self.n_tiles, CHUNKS, groups)
        tiles[starts // (CHUNKS * ROWS), :, number // lanes] = 0.0
        while True:
            waiting = tiles.isfinite()
            now = (waiting & (tiles <= due.amin(0) + self.ahead)).any(1)
            at_rest = not now.any()
            if at_rest:  # so it seems; a look at everything proves it
                now, waiting = torch.ones_like(now), torch.ones_like(waiting)
            tasks = now.flatten().nonzero()[:, 0]
            awake = self._packed(waiting).flatten()[tasks]
            tiles.masked_fill_(now[:, None], math.inf)
            shortened.fill_(math.inf)
            with torch.cuda.device_of(far):  # Triton takes the current device
                relax[(len(tasks),)](
                    far,
                    self.ends,
                    self.lengths,
                    self.starts,
                    self.within,
                    tasks,
                    awake,
                    shortened,
                    self.n_points,
                    groups,
                    CHUNKS,
                    ROWS,
                    lanes,
                    num_warps=max(2, lanes),
                )
            if at_rest and not shortened.isfinite().any():
                return far
            torch.minimum(due, self._spread(shortened), out=due)

    def _spread(self, shortened: Tensor) -> Tensor:
        """Return, for each chunk, the shortest of the changed paths in other tiles next to it."""
        due = torch.full_like(shortened, math.inf)
        return due.scatter_reduce_(
            0, self.others[:, None].expand(-1, due.shape[1]), shortened[self.changed], "amin"
        )
