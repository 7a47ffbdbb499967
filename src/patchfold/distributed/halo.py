"""What a part needs of the rows of others: a table of its own rows and theirs, and how to fill it.

The rows of a table are in the order of the user's table, whoever holds them. So functions that sort
or break ties by index do in a part what they do in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from patchfold.base.types import Indices, Mask
    from patchfold.distributed.connection import Cluster


class Nodes(NamedTuple):
    """Rows of any part: their numbers in the user's table, their part, and their place in it."""

    ids: Indices
    homes: Indices
    places: Indices

    def at(self, which: Any) -> Nodes:
        """Return some of them."""
        return Nodes(*(field[which] for field in self))


@dataclass(frozen=True, eq=False)
class Table:
    """Own rows and those of others, in the order of the user's table.

    Attributes
    ----------
    nodes : Nodes
    own : array of shape (n_own,)
        Where own rows are, in order.
    halo : dict of int to array
        Where the rows of each other part are, parts in ascending order.
    """

    nodes: Nodes
    own: Indices
    halo: dict[int, Indices]

    def __len__(self) -> int:
        return len(self.nodes.ids)

    @property
    def is_own(self) -> Mask:
        """Which rows are own ones."""
        mask = np.zeros(len(self), dtype=bool)
        mask[self.own] = True
        return mask

    def find(self, ids: Indices) -> Indices:
        """Return where rows are, all of which are in the table."""
        return np.searchsorted(self.nodes.ids, ids)

    def filled(self, own: Any, parts: list[Any]) -> Any:
        """Return the values of all rows, given those of own rows and of each other part's."""
        found = np.empty((len(self), *own.shape[1:]), dtype=own.dtype)
        found[self.own] = own
        for places, values in zip(self.halo.values(), parts, strict=True):
            found[places] = values
        return found


def table_of(part: int, ids: Indices, others: Nodes) -> Table:
    """Return the table of the own rows ``ids`` of a part and of others, which may repeat."""
    foreign = np.flatnonzero(others.homes != part)
    _, first = np.unique(others.ids[foreign], return_index=True)
    others = others.at(foreign[first])
    both = Nodes(
        np.concatenate([ids, others.ids]),
        np.concatenate([np.full(len(ids), part), others.homes]),
        np.concatenate([np.arange(len(ids)), others.places]),
    )
    nodes = both.at(np.argsort(both.ids, kind="stable"))
    halo = {int(home): np.flatnonzero(nodes.homes == home) for home in np.unique(others.homes)}
    return Table(nodes, np.flatnonzero(nodes.homes == part), halo)


class Exchange:
    """Fetches the values of halos: for every part, one task for each part that it needs rows of.

    Parameters
    ----------
    cluster : Cluster
    tables : list of futures of Table
    """

    def __init__(self, cluster: Cluster, tables: list[Any]) -> None:
        self.cluster, self.tables = cluster, tables
        self.sides: list[list[int]] = cluster.get(cluster.each(_sides, tables))
        self._wanted = [
            [cluster.run(_wanted, table, side) for side in sides]
            for table, sides in zip(tables, self.sides, strict=True)
        ]

    def fetch(
        self, values: list[Any], take: Any = None, only: list[int] | None = None
    ) -> list[list[Any]]:
        """Return, for every part, the futures of its halo's values, given those of own rows.

        ``take(values, places)`` takes some rows out of the values of a part; by default values are
        arrays. Parts that are not among ``only`` get nothing.
        """
        run, take = self.cluster.run, take or take_rows
        parts = range(len(self.sides)) if only is None else only
        asked = [
            (side, part, wanted)
            for part in parts
            for side, wanted in zip(self.sides[part], self._wanted[part], strict=True)
        ]
        found: list[list[Any]] = [[] for _ in self.sides]
        # By the part that is asked, so that it is read from disk about once. Sides ascend in every
        # table, so each part gets its halo in order.
        for side, part, wanted in sorted(asked, key=itemgetter(0)):
            found[part].append(run(take, values[side], wanted))
        return found

    def fill(self, values: list[Any]) -> list[Any]:
        """Return the futures of arrays over all rows of the tables, of one number per row."""
        return [
            self.cluster.run(_filled, table, values[part], *self.whole(part, values))
            for part, table in enumerate(self.tables)
        ]

    def whole(self, part: int, values: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return the values of the parts that a part needs rows of, and which rows it needs.

        Where there is one number per row, it is quicker to send all of them than to start a task
        that takes some.
        """
        return [values[side] for side in self.sides[part]], self._wanted[part]

    def leaving(self) -> list[Any]:
        """Return, for every part, a future of the own rows that each other part's halo has."""
        asked: list[dict[int, Any]] = [{} for _ in self.tables]
        for part, (sides, wanted) in enumerate(zip(self.sides, self._wanted, strict=True)):
            for side, places in zip(sides, wanted, strict=True):
                asked[side][part] = places
        run = self.cluster.run
        return [run(_named, list(wanted), list(wanted.values())) for wanted in asked]


def _named(names: list[int], values: list[Any]) -> dict[int, Any]:
    return dict(zip(names, values, strict=True))


def take_rows(values: Any, places: Indices) -> Any:
    """Return some rows of an array."""
    return values[places]


def _filled(table: Table, own: Any, others: list[Any], wanted: list[Indices]) -> Any:
    return table.filled(own, taken(others, wanted))


def taken(others: list[Any], wanted: list[Indices]) -> list[Any]:
    """Return some rows of each of several arrays."""
    return [values[places] for values, places in zip(others, wanted, strict=True)]


def _sides(table: Table) -> list[int]:
    return list(table.halo)


def _wanted(table: Table, side: int) -> Indices:
    return table.nodes.places[table.halo[side]]
