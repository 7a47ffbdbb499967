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


def undirected(near: Neighborhoods) -> tuple[Indices, Indices, Indices]:
    """Return every neighbouring pair once, as ``i < j``, and which of them each edge is.

    Pairs are in lexicographic order.
    """
    i, j = near.sources, near.indices
    n = len(near)
    code = np.minimum(i, j) * n + np.maximum(i, j)
    order = np.argsort(code)  # and not numpy's unique, which is many times slower here
    code = code[order]
    once = np.ones(len(code), dtype=bool)
    once[1:] = code[1:] != code[:-1]
    pairs = np.empty_like(order)
    pairs[order] = np.cumsum(once) - 1
    return code[once] // n, code[once] % n, pairs


def symmetric(i: Indices, j: Indices, lengths: Floats, n: int) -> csr_array:
    """Build the symmetric graph of the edges ``(i, j)``, each given once."""
    rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
    both = np.concatenate([lengths, lengths])
    return csr_array((both, (rows, columns)), shape=(n, n))


def nearest_by_value(
    values: Floats,
    k: int,
    *,
    own: bool,
    order: Callable[[Floats, slice], Floats] | None = None,
) -> Neighborhoods:
    """Return the ``k`` columns with the least value in every row, equal values by index.

    With ``own`` the columns are the rows themselves, and no row is its own neighbour. ``order``
    gives what a block of rows is ordered by before its values.
    """
    n = values.shape[0]

    def choose(block: slice) -> Indices:
        part = np.array(values[block])
        first = np.array(order(part, block)) if order is not None else part
        if own:
            itself = np.arange(len(part)), np.arange(block.start, block.stop)
            part[itself] = first[itself] = np.inf
        if order is None:
            return np.argsort(part, axis=1, kind="stable")[:, :k]
        return np.lexsort((part, first), axis=1)[:, :k]

    chosen = map_blocks(choose, n, 8 * 8 * values.shape[1])
    columns = np.concatenate(chosen) if chosen else np.empty((0, k), dtype=np.intp)
    rows = np.repeat(np.arange(n, dtype=np.intp), columns.shape[1])
    lengths = np.take_along_axis(values, columns, 1)
    return Neighborhoods.from_edges(rows, columns.ravel(), lengths.ravel(), n)


def nearest_among(
    candidates: Neighborhoods,
    k: int,
    lengths: Callable[[Indices, Indices], Floats],
    order: Callable[[Floats, Indices, Indices], Floats],
) -> Neighborhoods:
    """Return the ``k`` nearest candidates of every row (X-space, section 4.2).

    ``lengths`` gives those of pairs ``(i, j)``, ``order`` what these are ordered by first.
    """
    i, j, at = undirected(candidates)
    pairs = lengths(i, j)
    first, values = order(pairs, i, j)[at], pairs[at]
    rows = candidates.sources
    by_row = np.lexsort((candidates.indices, values, first, rows))
    ranked = Neighborhoods(candidates.indptr, candidates.indices[by_row], values[by_row]).nearest(k)
    return with_lengths(ranked, ranked.distances)


def shortest(near: Neighborhoods, pairs: Indices) -> Floats:
    """Return the lengths of undirected pairs, the shorter where the two ends disagree.

    ``pairs`` tells which of them each edge is, as :func:`undirected` does.
    """
    lengths = np.full(int(pairs.max(initial=-1)) + 1, np.inf, dtype=near.distances.dtype)
    np.minimum.at(lengths, pairs, near.distances)
    return lengths


def with_lengths(near: Neighborhoods, lengths: Floats) -> Neighborhoods:
    """Return neighbourhoods with other lengths, nearest first; infinite edges are left out."""
    kept = np.isfinite(lengths)
    return Neighborhoods.from_edges(
        near.sources[kept], near.indices[kept], lengths[kept], len(near)
    )


def with_incoming(near: Neighborhoods, graph: csr_array) -> Neighborhoods:
    """Give rows without neighbours those that they have in the symmetric graph."""
    empty = np.flatnonzero(near.degrees == 0)
    if not len(empty):
        return near
    rows = csr_array(graph[empty])
    return Neighborhoods.from_edges(
        np.concatenate([near.sources, np.repeat(empty, np.diff(rows.indptr))]),
        np.concatenate([near.indices, rows.indices.astype(np.intp)]),
        np.concatenate([near.distances, rows.data]),
        len(near),
    )


