"""An order of points in which near ones follow each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import random_array

from patchfold import GaussianPatch, divergences
from patchfold.divergences import pairing
from patchfold.engines import locality
from patchfold.neighbors import ApproximateNeighbors, ExactNeighbors, find_neighbors
from patchfold.patches import fitting


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(locality, "LARGE", 0)


@given(st.permutations(range(20)))
def test_places_undo_an_order(order):
    places = locality.places(np.array(order))
    np.testing.assert_array_equal(places[order], np.arange(20))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 400])
def test_every_row_is_met_once(always, n, dtype):
    X = np.random.default_rng(0).standard_normal((n, 7)).astype(dtype)
    np.testing.assert_array_equal(np.sort(locality.walk(X)), np.arange(n))
    np.testing.assert_array_equal(np.sort(locality.walk(np.zeros_like(X))), np.arange(n))
    sparse = random_array((n, 7), density=0.2, rng=0, dtype=dtype).tocsr()
    np.testing.assert_array_equal(np.sort(locality.walk(sparse)), np.arange(n))


def test_numbers_that_overflow_are_put_somewhere(always):
    X = np.full((50, 3), 1e308) * np.random.default_rng(0).choice([-1, 1], (50, 3))
    np.testing.assert_array_equal(np.sort(locality.walk(X)), np.arange(50))


def test_small_data_stay_in_their_order():
    np.testing.assert_array_equal(locality.walk(np.zeros((9, 2))), np.arange(9))


def test_neighbours_are_near_in_it(always):
    X = np.random.default_rng(0).uniform(size=(4000, 2)) @ np.ones((2, 30))
    near = find_neighbors(X, 5)
    places = locality.places(locality.walk(X))
    apart = np.abs(places[near.sources] - places[near.indices])
    assert np.median(apart) < 20


@pytest.mark.parametrize("compiled", [0, np.inf])
@pytest.mark.parametrize("features", [6, 30])
def test_patches_and_divergences_have_the_same_bits_in_it(monkeypatch, features, compiled):
    """Of full covariances and of factored ones, of many sizes, some with many directions."""
    rng = np.random.default_rng(0)
    flat = rng.uniform(size=(300, 2)) @ rng.standard_normal((2, features))
    X = np.concatenate([flat, 5 + rng.standard_normal((30, features))])
    near = find_neighbors(X, 12).nearest(rng.integers(5, 13, len(X)))
    monkeypatch.setattr(pairing, "COMPILED_NUMBERS", compiled)
    monkeypatch.setattr(fitting, "MANY_NUMBERS", 0)
    monkeypatch.setattr(fitting, "SAMPLE", 5)
    found = []
    for large in (0, np.inf):
        monkeypatch.setattr(locality, "LARGE", large)
        fitted = GaussianPatch(covariance="flattened").fit(X, near)
        assert fitted.factored == (features == 30)
        values = divergences.paired(fitted, near.sources, near.indices, "kl")
        found.append((fitted.means, fitted.covariances(), values))
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
