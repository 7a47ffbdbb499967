"""Which edges are trusted because they are no shortcut: a way around them is hardly longer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from patchfold.graph.edges import EdgeList
from patchfold.graph.ways import joined_within

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.graph.ways import Outline
    from patchfold.neighbors.neighborhoods import Neighborhoods

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]
    Mask = NDArray[np.bool_]

# An edge is trusted, too, if a way through trusted edges is at most so many times as long: then it
# is no shortcut. Trusted edges open further ways, so this is repeated, at most so often.
NO_SHORTCUT, ROUNDS = 1.5, 5

# The same with room for rounding, where sums of lengths are compared that have another order.
WITHIN = NO_SHORTCUT * (1 + 1e-9)


def trust_detours(
    edges: EdgeList,
    trusted: Mask,
    n_jobs: int | None,
    onto: csr_array | None = None,
    among: Mask | None = None,
    outline: Outline | None = None,
    *,
    compiled_work: int | None = None,
) -> None:
    """Trust edges that are no shortcut, until there are no more.

    ``onto`` is a graph to go on in: the edges of new points lead into it, and not back. ``among``
    are the edges that may become trusted. ``outline`` is one of the points that edges join, if
    these are as long as their points are far apart. ``compiled_work`` is that of
    :func:`~patchfold.graph.ways.joined_within`.
    """
    i, j, distances = edges.i, edges.j, edges.lengths
    found = np.empty(0, dtype=np.intp)
    for _ in range(ROUNDS):
        open_ = np.flatnonzero(~trusted if among is None else ~trusted & among)
        if not len(open_):
            return
        graph = edges.graph(trusted) if onto is None else _leading_into(edges, trusted, onto)
        if len(found) and onto is None:  # other ways are as long as they were
            changed = _near_changes(graph, np.concatenate([i[found], j[found]]), distances[open_])
            open_ = open_[changed[i[open_]] + changed[j[open_]] <= WITHIN * distances[open_]]
            if not len(open_):
                return
        pairs = i[open_], j[open_], NO_SHORTCUT * distances[open_]
        joined = joined_within(graph, *pairs, outline, n_jobs=n_jobs, compiled_work=compiled_work)
        found = open_[joined]
        if not len(found):
            return
        trusted[found] = True


def _near_changes(graph: csr_array, ends: Indices, distances: Floats) -> Floats:
    """Return how far all points are from the ends of new edges, infinite where it is too far.

    A new way around an edge leads through one of them.
    """
    limit = WITHIN * distances.max()
    return np.asarray(dijkstra(graph, indices=np.unique(ends), min_only=True, limit=limit))


def trusted_of_new(
    near: Neighborhoods,
    disagreement: Floats,
    distances: Floats,
    graph: csr_array,
    *,
    compiled_work: int | None = None,
) -> Mask:
    """Tell which edges of new points to the points of a graph are trusted.

    The edge along which patches disagree least always is. New points do not influence each other.

    Parameters
    ----------
    near : Neighborhoods
        The neighbours of new points in the graph.
    disagreement, distances : arrays of shape (n_edges,)
        Those of the edges of ``near``, as for :func:`~patchfold.graph.short_circuits.stretches`.
    graph : csr_array of shape (n, n)
        The graph, in units of ``distances``.
    compiled_work : int or None
        See :func:`~patchfold.graph.ways.joined_within`.
    """
    rows = near.sources
    order = np.lexsort((disagreement, rows))
    first = np.ones(len(rows), dtype=bool)
    first[1:] = rows[order][1:] != rows[order][:-1]
    trusted = disagreement <= 1.0
    trusted[order[first]] = True
    n = graph.shape[0]
    lengths = np.asarray(distances, dtype=np.float64)
    edges = EdgeList(rows + n, near.indices, lengths, n + len(near))
    trust_detours(edges, trusted, None, onto=graph, compiled_work=compiled_work)
    return trusted


def _leading_into(edges: EdgeList, kept: Mask, graph: csr_array) -> csr_array:
    """Return the graph with further rows, whose edges lead into it."""
    i, j, distances = (part[kept] for part in (edges.i, edges.j, edges.lengths))
    n = graph.shape[0]
    counts = np.bincount(edges.i - n)
    starts = np.cumsum(np.bincount(i - n, minlength=len(counts)))
    size = n + len(counts)
    return csr_array(
        (
            np.concatenate([graph.data.astype(np.float64, copy=False), distances]),
            np.concatenate([graph.indices.astype(np.intp), j]),
            np.concatenate([graph.indptr.astype(np.intp), graph.indptr[-1] + starts]),
        ),
        shape=(size, size),
    )
