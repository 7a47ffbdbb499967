"""Neighbours of rows in all parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchfold.distributed import searching
from patchfold.distributed.planes import Plane, part_of
from patchfold.distributed.searching import PROBES, Search, ask, merged
from patchfold.neighbors import find_neighbors
from patchfold.neighbors.neighborhoods import Neighborhoods


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(150, 2))


@pytest.fixture
def tree():
    x, y = np.eye(2)
    return Plane(x, 0.1, Plane(y, 0.0, 0, 1), Plane(y, -0.2, 2, 3))


def gaps_between(new, points):
    return np.linalg.norm(new[:, None] - points[None], axis=2)


def in_parts(cluster, X, homes, k=None, radius=None, *, exact=True):
    """Return a search among rows that are sorted by part, and these rows."""
    X = X[np.argsort(homes, kind="stable")]
    firsts = np.concatenate([[0], np.cumsum(np.bincount(homes))])
    parts = np.split(X, firsts[1:-1])
    return Search(cluster, firsts, parts, k=k, radius=radius, exact=exact), X


def together(found):
    """Return what was found for the rows of all parts."""
    return Neighborhoods(
        np.concatenate([[0], np.cumsum(np.concatenate([near.degrees for near in found]))]),
        np.concatenate([near.indices for near in found]),
        np.concatenate([near.distances for near in found]),
    )


def assert_same(found, expected):
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.distances, expected.distances)


# ---------------------------------------------------------------- exactly


@given(st.integers(0, 2**16), st.integers(2, 6))
def test_rows_in_any_parts_find_their_nearest_among_all_ties_by_number(cluster, seed, n_parts):
    rng = np.random.default_rng(seed)
    X = rng.integers(6, size=(60, 2)).astype(float)  # a grid: many rows are equally far
    homes = rng.permutation(np.arange(60) ** 2 % n_parts)  # some parts have fewer rows than k
    search, X = in_parts(cluster, X, np.unique(homes, return_inverse=True)[1], 8)
    found = search.own()
    assert search.recall(found) == 1.0
    assert_same(together(found), find_neighbors(X, 8))


@given(st.integers(0, 2**16), st.floats(0.1, 3.0))
def test_rows_find_all_within_a_radius(cluster, seed, radius):
    rng = np.random.default_rng(seed)
    X, homes = rng.normal(size=(60, 3)), np.arange(60) % 4
    search, X = in_parts(cluster, X, homes, radius=radius)
    assert_same(together(search.own()), find_neighbors(X, None, radius=radius))


def test_new_rows_find_their_nearest_among_all(cluster, points, tree):
    new = np.random.default_rng(1).normal(size=(40, 2))
    search, X = in_parts(cluster, points, part_of(points, tree), 7)
    chunks = [new[:15], new[15:]]
    found = together(search.new(chunks, [part_of(chunk, tree) for chunk in chunks]))
    gaps = gaps_between(new, X)
    expected = np.argsort(gaps, axis=1, kind="stable")[:, :7]
    np.testing.assert_array_equal(found.indices.reshape(-1, 7), expected)
    np.testing.assert_allclose(found.distances, np.take_along_axis(gaps, expected, 1).ravel())


@given(st.integers(0, 2**16))
def test_no_row_of_a_part_is_nearer_than_the_bound_of_the_part(cluster, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3)) * rng.uniform(0.1, 10, size=3)
    homes = np.sort(np.concatenate([np.arange(4), rng.integers(4, size=76)]))
    search, X = in_parts(cluster, X, homes, 3)
    below = np.concatenate([search.bounds.below(X[homes == part], part) for part in range(4)])
    for part, points in enumerate(search.points):
        others = homes != part
        closest = gaps_between(X[others], points).min(axis=1)
        assert (below[others, part] <= closest).all()


def test_bounds_hold_far_from_the_origin_and_for_a_part_of_equal_rows(cluster):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 300)), np.full((5, 300), 1e-9)]) + 1e6
    homes = np.repeat([0, 1, 2], [20, 20, 5])
    X[:10] = X[40] + 1e-9 * rng.normal(size=(10, 300))  # next to the equal rows
    search, X = in_parts(cluster, X, homes, 3)
    for home in range(2):
        own = X[homes == home]
        closest = gaps_between(own, X[homes == 2]).min(axis=1)
        assert (search.bounds.below(own, home)[:, 2] <= closest).all()


def test_distant_parts_are_not_asked(cluster):
    X = np.concatenate([np.random.default_rng(0).normal(size=(30, 2)) + 100 * i for i in range(3)])
    search, X = in_parts(cluster, X, np.repeat(np.arange(3), 30), 4)
    assert ask(X[:30], np.intp(0), 10.0, search.bounds, None) == {}


def test_an_approximate_search_asks_few_other_parts(cluster, points):
    search, X = in_parts(cluster, points, np.arange(150) % 6, 3)
    every = ask(X[:20], np.intp(0), np.inf, search.bounds, None)
    assert {part: len(asked.rows) for part, asked in every.items()} == dict.fromkeys(
        range(1, 6), 20
    )
    few = ask(X[:20], np.intp(0), np.inf, search.bounds, PROBES)
    assert sum(len(asked.rows) for asked in few.values()) == 20 * PROBES


def test_what_several_parts_found_is_merged_by_distance_then_number():
    starts = np.array([0, 2])
    first = Neighborhoods(starts, np.array([4, 9]), np.array([1.0, 2.0]))
    second = Neighborhoods(starts, np.array([3, 7]), np.array([1.0, 1.5]))
    answers = [(None, first), (np.array([0]), second)]
    found = merged(np.zeros((1, 2)), answers, 2)
    assert found.indices.tolist() == [3, 4]
    assert found.distances.tolist() == [1.0, 1.0]
    assert merged(np.zeros((1, 2)), answers, None).indices.tolist() == [3, 4, 7, 9]


# ---------------------------------------------------------------- in parts that overlap


def test_parts_that_overlap_find_nearly_all_and_tell_their_recall(cluster, points, tree):
    search, X = in_parts(cluster, points, part_of(points, tree), 6, exact=False)
    found = search.own()
    near, exactly = together(found), find_neighbors(X, 6)
    gaps = np.linalg.norm(X[near.sources] - X[near.indices], axis=1)
    np.testing.assert_allclose(near.distances, gaps)
    assert (near.sources != near.indices).all()
    hits = near.distances.reshape(-1, 6) <= exactly.distances.reshape(-1, 6)[:, -1:] * (1 + 1e-12)
    assert np.mean(hits) > 0.95
    assert search.recall(found) == pytest.approx(np.mean(hits[:, -1]), abs=0.03)
    worse = [replace(some, distances=some.distances + 10) for some in found]
    assert search.recall(worse) == 0.0


def test_an_approximate_search_in_parts_of_few_rows_finds_as_many_neighbours(cluster, points):
    search, X = in_parts(cluster, points[:40], np.arange(40) % 8, 6, exact=False)
    near = together(search.own())
    assert (near.degrees == 6).all()
    gaps = np.linalg.norm(X[near.sources] - X[near.indices], axis=1)
    np.testing.assert_allclose(near.distances, gaps)


def test_large_parts_are_searched_by_descent(cluster, tree, monkeypatch):
    monkeypatch.setattr(searching, "exact_suits", lambda *_: False)  # as for large parts
    X = np.random.default_rng(0).normal(size=(400, 2))
    search, X = in_parts(cluster, X, part_of(X, tree), 6, exact=False)
    assert search.recall(search.own()) > 0.9
    new = np.random.default_rng(1).normal(size=(200, 2))
    near = together(search.new([new], [part_of(new, tree)]))
    gaps = gaps_between(new, X)
    np.testing.assert_allclose(near.distances, gaps[near.sources, near.indices])
    last = np.sort(gaps, axis=1)[:, 5]
    assert np.mean(near.distances.reshape(-1, 6)[:, -1] <= last * (1 + 1e-12)) > 0.9
