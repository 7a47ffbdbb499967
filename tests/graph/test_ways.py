"""Lower bounds of ways, and short ways, beside all ways."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from graphs import path, random_graph
from patchfold.graph import seeking
from patchfold.graph.edges import symmetric, undirected
from patchfold.graph.ways import OUTLINED, joined_within, landmark_ways, outline_of
from patchfold.neighbors import find_neighbors

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.integers(2, 80), st.floats(0.5, 4), st.booleans())
def test_ways_are_bounded_from_below(seed, n, degree, whole):
    rng = np.random.default_rng(seed)
    code = np.unique(rng.integers(0, n * n, int(n * degree)))
    i, j = code // n, code % n
    i, j = i[i < j], j[i < j]
    lengths = rng.integers(0, 3, len(i)).astype(float) if whole else rng.exponential(size=len(i))
    graph = symmetric(i, j, lengths, n)
    a, b = rng.integers(0, n, (2, 50))
    found, exact = landmark_ways(graph, a, b, None), dijkstra(graph)[a, b]
    assert (found >= 0).all()
    assert (found <= exact * (1 + 1e-12)).all()


def test_ways_along_a_path_are_found_exactly():
    lengths = np.random.default_rng(0).exponential(size=99)
    graph = symmetric(np.arange(99), np.arange(1, 100), lengths, 100)
    a, b = np.random.default_rng(1).integers(0, 100, (2, 200))
    np.testing.assert_allclose(landmark_ways(graph, a, b, None), dijkstra(graph)[a, b], atol=1e-12)


# ------------------------------------------------------------------- pairs joined by short ways


def both_ways(graph, i, j, bounds, *outline, **settings):
    """Return what SciPy and what compiled code find."""
    return [
        joined_within(graph, i, j, bounds, *outline, compiled_work=work, **settings)
        for work in (10**18, 0)
    ]


@given(
    SEEDS,
    st.integers(1, 120),
    st.floats(0, 6),
    st.booleans(),
    st.sampled_from([np.float64, np.float32]),
)
def test_pairs_are_joined_if_their_shortest_path_is_short(seed, n, degree, whole, dtype):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, int(n * degree), whole=whole, dtype=dtype)
    i, j = np.sort(rng.integers(0, n, 80)), rng.integers(0, n, 80)
    # Whole bounds are met exactly by whole lengths.
    bounds = rng.integers(0, 6, 80).astype(float) if whole else 3 * rng.exponential(size=80)
    for found in both_ways(graph, i, j, bounds):
        assert found.dtype == bool
        np.testing.assert_array_equal(found, dijkstra(graph)[i, j] <= bounds)


def neighbor_graph(X, k):
    """Return the graph of nearest neighbours, each edge as long as its ends are far apart."""
    i, j, _ = undirected(find_neighbors(X, k))
    return symmetric(i, j, np.linalg.norm(X[i] - X[j], axis=1).astype(X.dtype), len(X))


@given(
    SEEDS,
    st.integers(8, 150),
    st.sampled_from([1, 2, 5, OUTLINED, OUTLINED + 1, 60]),
    st.sampled_from([np.float64, np.float32]),
    st.sampled_from(["plain", "offset", "outlier", "two scales", "copies", "line"]),
)
def test_an_outline_changes_no_answer(seed, n, m, dtype, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    if kind == "offset":
        X += 1e5
    elif kind == "outlier":
        X[rng.integers(n)] *= 1e12
    elif kind == "two scales":
        X[::2] = 1e7 + 1e-3 * X[::2]
    elif kind == "copies":
        X[::3] = X[0]
    elif kind == "line":  # paths are as long as the distance of their ends
        X = np.outer(rng.integers(0, 9, n), np.ones(m))
    X = X.astype(dtype)
    graph = neighbor_graph(X, 5)
    i, j = np.sort(rng.integers(0, n, 200)), rng.integers(0, n, 200)
    ways = dijkstra(graph)[i, j]
    # Beside the shortest way: exactly as long, or a little shorter.
    bounds = np.where(np.isinf(ways), 1.0, ways) * rng.choice([1.0, 1 - 1e-12, 0.99, 1.3], 200)
    for found in both_ways(graph, i, j, bounds, outline_of(X)):
        np.testing.assert_array_equal(found, ways <= bounds)


@given(SEEDS, st.integers(2, 90), st.integers(1, 60), st.sampled_from([np.float64, np.float32]))
def test_places_in_an_outline_are_no_farther_apart_than_points(seed, n, m, dtype):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * 10.0 ** rng.integers(-6, 7, m) + 100 * rng.normal()
    X = X.astype(dtype)
    places, error = outline_of(X)
    assert places.shape == (n, min(m, OUTLINED))
    i, j = rng.integers(0, n, (2, 100))
    points = X.astype(np.float64)
    apart, seen = (np.linalg.norm(rows[i] - rows[j], axis=1) for rows in (points, places))
    assert (seen <= apart + error).all()


@pytest.mark.parametrize("unit", [1e-200, 1e-20, 1e20, 1e200])
def test_points_whose_squares_leave_the_range_of_numbers_have_no_outline(unit):
    places, error = outline_of(unit * np.random.default_rng(0).normal(size=(30, 40)))
    assert places.shape == (30, 0)
    assert error == 0


def test_a_search_does_not_visit_points_far_from_the_other_end():
    X = np.random.default_rng(0).uniform(size=(2000, 40)) * np.r_[np.full(2, 1.0), np.zeros(38)]
    graph = neighbor_graph(X, 8)
    i = np.arange(1900)
    j = i + 100
    bounds = 0.9 * np.linalg.norm(X[i] - X[j], axis=1)  # no path is that short
    edges = (graph.indptr.astype(np.intp), graph.indices.astype(np.intp), graph.data)
    outline = outline_of(X)

    class Counted(list):
        visits = 0

        def __getitem__(self, place):
            Counted.visits += 1
            return super().__getitem__(place)

    counted = Counted(edges[1].tolist())
    most = bounds * (1 + 1e-5) + outline.error
    found = np.empty(20, bool)
    pairs = i[:20], j[:20], bounds[:20], most[:20]
    seeking.joined.py_func(edges[0], counted, edges[2], *pairs, outline.places, found)
    assert not found.any()
    assert Counted.visits == np.diff(edges[0])[:20].sum()  # the edges of the first points alone


def test_a_pair_does_not_depend_on_the_bounds_of_others():
    line = path(np.ones(9))
    i, j = np.zeros(3, int), np.array([3, 4, 8])
    for found in both_ways(line, i, j, np.array([2.5, 4.0, 100.0])):
        np.testing.assert_array_equal(found, [False, True, True])
    for found in both_ways(line, i[:2], j[:2], np.array([2.5, 4.0])):
        np.testing.assert_array_equal(found, [False, True])


def test_short_ways_go_along_edges_of_length_zero():
    graph = path(np.array([0.0, 0.0, 2.0, 0.0]))
    i, j = np.array([0, 0, 0, 1]), np.array([0, 2, 4, 2])
    for found in both_ways(graph, i, j, np.array([0.0, 0.0, 1.0, 0.0])):
        np.testing.assert_array_equal(found, [True, True, False, True])


def test_short_ways_follow_arrows():
    arrow = csr_array((np.ones(1), np.array([1]), np.array([0, 1, 1])), (2, 2))
    for found in both_ways(arrow, np.array([0, 1]), np.array([1, 0]), np.full(2, 9.0)):
        np.testing.assert_array_equal(found, [True, False])


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_short_ways_do_not_depend_on_the_number_of_threads(n_jobs):
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 400, 3000)
    i, j = np.sort(rng.integers(0, 400, 900)), rng.integers(0, 400, 900)
    bounds = rng.exponential(size=900)
    expected = both_ways(graph, i, j, bounds)[0]
    for found in both_ways(graph, i, j, bounds, n_jobs=n_jobs, n_pairs=50):
        np.testing.assert_array_equal(found, expected)


def crowded_star():
    """A star with more points than the heap of a search has room for, and two pairs."""
    n = 3 * seeking.FIRST_HEAP
    star = symmetric(np.zeros(n, int), np.arange(1, n + 1), np.linspace(1, 0, n), n + 1)
    return star, np.array([0, n]), np.array([n, 1]), np.array([2.0, 0.5])


def test_a_search_has_room_for_any_number_of_points():
    for found in both_ways(*crowded_star()):
        np.testing.assert_array_equal(found, [True, False])


def test_the_compiled_search_does_what_it_says_in_python(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 20)).astype(np.float32)
    graph = neighbor_graph(X, 6)
    i, j = np.sort(rng.integers(0, 90, 50)), rng.integers(0, 90, 50)
    bounds = dijkstra(graph)[i, j] * rng.choice([0.9, 1.0, 1.1], 50)
    expected = both_ways(graph, i, j, bounds)[0]
    for name in ("joined", "_apart", "_with_room", "_rise", "_sink"):
        monkeypatch.setattr(seeking, name, getattr(seeking, name).py_func)
    np.testing.assert_array_equal(both_ways(graph, i, j, bounds, outline_of(X))[1], expected)
    np.testing.assert_array_equal(both_ways(*crowded_star())[1], [True, False])
