"""The edges at the rows of a part: those that its rows have chosen, and those that chose its rows.

An edge between two parts is known to both. It is *mine* where its first end, in the order of the
user's table, is an own row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import getitem
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from patchfold.distributed.fitting import PartLengths, unpacked
from patchfold.distributed.halo import Nodes, table_of, taken
from patchfold.neighbors.neighborhoods import edge_starts

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices, Mask
    from patchfold.distributed.connection import Cluster
    from patchfold.distributed.fitting import Packed, Width
    from patchfold.distributed.halo import Exchange, Table
    from patchfold.distributed.searching import Found


class Chosen(NamedTuple):
    """Edges from rows to their neighbours: both ends, how manieth neighbour, and the distance."""

    ends: Nodes
    others: Nodes
    ranks: Indices
    distances: Floats

    def at(self, which: Any) -> Chosen:
        """Return some of them."""
        return Chosen(
            self.ends.at(which), self.others.at(which), self.ranks[which], self.distances[which]
        )


@dataclass(frozen=True, eq=False)
class Links:
    """The undirected edges at own rows, each once, by both ends.

    Attributes
    ----------
    table : Table
        Own rows and the other ends.
    i, j : arrays of shape (n_edges,)
        Places in the table, ``i < j``, in lexicographic order.
    ranks : array of shape (n_edges,)
        How manieth neighbour one end is of the other, from 0, the less of the two.
    distances : array of shape (n_edges,)
        How far the points are apart, as the search has found.
    """

    table: Table
    i: Indices
    j: Indices
    ranks: Indices
    distances: Floats

    @property
    def mine(self) -> Mask:
        """Which edges count here, and not in the other part that knows them."""
        return self.table.is_own[self.i]

    @cached_property
    def adjacency(self) -> tuple[Indices, Indices, Indices]:
        """The edges of every own row: where they start, which they are, and their other ends."""
        rows, others = np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i])
        edges = np.tile(np.arange(len(self.i)), 2)
        own = self.table.is_own[rows]
        rows, others, edges = rows[own], others[own], edges[own]
        order = np.lexsort((others, rows))
        degrees = np.bincount(rows, minlength=len(self.table))[self.table.own]
        return edge_starts(degrees), edges[order], others[order]

    def edges_of(self, places: Indices) -> tuple[Indices, Indices, Indices]:
        """Return the degrees of some own rows, their edges, and the other ends of these."""
        starts, edges, others = self.adjacency
        degrees = np.diff(starts)[places]
        within = np.arange(degrees.sum()) - np.repeat(edge_starts(degrees)[:-1], degrees)
        at = np.repeat(starts[places], degrees) + within
        return degrees, edges[at], others[at]


def linked(cluster: Cluster, ids: list[Any], found: list[Any], count: int, dtype: Any) -> list[Any]:
    """Return the futures of the :class:`Links` of every part, of ``count`` neighbours a row."""
    parts = range(len(ids))
    chosen = cluster.each(chosen_by, ids, found, parts, count=count, dtype=dtype)
    leaving = cluster.each(leaving_edges, chosen, parts)
    sides = cluster.get(cluster.each(list, leaving))
    incoming: list[list[Any]] = [[] for _ in parts]
    for part, others in enumerate(sides):
        for side in others:
            incoming[side].append(cluster.run(getitem, leaving[part], side))
    return cluster.each(links_of, parts, ids, chosen, incoming)


def chosen_by(ids: Indices, found: Found, part: int, count: int, dtype: Any) -> Chosen:
    """Return the edges from the rows of a part to their nearest neighbours."""
    found = found.nearest(count)
    n, k = found.distances.shape
    places = np.repeat(np.arange(n), k)
    return Chosen(
        Nodes(ids[places], np.full(n * k, part), places),
        Nodes(*(field.ravel() for field in found.nodes)),
        np.tile(np.arange(k), n),
        found.distances.ravel().astype(dtype),
    )


def leaving_edges(chosen: Chosen, part: int) -> dict[int, Chosen]:
    """Return the edges to rows of other parts, by part."""
    homes = chosen.others.homes
    return {int(side): chosen.at(homes == side) for side in np.unique(homes) if side != part}


def links_of(part: int, ids: Indices, chosen: Chosen, incoming: list[Chosen]) -> Links:
    """Return the edges at own rows, given those that they chose and those that chose them."""
    others = [chosen.others, *(edges.ends for edges in incoming)]
    stacked = Nodes(*(np.concatenate(column) for column in zip(*others, strict=True)))
    table = table_of(part, ids, stacked)
    every = (chosen, *incoming)
    a = table.find(np.concatenate([edges.ends.ids for edges in every]))
    b = table.find(np.concatenate([edges.others.ids for edges in every]))
    ranks = np.concatenate([edges.ranks for edges in every])
    distances = np.concatenate([edges.distances for edges in every])
    code = np.minimum(a, b) * len(table) + np.maximum(a, b)
    order = np.lexsort((ranks, code))
    code = code[order]
    first = order[np.flatnonzero(np.diff(code, prepend=-1))]
    code = code[np.flatnonzero(np.diff(code, prepend=-1))]
    return Links(table, code // len(table), code % len(table), ranks[first], distances[first])


class Compared(NamedTuple):
    """The divergences of the patches at both ends of edges, and the distances of their centres."""

    divergences: Floats
    distances: Floats


def compared_edges(
    links: Links,
    points: Floats,
    halo: list[Floats],
    patches: Packed,
    halo_patches: list[Packed],
    width: Width,
    divergence: Any,
) -> Compared:
    """Compare the patches at both ends of edges."""
    lengths = local_lengths(links.table, points, halo, patches, halo_patches, width, divergence)
    return Compared(lengths.divergences(links.i, links.j), lengths.apart(links.i, links.j))


def edge_divergences(
    links: Links, patches: Packed, halo_patches: list[Packed], width: Width, divergence: Any
) -> Floats:
    """Return the divergences of the patches at both ends of edges."""
    both = unpacked(patches, halo_patches, links.table, width)
    values: Floats = width.divergences(both, links.i, links.j, divergence)
    return values


def local_lengths(
    table: Table,
    points: Floats,
    halo: list[Floats],
    patches: Packed,
    halo_patches: list[Packed],
    width: Width,
    divergence: Any,
) -> PartLengths:
    """Return how long edges are between the rows of a table."""
    both = unpacked(patches, halo_patches, table, width)
    return PartLengths(table.filled(points, halo), both, divergence, width=width)


class Mirror:
    """Fetches values of edges from the parts whose they are to the other part that knows them.

    Parameters
    ----------
    cluster : Cluster
    links : list of futures of Links
    exchange : Exchange
        Of the tables of the links.
    """

    def __init__(self, cluster: Cluster, links: list[Any], exchange: Exchange) -> None:
        self.cluster, self.links, self.sides = cluster, links, exchange.sides
        run = cluster.run
        self._places = [
            [run(_edge_places, links[side], run(_foreign, links[part], side)) for side in sides]
            for part, sides in enumerate(self.sides)
        ]

    def fill(self, values: list[Any]) -> list[Any]:
        """Return values of all edges, given those that are right only for each part's own."""
        others = [[values[side] for side in sides] for sides in self.sides]
        return self.cluster.each(_mirrored, self.links, values, others, self._places)


def _foreign(links: Links, side: int) -> tuple[Indices, Indices]:
    """Return the edges that are a given other part's, by the numbers of their ends."""
    theirs = links.table.nodes.homes[links.i] == side
    ids = links.table.nodes.ids
    return ids[links.i[theirs]], ids[links.j[theirs]]


def _edge_places(links: Links, ends: tuple[Indices, Indices]) -> Indices:
    """Return where edges are, given the numbers of their ends."""
    n = len(links.table)
    i, j = (links.table.find(end) for end in ends)
    return np.searchsorted(links.i * n + links.j, i * n + j)


def _mirrored(links: Links, values: Any, others: list[Any], places: list[Indices]) -> Any:
    filled, homes = values.copy(), links.table.nodes.homes[links.i]
    for side, found in zip(links.table.halo, taken(others, places), strict=True):
        filled[homes == side] = found
    return filled
