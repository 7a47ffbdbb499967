"""Components and the edges that join them agree with brute force; zero lengths connect."""

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import slow_reference as slow
from graphs import as_graph, random_edges
from patchfold.graph import components
from patchfold.graph.edges import symmetric


@pytest.mark.parametrize("seed", range(8))
def test_components_are_those_of_the_edges_zero_lengths_too(seed):
    n = 14
    edges = random_edges(np.random.default_rng(seed), n, 0.08)
    count, labels = components.n_components(as_graph(edges, n))
    expected = slow.components(edges, n)
    assert count == len(set(expected))
    same = np.array(expected)[:, None] == np.array(expected)
    np.testing.assert_array_equal(labels[:, None] == labels, same)


def test_points_joined_by_zero_lengths_alone_are_one_component():
    path = {(i, i + 1): 0.0 for i in range(6)}
    assert components.n_components(as_graph(path, 7))[0] == 1


def threshold_by_trial(edges, n):
    """Find the least length such that the edges up to it connect everything."""
    for longest in sorted(set(edges.values())):
        kept = [pair for pair, length in edges.items() if length <= longest]
        if len(set(slow.components(kept, n))) == 1:
            return longest
    return None


@pytest.mark.parametrize("seed", range(6))
def test_longest_needed_is_the_least_threshold_that_keeps_the_graph_whole(seed):
    n = 12
    edges = random_edges(np.random.default_rng(seed), n, 0.6)
    expected = threshold_by_trial(edges, n)
    assert expected is not None
    assert components.longest_needed(as_graph(edges, n)) == pytest.approx(expected, abs=1e-15)


def test_longest_needed_of_zero_lengths_is_zero():
    assert components.longest_needed(as_graph({(0, 1): 0.0, (1, 2): 0.0}, 3)) == 0
    assert components.longest_needed(csr_array((1, 1))) == 0


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_the_longest_needed_edge_keeps_its_digits_at_any_scale(scale):
    lengths = scale * np.array([0.0, 3.0, 7.0, 9.0])
    i, j = np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3])
    path = symmetric(i, j, lengths, 4)
    assert components.longest_needed(path) == lengths[2]


# ------------------------------------------------------------------- bridges


def rows_of_distances(X):
    return components.closest_by_gaps(lambda block: 2 * (cdist(X[block], X),))


def assert_bridges_by_merging(X, labels):
    """Compare with merging the closest two components, ties by (distance, i, j), in a loop."""
    labels = np.unique(labels, return_inverse=True)[1].astype(np.intp)
    within = [(int(np.argmax(labels == label)), i) for i, label in enumerate(labels)]
    expected = slow.join(within, len(X), *2 * [cdist(X, X)])
    for closest in (rows_of_distances(X), components.closest_points(X)):
        a, b = components.joining_edges(labels, closest)
        assert list(zip(a.tolist(), b.tolist(), strict=True)) == sorted(expected)


@st.composite
def labelled(draw, coordinates):
    n = draw(st.integers(1, 14))
    X = draw(hnp.arrays(np.float64, (n, draw(st.integers(1, 3))), elements=coordinates))
    labels = draw(hnp.arrays(np.int64, n, elements=st.integers(0, draw(st.integers(0, 6)))))
    return X, labels


@given(labelled(st.integers(0, 2).map(float)))
def test_bridges_are_those_of_merging_closest_components_on_a_grid_with_ties(case):
    assert_bridges_by_merging(*case)


@given(labelled(st.floats(-100, 100, width=32)))
def test_bridges_are_those_of_merging_closest_components_anywhere(case):
    assert_bridges_by_merging(*case)


def test_bridges_of_all_equal_points_are_the_lexicographically_first_pairs():
    a, b = components.joining_edges(np.arange(5), rows_of_distances(np.ones((5, 2))))
    np.testing.assert_array_equal(a, [0, 0, 0, 0])
    np.testing.assert_array_equal(b, [1, 2, 3, 4])


def test_bridges_do_not_depend_on_the_block_size():
    rng = np.random.default_rng(0)
    X, labels = rng.integers(0, 5, (80, 2)).astype(float), np.arange(80) % 9
    expected = components.joining_edges(labels, rows_of_distances(X))
    with sklearn.config_context(working_memory=1e-6):
        found = components.joining_edges(labels, rows_of_distances(X))
    np.testing.assert_array_equal(found, expected)


@given(labelled(st.integers(0, 2).map(float)), st.randoms(use_true_random=False))
def test_equal_gaps_are_told_apart_by_what_is_given_for_it(case, random):
    X, labels = case
    labels = np.unique(labels, return_inverse=True)[1].astype(np.intp)
    within = [(int(np.argmax(labels == label)), i) for i, label in enumerate(labels)]
    gaps, ties = cdist(X, X), np.array([[random.randrange(3) for _ in X] for _ in X], dtype=float)
    ties = ties + ties.T
    a, b = components.joining_edges(
        labels, components.closest_by_gaps(lambda block: (gaps[block], ties[block]))
    )
    expected = slow.join(within, len(X), gaps, ties)
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == sorted(expected)


def test_one_component_needs_no_bridge():
    a, b = components.joining_edges(np.zeros(4, dtype=np.intp), rows_of_distances(np.ones((4, 1))))
    assert len(a) == len(b) == 0


def test_bridges_are_shorter_by_either_end_of_an_asymmetric_matrix():
    D = np.array([[0.0, 9.0, 9.0], [1.0, 0.0, 9.0], [9.0, 2.0, 0.0]])
    a, b = components.joining_edges(
        np.arange(3), components.closest_by_gaps(lambda block: (D[block], D[block]))
    )
    assert list(zip(a, b, strict=True)) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_and_small_components_are_joined_by_the_closest_of_all_pairs(dtype):
    rng = np.random.default_rng(0)
    sizes = [200, 3, 90, 1, 70, 64, 65]
    X = np.concatenate([rng.normal(c, 1, (n, 9)) for c, n in enumerate(sizes)]).astype(dtype)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    expected = components.joining_edges(labels, rows_of_distances(X))
    for n_jobs in (None, 2):
        found = components.joining_edges(labels, components.closest_points(X, n_jobs))
        np.testing.assert_array_equal(found, expected)
