"""One weighted, symmetric graph from edges and their lengths.

A divergence of zero is a length like any other: zeros are stored and stay edges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from patchfold.base.row_order import inverse
from patchfold.base.threads import block_slices
from patchfold.neighbors.neighborhoods import Neighborhoods, edge_starts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from patchfold.base.types import Floats, Indices, Mask


def undirected(near: Neighborhoods) -> tuple[Indices, Indices, Indices]:
    """Return every pair of neighbours once, as ``i < j``, and the pair that each edge belongs to.

    Pairs are in lexicographic order.
    """
    i, j = near.sources, near.indices
    n = len(near)
    code = np.minimum(i, j)
    code *= n
    code += np.maximum(i, j)
    code, pairs = _numbered(code)
    return code // n, code % n, pairs


def united(
    first: tuple[Indices, Indices], second: tuple[Indices, Indices], n: int
) -> tuple[Indices, Indices, Mask, Mask]:
    """Return two sets of pairs of ``n`` points as one, in order, and which belong to either.

    Examples
    --------
    >>> one, other = (np.array([0]), np.array([2])), (np.array([0, 1]), np.array([1, 2]))
    >>> i, j, own, others = united(one, other, 3)
    >>> list(zip(i.tolist(), j.tolist(), own.tolist()))
    [(0, 1, False), (0, 2, True), (1, 2, False)]
    """
    codes = [np.multiply(i, n, dtype=np.intp) + j for i, j in (first, second)]
    both, pairs = _numbered(np.concatenate(codes), "stable")  # merges what is in order
    own, others = np.zeros((2, len(both)), dtype=bool)
    own[pairs[: len(codes[0])]] = others[pairs[len(codes[0]) :]] = True
    return both // n, both % n, own, others


def _numbered(
    codes: Indices, sort: Literal["quicksort", "stable"] = "quicksort"
) -> tuple[Indices, Indices]:
    """Return different codes in order, and which of them each code is.

    numpy's unique takes many times as long.
    """
    order = np.argsort(codes, kind=sort)
    codes = codes[order]
    once = np.ones(len(codes), dtype=bool)
    np.not_equal(codes[1:], codes[:-1], out=once[1:])
    places = np.cumsum(once)
    places -= 1
    numbers = np.empty_like(order)
    numbers[order] = places
    return codes[once], numbers


@dataclass(frozen=True, eq=False)
class EdgeList:
    """Undirected edges ``(i, j)`` between ``n`` points, each given once.

    Examples
    --------
    >>> path = EdgeList(np.array([0, 1]), np.array([1, 2]), np.array([0.5, 2.0]), 3)
    >>> path.graph(np.array([False, True])).toarray()
    array([[0., 0., 0.],
           [0., 0., 2.],
           [0., 2., 0.]])
    """

    i: Indices
    j: Indices
    lengths: Floats
    n: int
    names: Indices | None = None  # of the points, if these are not their numbers
    device: str | None = None  # of torch, on which paths over the edges are found

    def renumbered(self) -> EdgeList:
        """Return the same edges; points that are joined have numbers near each other.

        So paths through large graphs read memory that is still in the cache.
        """
        ones = np.ones(len(self.i), dtype=np.int8)
        graph = symmetric(self.i, self.j, ones, self.n)
        names = reverse_cuthill_mckee(graph, symmetric_mode=True).astype(np.intp)
        number = inverse(names)
        return replace(self, i=number[self.i], j=number[self.j], names=names)

    def graph(self, kept: Mask) -> csr_array:
        """Return the graph of the edges that are kept, as :func:`symmetric` builds it."""
        numbers = self.numbers
        chosen = kept[numbers.data]
        before = np.concatenate(([0], np.cumsum(chosen))).astype(numbers.indptr.dtype)
        lengths, ends = self.lengths[numbers.data[chosen]], numbers.indices[chosen]
        return csr_array((lengths, ends, before[numbers.indptr]), shape=numbers.shape)

    @cached_property
    def numbers(self) -> csr_array:
        """The graph of all edges, with their numbers for lengths: sorted once for all graphs."""
        numbers = np.arange(len(self.i), dtype=_kind(self.i))
        return symmetric(self.i, self.j, numbers, self.n)


def symmetric(i: Indices, j: Indices, lengths: NDArray[Any], n: int) -> csr_array:
    """Build the symmetric graph of the edges ``(i, j)``, each given once."""
    rows, columns = (np.concatenate(ends, dtype=_kind(i)) for ends in ([i, j], [j, i]))
    both = np.concatenate([lengths, lengths])
    return csr_array((both, (rows, columns)), shape=(n, n))


def _kind(edges: Indices) -> Any:
    """Return the smallest type for numbers of points, and of undirected edges stored both ways."""
    return np.int32 if 2 * len(edges) <= np.iinfo(np.int32).max else np.intp


def nearest_among(
    candidates: Neighborhoods,
    k: int,
    lengths: Callable[[Indices, Indices], Floats],
    order: Callable[[Floats, Indices, Indices], Floats],
) -> Neighborhoods:
    """Return the ``k`` nearest candidates of every row (X-space, section 4.2).

    ``lengths(i, j)`` gives the lengths of pairs, ``order(lengths, i, j)`` what to sort them by
    first; the lengths themselves come second.
    """
    i, j, at = undirected(candidates)
    pairs = lengths(i, j)
    first, values = order(pairs, i, j)[at], pairs[at]
    rows = candidates.sources
    by_row = np.lexsort((candidates.indices, values, first, rows))
    ranked = Neighborhoods(candidates.indptr, candidates.indices[by_row], values[by_row]).nearest(k)
    return with_lengths(ranked, ranked.distances)


def shortest(near: Neighborhoods, pairs: Indices) -> Floats:
    """Return the length of every undirected pair: the shorter one if its two ends disagree.

    ``pairs`` is the pair that each edge belongs to, from :func:`undirected`.
    """
    lengths = np.full(int(pairs.max(initial=-1)) + 1, np.inf, dtype=near.distances.dtype)
    np.minimum.at(lengths, pairs, near.distances)
    return lengths


def with_lengths(near: Neighborhoods, lengths: Floats) -> Neighborhoods:
    """Return neighbourhoods with new lengths, nearest first, without the infinite ones."""
    kept = np.isfinite(lengths)
    return Neighborhoods.from_edges(
        near.sources[kept], near.indices[kept], lengths[kept], len(near)
    )


def with_incoming(near: Neighborhoods, graph: csr_array) -> Neighborhoods:
    """Give rows without neighbours their neighbours in the symmetric graph."""
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
    """Return the neighbours of every point in a symmetric graph."""
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    return Neighborhoods.from_edges(rows, graph.indices.astype(np.intp), graph.data, graph.shape[0])


def filled(near: Neighborhoods, graph: csr_array, k: int, *, own: bool = False) -> Neighborhoods:
    """Give rows with fewer than ``k`` neighbours the next nearest along paths through the graph.

    A new edge is as long as a path over neighbours of the row, so no geodesic gets shorter.

    Parameters
    ----------
    near : Neighborhoods
        Of all points of the graph with ``own``, else of new points.
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
    """Add the nearest neighbours of neighbours until every row has ``k`` or all within reach."""
    n = len(onward)
    while (near.degrees < k).any():
        hops = onward[near.indices]
        rows, columns = near.sources[hops.sources], hops.indices
        lengths = near.distances[hops.sources] + hops.distances
        codes = rows * n + columns
        order = np.lexsort((lengths, codes))
        further = ~np.isin(codes, near.sources * n + near.indices) & (columns != own[rows])
        further[order[1:]] &= np.diff(codes[order]) > 0  # the shortest path to each
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
    """Return rows with the neighbours of ``first``, then those of ``second``."""
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


def laplacian(W: Any) -> tuple[Any, Floats]:
    """Return ``D - W`` and the degrees of a symmetric weight matrix."""
    degrees = np.asarray(W.sum(axis=1), dtype=W.dtype)
    return csr_array(diags_array(degrees) - W), degrees
