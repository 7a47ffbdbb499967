"""Short circuits in parts: the verdicts of one place."""

from __future__ import annotations

import numpy as np
import pytest

from patchfold.distributed.judging import Judge
from patchfold.distributed.links import Mirror
from patchfold.graph.short_circuits import Evidence, judged, kinship

K = 15


@pytest.fixture(scope="module")
def spiral(parted):
    """Points along a spiral, so far apart that some edges jump to the next turn."""
    along = np.linspace(1.5, 4.5, 120) * np.pi
    X = np.column_stack([along * np.cos(along), along * np.sin(along)])
    graph = parted(X + 0.3 * np.random.default_rng(0).normal(size=X.shape), K)
    graph.jumps = along[graph.j] - along[graph.i] > np.pi
    return graph


@pytest.fixture(scope="module")
def square(parted):
    return parted(np.random.default_rng(0).uniform(size=(150, 2)), K, n_parts=4)


def among(graph, k):
    """Tell which edges lead to one of the ``k`` nearest points."""
    found = np.zeros(len(graph.i), dtype=bool)
    found[graph.pairs[graph.near.among_nearest(k)]] = True
    return found


def distances_of(graph):
    return np.linalg.norm(graph.X[graph.i] - graph.X[graph.j], axis=1)


def judged_twice(graph, disagreement, distances, common, degree):
    """Return the factors of the edges of the graph, found in parts and in one place."""
    own, near = among(graph, degree), among(graph, 10)
    whole = Evidence(graph.i, graph.j, disagreement, distances, common, own, near)
    known = zip(graph.links, *map(graph.of_edges, whole[2:]), strict=True)
    evidence = [Evidence(links.i, links.j, *some) for links, *some in known]
    mirror = Mirror(graph.cluster, graph.links, graph.exchange)
    shared = kinship(common[near])
    parts = Judge(graph.exchange, mirror, graph.links, evidence, shared).factors()
    found = np.full(len(graph.i), np.nan)
    for known, factors in zip(graph.numbers, parts, strict=True):
        found[known] = factors
    for known, factors in zip(graph.numbers, parts, strict=True):
        np.testing.assert_array_equal(factors, found[known])  # both parts of an edge agree
    return found[own], judged(whole, len(graph.X)).factors[own]


@pytest.mark.parametrize("degree", [6, K])
@pytest.mark.parametrize(
    ("ordinary", "across", "common", "length", "short"),
    [
        (0.5, 20.0, 0, 1.0, True),  # both looks agree
        (1.1, 20.0, 0, 1.0, True),  # the stricter look finds some more
        (0.5, 3.0, 0, 1.0, True),  # with many neighbours, it finds too many
        (0.5, 20.0, 0, 0.2, True),  # short edges whose ends share nothing
        (0.5, 20.0, 6, 0.2, False),  # a bend: short edges whose ends share as many
        (0.5, 20.0, 6, 1.0, True),  # long edges whose ends share as many
        (0.5, 0.5, 0, 1.0, False),  # all patches agree
    ],
)
def test_parts_judge_edges_as_one_place_does(
    spiral, degree, ordinary, across, common, length, short
):
    jumps, noise = spiral.jumps, np.random.default_rng(1).lognormal(0, 0.2, len(spiral.i))
    disagreement = np.where(jumps, across, ordinary) * noise
    distances = np.where(jumps, length, 1.0) * distances_of(spiral)
    shared = np.where(jumps, common, 6)
    found, expected = judged_twice(spiral, disagreement, distances, shared, degree)
    np.testing.assert_array_equal(found, expected)
    assert np.isinf(expected).any() == short


@pytest.mark.parametrize("degree", [6, K])
def test_edges_between_large_parts_are_stretched_as_in_one_place(spiral, degree):
    noise = np.random.default_rng(1).lognormal(0, 0.2, len(spiral.i))
    between = (spiral.i < 60) != (spiral.j < 60)
    disagreement = np.where(between, 2.5, 0.5) * noise
    args = disagreement, distances_of(spiral), np.full(len(noise), 6), degree
    found, expected = judged_twice(spiral, *args)
    np.testing.assert_array_equal(found, expected)
    own = among(spiral, degree)
    assert (expected[between[own]] > 1).sum() == between[own].sum() - 1  # the tree has one
    assert np.isfinite(expected).all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rounded", [True, False])
def test_parts_judge_any_edges_as_one_place_does(square, seed, rounded):
    rng = np.random.default_rng(seed)
    disagreement = rng.lognormal(1.5, 2.0, len(square.i))
    if rounded:  # many are equal
        disagreement = np.ceil(2 * disagreement) / 2
    common = rng.integers(0, 10, len(square.i))
    degree = int(rng.integers(3, K + 1))
    found, expected = judged_twice(square, disagreement, distances_of(square), common, degree)
    np.testing.assert_array_equal(found, expected)
    assert (expected != 1).any()
