"""Edges and their lengths become one weighted, symmetric, connected graph.

A zero divergence is a length like any other: zeros are stored and stay edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from patchfold.blocks import block_slices, map_blocks
from patchfold.neighborhoods import Neighborhoods, edge_starts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]


def undirected(near: Neighborhoods) -> tuple[Indices, Indices]:
    """Return every neighbouring pair once, as ``i < j``, in lexicographic order."""
    i, j = near.sources, near.indices
    n = len(near)
    code = np.unique(np.minimum(i, j) * n + np.maximum(i, j))
    return code // n, code % n


def symmetric(i: Indices, j: Indices, lengths: Floats, n: int) -> csr_array:
    """Build the symmetric graph of the edges ``(i, j)``, each given once."""
    rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
    both = np.concatenate([lengths, lengths])
    return csr_array((both, (rows, columns)), shape=(n, n))


def nearest_by_value(values: Floats, k: int, *, own: bool) -> Neighborhoods:
    """Return the ``k`` columns with the least value in every row, equal values by index.

    With ``own`` the columns are the rows themselves, and no row is its own neighbour.
    """
    n = values.shape[0]

    def choose(block: slice) -> Indices:
        part = np.array(values[block])
        if own:
            part[np.arange(len(part)), np.arange(block.start, block.stop)] = np.inf
        return np.argsort(part, axis=1, kind="stable")[:, :k]

    chosen = map_blocks(choose, n, 4 * 8 * values.shape[1])
    columns = np.concatenate(chosen) if chosen else np.empty((0, k), dtype=np.intp)
    return Neighborhoods(
        np.arange(0, n * k + 1, k), columns.ravel(), np.take_along_axis(values, columns, 1).ravel()
    )


def nearest_among(
    candidates: Neighborhoods, k: int, lengths: Callable[[Indices, Indices], Floats]
) -> Neighborhoods:
    """Return the ``k`` candidates of every row with the least of the lengths of pairs ``(i, j)``.

    X-space, section 4.2, where not all pairs can be looked at.
    """
    i, j = undirected(candidates)
    values = along(candidates, i, j, lengths(i, j))
    near = Neighborhoods.from_edges(candidates.sources, candidates.indices, values, len(candidates))
    return near.nearest(k)


def along(near: Neighborhoods, i: Indices, j: Indices, lengths: Floats) -> Floats:
    """Look up the lengths of a neighbourhood's edges in the sorted undirected ``(i, j)``."""
    return lengths[_places(near, i, j)]


def shortest(near: Neighborhoods, i: Indices, j: Indices) -> Floats:
    """Return the lengths of the undirected ``(i, j)``, the shorter where the two ends disagree."""
    lengths = np.full(len(i), np.inf, dtype=near.distances.dtype)
    np.minimum.at(lengths, _places(near, i, j), near.distances)
    return lengths


def _places(near: Neighborhoods, i: Indices, j: Indices) -> Indices:
    """Find the edges of a neighbourhood in the sorted undirected ``(i, j)``."""
    n = len(near)
    low, high = np.minimum(near.sources, near.indices), np.maximum(near.sources, near.indices)
    return np.searchsorted(i * n + j, low * n + high)


def with_lengths(near: Neighborhoods, lengths: Floats) -> Neighborhoods:
    """Return neighbourhoods with other lengths, nearest first; infinite edges are left out."""
    kept = np.isfinite(lengths)
    return Neighborhoods.from_edges(
        near.sources[kept], near.indices[kept], lengths[kept], len(near)
    )


def stacked(parts: list[Neighborhoods]) -> Neighborhoods:
    """Return the rows of several neighbourhoods, one after the other."""
    return Neighborhoods(
        edge_starts(np.concatenate([part.degrees for part in parts])),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.distances for part in parts]),
    )


def side_by_side(first: Neighborhoods, second: Neighborhoods) -> Neighborhoods:
    """Return rows that begin with those of ``first`` and go on with those of ``second``."""
    order = np.argsort(np.concatenate([first.sources, second.sources]), kind="stable")
    return Neighborhoods(
        edge_starts(first.degrees + second.degrees),
        np.concatenate([first.indices, second.indices])[order],
        np.concatenate([first.distances, second.distances])[order],
    )


def with_edges(near: Neighborhoods, i: Indices, j: Indices, lengths: Floats) -> Neighborhoods:
    """Add undirected edges to the neighbourhoods of both ends."""
    return Neighborhoods.from_edges(
        np.concatenate([near.sources, i, j]),
        np.concatenate([near.indices, j, i]),
        np.concatenate([near.distances, lengths, lengths]),
        len(near),
    )


def n_components(graph: csr_array) -> tuple[int, Indices]:
    """Count connected components; an edge of length zero connects, too."""
    pattern = csr_array((np.ones(len(graph.indices)), graph.indices, graph.indptr), graph.shape)
    count, labels = connected_components(pattern, directed=False)
    return int(count), labels.astype(np.intp)


def longest_needed(graph: csr_array) -> float:
    """Return the longest edge of a minimum spanning tree: no shorter threshold keeps it whole."""
    # Ranks of the lengths, counted from one: a length of zero stays an edge, none is rounded.
    values, ranks = np.unique(graph.data, return_inverse=True)
    ranked = csr_array((ranks + 1.0, graph.indices, graph.indptr), graph.shape)
    tree = minimum_spanning_tree(ranked).data
    return float(values[int(tree.max()) - 1]) if len(tree) else 0.0


def bridges(labels: Indices, distances: Callable[[slice], Floats]) -> tuple[Indices, Indices]:
    """Join components one closest pair at a time until one remains (SA-Isomap, section 2.1).

    The pairs are the minimum spanning tree between components under the order
    ``(distance, i, j)``; found by letting every component choose its closest pair in each round.

    Parameters
    ----------
    labels : array of shape (n,)
        The component of every point.
    distances : callable
        ``distances(block)`` gives the distances of a block of points to all points.

    Returns
    -------
    i, j : arrays with one entry less than there are components, ``i < j``
    """
    n = len(labels)
    chosen: set[tuple[int, int]] = set()
    while labels.max(initial=0) > 0:
        best: dict[int, tuple[float, int, int]] = {}
        for block in block_slices(n, 4 * 8 * n):
            values = np.where(labels[block, None] == labels, np.inf, distances(block))
            columns = np.argmin(values, axis=1)
            nearest = np.take_along_axis(values, columns[:, None], axis=1)[:, 0]
            rows = np.arange(block.start, block.stop)
            low, high = np.minimum(rows, columns), np.maximum(rows, columns)
            for edge in zip(nearest.tolist(), low.tolist(), high.tolist(), strict=True):
                for end in edge[1:]:
                    label = int(labels[end])
                    best[label] = min(best.get(label, edge), edge)
        chosen |= {edge[1:] for edge in best.values()}
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
