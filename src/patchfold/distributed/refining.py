"""Neighbours of rows that have moved a little (:mod:`patchfold.neighbors.refinement`), in parts.

A part looks among the old neighbours of its rows, and theirs. So it fetches the neighbours of the
rows in its halo, and a wider halo that has all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patchfold.distributed.fitting import near_in
from patchfold.distributed.halo import Nodes, table_of
from patchfold.distributed.searching import Found
from patchfold.neighbors.neighborhoods import Neighborhoods, edge_starts

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.halo import Table


def neighbours_at(found: Found, places: Indices) -> Nodes:
    """Return the neighbours of some rows."""
    return found.nodes.at(places)


def wider_table(part: int, ids: Indices, found: Found, around: list[Nodes]) -> Table:
    """Return the table of a part, its neighbours and theirs."""
    every = [found.nodes, *around]
    columns = zip(*every, strict=True)
    nodes = Nodes(*(np.concatenate([field.ravel() for field in column]) for column in columns))
    return table_of(part, ids, nodes)


def refined_rows(
    table: Table,
    wider: Table,
    found: Found,
    around: list[Nodes],
    moved: Floats,
    halo: list[Floats],
) -> Found:
    """Return the nearest of old neighbours and their neighbours, as many as before.

    Parameters
    ----------
    table, wider : Table
        That of own rows and their neighbours, and that with the neighbours of these.
    found : Found
        The old neighbours of own rows.
    around : list of Nodes
        Those of the rows in the halo of ``table``.
    moved, halo : arrays
        Where own rows are now, and those in the halo of ``wider``.
    """
    # Here and not above: to import the compiler is slow.
    from patchfold.neighbors.refinement import refined_neighbors

    points = wider.filled(moved, halo)
    k = found.distances.shape[1]
    members = np.empty((len(wider), k), dtype=np.intp)
    is_known = wider.is_own
    members[wider.own] = wider.find(found.nodes.ids)
    for places, nodes in zip(table.halo.values(), around, strict=True):
        rows = wider.find(table.nodes.ids[places])
        members[rows], is_known[rows] = wider.find(nodes.ids), True
    degrees = np.where(is_known, k, 0)
    # How far old neighbours are now is not asked for.
    unknown = np.zeros(int(degrees.sum()), dtype=points.dtype)
    known = Neighborhoods(edge_starts(degrees), members[is_known].ravel(), unknown)
    start = near_in(wider, found, points.dtype)
    near = refined_neighbors(points, known, start=start, n_jobs=1)
    return Found(wider.nodes.at(near.indices.reshape(-1, k)), near.distances.reshape(-1, k))
