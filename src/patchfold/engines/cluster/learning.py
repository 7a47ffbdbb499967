"""What is typical of neighbours, where their edges lie in parts.

Medians over all edges are exact: parts count how many of their values lie below some bounds, and
the bounds close in on the bits of the value that has the middle rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from patchfold.graph.disagreement import (
    LEAST_LEAVING,
    SMOOTHINGS,
    TYPICAL_NEIGHBORS,
    Typical,
    medians,
    reaches,
    shares,
    within,
)
from patchfold.neighbors.neighborhoods import edge_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.engines.cluster.connection import Cluster
    from patchfold.engines.cluster.halo import Exchange
    from patchfold.engines.cluster.links import Compared, Links

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]
    Mask = NDArray[np.bool_]

# Bounds that parts count at once.
COUNTED = 1024


class Evidence(NamedTuple):
    """What short circuits are judged by: arrays of shape (n_edges,).

    ``own`` tells which edges are those of the graph, ``asked`` which tell whether there are short
    circuits, as in :func:`patchfold.graph.short_circuits.stretches`.
    """

    disagreement: Floats
    distances: Floats
    shared: Floats
    own: Mask
    asked: Mask


class Lists(NamedTuple):
    """The nearest points of rows, by their numbers in the user's table."""

    starts: Indices
    ids: Indices

    def at(self, rows: Indices) -> Lists:
        """Return those of some rows."""
        degrees = np.diff(self.starts)[rows]
        starts = edge_starts(degrees)
        within_row = np.arange(starts[-1]) - np.repeat(starts[:-1], degrees)
        return Lists(starts, self.ids[np.repeat(self.starts[rows], degrees) + within_row])


def learned(
    exchange: Exchange, links: list[Any], compared: list[Any], degree: int
) -> tuple[Typical, list[Any], list[Any]]:
    """Return what is typical, around each row as futures, and futures of the evidence."""
    cluster = exchange.cluster
    reach = exchange.fill(cluster.each(_own_reaches, links, compared))
    kept = cluster.each(_kept_edges, links, compared, reach)
    lists = cluster.each(_nearest_lists, links, compared, reach)
    around = cluster.each(_medians_at_rows, links, compared, kept)
    for _ in range(SMOOTHINGS):
        around = cluster.each(_smoothed, links, kept, exchange.fill(around))
    everywhere = exchange.fill(around)
    typical = _typical(cluster, links, compared, kept)
    shared = cluster.each(_shared, links, lists, exchange.fetch(lists, Lists.at))
    evidence = cluster.each(
        _evidence, compared, links, shared, everywhere, typical=typical, degree=degree
    )
    return typical, around, evidence


def _asked(links: Links) -> Mask:
    return links.ranks < TYPICAL_NEIGHBORS


def _own_reaches(links: Links, compared: Compared) -> Floats:
    some = _asked(links)
    edges = links.i[some], links.j[some]
    return reaches(edges, compared.apart[some], len(links.table))[links.table.own]


def _kept_edges(links: Links, compared: Compared, reach: Floats) -> Mask:
    some = _asked(links)
    _, near = within((links.i[some], links.j[some]), compared.apart[some], reach)
    kept = np.zeros(len(links.i), dtype=bool)
    kept[some] = near
    return kept


def _nearest_lists(links: Links, compared: Compared, reach: Floats) -> Lists:
    """Return the nearest points of own rows, themselves among them."""
    some = _asked(links)
    near, _ = within((links.i[some], links.j[some]), compared.apart[some], reach)
    rows = csr_array(near[links.table.own])
    return Lists(rows.indptr.astype(np.intp), links.table.nodes.ids[rows.indices])


def _medians_at_rows(links: Links, compared: Compared, kept: Mask) -> Floats:
    rows = np.concatenate([links.i[kept], links.j[kept]])
    values = np.concatenate([compared.divergences[kept]] * 2)
    return medians(rows, values, len(links.table))[links.table.own]


def _smoothed(links: Links, kept: Mask, around: Floats) -> Floats:
    rows = np.concatenate([links.i[kept], links.j[kept]])
    others = np.concatenate([links.j[kept], links.i[kept]])
    every = np.arange(len(links.table))
    beside = np.concatenate([around[others], around])
    return medians(np.concatenate([rows, every]), beside, len(every))[links.table.own]


