"""Neighbourhoods are edge lists that know their rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neighbor_rows import DATA, as_rows
from patchfold.neighbors import Neighborhoods, find_neighbors
from patchfold.neighbors.neighborhoods import nearest_first


def test_neighborhoods_know_their_rows_and_degrees():
    found = Neighborhoods(np.array([0, 2, 2, 5]), np.array([1, 2, 0, 1, 2]), np.arange(5.0))
    assert len(found) == 3
    assert found.degrees.tolist() == [2, 0, 3]
    assert found.sources.tolist() == [0, 0, 2, 2, 2]
    cut = found.nearest(1)
    assert cut.indptr.tolist() == [0, 1, 1, 2]
    assert cut.indices.tolist() == [1, 0]
    assert cut.distances.tolist() == [0.0, 2.0]
    assert found.nearest(3) is found


def test_nearest_of_many_is_a_search_for_few():
    X = DATA["integers in a tree"]
    assert as_rows(find_neighbors(X, 20).nearest(6)) == as_rows(find_neighbors(X, 6))


def test_edge_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="2 indices, 1 distances and an indptr that ends at 2"):
        Neighborhoods(np.array([0, 2]), np.array([1, 2]), np.array([0.5]))


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 6), st.booleans())
def test_edges_are_ordered_by_row_distance_and_column(seed, n, most, together):
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), rng.integers(0, most + 1, n))
    rows = rows if together else rng.permutation(rows)
    columns = rng.permutation(len(rows))
    distances = rng.choice([0.0, 1.0, 2.0, np.inf], len(rows))
    if not np.isinf(distances).any():
        distances = distances.astype(int)
    expected = sorted(range(len(rows)), key=lambda e: (rows[e], distances[e], columns[e]))
    np.testing.assert_array_equal(nearest_first(rows, columns, distances), expected)
