"""Shortest paths: compiled code gives the bits of SciPy's Dijkstra, whatever the graph."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import slow_reference as slow
from graphs import as_graph, path, random_edges, random_graph
from patchfold.base import compiling
from patchfold.graph import geodesics, shortest_path_kernel
from patchfold.graph.edges import symmetric
from patchfold.graph.geodesics import continued_paths, reordered, shortest_paths
from patchfold.neighbors.neighborhoods import Neighborhoods


def relaxed(graph, sources=None, n_jobs=None, lanes=geodesics.LANES, **setting):
    """Use compiled code for every graph that has an edge, for so many sources together."""
    return shortest_paths(graph, sources, n_jobs=n_jobs, compiled_work=1, lanes=lanes, **setting)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.4])
@pytest.mark.parametrize("seed", range(4))
def test_shortest_paths_are_those_of_a_triple_loop(seed, share):
    n = 20
    edges = random_edges(np.random.default_rng(seed), n, share)
    expected = slow.geodesics(edges, n)
    assert np.isinf(expected).any() == (len(set(slow.components(edges, n))) > 1)
    G = as_graph(edges, n)
    np.testing.assert_allclose(shortest_paths(G), expected, rtol=1e-14)
    some = np.array([3, 0, 17])
    np.testing.assert_allclose(shortest_paths(G, some), expected[some], rtol=1e-14)


def test_a_detour_over_zero_edges_is_shorter_than_a_direct_edge():
    G = as_graph({(0, 1): 0.0, (1, 2): 0.0, (0, 2): 1.0, (2, 3): 0.5}, 5)
    expected = [[0, 0, 0, 0.5, math.inf]]
    np.testing.assert_array_equal(shortest_paths(G, np.array([0])), expected)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 150),
    st.floats(0, 6),
    st.booleans(),
    st.sampled_from([np.float64, np.float32]),
)
def test_paths_are_those_of_dijkstra_to_the_last_bit(seed, n, degree, whole, dtype):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, int(n * degree), whole=whole, dtype=dtype)
    expected = dijkstra(graph).astype(dtype)
    compiled = [relaxed(graph, lanes=lanes) for lanes in (1, geodesics.FEW_LANES, geodesics.LANES)]
    for found in (*compiled, relaxed(graph, by_point=True), shortest_paths(graph)):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)


@given(st.integers(0, 2**32 - 1), st.integers(1, 200))
def test_a_path_does_not_depend_on_the_sources_solved_with_it(seed, n_sources):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 100, 400)
    sources = rng.integers(0, 100, n_sources)  # in any order, some several times
    np.testing.assert_array_equal(relaxed(graph, sources), relaxed(graph)[sources])


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_paths_do_not_depend_on_the_number_of_threads(n_jobs):
    graph = random_graph(np.random.default_rng(0), 400, 3000)
    np.testing.assert_array_equal(relaxed(graph, n_jobs=n_jobs), relaxed(graph))


@pytest.mark.parametrize(
    "graph",
    [
        csr_array((1, 1)),
        csr_array((3, 3)),
        symmetric(np.array([0]), np.array([1]), np.array([0.0]), 3),
        symmetric(np.zeros(199, int), np.arange(1, 200), np.linspace(0, 1, 199), 200),
        path(np.random.default_rng(0).exponential(size=500)),
        path(np.where(np.arange(500) % 7, 1.0, 1e9)),
        path(np.logspace(-300, 300, 90)),
        path(np.zeros(100)),
        csr_array((np.ones(200), np.arange(200) ^ 1, np.arange(201)), (200, 200)),
    ],
    ids=[
        "one point",
        "no edges",
        "one edge of length zero",
        "star",
        "path",
        "path with long steps",
        "lengths of all magnitudes",
        "all points in one place",
        "pairs",
    ],
)
def test_paths_through_extreme_graphs_are_those_of_dijkstra(graph):
    np.testing.assert_array_equal(relaxed(graph), dijkstra(graph))


def test_stored_zeros_are_edges():
    graph = path(np.array([1.0, 0.0, 2.0]))
    assert graph.nnz == 6
    np.testing.assert_array_equal(relaxed(graph, np.array([0])), [[0, 1, 1, 3]])


def test_a_float32_graph_is_rounded_once_after_the_sums():
    lengths = np.full(300, 0.1, np.float32)
    ends = relaxed(path(lengths), np.array([0]))
    exact = np.concatenate([[0], np.cumsum(lengths.astype(np.float64))])
    np.testing.assert_array_equal(ends[0], exact.astype(np.float32))


@pytest.mark.parametrize("compiled_work", [1, 10**9])
def test_paths_of_any_graph_are_rounded_to_the_type_that_is_asked_for(compiled_work):
    graph = path(np.full(300, 0.1))
    exact = shortest_paths(graph, compiled_work=compiled_work)
    found = shortest_paths(graph, compiled_work=compiled_work, dtype=np.float32)
    assert (exact.dtype, found.dtype) == (np.float64, np.float32)
    np.testing.assert_array_equal(found, exact.astype(np.float32))


def test_the_graph_and_the_sources_are_left_alone():
    graph = random_graph(np.random.default_rng(0), 50, 300)
    before = graph.copy()
    sources = np.arange(50)[::-1]
    sources.flags.writeable = False
    relaxed(graph, sources)
    np.testing.assert_array_equal(graph.toarray(), before.toarray())
    np.testing.assert_array_equal(graph.indices, before.indices)


def test_the_compiled_functions_do_what_they_say_in_python(monkeypatch):
    graph = random_graph(np.random.default_rng(0), 90, 300, whole=True)
    expected = dijkstra(graph)
    for name in (
        "has_shortcut",
        "rank_by_groups",
        "relax",
        "_improve",
        "_append",
        "write",
    ):
        monkeypatch.setattr(shortest_path_kernel, name, getattr(shortest_path_kernel, name).py_func)
    np.testing.assert_array_equal(relaxed(graph), expected)
    np.testing.assert_array_equal(relaxed(graph, lanes=1, by_point=True), expected)


def test_paths_by_point_are_neighbours_in_memory():
    graph = random_graph(np.random.default_rng(0), 60, 240)
    for compiled_work in (1, 10**9):
        found = shortest_paths(graph, np.arange(5), compiled_work=compiled_work, by_point=True)
        assert found.shape == (5, 60)
        assert found.T.flags.c_contiguous


def test_a_graph_that_was_reordered_before_has_the_same_paths():
    graph = random_graph(np.random.default_rng(0), 60, 240, whole=False)
    compact, order = reordered(graph)
    sources = np.arange(0, 60, 5)
    places = np.argsort(order)
    found = shortest_paths(compact, places[sources], compiled_work=1, reorder=False)
    np.testing.assert_array_equal(found[:, places], shortest_paths(graph, sources))


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.floats(1, 8), st.booleans())
def test_detours_are_edges_longer_than_a_path_over_one_point(seed, n, degree, whole):
    graph = random_graph(np.random.default_rng(seed), n, int(n * degree), whole=whole)
    near = np.full((n, n), np.inf)
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    near[rows, graph.indices] = graph.data
    over = (near[:, :, None] + near[None, :, :]).min(axis=1)
    slack = 0.25
    found = shortest_path_kernel.has_shortcut(graph.indptr, graph.indices, graph.data, slack)
    np.testing.assert_array_equal(found, (over < near - slack)[rows, graph.indices])
    kept = geodesics._without_detours(graph)
    np.testing.assert_array_equal(dijkstra(kept), dijkstra(graph))


def test_groups_have_the_sources_nearest_to_their_first():
    size = 16
    n = 3 * size
    line = path(np.ones(n - 1))
    edges = line.indptr.astype(np.intp), line.indices.astype(np.intp)
    np.testing.assert_array_equal(
        shortest_path_kernel.rank_by_groups(*edges, np.arange(n), size), np.arange(n)
    )
    # Where only every third point is a source, these alone are counted.
    sources = np.arange(0, n, 3)
    ranks = shortest_path_kernel.rank_by_groups(*edges, sources, size)
    np.testing.assert_array_equal(ranks[sources], np.arange(len(sources)))


def test_functions_are_compiled_anew_where_nothing_can_be_kept(monkeypatch):
    def njit(*, nogil, cache=False):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: (function, nogil)

    monkeypatch.setattr(compiling, "njit", njit)
    assert compiling.compiled(np.sum) == (np.sum, True)


@pytest.mark.slow
def test_small_data_do_not_wait_for_the_compiler():
    code = (
        "import sys; from sklearn.datasets import load_iris; from patchfold import PatchIsomap; "
        "PatchIsomap(n_neighbors=30).fit(load_iris().data); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 20),
    st.integers(1, 30),
    st.sampled_from([np.float64, np.float32]),
)
def test_new_points_go_on_from_their_best_neighbour(seed, n_new, n_targets, dtype):
    rng = np.random.default_rng(seed)
    paths = rng.exponential(size=(25, n_targets)).astype(dtype)
    degrees = rng.integers(1, 6, n_new)
    rows = np.repeat(np.arange(n_new), degrees)
    near = Neighborhoods.from_edges(
        rows, rng.integers(0, 25, len(rows)), rng.exponential(size=len(rows)).astype(dtype), n_new
    )
    expected = np.full((n_new, n_targets), np.inf)
    for row, column, length in zip(near.sources, near.indices, near.distances, strict=True):
        for target in range(n_targets):
            through = float(paths[column, target]) + float(length)
            expected[row, target] = min(expected[row, target], through)
    np.testing.assert_array_equal(continued_paths(paths, near), expected)
    compiled = continued_paths(paths, near, compiled_numbers=0)
    assert compiled.dtype == np.float64
    np.testing.assert_array_equal(compiled, expected)
