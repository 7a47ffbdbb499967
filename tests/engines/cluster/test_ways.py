"""Regions: what a part has to know of others to find all short ways around its edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from patchfold.engines.cluster.learning import Evidence
from patchfold.engines.cluster.ways import edges_at, grown_regions
from patchfold.graph.edges import symmetric
from patchfold.graph.trusting import NO_SHORTCUT


@pytest.mark.parametrize("strips", [True, False])
def test_a_region_has_every_way_around_an_edge_that_is_hardly_longer(parted, strips):
    X = np.random.default_rng(4).uniform(size=(500, 2))
    graph = parted(X, 6, n_parts=4, homes=(4 * X[:, 0]).astype(int) if strips else None)
    n_edges, n = len(graph.i), len(X)
    rng = np.random.default_rng(0)
    distances = np.linalg.norm(X[graph.i] - X[graph.j], axis=1)
    doubtful = rng.uniform(size=n_edges) < 0.05
    trusted = ~doubtful & (rng.uniform(size=n_edges) < 0.6)
    none = np.zeros(n_edges)
    known = np.where(doubtful, 9.0, 0.1), distances, none, none, none
    evidence = [Evidence(*some) for some in zip(*map(graph.of_edges, known), strict=True)]
    ways = symmetric(graph.i[trusted], graph.j[trusted], distances[trusted], n)
    whole = dijkstra(ways, directed=False)

    regions, requests = grown_regions(graph.cluster, graph.links, evidence)

    parts = graph.of_edges(trusted)
    found = across = 0
    for part, (links, region) in enumerate(zip(graph.links, regions, strict=True)):
        own = parts[part][edges_at(links, np.arange(len(links.table.own)))]
        others = [parts[side][edges] for side, edges in requests[part]]
        far = dijkstra(region.graph(np.concatenate([own, *others])), directed=True)
        assert len(links.table.own) < len(region.ids) < n or not strips
        for edge in np.flatnonzero(links.mine):
            number = graph.numbers[part][edge]
            ends = graph.i[number], graph.j[number]
            if doubtful[number] and whole[ends] <= NO_SHORTCUT * distances[number]:
                at = tuple(np.searchsorted(region.ids, ends))
                assert far[at] == whole[ends]
                found, across = found + 1, across + (graph.homes[list(ends)] != part).any()
    assert found > across > 0
