"""Compiled search for a short path between two points, from one towards the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.engines.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]

# Room in the heap of a search between pairs; it doubles when the heap is full.
FIRST_HEAP = 1024


@compiled
def joined(
    indptr: Indices,
    indices: Indices,
    lengths: Floats,
    i: Indices,
    j: Indices,
    bounds: Floats,
    most: Floats,
    outline: Floats,
    result: NDArray[np.bool_],
) -> None:
    """Tell which pairs ``(i, j)`` a path joins that is no longer than their bound.

    If such a path leads through a point, the way to the point and its distance from the other end,
    in the outline, are at most ``most`` in sum. The search leaves out all other points, and goes on
    where this sum is least.
    """
    far = np.full(len(indptr) - 1, np.inf)
    left = np.empty(len(far))  # the least length of the rest of the path
    seen = np.empty(len(far), np.intp)
    keys, points = np.empty(FIRST_HEAP), np.empty(FIRST_HEAP, np.intp)
    for pair in range(len(i)):
        first, last = i[pair], j[pair]
        seen[0], n_seen = first, 1
        far[first], left[first] = 0.0, _apart(outline, first, last)
        keys[0], points[0], size = left[first], first, 1
        found = first == last
        while size and not found:
            key, u = keys[0], points[0]
            size -= 1
            _sink(keys, points, size)
            if key > far[u] + left[u]:
                continue
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                through_u = far[u] + lengths[e]
                if not (through_u < far[v] and through_u <= bounds[pair]):
                    continue
                if v == last:
                    found = True
                    break
                if far[v] == np.inf:
                    rest = _apart(outline, v, last)
                    if through_u + rest > most[pair]:
                        continue
                    left[v] = rest
                    seen[n_seen] = v
                    n_seen += 1
                far[v] = through_u
                keys, points = _with_room(keys, points, size)
                _rise(keys, points, size, through_u + left[v], v)
                size += 1
        result[pair] = found
        for place in range(n_seen):
            far[seen[place]] = np.inf


@compiled
def _apart(outline: Floats, u: int, v: int) -> float:
    """Return the distance of two points in an outline."""
    total = 0.0
    for column in range(outline.shape[1]):
        step = outline[u, column] - outline[v, column]
        total += step * step
    return float(np.sqrt(total))


@compiled
def _with_room(keys: Any, points: Any, size: int) -> tuple[Any, Any]:
    """Return a heap of ``size`` keys with room for one more."""
    if size < len(keys):
        return keys, points
    return np.concatenate((keys, np.empty_like(keys))), np.concatenate(
        (points, np.empty_like(points))
    )


@compiled
def _rise(keys: Floats, points: Indices, place: int, key: float, point: int) -> None:
    """Put a key into a heap of ``place`` keys."""
    while place > 0:
        above = (place - 1) // 2
        if keys[above] <= key:
            break
        keys[place], points[place] = keys[above], points[above]
        place = above
    keys[place], points[place] = key, point


@compiled
def _sink(keys: Floats, points: Indices, size: int) -> None:
    """Take the first key out of a heap of ``size + 1`` keys."""
    key, point = keys[size], points[size]
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[place], points[place] = keys[below], points[below]
        place = below
    keys[place], points[place] = key, point
