"""Components and shortest paths of a graph whose edges lie in parts.

Parts relax what they have, exchange the values of rows at their borders, and go on until no part
changes. The length of a path is the sum of its edges in order, and the shortest does not depend on
who finds it: the bits are those of a graph in one place.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from patchfold.engines.cluster.halo import take_rows, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.engines.cluster.halo import Exchange
    from patchfold.engines.cluster.links import Links

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]
    Mask = NDArray[np.bool_]


# ---------------------------------------------------------------- components


def components(
    exchange: Exchange, links: list[Any], kept: list[Any]
) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the component of every row of the tables, as futures, and their sizes.

    ``kept`` are futures of masks: which edges join. This process holds one number for every
    component that a part has by itself.
    """
    cluster = exchange.cluster
    labels = cluster.each(_own_components, links, kept)
    everywhere = exchange.fill(labels)
    sizes = cluster.get(cluster.each(np.bincount, labels))
    starts = np.cumsum([0, *(len(size) for size in sizes)])
    pairs = cluster.get(cluster.each(_joined, links, kept, everywhere, starts=starts))
    i, j = np.concatenate([np.empty((2, 0), dtype=np.intp), *pairs], axis=1)
    total = int(starts[-1])
    graph = csr_array((np.ones(len(i)), (i, j)), shape=(total, total))
    known = connected_components(graph, directed=False)[1].astype(np.intp)
    new = [known[first:last] for first, last in pairwise(starts.tolist())]
    renamed = exchange.fill(cluster.each(take_rows, new, labels))
    return renamed, np.bincount(known, weights=np.concatenate(sizes)).astype(np.intp)


def _own_components(links: Links, kept: Mask) -> Indices:
    """Return the components of own rows by the edges between them, numbered from 0."""
    n = len(links.table)
    own = links.table.is_own
    inner = kept & own[links.i] & own[links.j]
    ends = links.i[inner], links.j[inner]
    graph = csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
    labels = connected_components(graph, directed=False)[1][links.table.own]
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def _joined(links: Links, kept: Mask, labels: Indices, starts: Indices) -> Indices:
    """Return which components of this part and others have an edge in common, (2, n_pairs)."""
    homes = links.table.nodes.homes
    between = kept & links.mine & (homes[links.i] != homes[links.j])
    ends = [starts[homes[end[between]]] + labels[end[between]] for end in (links.i, links.j)]
    return np.unique(np.stack(ends), axis=1)


# ---------------------------------------------------------------- shortest paths


def relaxed(
    exchange: Exchange, links: list[Any], lengths: list[Any], sources: list[tuple[int, int]]
) -> list[Any]:
    """Return futures of the lengths of paths from sources to own rows, (n_own, n_sources).

    Parameters
    ----------
    exchange : Exchange
    links : list of futures of Links
    lengths : list of futures of arrays
        One length per edge, infinite for edges that are none.
    sources : list of pairs of int
        The part of each source, and its place among the rows of the part; at most as many as
        :data:`patchfold.graph.relaxation.LANES`.
    """
    cluster = exchange.cluster
    parts = range(len(links))
    places = [[(lane, at) for lane, (home, at) in enumerate(sources) if home == p] for p in parts]
    far = cluster.each(started, links, lengths, places, lanes=len(sources))
    changed = {part for part in parts if places[part]}
    while changed:
        active = [part for part in parts if changed.intersection(exchange.sides[part])]
        halos = exchange.fetch(far, only=active)
        new = {p: cluster.run(_relaxed, links[p], lengths[p], far[p], halos[p]) for p in active}
        differ = cluster.get(cluster.run(differs, far[part], new[part]) for part in active)
        for part in active:
            far[part] = new[part]
        changed = {part for part, other in zip(active, differ, strict=True) if other}
    return far


def relaxed_for(
    exchange: Exchange, links: list[Any], lengths: list[Any], far: list[Any], rounds: int
) -> tuple[list[Any], list[Any]]:
    """Relax paths from one source for so many rounds; return them, and what they were before."""
    before, parts = far, range(len(far))
    for _ in range(rounds):
        before = far
        known = [exchange.whole(part, before) for part in parts]
        far = [
            exchange.cluster.run(_relaxed_from, links[p], lengths[p], before[p], *known[p])
            for p in parts
        ]
    return far, before


def _relaxed_from(
    links: Links, lengths: Floats, far: Floats, others: list[Floats], wanted: list[Indices]
) -> Floats:
    return _relaxed(links, lengths, far, taken(others, wanted))


def started(links: Links, lengths: Floats, places: list[tuple[int, int]], lanes: int) -> Floats:
    """Relax the rows of a part from the sources in it, given by lane and place."""
    far = np.full((len(links.table.own), lanes), np.inf)
    for lane, place in places:
        far[place, lane] = 0.0
    if not places:
        return far
    return _within(links, lengths, far, np.full((len(links.table), lanes), np.inf))


def _relaxed(links: Links, lengths: Floats, far: Floats, halo: list[Floats]) -> Floats:
    return _within(links, lengths, far, links.table.filled(far, halo))


def differs(old: Floats, new: Floats) -> bool:
    """Tell whether anything has changed."""
    return not np.array_equal(old, new)


def _within(links: Links, lengths: Floats, far: Floats, known: Floats) -> Floats:
    """Return the shortest paths to own rows, given known ones to all rows of the table."""
    known[links.table.own] = far
    edges = _into_own(links, lengths)
    if known.shape[1] == 1:
        return _one_source(edges, known[:, 0])[links.table.own, None]
    from patchfold.graph import relaxation

    if not edges.nnz:
        return far
    lanes = np.full((len(known), relaxation.LANES), np.inf)
    lanes[:, : known.shape[1]] = known
    reached = np.flatnonzero(np.isfinite(known).any(axis=1))
    indptr, indices = edges.indptr.astype(np.intp), edges.indices.astype(np.intp)
    relaxation.resume(indptr, indices, edges.data, reached, lanes)
    return np.ascontiguousarray(lanes[links.table.own, : known.shape[1]])


def _into_own(links: Links, lengths: Floats) -> csr_array:
    """Return the graph of a table whose edges lead to own rows."""
    kept = np.isfinite(lengths)
    i, j = links.i[kept], links.j[kept]
    rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
    both = np.concatenate([lengths[kept]] * 2).astype(np.float64)
    own = links.table.is_own[columns]
    n = len(links.table)
    return csr_array((both[own], (rows[own], columns[own])), shape=(n, n))


def _one_source(edges: csr_array, known: Floats) -> Floats:
    """Return shortest paths from one source, given the lengths of some: by a row that has these."""
    n = len(known)
    some = np.flatnonzero(np.isfinite(known))
    graph = csr_array(
        (
            np.concatenate([edges.data, known[some]]),
            np.concatenate([edges.indices, some]),
            np.append(edges.indptr, edges.nnz + len(some)),
        ),
        shape=(n + 1, n + 1),
    )
    return np.asarray(dijkstra(graph, directed=True, indices=[n])[0, :n])
