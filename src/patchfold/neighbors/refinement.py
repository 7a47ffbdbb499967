"""Neighbours of points that have moved a little: the nearest of old neighbours and theirs.

This is much cheaper than another search of all points, and nearly exact: a new neighbour is mostly
an old neighbour's neighbour. Compiled code takes one point at a time, and gathers nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patchfold.base import row_order
from patchfold.base.compiling import compiled
from patchfold.base.threads import map_blocks
from patchfold.neighbors.block_kernel import squared_distance
from patchfold.neighbors.neighborhoods import Neighborhoods, edge_starts

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices


# Bytes that count for a row when rows are cut into blocks; it reads points from all over memory.
ROW_BYTES = 2**15


def refined_neighbors(
    points: Floats,
    known: Neighborhoods,
    queries: Floats | None = None,
    start: Neighborhoods | None = None,
    *,
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Return the nearest among old neighbours and their neighbours, as many as before.

    ``points`` (n, m) are where the points are now, ``known`` their old neighbours. ``queries``
    (n_queries, m) are the points whose neighbours are wanted, and ``start`` their old neighbours.
    Without them the points themselves are the queries, and no point is its own neighbour. The
    result does not depend on ``n_jobs``, the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold.neighbors import find_neighbors
    >>> known = find_neighbors(np.array([[0.0], [1.0], [2.0], [3.0], [4.5]]), 2)
    >>> known.indices[4:6]
    array([1, 3])
    >>> moved = np.array([[0.0], [1.0], [3.4], [3.0], [4.5]])
    >>> refined_neighbors(moved, known).indices[4:6]
    array([3, 4])
    """
    own = queries is None
    queries = points if queries is None else queries
    start = known if start is None else start
    degrees = start.degrees
    most = int(degrees.max(initial=0))
    columns = np.empty((len(start), most), dtype=np.intp)
    distances = np.full((len(start), most), np.inf)

    walk = row_order.walk(queries)

    def search(block: slice) -> None:
        _search(
            np.ascontiguousarray(points),
            known.indptr,
            known.indices,
            np.ascontiguousarray(queries),
            start.indptr,
            start.indices,
            walk[block],
            own,
            columns,
            distances,
        )

    map_blocks(search, len(start), ROW_BYTES, n_jobs)
    kept = np.arange(most) < degrees[:, None]
    found = np.sqrt(distances[kept]).astype(points.dtype, copy=False)
    return Neighborhoods(edge_starts(degrees), columns[kept], found)


@compiled
def _search(
    points: Floats,
    known_starts: Indices,
    known: Indices,
    queries: Floats,
    starts: Indices,
    first: Indices,
    rows: Indices,
    own: bool,
    columns: Indices,
    squares: Floats,
) -> None:
    """Write the nearest candidates of some queries, by (distance, index), and squared distances."""
    seen_by = np.full(len(points), -1, np.intp)
    for q in rows:
        wanted = starts[q + 1] - starts[q]
        if own:
            seen_by[q] = q
        found = 0
        for e in range(starts[q], starts[q + 1]):
            near = first[e]
            # The neighbour itself, then its neighbours.
            for f in range(known_starts[near] - 1, known_starts[near + 1]):
                candidate = near if f < known_starts[near] else known[f]
                if seen_by[candidate] == q:
                    continue
                seen_by[candidate] = q
                limit = squares[q, wanted - 1]  # infinite until as many are found
                square = squared_distance(queries[q], points[candidate], limit)
                if square > limit or (square == limit and candidate > columns[q, wanted - 1]):
                    continue
                found = min(found + 1, wanted)
                place = found - 1
                while place > 0 and (
                    square < squares[q, place - 1]
                    or (square == squares[q, place - 1] and candidate < columns[q, place - 1])
                ):
                    squares[q, place] = squares[q, place - 1]
                    columns[q, place] = columns[q, place - 1]
                    place -= 1
                squares[q, place] = square
                columns[q, place] = candidate
