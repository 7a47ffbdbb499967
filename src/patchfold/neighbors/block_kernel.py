"""Compiled: the nearest points of some queries, block by block.

Points lie in blocks of near ones. A block whose points are all farther away than the neighbours
found so far is left out. Of the others, the first coordinates of all points bound their distances
from below. The whole distance is taken only where this bound does not exclude a point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patchfold.base.compiling import compiled, compiled_freely

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices


# Points of a block, and queries that share the choice of blocks. A constant, because the compiler
# unrolls the loop over them.
BLOCK = 64

# Squares of shorter distances vanish in single precision. The points are spread over about one.
LEAST = 1e-18

# A distance is given up if it is too long after a multiple of PART coordinates.
PART = 32


@compiled
def search(
    queries: Floats,
    first: Floats,
    second: Floats,
    sizes: Floats,
    points: Floats,
    blocks: Floats,
    further: Floats,
    order: Indices,
    bounds: Floats,
    count: int,
    eps: float,
    columns: Indices,
    squares: Floats,
    limits: Floats,
) -> None:
    """Write the nearest points of each query, and their squared distances, nearest first.

    ``first`` (n_queries, p) are the first coordinates of the ``queries``, whose lengths are
    ``sizes``, and the length of the rest; ``blocks`` (n_blocks, p, BLOCK) are those of the points.
    ``second`` and ``further`` (n, q) are the coordinates after these, and the rest; q may be 0.
    The blocks of a group of BLOCK queries are visited in the ``order`` (n_groups, n_blocks) of
    their ``bounds``, below which none of their points is. Numbers are right up to ``eps``.
    ``limits`` are bounds of the squared distances of the ``count`` nearest, above their rounding:
    all points up to there are in ``columns``, unless these are full.
    """
    near = np.empty(BLOCK, np.float32)
    m = queries.shape[1]
    # Rounding of coordinates and of what is left beside them, and of a sum of squares.
    of_places, of_sum = (4 + np.sqrt(m) / 4) * eps, (m + 8) * eps
    for group in range(len(order)):
        start, stop = group * BLOCK, min(len(queries), (group + 1) * BLOCK)
        limits[start:stop] = np.inf
        widest = np.inf
        for place in range(order.shape[1]):
            if bounds[group, place] > widest:
                break
            block = order[group, place]
            widest = 0.0
            for q in range(start, stop):
                if _bound(first[q], blocks[block], near) <= limits[q]:
                    if further.shape[1]:
                        _sharpen(
                            first[q], second[q], blocks[block], further, block, near, limits[q]
                        )
                    farthest = _look(
                        queries[q], points, block, near, columns[q], squares[q], limits[q], count
                    )
                    if farthest < np.inf:
                        # A near point has |y| <= |x| + distance.
                        reach = np.sqrt(farthest) * (1 + of_sum)
                        reach += of_places * (2 * sizes[q] + reach) + LEAST
                        limits[q] = reach * reach * (1 + of_sum)
                widest = max(widest, limits[q])
            widest = np.sqrt(widest)


@compiled_freely
def _bound(query: Floats, block: Floats, near: Floats) -> float:
    """Write lower bounds of the squared distances of a block, and return the least.

    Four coordinates at once: then sums are read and written less often.
    """
    near[:] = 0.0
    for x in range(0, len(query), 4):
        q0, q1, q2, q3 = query[x], query[x + 1], query[x + 2], query[x + 3]
        for y in range(BLOCK):
            g0, g1 = q0 - block[x, y], q1 - block[x + 1, y]
            g2, g3 = q2 - block[x + 2, y], q3 - block[x + 3, y]
            near[y] += (g0 * g0 + g1 * g1) + (g2 * g2 + g3 * g3)
    lowest = near[0]
    for y in range(BLOCK):
        lowest = min(lowest, near[y])
    return float(lowest)


@compiled_freely
def _sharpen(
    query: Floats,
    beyond: Floats,
    block: Floats,
    further: Floats,
    number: int,
    near: Floats,
    limit: float,
) -> None:
    """Raise the bounds up to a limit: compare more coordinates, and what is left then."""
    rest = query[len(query) - 1]
    for y in range(min(BLOCK, len(further) - number * BLOCK)):
        if near[y] > limit:
            continue
        gap = rest - block[len(query) - 1, y]
        other = further[number * BLOCK + y]
        square = near[y] - gap * gap
        for x in range(len(beyond)):
            step = beyond[x] - other[x]
            square += step * step
        near[y] = square


@compiled
def _look(
    query: Floats,
    points: Floats,
    block: int,
    near: Floats,
    columns: Indices,
    squares: Floats,
    limit: float,
    count: int,
) -> float:
    """Look at the points of a block that the bounds ``near`` do not exclude.

    Return the square of the ``count``-th nearest point found so far, infinite for none.
    """
    last, start = len(columns) - 1, block * BLOCK
    for y in range(min(BLOCK, len(points) - start)):
        if near[y] > limit:
            continue
        square = squared_distance(query, points[start + y], limit)
        if square > limit or square >= squares[last]:
            continue
        place = last
        while place > 0 and square < squares[place - 1]:
            squares[place] = squares[place - 1]
            columns[place] = columns[place - 1]
            place -= 1
        squares[place] = square
        columns[place] = start + y
    return float(squares[count - 1])


@compiled_freely
def squared_distance(a: Floats, b: Floats, limit: float) -> float:
    """Return the squared distance, or a number above ``limit`` if it is above.

    Parts are summed in the type of the points, which is much quicker, and the whole in float64.
    """
    square = 0.0
    whole = len(a) // PART * PART
    for start in range(0, whole, PART):
        part = a.dtype.type(0)
        for x in range(PART):  # a fixed length makes it quick
            gap = a[start + x] - b[start + x]
            part += gap * gap
        square += float(part)
        if square > limit:
            return square
    part = a.dtype.type(0)
    for x in range(whole, len(a)):
        gap = a[x] - b[x]
        part += gap * gap
    return square + float(part)
