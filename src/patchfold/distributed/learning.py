"""What is typical of neighbours, where their edges lie in parts.

Order statistics over all edges are exact: parts count how many of their values lie below some
bounds, and the bounds close in on the bits of the value that has the rank wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from patchfold.graph.short_circuits import RECIPE, Evidence, Typical, common_neighbors
from patchfold.neighbors.neighborhoods import edge_starts

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices, Mask
    from patchfold.distributed.connection import Cluster
    from patchfold.distributed.halo import Exchange
    from patchfold.distributed.links import Compared, Links


# Bounds that parts count at once.
COUNTED = 1024


class Lists(NamedTuple):
    """The near neighbours of rows, by their numbers in the user's table."""

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
) -> tuple[Typical, float, list[Any]]:
    """Return what is typical, how many neighbours kin share, and futures of the evidence."""
    cluster = exchange.cluster
    lists = cluster.each(_near_lists, links)
    common = cluster.each(_common, links, lists, exchange.fetch(lists, Lists.at))
    values = cluster.each(_sorted_values, links, compared, common)
    distance, divergence, usual = exact_quantiles(cluster, values, (0.5, 0.5, 0.5))
    typical = Typical(
        1.0 if distance is None else distance, 1.0 if divergence is None else divergence
    )
    kinship = RECIPE.kin * max(1.0, usual or 0.0)
    evidence = cluster.each(_evidence, links, compared, common, typical=typical, degree=degree)
    return typical, kinship, evidence


def _near(links: Links) -> Mask:
    return links.ranks < RECIPE.nearest


def _near_lists(links: Links) -> Lists:
    """Return the near neighbours of own rows."""
    near, n = _near(links), len(links.table)
    ends = np.concatenate([links.i[near], links.j[near]])
    others = np.concatenate([links.j[near], links.i[near]])
    graph = csr_array((np.ones(len(ends), dtype=np.int32), (ends, others)), shape=(n, n))
    rows = csr_array(graph[links.table.own])
    return Lists(rows.indptr.astype(np.intp), links.table.nodes.ids[rows.indices])


def _common(links: Links, lists: Lists, halo: list[Lists]) -> Indices:
    """Return how many near neighbours the ends of edges have in common."""
    table = links.table
    places = np.concatenate([table.own, *table.halo.values()])
    ids = np.concatenate([lists.ids, *(part.ids for part in halo)])
    degrees = np.concatenate([np.diff(part.starts) for part in (lists, *halo)])
    _, columns = np.unique(ids, return_inverse=True)
    rows = np.repeat(places, degrees)
    shape = len(table), int(columns.max(initial=0)) + 1
    near = csr_array((np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=shape)
    return common_neighbors(near, links.i, links.j, n_jobs=1)


def _evidence(
    links: Links, compared: Compared, common: Indices, typical: Typical, degree: int
) -> Evidence:
    disagreement = typical.disagreement(compared.divergences)
    own = links.ranks < degree
    return Evidence(links.i, links.j, disagreement, compared.distances, common, own, _near(links))


# ---------------------------------------------------------------- order statistics


def _sorted_values(links: Links, compared: Compared, common: Indices) -> list[Floats]:
    some = _near(links) & links.mine
    distances, divergences = compared.distances[some], compared.divergences[some]
    # Copies of a point say nothing about the rest.
    columns = distances[distances > 0], divergences[divergences > 0], common[some]
    return [np.sort(values) for values in columns]


def exact_quantiles(
    cluster: Cluster, values: list[Any], shares: tuple[float, ...]
) -> list[float | None]:
    """Return quantiles of values that lie in parts, None where there are no values.

    Parameters
    ----------
    cluster : Cluster
    values : list of futures of lists of arrays
        For every part, one sorted array for each quantile wanted, not negative.
    shares : tuple of float
        Which quantile is wanted of each, as in :func:`numpy.quantile`.
    """
    sizes, types, least, most = zip(*cluster.get(cluster.each(_sizes, values)), strict=True)
    totals = np.sum(sizes, axis=0)
    # The number of values below the ones wanted, and what is between the two.
    at = np.asarray(shares) * np.maximum(totals - 1, 0)
    below = np.floor(at).astype(np.intp)
    wanted = np.stack([below, np.minimum(below + 1, np.maximum(totals - 1, 0))], axis=1)
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
        bound = np.take_along_axis(bounds, first[..., None], axis=-1)[..., 0]
        before = np.take_along_axis(bounds, np.maximum(first - 1, 0)[..., None], axis=-1)[..., 0]
        last = bounds[..., -1]
        low = np.where(found, np.where(first > 0, before + np.uint64(1), low), last + np.uint64(1))
        high = np.where(found, bound, high)
        low = np.minimum(low, high)
    middle = high.view(np.float64)
    return [
        float(np.quantile(middle[place].astype(types[0][place]), float(at[place] - below[place])))
        if totals[place]
        else None
        for place in range(len(totals))
    ]


def _sizes(values: list[Floats]) -> tuple[list[int], list[Any], list[float], list[float]]:
    """Return how many values there are, of which type, the least and the largest."""
    return (
        [len(column) for column in values],
        [column.dtype for column in values],
        [float(column[0]) if len(column) else np.inf for column in values],
        [float(column[-1]) if len(column) else 0.0 for column in values],
    )


def _counts_up_to(values: list[Floats], bounds: Any) -> Indices:
    """Return how many values are up to each bound, given by its bits."""
    return np.stack(
        [
            np.searchsorted(column.astype(np.float64), bound.view(np.float64), side="right")
            for column, bound in zip(values, bounds, strict=True)
        ]
    )
