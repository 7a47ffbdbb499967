"""Compiled shortest paths, from a block of sources at once.

An edge is relaxed for all sources of a block together, in one short loop over neighbouring numbers.
Each source has a lane: a column of the block. The compiler unrolls the loop over lanes, because it
knows the length of a tuple (:data:`Lanes`).
Points wait in buckets ordered by their distance from the nearest source of the block. Most are
final when their turn comes; a point whose distances improve later gets another turn, until nothing
improves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patchfold.base.compiling import compiled

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices, Mask


# As many zeros as there are lanes.
Lanes = tuple[int, ...]

# Width of a bucket, in mean edge lengths. Narrower buckets order points that need no order; wider
# ones let points go before others that would improve them.
WIDTH = 2.0

# Rows of the result that are written at once: enough to use whole cache lines of the block, few
# enough to stay in the cache.
WRITTEN = 8


@compiled
def has_shortcut(indptr: Indices, indices: Indices, lengths: Floats, slack: float) -> Mask:
    """Tell which edges are longer, by more than ``slack``, than a path over one other point."""
    shorter = np.zeros(len(indices), np.bool_)
    n = len(indptr) - 1
    from_u = np.full(n, np.inf)
    for u in range(n):
        for e in range(indptr[u], indptr[u + 1]):
            from_u[indices[e]] = lengths[e]
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            for f in range(indptr[v], indptr[v + 1]):
                if from_u[indices[f]] + lengths[f] < lengths[e] - slack:
                    shorter[e] = True
                    break
        for e in range(indptr[u], indptr[u + 1]):
            from_u[indices[e]] = np.inf
    return shorter


@compiled
def rank_by_groups(indptr: Indices, indices: Indices, sources: Indices, size: int) -> Indices:
    """Rank points so that sources sorted by rank form groups of ``size`` close ones.

    A group begins with the first source that has no group yet, and takes the sources fewest edges
    away from it.
    """
    n = len(indptr) - 1
    free = np.zeros(n, np.bool_)
    free[sources] = True
    rank = np.zeros(n, np.intp)
    ranked = 0
    seen_from = np.full(n, -1, np.intp)
    queue = np.empty(n, np.intp)
    for first in range(n):
        if not free[first]:
            continue
        seen_from[first] = first
        queue[0] = first
        head, tail = 0, 1
        full = ranked + size
        while head < tail and ranked < full:
            u = queue[head]
            head += 1
            if free[u]:
                free[u] = False
                rank[u] = ranked
                ranked += 1
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                if seen_from[v] != first:
                    seen_from[v] = first
                    queue[tail] = v
                    tail += 1
    return rank


def dial(lengths: Floats, n: int) -> tuple[float, int]:
    """Return the width and the number of buckets for a graph of ``n`` points."""
    width = WIDTH * float(np.mean(lengths, dtype=np.float64)) if len(lengths) else 0.0
    width = width or 1.0
    return width, min(int(lengths.max(initial=0.0) / width), n) + 2


@compiled
def relax(
    indptr: Indices,
    indices: Indices,
    lengths: Floats,
    width: float,
    buckets: int,
    sources: Indices,
    far: Floats,
    lanes: Lanes,
) -> None:
    """Write the distances of all points from the sources into the columns of ``far``.

    There is at most one source a lane; the columns of other lanes are infinite. ``width`` and
    ``buckets`` are those of :func:`dial`.
    """
    n = len(indptr) - 1
    far[:] = np.inf
    nearest = np.full(n, np.inf)  # the distance from the nearest source
    # Every bucket is a linked list; buckets are reused in turn, as on a dial.
    head = np.full(buckets, -1, np.intp)
    tail = np.full(buckets, -1, np.intp)
    after = np.full(n, -1, np.intp)
    waits = np.zeros(n, np.bool_)
    waiting = 0
    for lane, v in enumerate(sources):
        far[v, lane] = nearest[v] = 0.0
        if not waits[v]:
            waits[v] = True
            waiting += 1
            _append(v, 0, head, tail, after)
    turn = 0
    while waiting:
        u = head[turn % buckets]
        if u < 0:
            turn += 1
            continue
        head[turn % buckets] = after[u]
        waits[u] = False
        waiting -= 1
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if not _improve(far, u, v, lengths[e], lanes):
                continue
            nearest[v] = min(nearest[v], nearest[u] + lengths[e])
            if not waits[v]:
                waits[v] = True
                waiting += 1
                bucket = max(turn, min(int(nearest[v] / width), turn + buckets - 1))
                _append(v, bucket % buckets, head, tail, after)


@compiled
def _improve(far: Floats, u: int, v: int, length: float, lanes: Lanes) -> bool:
    """Shorten paths to ``v`` that are shorter through ``u``; tell whether there were any."""
    improved = False
    for lane in range(len(lanes)):
        through_u = far[u, lane] + length
        known = far[v, lane]
        better = through_u < known
        improved |= better
        far[v, lane] = through_u if better else known
    return improved


@compiled
def _append(v: int, bucket: int, head: Indices, tail: Indices, after: Indices) -> None:
    after[v] = -1
    if head[bucket] < 0:
        head[bucket] = v
    else:
        after[tail[bucket]] = v
    tail[bucket] = v


@compiled
def continue_paths(
    paths: Floats, indptr: Indices, indices: Indices, lengths: Floats, result: Floats
) -> None:
    """Write the least of ``lengths + paths[indices]`` over the edges of each new point."""
    for new in range(len(indptr) - 1):
        for e in range(indptr[new], indptr[new + 1]):
            v, length = indices[e], lengths[e]
            for column in range(paths.shape[1]):
                through_v = paths[v, column] + length
                known = result[new, column]
                result[new, column] = min(known, through_v)


@compiled
def write(far: Floats, order: Indices, rows: Indices, result: Floats) -> None:
    """Write ``far[j, i]``, of point ``j``, into row ``rows[i]`` and column ``order[j]``.

    As quick for a result whose columns are contiguous.
    """
    for first in range(0, len(rows), WRITTEN):
        for j in range(len(order)):
            column = order[j]
            for i in range(first, min(first + WRITTEN, len(rows))):
                result[rows[i], column] = far[j, i]
