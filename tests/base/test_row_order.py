"""An order of points in which near ones follow each other."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import random_array

from patchfold import GaussianPatch, divergences
from patchfold.base import row_order
from patchfold.neighbors import ApproximateNeighbors, ExactNeighbors, find_neighbors
from patchfold.patches.fitting import PatchFit

walk = partial(row_order.walk, large=0)


@given(st.permutations(range(20)))
def test_places_undo_an_order(order):
    places = row_order.inverse(np.array(order))
    np.testing.assert_array_equal(places[order], np.arange(20))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 400])
def test_every_row_is_met_once(n, dtype):
    X = np.random.default_rng(0).standard_normal((n, 7)).astype(dtype)
    np.testing.assert_array_equal(np.sort(walk(X)), np.arange(n))
    np.testing.assert_array_equal(np.sort(walk(np.zeros_like(X))), np.arange(n))
    sparse = random_array((n, 7), density=0.2, rng=0, dtype=dtype).tocsr()
    np.testing.assert_array_equal(np.sort(walk(sparse)), np.arange(n))


def test_numbers_that_overflow_are_put_somewhere():
    X = np.full((50, 3), 1e308) * np.random.default_rng(0).choice([-1, 1], (50, 3))
    np.testing.assert_array_equal(np.sort(walk(X)), np.arange(50))


def test_small_data_stay_in_their_order():
    np.testing.assert_array_equal(row_order.walk(np.zeros((9, 2))), np.arange(9))


def test_neighbours_are_near_in_it():
    X = np.random.default_rng(0).uniform(size=(4000, 2)) @ np.ones((2, 30))
    near = find_neighbors(X, 5)
    places = row_order.inverse(walk(X))
    apart = np.abs(places[near.sources] - places[near.indices])
    assert np.median(apart) < 20


def ragged(features, n=300):
    """Points near a plane and some anywhere, with neighbourhoods of many sizes."""
    rng = np.random.default_rng(0)
    flat = rng.uniform(size=(n, 2)) @ rng.standard_normal((2, features))
    X = np.concatenate([flat, 5 + rng.standard_normal((30, features))])
    return X, find_neighbors(X, 12).nearest(rng.integers(5, 13, len(X)))


@pytest.mark.parametrize("features", [6, 30])
def test_patches_have_the_same_bits_in_it(features):
    """Of full covariances and of factored ones, of many sizes, some with many directions."""
    X, near = ragged(features)
    fit = PatchFit(X, None, near)
    assert fit.factored == (features == 30)
    some, others = (fit.run(None, walk=order) for order in (walk(X), np.arange(len(X))))
    np.testing.assert_array_equal(some.means, others.means)
    np.testing.assert_array_equal(some.covariances(), others.covariances())


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("features", [6, 30])
def test_divergences_have_the_same_bits_in_it(features, compiled):
    X, near = ragged(features, n=2**17 // features)
    patches = GaussianPatch().fit(X, near)
    i, j = near[np.arange(100)].sources, near[np.arange(100)].indices
    few = patches[np.arange(100)]
    assert few.means.nbytes < row_order.LARGE <= patches.means.nbytes
    expected, found = (
        divergences.paired(those, i, j, "kl", other=patches, compiled=compiled)
        for those in (few, patches)
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.long  # numba compiles the descent for minutes
@pytest.mark.xdist_group("pynndescent")
def test_a_descent_in_it_finds_the_neighbours_of_the_rows_as_given():
    pytest.importorskip("pynndescent")
    rng = np.random.default_rng(0)
    X = (rng.uniform(size=(3000, 3)) @ rng.standard_normal((3, 90))).astype(np.float32)
    assert X.nbytes >= row_order.LARGE
    new = X[:200] + np.float32(0.001)
    search, exact = ApproximateNeighbors(10, random_state=0).build(X), ExactNeighbors(10).build(X)
    for queries in (None, new):
        found, wanted = search.query(queries), exact.query(queries)
        shared = [np.isin(found[[row]].indices, wanted[[row]].indices).mean() for row in range(200)]
        assert np.mean(shared) > 0.98
