"""Short circuits in parts: the verdicts of one place."""

from __future__ import annotations

import numpy as np
import pytest

from patchfold.engines.cluster.judging import Judge
from patchfold.engines.cluster.learning import Evidence
from patchfold.engines.cluster.links import Mirror
from patchfold.graph.short_circuits import stretches

K = 15


@pytest.fixture(scope="module")
def spiral(parted):
    """Points along a spiral, so far apart that some edges jump to the next turn."""
    along = np.linspace(1.5, 4.5, 120) * np.pi
    X = np.column_stack([along * np.cos(along), along * np.sin(along)])
    graph = parted(X + 0.3 * np.random.default_rng(0).normal(size=X.shape), K)
    graph.jumps = along[graph.j] - along[graph.i] > np.pi
    return graph


def judged(graph, disagreement, distances, shared, own, asked, quiet):
    known = disagreement, distances, shared, own, asked
    evidence = [Evidence(*some) for some in zip(*map(graph.of_edges, known), strict=True)]
    mirror = Mirror(graph.cluster, graph.links, graph.exchange)
    typical = float(np.median(distances))
    judge = Judge(graph.exchange, mirror, graph.links, evidence, quiet, typical)
    whole = stretches(
        graph.i,
        graph.j,
        disagreement,
        distances,
        len(graph.X),
        shared=shared,
        own=own,
        asked=asked,
        quiet=quiet,
        typical=typical,
    )
    parts = judge.factors()
    found = np.full(len(graph.i), np.nan)
    for known, factors in zip(graph.numbers, parts, strict=True):
        found[known] = factors
    for known, factors in zip(graph.numbers, parts, strict=True):
        np.testing.assert_array_equal(factors, found[known])  # both parts of an edge agree
    return found[own], whole


@pytest.mark.parametrize("degree", [6, K])
@pytest.mark.parametrize(
    ("ordinary", "across", "shared", "quiet", "short"),
    [
        (0.5, 20.0, 0.0, 1.0, True),
        (0.8, 2.0, 0.1, 1.0, True),  # the strictest measure finds too many, the next one does not
        (0.9, 2.0, 0.1, 1.0, True),  # both find too many
        (0.5, 3.0, 0.1, 0.0, True),  # distances are mostly noise
        (0.5, 20.0, 0.5, 1.0, False),  # what both ends share explains all short circuits
        (0.5, 0.5, 0.0, 1.0, False),  # all patches agree
    ],
)
def test_parts_judge_edges_as_one_place_does(
    spiral, degree, ordinary, across, shared, quiet, short
):
    n_edges, rng = len(spiral.i), np.random.default_rng(1)
    disagreement = np.where(spiral.jumps, across, ordinary) * rng.lognormal(0, 0.2, n_edges)
    distances = np.linalg.norm(spiral.X[spiral.i] - spiral.X[spiral.j], axis=1)
    shares = np.where(spiral.jumps, shared, 0.8)
    own = np.zeros(n_edges, dtype=bool)
    own[spiral.pairs[spiral.near.among_nearest(degree)]] = True
    asked = np.ones(n_edges, dtype=bool)
    found, expected = judged(spiral, disagreement, distances, shares, own, asked, quiet)
    np.testing.assert_array_equal(found, expected)
    assert np.isinf(expected).any() == short
