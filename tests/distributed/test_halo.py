"""Rows of all parts, fetched by their numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from patchfold.distributed.halo import Halo, among, numbers_of, whole
from patchfold.neighbors import find_neighbors
from patchfold.neighbors.neighborhoods import Neighborhoods

FIRSTS = np.array([0, 5, 5 + 7, 5 + 7 + 8])


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(20, 6))


def in_parts(values):
    return [values[low:high] for low, high in pairwise(FIRSTS)]


def test_tasks_get_the_values_of_the_rows_that_they_want_in_order(cluster, points):
    wanted = [np.array([0, 4, 5, 19]), np.array([7, 8]), np.empty(0, dtype=np.intp)]
    halo = Halo(cluster, FIRSTS, wanted)
    assert halo.parts == [[0, 1, 2], [1], []]
    for some, pieces in zip(wanted[:2], halo.fetch(in_parts(points)), strict=False):
        np.testing.assert_array_equal(whole(pieces), points[some])


def test_whatever_rows_have_is_fetched(cluster, points):
    near = find_neighbors(points, 4)
    graph = csr_array(near.matrix(20))
    wanted = np.array([1, 2, 6, 13, 18])
    halo = Halo(cluster, FIRSTS, [wanted])
    rows = [np.arange(low, high) for low, high in pairwise(FIRSTS)]

    found = whole(halo.fetch([near[some] for some in rows])[0])
    np.testing.assert_array_equal(found.indices, near[wanted].indices)
    found = whole(halo.fetch([graph[some] for some in rows])[0])
    np.testing.assert_array_equal(found.toarray(), graph[wanted].toarray())


def test_the_numbers_of_rows_and_their_neighbours_are_sorted_and_there_once(points):
    near = find_neighbors(points, 3)[np.array([3, 4])]
    found = numbers_of(near, np.array([3, 4]))
    np.testing.assert_array_equal(found, np.unique([3, 4, *near.indices]))


def test_neighbours_are_found_among_the_rows_that_were_fetched():
    near = Neighborhoods(np.array([0, 2]), np.array([4, 9]), np.array([0.5, 1.0]))
    found = among(np.array([4, 7, 9]), np.array([7]), near, np.float32)
    assert found.degrees.tolist() == [0, 2, 0]
    assert found.indices.tolist() == [0, 2]
    assert found.distances.dtype == np.float32
