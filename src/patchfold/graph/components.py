"""Connected components of a graph, and the edges that join them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from patchfold.base.threads import block_slices
from patchfold.graph.edges import symmetric
from patchfold.neighbors.points import SearchedPoints, k_nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from patchfold.base.types import Floats, Indices, Mask

    Pair = tuple[float, float, int, int]
    Closest = Callable[[Indices], Iterator[Pair]]


# Components of at most FEW points are looked at together, others one after the other.
FEW = 64


def n_components(graph: csr_array) -> tuple[int, Indices]:
    """Return the number of connected components and that of every point; zeros are edges."""
    pattern = csr_array((np.ones(len(graph.indices)), graph.indices, graph.indptr), graph.shape)
    count, labels = connected_components(pattern, directed=False)
    return int(count), labels.astype(np.intp)


def longest_needed(graph: csr_array) -> float:
    """Return the longest edge of a minimum spanning tree: without it the graph falls apart."""
    # The tree of the ranks, from one on: so a length of zero is an edge, and none is rounded.
    values, ranks = np.unique(graph.data, return_inverse=True)
    ranked = csr_array((ranks + 1.0, graph.indices, graph.indptr), graph.shape)
    tree = minimum_spanning_tree(ranked).data
    return float(values[int(tree.max()) - 1]) if len(tree) else 0.0


def joining_edges(labels: Indices, closest: Closest) -> tuple[Indices, Indices]:
    """Join components one closest pair at a time until one remains (SA-Isomap, section 2.1).

    The pairs are the minimum spanning tree between components under the order
    ``(gap, tie, i, j)``. In each round, every component but one chooses its closest pair.

    Parameters
    ----------
    labels : array of shape (n,)
        The component of every point.
    closest : callable
        ``closest(labels)`` yields pairs ``(gap, tie, i, j)``, ``i < j``, of two components, that of
        every component but one among them: :func:`closest_by_gaps`, :func:`closest_points`.

    Returns
    -------
    i, j : arrays with one entry fewer than there are components, ``i < j``
    """
    n = len(labels)
    chosen: set[tuple[int, int]] = set()
    while labels.max(initial=0) > 0:
        best: dict[int, Pair] = {}
        for pair in closest(labels):
            for end in pair[2:]:
                label = int(labels[end])
                best[label] = min(best.get(label, pair), pair)
        chosen |= {pair[2:] for pair in best.values()}
        low, high = np.array(sorted(chosen), dtype=np.intp).T
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        joined = symmetric(
            np.concatenate([np.arange(n), low]),
            np.concatenate([first[inverse], high]),
            np.ones(n + len(low)),
            n,
        )
        labels = n_components(joined)[1]
    ends = np.array(sorted(chosen), dtype=np.intp).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def closest_by_gaps(gaps: Callable[[Indices], tuple[Floats, Floats]]) -> Closest:
    """Return a function that finds the closest pairs among all pairs.

    ``gaps(rows)`` gives the gaps between some points and all points, and the ties that decide
    between equal gaps. The largest component is not asked: the others find it.
    """

    def closest(labels: Indices) -> Iterator[Pair]:
        asked = np.flatnonzero(labels != np.argmax(np.bincount(labels)))
        for block in block_slices(len(asked), 6 * 8 * len(labels)):
            rows = asked[block]
            values, ties = gaps(rows)
            values = np.where(labels[rows, None] == labels, np.inf, values)
            nearest = values.min(axis=1)
            ties = np.where(values == nearest[:, None], ties, np.inf)
            columns = np.argmin(ties, axis=1)
            least = np.take_along_axis(ties, columns[:, None], axis=1)[:, 0]
            yield from _pairs(nearest, least, rows, columns)

    return closest


def closest_points(X: Any, n_jobs: int | None = None) -> Closest:
    """Return a function that finds the closest pairs of points, by exact searches.

    The largest component is not asked: the others find it.
    """

    def closest(labels: Indices) -> Iterator[Pair]:
        asked = np.flatnonzero(labels != np.argmax(np.bincount(labels)))
        nearest = nearest_outside(X, labels, X[asked], labels[asked], n_jobs)
        gaps = SearchedPoints(X, n_jobs).distances(X, asked, nearest)
        yield from closest_of_each(labels[asked], gaps, asked, nearest)

    return closest


def nearest_outside(
    X: Any, labels: Indices, Z: Any, own: Indices, n_jobs: int | None = None
) -> Indices:
    """Return which point of ``X`` is the nearest to each of ``Z`` that is of another component.

    ``labels`` are the components of ``X``, and ``own`` those of ``Z``. -1 where all points of ``X``
    are of the same component.

    Examples
    --------
    >>> X, labels = np.array([[0.0], [1.0], [3.0]]), np.array([0, 0, 1])
    >>> nearest_outside(X, labels, X[[0, 2]], labels[[0, 2]])
    array([2, 1])
    """
    nearest = np.full(len(own), -1, dtype=np.intp)
    sizes = np.bincount(labels, minlength=int(own.max(initial=0)) + 1)[own]
    few = np.flatnonzero(sizes <= FEW)
    if len(few):
        # All points of the component, and one of another.
        k = min(int(sizes[few].max()) + 1, len(labels))
        near = k_nearest(SearchedPoints(X, n_jobs), Z[few], k, own=False)
        outside = np.flatnonzero(labels[near.indices] != own[few[near.sources]])
        rows, first = np.unique(near.sources[outside], return_index=True)
        nearest[few[rows]] = near.indices[outside[first]]
    for label in np.unique(own[sizes > FEW]):
        rows, others = np.flatnonzero(own == label), np.flatnonzero(labels != label)
        if len(others):
            space = SearchedPoints(X[others], n_jobs)
            nearest[rows] = others[k_nearest(space, Z[rows], 1, own=False).indices]
    return nearest


def closest_of_each(labels: Indices, gaps: Floats, i: Indices, j: Indices) -> list[Pair]:
    """Return the closest of the pairs ``(i, j)`` of every component, given that of each ``i``."""
    best: dict[int, Pair] = {}
    for label, pair in zip(labels.tolist(), _pairs(gaps, gaps, i, j), strict=True):
        best[label] = min(best.get(label, pair), pair)
    return list(best.values())


def _pairs(gaps: Floats, ties: Floats, i: Indices, j: Indices) -> Iterator[Pair]:
    low, high = np.minimum(i, j), np.maximum(i, j)
    return zip(*(part.tolist() for part in (gaps, ties, low, high)), strict=True)


def spanning_tree(i: Indices, j: Indices, values: Floats, n: int) -> Mask:
    """Tell which edges are those of the minimum spanning tree, equal values in the given order."""
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    found = minimum_spanning_tree(csr_array((ranks, (i, j)), shape=(n, n))).data
    kept = np.zeros(len(order), dtype=bool)
    kept[order[found.astype(np.intp) - 1]] = True
    return kept
