"""Neighbourhoods are edge lists that know their rows."""

import numpy as np
import pytest

from neighbor_rows import DATA, as_rows
from patchfold.neighbors import Neighborhoods, find_neighbors


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
