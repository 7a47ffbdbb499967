"""How long ways around edges are at least, in a graph whose edges lie in parts.

:mod:`patchfold.graph.ways` is the same on one machine.
"""

from __future__ import annotations

from operator import getitem
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from patchfold.distributed import whole
from patchfold.distributed.geodesics import grounds_of, reached_from, started_from
from patchfold.distributed.halo import taken
from patchfold.graph.detour_bounds import least_ways as longer_ways
from patchfold.graph.edges import symmetric
from patchfold.graph.short_circuits import RECIPE

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.geodesics import Ground
    from patchfold.distributed.halo import Exchange
    from patchfold.distributed.links import Links


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