def _shared(links: Links, lists: Lists, halo: list[Lists]) -> Floats:
    """Return the share of their nearest points that the ends of edges have in common."""
    table = links.table
    places = np.concatenate([table.own, *table.halo.values()])
    ids = np.concatenate([lists.ids, *(part.ids for part in halo)])
    degrees = np.concatenate([np.diff(part.starts) for part in (lists, *halo)])
    _, columns = np.unique(ids, return_inverse=True)
    rows = np.repeat(places, degrees)
    shape = len(table), int(columns.max(initial=0)) + 1
    near = csr_array((np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=shape)
    return shares(near, links.i, links.j, n_jobs=1)


def _evidence(
    compared: Compared,
    links: Links,
    shared: Floats,
    around: Floats,
    typical: Typical,
    degree: int,
) -> Evidence:
    there = np.maximum(around[links.i], around[links.j])
    disagreement = typical.disagreement(compared.divergences, compared.leaving, there)
    own = links.ranks < degree
    return Evidence(disagreement, compared.distances, shared, own, _asked(links))


# ---------------------------------------------------------------- medians


def _typical(cluster: Cluster, links: list[Any], compared: list[Any], kept: list[Any]) -> Typical:
    values = cluster.each(_sorted_values, links, compared, kept)
    distance, divergence, leaving, offset, apart = exact_medians(cluster, values)
    return Typical(
        distance=1.0 if distance is None else distance,
        divergence=1.0 if divergence is None else divergence,
        leaving=max(LEAST_LEAVING, leaving or 0.0),
        around=np.empty(0),
        noise=2 * (offset or 0.0) / (1.0 if apart is None else apart),
    )


def _sorted_values(links: Links, compared: Compared, kept: Mask) -> list[Floats]:
    some = kept & links.mine
    columns = [
        compared.distances[some],
        compared.divergences[some],
        compared.leaving[some],
        np.square(compared.offsets),
        np.square(compared.apart[some]),
    ]
    # Copies of a point say nothing about the rest.
    positive = (True, True, False, False, True)
    kept_values = zip(columns, positive, strict=True)
    return [np.sort(values[values > 0] if above else values) for values, above in kept_values]


def exact_medians(cluster: Cluster, values: list[Any]) -> list[float | None]:
    """Return the medians of values that lie in parts, None where there are no values.

    Parameters
    ----------
    cluster : Cluster
    values : list of futures of lists of arrays
        For every part, one sorted array for each median wanted, not negative.
    """
    sizes, types, least, most = zip(*cluster.get(cluster.each(_sizes, values)), strict=True)
    totals = np.sum(sizes, axis=0)
    # The number of values below the one wanted: the two in the middle, one if the number is odd.
    wanted = np.stack([np.maximum(totals - 1, 0) // 2, totals // 2], axis=1)
    ends = np.min(least, axis=0), np.max(most, axis=0)
    low, high = (np.stack([end, end], axis=1).view(np.uint64) for end in ends)
    low = np.minimum(low, high)  # where there are no values
    while (high > low).any():
        step = (high - low) // np.uint64(COUNTED) + np.uint64(1)
        bounds = low[..., None] + step[..., None] * np.arange(COUNTED, dtype=np.uint64)
        bounds = np.minimum(bounds, high[..., None])
        counts = np.sum(cluster.get(cluster.each(_counts_up_to, values, bounds=bounds)), axis=0)
        # The first bound up to which there are enough values.
        enough = counts > wanted[..., None]
        first = np.argmax(enough, axis=-1)
        found = enough.any(axis=-1)
        at = np.take_along_axis(bounds, first[..., None], axis=-1)[..., 0]
        before = np.take_along_axis(bounds, np.maximum(first - 1, 0)[..., None], axis=-1)[..., 0]
        last = bounds[..., -1]
        low = np.where(found, np.where(first > 0, before + np.uint64(1), low), last + np.uint64(1))
        high = np.where(found, at, high)
        low = np.minimum(low, high)
    middle = high.view(np.float64)
    return [
        float(np.median(middle[place].astype(types[0][place]))) if totals[place] else None
        for place in range(len(totals))
    ]


def _sizes(values: list[Floats]) -> tuple[list[int], list[Any], list[float], list[float]]:
    """Return how many values there are, of which type, the least and the largest."""
    return (
        [len(column) for column in values],
        [column.dtype for column in values],
        [float(column.min(initial=np.inf)) for column in values],
        [float(column.max(initial=0.0)) for column in values],
    )


def _counts_up_to(values: list[Floats], bounds: Any) -> Indices:
    """Return how many values are up to each bound, given by its bits."""
    return np.stack(
        [
            np.searchsorted(column.astype(np.float64), bound.view(np.float64), side="right")
            for column, bound in zip(values, bounds, strict=True)
        ]
    )
