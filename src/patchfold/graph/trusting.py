"""Which edges are trusted because they are no shortcut: two others lead around, hardly longer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from patchfold.engines.threads import map_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.graph.edges import EdgeList
    from patchfold.neighbors.neighborhoods import Neighborhoods

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]
    Mask = NDArray[np.bool_]

# An edge is trusted, too, if two trusted edges lead from one end to the other and are together at
# most this many times as long: then it is no shortcut.
NO_SHORTCUT = 1.5


def trust_detours(edges: EdgeList, trusted: Mask, n_jobs: int | None = None) -> None:
    """Trust edges that are no shortcut, until there are no more.

    An edge that becomes trusted can lead around others. ``trusted`` is changed in place.

    Examples
    --------
    Two short edges lead around the long one.

    >>> import numpy as np
    >>> from patchfold.graph.edges import EdgeList
    >>> i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> trusted = np.array([True, False, True])
    >>> trust_detours(EdgeList(i, j, np.array([1.0, 1.8, 1.0]), 3), trusted)
    >>> trusted
    array([ True,  True,  True])
    """
    i, j = edges.i, edges.j
    open_ = np.flatnonzero(~trusted)
    while len(open_):
        graph = edges.graph(trusted)
        bounds = NO_SHORTCUT * edges.lengths[open_]
        found = open_[joined_by_two(graph, graph, i[open_], j[open_], bounds, n_jobs=n_jobs)]
        trusted[found] = True
        # Only an edge that begins at an end of a newly trusted one has a new way around.
        fresh = np.zeros(edges.n, dtype=bool)
        fresh[i[found]] = fresh[j[found]] = True
        open_ = np.flatnonzero(~trusted & (fresh[i] | fresh[j]))


def trusted_of_new(
    near: Neighborhoods, disagreement: Floats, distances: Floats, graph: csr_array
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
    """
    rows = near.sources
    order = np.lexsort((disagreement, rows))
    first = np.ones(len(rows), dtype=bool)
    first[1:] = rows[order][1:] != rows[order][:-1]
    trusted = disagreement <= 1.0
    trusted[order[first]] = True
    lengths = np.asarray(distances, dtype=np.float64)
    while True:
        open_ = np.flatnonzero(~trusted)
        kept = rows[trusted], near.indices[trusted]
        own = csr_array((lengths[trusted], kept), shape=(len(near), graph.shape[0]))
        bounds = NO_SHORTCUT * lengths[open_]
        found = joined_by_two(own, graph, rows[open_], near.indices[open_], bounds)
        if not found.any():
            return trusted
        trusted[open_[found]] = True


def joined_by_two(
    first: csr_array,
    second: csr_array,
    i: Indices,
    j: Indices,
    bounds: Floats,
    *,
    n_jobs: int | None = None,
) -> Mask:
    """Tell which pairs are joined by two edges that are together no longer than their bound.

    Parameters
    ----------
    first : csr_array of shape (n_rows, n)
        The edges from ``i``.
    second : csr_array of shape (n, n)
        The edges to ``j``, symmetric.
    i, j : arrays of shape (n_pairs,)
    bounds : array of shape (n_pairs,)
    n_jobs : int or None

    Returns
    -------
    array of bool of shape (n_pairs,)

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]]))
    >>> joined_by_two(path, path, np.array([0, 0]), np.array([2, 2]), np.array([2.9, 3.0]))
    array([False,  True])
    """
    n = second.shape[0]
    rows = np.repeat(np.arange(n), np.diff(second.indptr))
    keys, lengths = rows * n + second.indices, second.data
    if (keys[1:] < keys[:-1]).any():
        order = np.argsort(keys)
        keys, lengths = keys[order], lengths[order]
    starts, degrees = first.indptr.astype(np.intp, copy=False), np.diff(first.indptr)

    def joined(block: slice) -> Mask:
        counts = degrees[i[block]]
        pairs = np.repeat(np.arange(len(counts)), counts)
        steps = np.arange(len(pairs)) + np.repeat(
            starts[i[block]] - np.cumsum(counts) + counts, counts
        )
        # Looked up at j, whose edges lie side by side.
        wanted = j[block][pairs] * n + first.indices[steps]
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        ways = first.data[steps].astype(np.float64) + lengths[places]
        short = (keys[places] == wanted) & (ways <= bounds[block][pairs])
        found = np.zeros(len(counts), dtype=bool)
        found[pairs[short]] = True
        return found

    if not len(keys):
        return np.zeros(len(i), dtype=bool)
    parts = map_blocks(joined, len(i), 64 * int(degrees.max(initial=1)), n_jobs)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)
