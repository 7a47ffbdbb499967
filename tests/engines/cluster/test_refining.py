"""Neighbours of rows that have moved: the same in parts as in one place."""

from __future__ import annotations

import numpy as np

from in_one_place import InOnePlace
from patchfold.engines.cluster.fitting import table_of_found
from patchfold.engines.cluster.halo import Exchange, Nodes
from patchfold.engines.cluster.refining import neighbours_at, refined_rows, wider_table
from patchfold.engines.cluster.searching import Found
from patchfold.neighbors import find_neighbors
from patchfold.neighbors.refinement import refined_neighbors


def test_parts_refine_neighbours_as_one_place_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    moved, k = X + 0.3 * rng.normal(size=X.shape).astype(np.float32), 5
    known = find_neighbors(X, k)
    expected = refined_neighbors(moved, known)
    assert (expected.indices != known.indices).any()

    homes = rng.integers(3, size=len(X))
    ids = [np.flatnonzero(homes == part) for part in range(3)]
    places = np.empty(len(X), dtype=np.intp)
    for own in ids:
        places[own] = np.arange(len(own))
    near = known.indices.reshape(-1, k)
    nodes = Nodes(near, homes[near], places[near])
    found = [Found(nodes.at(own), known.distances.reshape(-1, k)[own]) for own in ids]
    cluster, there = InOnePlace(), [moved[own] for own in ids]
    exchange = Exchange(cluster, cluster.each(table_of_found, range(3), ids, found))
    around = exchange.fetch(found, neighbours_at)
    wider = Exchange(cluster, cluster.each(wider_table, range(3), ids, found, around))
    halo = wider.fetch(there)
    parts = cluster.each(refined_rows, exchange.tables, wider.tables, found, around, there, halo)

    for own, refined in zip(ids, parts, strict=True):
        np.testing.assert_array_equal(refined.nodes.ids, expected.indices.reshape(-1, k)[own])
        np.testing.assert_array_equal(refined.nodes.homes, homes[refined.nodes.ids])
        np.testing.assert_array_equal(refined.nodes.places, places[refined.nodes.ids])
        np.testing.assert_array_equal(refined.distances, expected.distances.reshape(-1, k)[own])
