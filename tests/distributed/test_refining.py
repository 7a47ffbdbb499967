"""Neighbours of rows that have moved: the same in parts as in one place."""

from __future__ import annotations

import numpy as np

from patchfold.distributed.fitting import table_of_found
from patchfold.distributed.halo import Exchange
from patchfold.distributed.refining import neighbours_at, refined_rows, wider_table
from patchfold.neighbors.refinement import refined_neighbors


def test_parts_refine_neighbours_as_one_place_does(parted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    moved, k = X + 0.3 * rng.normal(size=X.shape).astype(np.float32), 5
    graph = parted(X, k)
    expected = refined_neighbors(moved, graph.near)
    assert (expected.indices != graph.near.indices).any()

    cluster, ids, found, there = graph.cluster, graph.ids, graph.found, graph.shared(moved)
    exchange = Exchange(cluster, cluster.each(table_of_found, range(3), ids, found))
    around = exchange.fetch(found, neighbours_at)
    wider = Exchange(cluster, cluster.each(wider_table, range(3), ids, found, around))
    halo = wider.fetch(there)
    parts = cluster.each(refined_rows, exchange.tables, wider.tables, found, around, there, halo)

    for own, refined in zip(ids, parts, strict=True):
        nodes = refined.nodes
        np.testing.assert_array_equal(nodes.ids, expected.indices.reshape(-1, k)[own])
        np.testing.assert_array_equal(nodes.homes, graph.homes[nodes.ids])
        np.testing.assert_array_equal(nodes.places, graph.places[nodes.ids])
        np.testing.assert_array_equal(refined.distances, expected.distances.reshape(-1, k)[own])
