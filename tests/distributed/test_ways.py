"""Regions: what a part has to know of others to find all short ways around its edges."""

from __future__ import annotations

import numpy as np
import pytest

from patchfold.distributed.ways import edges_at, grown_regions
from patchfold.graph.short_circuits import Evidence


@pytest.mark.parametrize("strips", [True, False])
def test_a_region_has_every_way_of_two_edges_around_an_edge_that_is_hardly_longer(parted, strips):
    X = np.random.default_rng(4).uniform(size=(500, 2))
    graph = parted(X, 6, n_parts=4, homes=(4 * X[:, 0]).astype(int) if strips else None)
    n_edges, n = len(graph.i), len(X)
    rng = np.random.default_rng(0)
    distances = np.linalg.norm(X[graph.i] - X[graph.j], axis=1)
    doubtful = rng.uniform(size=n_edges) < 0.05
    trusted = ~doubtful & (rng.uniform(size=n_edges) < 0.6)
    none = np.zeros(n_edges)
    known = graph.i, graph.j, np.where(doubtful, 9.0, 0.1), distances, none, none, none
    evidence = [Evidence(*some) for some in zip(*map(graph.of_edges, known), strict=True)]
    steps = [{} for _ in X]  # from each point to others: the length, and whether it is trusted
    for a, b, length, mark in zip(graph.i, graph.j, distances, trusted, strict=True):
        steps[a][b] = steps[b][a] = length, mark

    regions, requests = grown_regions(graph.cluster, graph.links, evidence)

    parts = graph.of_edges(trusted)
    found = across = 0
    for part, (links, region) in enumerate(zip(graph.links, regions, strict=True)):
        own = parts[part][edges_at(links, np.arange(len(links.table.own)))]
        others = [parts[side][edges] for side, edges in requests[part]]
        there = steps_by_number(region, np.concatenate([own, *others]))
        assert len(links.table.own) < len(region.ids) < n or not strips
        for number in graph.numbers[part][links.mine]:
            a, b = graph.i[number], graph.j[number]
            if not doubtful[number]:
                continue
            expected = ways(steps[a], steps[b], 1.5 * distances[number])
            assert ways(there[a], there[b], 1.5 * distances[number]) == expected
            found += len(expected)
            across += len(expected) * (graph.homes[[a, b]] != part).any()
    assert found > across > 0


def steps_by_number(region, trusted):
    """Return the steps from the rows of a region, by the numbers of these in the whole table."""
    steps = region.steps(trusted)
    found = {}
    for row, number in enumerate(region.ids):
        at = slice(steps.starts[row], steps.starts[row + 1])
        ends = region.ids[steps.ends[at]]
        known = zip(steps.lengths[at], steps.trusted[at], strict=True)
        found[number] = dict(zip(ends, known, strict=True))
    return found


def ways(first, second, bound):
    """Return the points that short ways of two steps lead over, and whether both are trusted."""
    both = {point: (first[point], second[point]) for point in first.keys() & second.keys()}
    return {
        point: (one[0] + other[0], one[1] and other[1])
        for point, (one, other) in both.items()
        if one[0] + other[0] <= bound
    }
