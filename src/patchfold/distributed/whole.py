"""The whole graph in one worker, where that is small beside its memory.

Parts that exchange their borders relax rows more than once, and exchange again and again. A worker
that has all edges relaxes each row once, as one process does, and needs no other worker. Edges are
far fewer numbers than rows and patches: a hundred times as many rows have room in this way.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from patchfold.base.row_order import places as places_of
from patchfold.graph.detour_bounds import least_ways as longer_ways
from patchfold.graph.short_circuits import RECIPE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.connection import Cluster
    from patchfold.distributed.halo import Exchange
    from patchfold.distributed.links import Links


# Bytes of an edge, which is stored at both ends: the number of the other end, and the length.
EDGE_BYTES = 2 * (4 + 8)

# The share of a worker's memory that a graph may take; twice as much while it is put together.
SHARE = 1 / 4

# Sources that one task takes, one after the other.
SOURCES = 16


class Whole(NamedTuple):
    """All edges: those of a row lie from ``starts[row]`` to ``starts[row + 1]``."""

    starts: Indices
    ends: NDArray[np.signedinteger[Any]]  # of 32 bits
    lengths: Floats


class Numbered(NamedTuple):
    """A graph in one worker, and how its rows are numbered: part by part.

    Attributes
    ----------
    graph : future of Whole
    numbers : list of futures of arrays
        The numbers of the own rows of every part, from 0 on in each.
    everywhere : list of futures of arrays
        Those of all rows of the tables, each from 0 on in its own part.
    firsts : array of shape (n_parts + 1,)
        What to add to the numbers of every part, and the number of all rows.
    """

    graph: Any
    numbers: list[Any]
    everywhere: list[Any]
    firsts: Indices


def most_edges(cluster: Cluster) -> int:
    """Return up to how many edges every worker can hold."""
    memory = min((memory for _, memory in cluster.workers() if memory), default=0)
    return int(memory * SHARE / EDGE_BYTES) if memory else np.iinfo(np.int32).max


def is_small(cluster: Cluster, lengths: list[Any], together: int | None) -> bool:
    """Tell whether the edges are at most ``together``, None for what workers can hold."""
    most = most_edges(cluster) if together is None else together
    return bool(sum(cluster.get(cluster.each(len, lengths))) <= most)


def whole_graph(exchange: Exchange, links: list[Any], lengths: list[Any]) -> Numbered:
    """Put the edges of all parts together, but those of infinite length."""
    cluster = exchange.cluster
    numbers = cluster.each(_numbers, links, lengths)
    firsts = np.cumsum([0, *cluster.get(cluster.each(len, numbers))])
    everywhere = exchange.fill(numbers)
    edges = cluster.each(_own_edges, links, lengths, everywhere, firsts=firsts)
    return Numbered(cluster.run(_stacked, edges), numbers, everywhere, firsts)


def geodesics(
    cluster: Cluster, whole: Numbered, sources: list[tuple[int, int]], dtype: Any
) -> tuple[list[list[Any]], float]:
    """Return what :func:`patchfold.distributed.geodesics.geodesics` does, from one graph."""
    parts: list[list[Any]] = [[] for _ in whole.numbers]
    longest, ends = 0.0, list(pairwise(whole.firsts.tolist()))
    starts = cluster.get([cluster.run(_at, whole.numbers, sources, whole.firsts)])[0]
    step = SOURCES * sum(threads for threads, _ in cluster.workers())
    for first in range(0, len(sources), step):
        some = starts[first : first + step]
        blocks = [some[at : at + SOURCES] for at in range(0, len(some), SOURCES)]
        found = cluster.each(_relaxed, [whole.graph] * len(blocks), blocks, dtype=dtype)
        for part, (low, high) in enumerate(ends):
            number = whole.numbers[part]
            parts[part] += [cluster.run(_of_part, block, number, low, high) for block in found]
        longest = max(longest, *cluster.get(cluster.each(_longest, found)))
    return parts, longest


def least_ways(
    exchange: Exchange, links: list[Any], held: list[Any], sums: list[Any], short: list[Any]
) -> Any:
    """Return the future of a list with the lower bounds of ways of every part.

    Parameters are those of :func:`patchfold.distributed.ways.least_ways`, and the sums of the
    lengths at own rows.
    """
    cluster, whole = exchange.cluster, whole_graph(exchange, links, held)
    rows = cluster.each(_ranked_rows, links, sums, whole.numbers)
    pairs = cluster.each(_pairs, links, short, whole.everywhere, firsts=whole.firsts)
    return cluster.run(_ways, whole.graph, rows, pairs)


def _numbers(links: Links, lengths: Floats) -> Indices:
    """Number own rows so that neighbours are close to each other in memory."""
    own = links.table.is_own
    inner = np.isfinite(lengths) & own[links.i] & own[links.j]
    place = np.empty(len(own), dtype=np.int32)
    place[links.table.own] = np.arange(len(links.table.own))
    i, j = place[links.i[inner]], place[links.j[inner]]
    ends = np.concatenate([i, j]), np.concatenate([j, i])
    n = len(links.table.own)
    graph = csr_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(n, n))
    order = np.asarray(reverse_cuthill_mckee(graph, symmetric_mode=True), dtype=np.intp)
    return places_of(order)


def _own_edges(links: Links, lengths: Floats, numbers: Indices, firsts: Indices) -> Whole:
    """Return the edges of own rows in the order of their numbers."""
    degrees, edges, others = links.edges_of(np.argsort(numbers[links.table.own]))
    kept = np.isfinite(lengths[edges])
    counts = np.concatenate(([0], np.cumsum(kept)))
    starts = counts[np.concatenate(([0], np.cumsum(degrees)))]
    others = others[kept]
    ends = firsts[links.table.nodes.homes[others]] + numbers[others]
    return Whole(starts, ends.astype(np.int32), lengths[edges[kept]])


def _stacked(parts: list[Whole]) -> Whole:
    starts, ends, lengths = zip(*parts, strict=True)
    degrees = np.concatenate([[0], *(np.diff(part) for part in starts)])
    return Whole(np.cumsum(degrees, dtype=np.intp), np.concatenate(ends), np.concatenate(lengths))


def _at(numbers: list[Indices], sources: list[tuple[int, int]], firsts: Indices) -> Indices:
    return np.array([firsts[home] + numbers[home][place] for home, place in sources], dtype=np.intp)


def _relaxed(graph: Whole, sources: Indices, dtype: Any) -> Floats:
    """Return the geodesics from some sources to all rows."""
    # Here and not above: to import the compiler is slow.
    from patchfold.graph import shortest_path_kernel

    n = len(graph.starts) - 1
    found = np.empty((len(sources), n), dtype=dtype)
    starts, ends, lengths = graph
    order, rows = np.arange(n), np.arange(len(sources))
    shortest_path_kernel.relax_each(starts, ends, lengths, sources, order, rows, found)
    return found


def _of_part(found: Floats, number: Indices, first: int, last: int) -> Floats:
    return np.ascontiguousarray(found[:, first:last].T)[number]


def _longest(found: Floats) -> float:
    return float(found.max())


class Ranked(NamedTuple):
    """Rows in the order of their numbers: the sums of their lengths, and their place in the table.

    These decide which of equally far rows is the next landmark.
    """

    sums: Floats
    ids: Indices


def _ranked_rows(links: Links, sums: Floats, numbers: Indices) -> Ranked:
    order = np.argsort(numbers)
    return Ranked(sums[order], links.table.nodes.ids[links.table.own[order]])


def _pairs(
    links: Links, short: Indices, numbers: Indices, firsts: Indices
) -> tuple[Indices, Indices]:
    every = firsts[links.table.nodes.homes] + numbers
    return every[links.i[short]], every[links.j[short]]


def _ways(graph: Whole, rows: list[Ranked], pairs: list[tuple[Indices, Indices]]) -> list[Floats]:
    """Return lower bounds of ways, for every part.

    They are those of :func:`patchfold.graph.detour_bounds.landmark_ways`.
    The rows are in another order here, which must not decide.
    """
    sums, ids = (np.concatenate(column) for column in zip(*rows, strict=True))
    i, j = (np.concatenate(column) for column in zip(*pairs, strict=True))
    nearest = np.full(len(sums), np.inf)
    bounds: Floats = np.zeros(len(i))
    for _ in range(min(RECIPE.landmarks, len(sums))):
        farthest = np.flatnonzero(nearest == nearest.max())
        landmark = farthest[np.lexsort((ids[farthest], sums[farthest]))[-1:]]
        paths = _relaxed(graph, landmark, np.float64)[0]
        nearest = np.minimum(nearest, paths)
        bounds = longer_ways(bounds, paths[i], paths[j])
    return np.split(bounds, np.cumsum([len(pair[0]) for pair in pairs])[:-1])
