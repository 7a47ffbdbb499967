"""Rows of all parts that a task needs, fetched from where they are.

Rows are numbered part by part: those of part ``p`` are ``firsts[p]`` to ``firsts[p + 1] - 1``. So a
number tells where a row is, and pieces of sorted numbers, one part after the other, are in order.
"""

from __future__ import annotations

from operator import getitem, itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse, vstack

from patchfold.graph.edges import stacked
from patchfold.neighbors.neighborhoods import Neighborhoods, edge_starts

if TYPE_CHECKING:
    from patchfold.base.types import Indices
    from patchfold.distributed.connection import Cluster


class Halo:
    """Fetches the values of the rows that each of several tasks needs.

    ``wanted`` are futures of the numbers of these rows: sorted, each once.
    """

    def __init__(self, cluster: Cluster, firsts: Indices, wanted: list[Any]) -> None:
        self.cluster, self.wanted = cluster, wanted
        cut = cluster.each(_places_by_part, wanted, firsts=firsts)
        self.parts: list[list[int]] = cluster.get(cluster.each(list, cut))
        self._places = list(map(cluster.items, cut, self.parts))

    def fetch(self, values: list[Any]) -> list[list[Any]]:
        """Return, for every task, the futures of pieces of values; :func:`whole` joins them.

        ``values`` are futures of what the rows of every part have: anything that is indexed by an
        array.
        """
        asked = [
            (part, task, places)
            for task, parts in enumerate(self.parts)
            for part, places in zip(parts, self._places[task], strict=True)
        ]
        found: list[list[Any]] = [[] for _ in self.parts]
        # By the part that is asked, so that it is read from disk about once. Parts ascend for every
        # task, so each gets its pieces in order.
        for part, task, places in sorted(asked, key=itemgetter(0)):
            found[task].append(self.cluster.run(getitem, values[part], places))
        return found


def whole(pieces: list[Any]) -> Any:
    """Join the pieces of what a task has fetched."""
    first = pieces[0]
    if isinstance(first, Neighborhoods):
        return stacked(pieces)
    return vstack(pieces, format="csr") if issparse(first) else np.concatenate(pieces)


def numbers_of(near: Neighborhoods, rows: Indices) -> Indices:
    """Return the numbers of rows and of their neighbours, sorted, each once."""
    return np.union1d(rows, near.indices)


def among(wanted: Indices, rows: Indices, near: Neighborhoods, dtype: Any) -> Neighborhoods:
    """Return the neighbours of some of the wanted rows by their places there, none of others."""
    degrees = np.zeros(len(wanted), dtype=np.intp)
    degrees[np.searchsorted(wanted, rows)] = near.degrees
    places = np.searchsorted(wanted, near.indices)
    return Neighborhoods(edge_starts(degrees), places, near.distances.astype(dtype))


def _places_by_part(wanted: Indices, firsts: Indices) -> dict[int, Indices]:
    ends = np.searchsorted(wanted, firsts)
    return {
        part: wanted[ends[part] : ends[part + 1]] - firsts[part]
        for part in np.flatnonzero(np.diff(ends)).tolist()
    }