def rows_of(graph: csr_array) -> Neighborhoods:
    """Return the neighbours that every point has in a symmetric graph."""
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    return Neighborhoods.from_edges(rows, graph.indices.astype(np.intp), graph.data, graph.shape[0])


def filled(near: Neighborhoods, graph: csr_array, k: int, *, own: bool = False) -> Neighborhoods:
    """Give rows with fewer than ``k`` neighbours the next ones on ways through the graph.

    Such an edge is as long as a way over neighbours that the row has: no geodesic gets shorter.

    Parameters
    ----------
    near : Neighborhoods
        Of points of the graph, all of them, with ``own``; else of new points.
    graph : csr_array of shape (n, n)
    k : int
    own : bool, default=False

    Examples
    --------
    >>> path = symmetric(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([1.0, 2.0, 4.0]), 4)
    >>> filled(rows_of(path), path, 2, own=True).matrix(4).toarray()
    array([[0., 1., 3., 0.],
           [1., 0., 2., 0.],
           [0., 2., 0., 4.],
           [0., 6., 4., 0.]])
    """
    short, onward = np.flatnonzero(near.degrees < k), rows_of(graph)
    longest = int(onward.degrees.max(initial=0))
    fuller = []
    for block in block_slices(len(short), 8 * 8 * k * longest):
        rows = short[block]
        part = _grown(near[rows], onward, k, rows if own else np.full(len(rows), -1))
        fuller.append((rows[part.sources], part.indices, part.distances))
    kept = near.degrees[near.sources] >= k
    edges = (near.sources[kept], near.indices[kept], near.distances[kept]), *fuller
    rows, columns, lengths = (np.concatenate(part) for part in zip(*edges, strict=True))
    return Neighborhoods.from_edges(rows, columns, lengths, len(near))


def _grown(near: Neighborhoods, onward: Neighborhoods, k: int, own: Indices) -> Neighborhoods:
    """Add the nearest neighbours of neighbours until rows have ``k``, or there are no more."""
    n = len(onward)
    while (near.degrees < k).any():
        hops = onward[near.indices]
        rows, columns = near.sources[hops.sources], hops.indices
        lengths = near.distances[hops.sources] + hops.distances
        codes = rows * n + columns
        order = np.lexsort((lengths, codes))
        further = ~np.isin(codes, near.sources * n + near.indices) & (columns != own[rows])
        further[order[1:]] &= np.diff(codes[order]) > 0  # the shortest way to each
        found = Neighborhoods.from_edges(
            rows[further], columns[further], lengths[further], len(near)
        ).nearest(np.maximum(k - near.degrees, 0))
        if not len(found.indices):
            break
        near = Neighborhoods.from_edges(
            np.concatenate([near.sources, found.sources]),
            np.concatenate([near.indices, found.indices]),
            np.concatenate([near.distances, found.distances]),
            len(near),
        )
    return near


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


def bridges(
    labels: Indices, gaps: Callable[[slice], tuple[Floats, Floats]]
) -> tuple[Indices, Indices]:
    """Join components one closest pair at a time until one remains (SA-Isomap, section 2.1).

    The pairs are the minimum spanning tree between components under the order
    ``(gap, tie, i, j)``; found by letting every component choose its closest pair in each round.

    Parameters
    ----------
    labels : array of shape (n,)
        The component of every point.
    gaps : callable
        ``gaps(block)`` gives the gaps between a block of points and all points, and what decides
        between equal ones.

    Returns
    -------
    i, j : arrays with one entry less than there are components, ``i < j``
    """
    n = len(labels)
    chosen: set[tuple[int, int]] = set()
    while labels.max(initial=0) > 0:
        best: dict[int, tuple[float, float, int, int]] = {}
        for block in block_slices(n, 6 * 8 * n):
            values, ties = gaps(block)
            values = np.where(labels[block, None] == labels, np.inf, values)
            nearest = values.min(axis=1)
            ties = np.where(values == nearest[:, None], ties, np.inf)
            columns = np.argmin(ties, axis=1)
            least = np.take_along_axis(ties, columns[:, None], axis=1)[:, 0]
            rows = np.arange(block.start, block.stop)
            low, high = np.minimum(rows, columns), np.maximum(rows, columns)
            edges = zip(*(part.tolist() for part in (nearest, least, low, high)), strict=True)
            for edge in edges:
                for end in edge[2:]:
                    label = int(labels[end])
                    best[label] = min(best.get(label, edge), edge)
        chosen |= {edge[2:] for edge in best.values()}
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
