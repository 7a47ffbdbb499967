"""Pairs that two edges join, beside all points between them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from graphs import path, random_graph
from patchfold.graph.trusting import joined_by_two


def dense(graph):
    """Return the lengths of edges, which may be zero, and infinity elsewhere."""
    lengths = np.full(graph.shape, np.inf)
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    lengths[rows, graph.indices] = graph.data
    return lengths


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.floats(0, 6),
    st.booleans(),
    st.sampled_from([np.float64, np.float32]),
)
def test_pairs_are_joined_if_two_edges_are_short_enough(seed, n, degree, whole, dtype):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, int(n * degree), whole=whole, dtype=dtype)
    i, j = rng.integers(0, n, (2, 80))
    # Whole bounds are met exactly by whole lengths.
    bounds = rng.integers(0, 6, 80).astype(float) if whole else 3 * rng.exponential(size=80)
    apart = dense(graph)
    expected = (apart[i] + apart[:, j].T).min(axis=1) <= bounds
    found = joined_by_two(graph, graph, i, j, bounds)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, expected)


def test_edges_lead_from_other_rows_into_the_graph():
    line = path(np.ones(3))
    new = csr_array(np.array([[0.0, 0.5, 0.0, 0.0]]))
    pairs = np.zeros(3, int), np.array([0, 2, 3])
    found = joined_by_two(new, line, *pairs, np.full(3, 1.5))
    np.testing.assert_array_equal(found, [True, True, False])


def test_edges_of_length_zero_lead_on():
    graph = path(np.array([0.0, 0.0, 2.0]))
    found = joined_by_two(graph, graph, np.array([0, 1]), np.array([2, 3]), np.array([0.0, 1.0]))
    np.testing.assert_array_equal(found, [True, False])


@pytest.mark.parametrize("n_pairs", [0, 3])
def test_without_edges_nothing_is_joined(n_pairs):
    empty, pairs = csr_array((4, 4)), np.arange(n_pairs)
    assert not joined_by_two(empty, empty, pairs, pairs, np.ones(n_pairs)).any()


def test_the_order_of_a_rows_edges_does_not_matter():
    graph = random_graph(np.random.default_rng(0), 40, 200)
    turned = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(graph.indptr)])
    other = csr_array((graph.data[turned], graph.indices[turned], graph.indptr), graph.shape)
    i, j = np.random.default_rng(1).integers(0, 40, (2, 100))
    expected = joined_by_two(graph, graph, i, j, np.ones(100))
    assert 0 < expected.sum() < 100
    np.testing.assert_array_equal(joined_by_two(other, other, i, j, np.ones(100)), expected)
