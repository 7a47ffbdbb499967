"""What a graph in parts tells of itself: landmarks, and what it has not."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from patchfold.base.sampling import drawn_rows
from patchfold.distributed.graph import ClusterGraph, located
from patchfold.distributed.triangulating import scaled_paths


def in_parts(graph):
    """Return the rows and neighbours of parts, as far as landmarks ask for them."""
    shared = SimpleNamespace(n=len(graph.X))
    fitted = SimpleNamespace(cluster=graph.cluster, ids=graph.ids, shared=shared)
    return ClusterGraph(None, fitted, graph.found, None, graph.links, [], None, None)


@pytest.mark.parametrize("seed", [0, np.random.RandomState])
def test_landmarks_are_those_of_one_place(parted, seed):
    graph = in_parts(parted(np.random.default_rng(0).normal(size=(50, 2)), 3))
    seeds = (seed, seed) if seed == 0 else (seed(5), seed(5))
    found = graph.landmarks(12, seeds[0])
    np.testing.assert_array_equal(found, drawn_rows(50, 12, seeds[1]))


def test_a_landmark_is_no_copy_of_a_row_while_there_are_others(parted):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 2)), np.ones((20, 2))])[rng.permutation(40)]
    first = int(np.argmax((X == 1).all(axis=1)))
    distinct = np.flatnonzero((X != 1).all(axis=1) | (np.arange(40) == first))
    graph = in_parts(parted(X, 3))
    assert len(distinct) == 21
    np.testing.assert_array_equal(graph.landmarks(21, 0), distinct)
    few = graph.landmarks(10, 0)
    np.testing.assert_array_equal(few, distinct[drawn_rows(21, 10, 0)])
    assert len(np.unique(graph.landmarks(30, 0))) == 30


def test_rows_are_found_in_their_parts():
    which, places = located(np.array([2, 5, 9]), np.array([9, 1, 2, 10]))
    assert which.tolist() == [0, 2]
    assert places.tolist() == [2, 0]


def test_a_graph_in_parts_says_what_it_does_not_have(parted):
    graph = in_parts(parted(np.random.default_rng(0).normal(size=(30, 2)), 3))
    with pytest.raises(AttributeError, match=r"has no patches in this .* fit a sample"):
        graph.patches  # noqa: B018
    assert len(graph) == 30


def test_geodesics_that_overflow_are_refused(cluster):
    graph = SimpleNamespace(
        fitted=SimpleNamespace(cluster=cluster),
        dtype=np.dtype(np.float32),
        geodesics=lambda _: ([], np.inf),
    )
    with pytest.raises(ValueError, match="overflow float32; rescale X, or convert it to float64"):
        scaled_paths(graph, np.arange(3))
