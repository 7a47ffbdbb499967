"""Ways around edges, in a graph whose edges lie in parts.

A part looks for short ways around its edges in its *region*: its own rows and all rows of others
that such a way can lead over. Regions are fetched once; what changes is which edges are trusted.
Long ways are bounded from below by geodesics from landmarks.
"""

from __future__ import annotations

from operator import getitem
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from patchfold.base.row_order import places as places_of
from patchfold.distributed import whole
from patchfold.distributed.geodesics import grounds_of, reached_from, started_from
from patchfold.distributed.halo import Nodes, taken
from patchfold.graph import short_circuits
from patchfold.graph.detour_bounds import least_ways as longer_ways
from patchfold.graph.edges import symmetric
from patchfold.graph.short_circuits import RECIPE

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices, Mask
    from patchfold.distributed.connection import Cluster
    from patchfold.distributed.geodesics import Ground
    from patchfold.distributed.halo import Exchange
    from patchfold.distributed.links import Links
    from patchfold.graph.short_circuits import Evidence


# Regions reach farther than any way around by this share, more than rounding.
SLACK = 1e-6


class Steps(NamedTuple):
    """Edges from rows: the number of their start, their end, and their length."""

    starts: Indices
    ends: Nodes
    lengths: Floats


class Region(NamedTuple):
    """Rows whose edges are known, those edges, and how far sources look (see :func:`wanted`)."""

    known: Indices
    steps: list[Steps]
    sources: Indices
    reach: Floats


def grown_regions(
    cluster: Cluster, links: list[Any], evidence: list[Any]
) -> tuple[list[Any], list[list[tuple[int, Any]]]]:
    """Return the regions of all parts as graphs, and the edges that each asked others for."""
    regions = cluster.each(_first_region, links, evidence)
    requests: list[list[tuple[int, Any]]] = [[] for _ in regions]
    growing = list(range(len(regions)))
    while growing:
        asking = {part: cluster.run(wanted, regions[part]) for part in growing}
        sides = dict(zip(growing, cluster.get(cluster.each(list, asking.values())), strict=True))
        growing = [part for part in growing if sides[part]]
        for part in growing:
            asked = [(side, cluster.run(getitem, asking[part], side)) for side in sides[part]]
            steps = [cluster.run(steps_of, links[side], evidence[side], at) for side, at in asked]
            requests[part] += [(side, cluster.run(edges_at, links[side], at)) for side, at in asked]
            rows = [cluster.run(numbers, links[side], at) for side, at in asked]
            regions[part] = cluster.run(grown, regions[part], steps, rows)
    return cluster.each(walked, regions), requests


# ---------------------------------------------------------------- regions


def _first_region(links: Links, evidence: Evidence) -> Region:
    steps = steps_of(links, evidence, np.arange(len(links.table.own)))
    sources = np.flatnonzero(is_doubtful(evidence) & links.mine)
    ids = links.table.nodes.ids
    rows, at = np.unique(ids[links.i[sources]], return_inverse=True)
    reach = np.zeros(len(rows))
    np.maximum.at(reach, at, RECIPE.ordinary * evidence.distances[sources].astype(np.float64))
    return Region(ids[links.table.own], [steps], rows, reach)


def is_doubtful(evidence: Evidence) -> Mask:
    """Tell which edges are not trusted from the start by the stricter look."""
    return np.asarray(evidence.disagreement > 1.0)


def steps_of(links: Links, evidence: Evidence, places: Indices) -> Steps:
    """Return the edges of some own rows."""
    degrees, edges, others = links.edges_of(places)
    starts = np.repeat(links.table.nodes.ids[links.table.own[places]], degrees)
    lengths = evidence.distances[edges].astype(np.float64)
    return Steps(starts, links.table.nodes.at(others), lengths)


class Walked(NamedTuple):
    """The edges of a region as a graph, of which some are trusted.

    ``ids`` are the numbers of its rows. The edges of a row lie from ``starts[row]`` to ``starts[row
    + 1]``, and ``order`` is where they are among the steps of the region.
    """

    ids: Indices
    order: Indices
    starts: Indices
    ends: Indices
    lengths: Floats

    def steps(self, trusted: Mask) -> short_circuits.Steps:
        """Return the edges by row, some trusted, which are given in the order of the steps."""
        order = self.order
        return short_circuits.Steps(self.starts, self.ends, self.lengths, order, trusted[order])


def walked(region: Region) -> Walked:
    """Return the edges of a region as a graph."""
    steps = joined_steps(region)
    ids, rows, columns = numbered(region, steps)
    order = np.lexsort((columns, rows))
    indptr = np.searchsorted(rows[order], np.arange(len(ids) + 1))
    return Walked(ids, order, indptr, columns[order], steps.lengths[order])


def edges_at(links: Links, places: Indices) -> Indices:
    """Return the edges of some own rows, in the order of :func:`steps_of`."""
    return links.edges_of(places)[1]


def numbers(links: Links, places: Indices) -> Indices:
    """Return the numbers of some own rows."""
    return links.table.nodes.ids[links.table.own[places]]


def grown(region: Region, steps: list[Steps], rows: list[Indices]) -> Region:
    """Add rows and their edges to a region."""
    known = np.concatenate([region.known, *rows])
    return region._replace(known=known, steps=[*region.steps, *steps])


