"""Rows that lie in parts, in this process: what functions on parts are tested with."""

from __future__ import annotations

import numpy as np
import pytest

from dask_cluster import InOnePlace
from patchfold.distributed.graph import table_of_links
from patchfold.distributed.halo import Exchange, Nodes
from patchfold.distributed.links import linked
from patchfold.distributed.searching import Found
from patchfold.graph.edges import undirected
from patchfold.neighbors import find_neighbors


class Parted:
    """Rows in parts, at random or as given, their k nearest neighbours, and the edges to these.

    ``i`` and ``j`` are the edges of the whole graph, ``numbers`` which of them every part knows.
    """

    def __init__(self, X, k, n_parts=3, homes=None):
        self.X, self.k, self.cluster = X, k, InOnePlace()
        drawn = np.random.default_rng(0).integers(n_parts, size=len(X))
        self.homes = drawn if homes is None else homes
        self.ids = [np.flatnonzero(self.homes == part) for part in range(n_parts)]
        self.points = self.shared(X)
        self.places = np.empty(len(X), dtype=np.intp)
        for own in self.ids:
            self.places[own] = np.arange(len(own))

        self.near = find_neighbors(X, k)
        indices = self.near.indices.reshape(-1, k)
        nodes = Nodes(indices, self.homes[indices], self.places[indices])
        distances = self.near.distances.reshape(-1, k)
        self.found = [Found(nodes.at(own), distances[own]) for own in self.ids]

        self.links = linked(self.cluster, self.ids, self.found, k, X.dtype)
        self.exchange = Exchange(self.cluster, [table_of_links(part) for part in self.links])
        self.i, self.j, self.pairs = undirected(self.near)
        codes = self.i * len(X) + self.j
        self.numbers = [np.searchsorted(codes, i * len(X) + j) for i, j in map(ends, self.links)]

    def shared(self, values):
        """Return the values of the rows of every part."""
        return [values[own] for own in self.ids]

    def of_edges(self, values):
        """Return the values of the edges that every part knows."""
        return [values[known] for known in self.numbers]


def ends(links):
    ids = links.table.nodes.ids
    return ids[links.i], ids[links.j]


@pytest.fixture(scope="session")
def parted():
    return Parted


@pytest.fixture(scope="session")
def cluster():
    return InOnePlace()
