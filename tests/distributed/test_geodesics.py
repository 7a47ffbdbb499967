"""Geodesics from landmarks: the same in parts, in one worker that has all edges, and in scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from dask_cluster import InOnePlace
from patchfold.distributed import geodesics, whole
from patchfold.distributed.ways import least_ways
from patchfold.graph.detour_bounds import landmark_ways
from patchfold.graph.edges import symmetric
from patchfold.graph.short_circuits import RECIPE


class Workers(InOnePlace):
    """Workers of so much memory each."""

    def __init__(self, *memory):
        super().__init__()
        self.memory = memory

    def workers(self):
        return [(1, memory) for memory in self.memory]


@pytest.fixture(scope="module")
def graph(parted):
    return parted(np.random.default_rng(3).normal(size=(140, 2)), 4, n_parts=4)


@pytest.fixture(scope="module")
def lengths(graph):
    values = np.random.default_rng(0).exponential(size=len(graph.i))
    values[::11] = np.inf  # removed; all rows stay connected
    values[3::11] = 0.0
    return values


@pytest.fixture(scope="module")
def edges(graph, lengths):
    kept = np.isfinite(lengths)
    return symmetric(graph.i[kept], graph.j[kept], lengths[kept], len(graph.X))


def sources(graph, rows):
    return [(int(graph.homes[row]), int(graph.places[row])) for row in rows]


def in_parts(graph, values, rows, dtype):
    grounds = geodesics.grounds_of(graph.exchange, graph.links, graph.of_edges(values))
    return geodesics.geodesics(graph.exchange, grounds, sources(graph, rows), dtype)


def in_one_worker(graph, values, rows, dtype):
    every = whole.whole_graph(graph.exchange, graph.links, graph.of_edges(values))
    return whole.geodesics(graph.cluster, every, sources(graph, rows), dtype)


@pytest.mark.parametrize("found_by", [in_parts, in_one_worker])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_parts_have_the_geodesics_of_the_whole_graph(graph, lengths, edges, found_by, dtype):
    rows = np.random.default_rng(1).permutation(140)[: geodesics.TOGETHER + 6]  # two blocks
    parts, longest = found_by(graph, lengths, rows, dtype)
    expected = dijkstra(edges, directed=False, indices=rows).T.astype(dtype)
    assert longest == expected.max() < np.inf
    for own, blocks in zip(graph.ids, parts, strict=True):
        found = np.concatenate(blocks, axis=1)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected[own])


def test_paths_too_long_for_single_precision_are_infinite(graph):
    _, longest = in_parts(graph, np.full(len(graph.i), 1e38), [0], np.float32)
    assert longest == np.inf


@pytest.mark.parametrize("together", [0, 10**6])
@pytest.mark.parametrize("n_parts", [1, 4])
def test_ways_around_edges_have_the_bounds_of_one_place(
    parted, graph, lengths, edges, n_parts, together
):
    graph = parted(graph.X, graph.k, n_parts)
    around = np.flatnonzero(np.isinf(lengths))
    expected = landmark_ways(edges, graph.i[around], graph.j[around], RECIPE.landmarks)
    assert expected.max() > 0
    short = [np.flatnonzero(np.isin(known, around)) for known in graph.numbers]
    known = graph.exchange, graph.links, graph.of_edges(lengths), short
    found = least_ways(*known, together)
    for part, numbers in enumerate(graph.numbers):
        at = np.searchsorted(around, numbers[short[part]])
        np.testing.assert_array_equal(found[part], expected[at])


def test_one_worker_gets_all_edges_if_every_worker_has_room_for_them():
    edges = [np.zeros(600), np.zeros(400)]
    room = int(1000 * whole.EDGE_BYTES / whole.SHARE)
    less = room - int(whole.EDGE_BYTES / whole.SHARE)
    assert whole.is_small(Workers(10**12, room), edges, None)
    assert not whole.is_small(Workers(10**12, less), edges, None)
    assert whole.is_small(Workers(less), edges, 1000)
    assert not whole.is_small(Workers(room), edges, 999)


def test_workers_without_a_limit_have_room_for_as_many_edges_as_there_are_numbers():
    assert whole.most_edges(Workers(0, 0)) == np.iinfo(np.int32).max
    assert whole.most_edges(Workers(0, 10**9)) == whole.most_edges(Workers(10**9))


def test_a_graph_in_one_place_is_numbered_part_by_part(graph, lengths):
    every = whole.whole_graph(graph.exchange, graph.links, graph.of_edges(lengths))
    sizes = [len(own) for own in graph.ids]
    np.testing.assert_array_equal(every.firsts, np.cumsum([0, *sizes]))
    for size, numbers in zip(sizes, every.numbers, strict=True):
        np.testing.assert_array_equal(np.sort(numbers), np.arange(size))