def wanted(region: Region) -> dict[int, Indices]:
    """Return the rows of other parts that a way can lead over and whose edges are not known.

    A row is wanted if it is nearer to a source than that source looks.
    """
    if not len(region.sources):
        return {}
    steps = joined_steps(region)
    ids, rows, columns = numbered(region, steps)
    n, most = len(ids), float(region.reach.max()) * (1 + SLACK)
    # From a further row to every source, by what it does not look as far as the others.
    sources = np.searchsorted(ids, region.sources)
    graph = csr_array(
        (
            np.concatenate([steps.lengths, most - region.reach]),
            (
                np.concatenate([rows, np.full(len(sources), n)]),
                np.concatenate([columns, sources]),
            ),
        ),
        shape=(n + 1, n + 1),
    )
    far = dijkstra(graph, directed=True, indices=[n], limit=most * (1 + SLACK))[0, :n]
    reached = np.isfinite(far) & ~np.isin(ids, region.known)
    leading = np.flatnonzero(reached[columns])
    ends = steps.ends.at(leading[np.unique(columns[leading], return_index=True)[1]])
    return {int(home): np.sort(ends.places[ends.homes == home]) for home in np.unique(ends.homes)}


def numbered(region: Region, steps: Steps) -> tuple[Indices, Indices, Indices]:
    """Return the rows of a region, sorted, and where the starts and ends of its edges are there."""
    # Most ends are rows whose edges are known: to find them there is quicker than to sort all.
    known = np.sort(region.known)
    places = np.minimum(np.searchsorted(known, steps.ends.ids), len(known) - 1)
    beyond = np.flatnonzero(known[places] != steps.ends.ids)
    others, at = np.unique(steps.ends.ids[beyond], return_inverse=True)
    places[beyond] = len(known) + at
    ids = np.concatenate([known, others])
    order = np.argsort(ids)
    number = places_of(order)
    return ids[order], number[np.searchsorted(known, steps.starts)], number[places]


def joined_steps(region: Region) -> Steps:
    """Return all edges of a region."""
    starts, ends, lengths = zip(*region.steps, strict=True)
    nodes = Nodes(*(np.concatenate(column) for column in zip(*ends, strict=True)))
    return Steps(np.concatenate(starts), nodes, np.concatenate(lengths))


# ---------------------------------------------------------------- long ways


def least_ways(
    exchange: Exchange,
    links: list[Any],
    held: list[Any],
    short: list[Any],
    together: int | None = None,
) -> list[Any]:
    """Return futures of lower bounds of the ways around ``short`` edges, by geodesics.

    Parameters
    ----------
    exchange : Exchange
    links, held, short : lists of futures
        Edges, the lengths of those that ways lead over, infinite for others, and which edges ways
        lead around.
    together : int or None
        Edges up to which one worker looks for all ways; None: as many as workers can hold.
    """
    cluster = exchange.cluster
    sums = cluster.each(_sums, links, held)
    if whole.is_small(cluster, held, together):
        found = whole.least_ways(exchange, links, held, sums, short)
        return [cluster.run(getitem, found, part) for part in range(len(links))]
    grounds = grounds_of(exchange, links, held, ordered=False)
    looks = cluster.each(_first_look, sums, short)
    parts = range(len(looks))
    for _ in range(min(RECIPE.landmarks, sum(cluster.get(cluster.each(len, sums))))):
        farthest = cluster.each(_farthest, links, looks, sums)
        far = cluster.each(_from_farthest, grounds, parts, [farthest] * len(parts))
        far = reached_from(exchange, grounds, far)
        looks = [
            cluster.run(_next_look, links[p], short[p], looks[p], far[p], *exchange.whole(p, far))
            for p in parts
        ]
    return cluster.each(_ways, looks)


def _sums(links: Links, held: Floats) -> Floats:
    kept = np.isfinite(held)
    lengths = held[kept].astype(np.float64)
    graph = symmetric(links.i[kept], links.j[kept], lengths, len(links.table))
    sums: Floats = np.asarray(graph.sum(axis=1), dtype=np.float64)
    return sums[links.table.own]


class Look(NamedTuple):
    """What landmarks tell so far: how near one is to each own row, how long ways are at least."""

    nearest: Floats
    ways: Floats


def _first_look(sums: Floats, short: Indices) -> Look:
    return Look(np.full(len(sums), np.inf), np.zeros(len(short)))


def _next_look(
    links: Links,
    short: Indices,
    look: Look,
    far: Floats,
    others: list[Floats],
    wanted: list[Indices],
) -> Look:
    """Learn from the paths of one more landmark."""
    everywhere = links.table.filled(far, taken(others, wanted))
    i, j = links.i[short], links.j[short]
    ways = longer_ways(look.ways, everywhere[i], everywhere[j])
    return Look(np.minimum(look.nearest, far), ways)


def _ways(look: Look) -> Floats:
    return look.ways


def _farthest(links: Links, look: Look, sums: Floats) -> tuple[float, float, int, int]:
    """Return the own row farthest from the landmarks so far, with what decides between equals."""
    place = int(np.lexsort((sums, look.nearest))[-1])
    number = int(links.table.nodes.ids[links.table.own[place]])
    return float(look.nearest[place]), float(sums[place]), number, place


def _from_farthest(
    ground: Ground, part: int, farthest: list[tuple[float, float, int, int]]
) -> Floats:
    """Relax the rows of a part from the farthest of all rows, if that is in it."""
    best = max(range(len(farthest)), key=lambda one: farthest[one][:3])
    return started_from(ground, farthest[part][3] if best == part else None)
