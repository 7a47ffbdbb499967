"""An order of points in which near ones follow each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import random_array

from patchfold import ordering
from patchfold.divergences import paired
from patchfold.neighbors import ApproximateNeighbors, ExactNeighbors, find_neighbors
from patchfold.patches import GaussianPatch


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(ordering, "LARGE", 0)


@given(st.permutations(range(20)))
def test_places_undo_an_order(order):
    places = ordering.places(np.array(order))
    np.testing.assert_array_equal(places[order], np.arange(20))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 400])
def test_every_row_is_met_once(always, n, dtype):
    X = np.random.default_rng(0).standard_normal((n, 7)).astype(dtype)
    np.testing.assert_array_equal(np.sort(ordering.walk(X)), np.arange(n))
    np.testing.assert_array_equal(np.sort(ordering.walk(np.zeros_like(X))), np.arange(n))
    sparse = random_array((n, 7), density=0.2, rng=0, dtype=dtype).tocsr()
    np.testing.assert_array_equal(np.sort(ordering.walk(sparse)), np.arange(n))


def test_numbers_that_overflow_are_put_somewhere(always):
    X = np.full((50, 3), 1e308) * np.random.default_rng(0).choice([-1, 1], (50, 3))
    np.testing.assert_array_equal(np.sort(ordering.walk(X)), np.arange(50))


def test_small_data_stay_in_their_order():
    np.testing.assert_array_equal(ordering.walk(np.zeros((9, 2))), np.arange(9))


def test_neighbours_are_near_in_it(always):
    X = np.random.default_rng(0).uniform(size=(4000, 2)) @ np.ones((2, 30))
    near = find_neighbors(X, 5)
    places = ordering.places(ordering.walk(X))
    apart = np.abs(places[near.sources] - places[near.indices])
    assert np.median(apart) < 20


def test_patches_and_divergences_have_the_same_bits_in_it(monkeypatch):
    X = np.random.default_rng(0).standard_normal((300, 6))
    near = find_neighbors(X, 9)
    found = []
    for large in (0, np.inf):
        monkeypatch.setattr(ordering, "LARGE", large)
        patches = GaussianPatch(covariance="flattened").fit(X, near)
        values = paired(patches, near.sources, near.indices, "kl")
        found.append((patches.means, patches.covariances(), values))
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_descent_in_it_finds_the_neighbours_of_the_rows_as_given(always):
    pytest.importorskip("pynndescent")
    X = np.random.default_rng(0).uniform(size=(3000, 3)).astype(np.float32)
    new = X[:200] + np.float32(0.001)
    search, exact = ApproximateNeighbors(10, random_state=0).build(X), ExactNeighbors(10).build(X)
    for queries in (None, new):
        found, wanted = search.query(queries), exact.query(queries)
        shared = [np.isin(found[[row]].indices, wanted[[row]].indices).mean() for row in range(200)]
        assert np.mean(shared) > 0.98
