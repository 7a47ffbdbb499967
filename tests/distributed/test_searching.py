"""Neighbours of rows in all parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchfold.distributed import searching
from patchfold.distributed.halo import Nodes
from patchfold.distributed.planes import Plane, near_parts, part_of
from patchfold.distributed.rows import Rows
from patchfold.distributed.searching import (
    PROBES,
    Found,
    Search,
    ask,
    merged,
    overlap,
    recalled,
    search_overlapping,
)


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(150, 2))


@pytest.fixture
def tree():
    x, y = np.eye(2)
    return Plane(x, 0.1, Plane(y, 0.0, 0, 1), Plane(y, -0.2, 2, 3))


def gaps_between(new, points):
    return np.linalg.norm(new[:, None] - points[None], axis=2)


def exact(points, k):
    """Return the nearest rows of rows, ties by number, and their distances."""
    gaps = gaps_between(points, points)
    np.fill_diagonal(gaps, np.inf)
    return nearest(gaps, k)


def nearest(gaps, k):
    order = np.argsort(gaps, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(gaps, order, axis=1)


def in_parts(cluster, X, homes, tree=None, *, exact=True):
    ids = [np.flatnonzero(homes == part) for part in range(homes.max() + 1)]
    return Search(cluster, ids, [X[own] for own in ids], tree, exact=exact)


# ---------------------------------------------------------------- exactly


@given(st.integers(0, 2**16), st.integers(2, 6))
def test_rows_in_any_parts_find_their_nearest_among_all_ties_by_number(cluster, seed, n_parts):
    rng = np.random.default_rng(seed)
    X = rng.integers(6, size=(60, 2)).astype(float)  # a grid: many rows are equally far
    homes = rng.permutation(np.arange(60) ** 2 % n_parts)  # some parts have fewer rows than k
    homes = np.unique(homes, return_inverse=True)[1]
    search, k = in_parts(cluster, X, homes), 8
    ids, distances = exact(X, k)
    found = search.own(k)
    assert search.recall(found, k) == 1.0
    for own, some in zip(search.ids, found, strict=True):
        np.testing.assert_array_equal(some.nodes.ids, ids[own])
        np.testing.assert_array_equal(some.nodes.homes, homes[some.nodes.ids])
        np.testing.assert_allclose(some.distances, distances[own])
        where = zip(some.nodes.homes.flat, some.nodes.places.flat, strict=True)
        at = [search.ids[part][place] for part, place in where]
        np.testing.assert_array_equal(at, some.nodes.ids.ravel())


def test_new_rows_find_their_nearest_among_all(cluster, points, tree):
    new = np.random.default_rng(1).normal(size=(40, 2))
    search = in_parts(cluster, points, part_of(points, tree), tree)
    chunks = [new[:15], new[15:]]
    found = search.new(chunks, [part_of(chunk, tree) for chunk in chunks], 7)
    ids, distances = nearest(gaps_between(new, points), 7)
    np.testing.assert_array_equal(np.concatenate([some.nodes.ids for some in found]), ids)
    np.testing.assert_allclose(np.concatenate([some.distances for some in found]), distances)


@given(st.integers(0, 2**16))
def test_no_row_of_a_part_is_nearer_than_the_bound_of_the_part(cluster, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3)) * rng.uniform(0.1, 10, size=3)
    homes = rng.integers(4, size=80)
    search = in_parts(cluster, X, homes)
    below = search.bounds.below(X, homes)
    for part, points in enumerate(search.points):
        others = homes != part
        closest = gaps_between(X[others], points).min(axis=1)
        assert (below[others, part] <= closest).all()


def test_distant_parts_are_not_asked(cluster):
    X = np.concatenate([np.random.default_rng(0).normal(size=(30, 2)) + 100 * i for i in range(3)])
    homes = np.repeat(np.arange(3), 30)
    search = in_parts(cluster, X, homes)
    first = Found(None, exact(X[:30], 4)[1])
    assert ask(X[:30], np.intp(0), first, search.bounds, 4, None) == {}


def test_an_approximate_search_for_new_rows_asks_few_other_parts(cluster, points):
    search = in_parts(cluster, points, np.arange(150) % 6)
    far = Found(None, np.full((20, 3), np.inf))
    every = ask(points[:20], np.intp(0), far, search.bounds, 3, None)
    assert {part: len(asked) for part, asked in every.items()} == dict.fromkeys(range(1, 6), 20)
    few = ask(points[:20], np.intp(0), far, search.bounds, 3, PROBES)
    assert sum(map(len, few.values())) == 20 * PROBES


def test_what_several_parts_found_is_merged_by_distance_then_number():
    first = Found(Nodes(*[np.array([[4, 9]])] * 3), np.array([[1.0, 2.0]]))
    second = Found(Nodes(*[np.array([[3, 7]])] * 3), np.array([[1.0, 1.5]]))
    found = merged(np.zeros((1, 2)), first, [(np.array([0]), second)], 2)
    assert found.nodes.ids.tolist() == [[3, 4]]
    assert found.distances.tolist() == [[1.0, 1.0]]
    assert merged(np.zeros((1, 2)), first, [], 2) is first


# ---------------------------------------------------------------- in parts that overlap


@pytest.mark.slow
def test_parts_overlap_less_where_planes_tell_little_about_distances(cluster):
    X = np.random.default_rng(0).normal(size=(400, 60))
    x, y = np.eye(60)[:2]
    tree = Plane(x, 0.0, Plane(y, 0.0, 0, 1), Plane(y, 0.0, 2, 3))
    search = in_parts(cluster, X, part_of(X, tree), tree, exact=False)
    kth = exact(X, 5)[1][:, -1].mean()
    margin = search._margin(kth)
    assert sum(map(len, near_parts(X, tree, kth).values())) == 4 * len(X)
    assert 0 < sum(map(len, near_parts(X, tree, margin).values())) <= 3 * len(X)
    assert search._margin(1e-3) == 1e-3


@pytest.mark.parametrize(("margin", "all_found"), [(10.0, True), (0.05, False)])
def test_parts_find_the_nearest_rows_within_their_overlap(points, tree, margin, all_found):
    k, home = 6, part_of(points, tree)
    parts = [Rows(ids, points[ids]) for ids in (np.flatnonzero(home == p) for p in range(4))]
    near = [overlap(*rows, p, tree, margin) for p, rows in enumerate(parts)]
    ids, distances = exact(points, k)
    share = []
    for part, rows in enumerate(parts):
        added = [there[part] for there in near if part in there]
        found = search_overlapping(*rows, part, added, k)
        np.testing.assert_array_equal(home[found.nodes.ids], found.nodes.homes)
        where = zip(found.nodes.homes.flat, found.nodes.places.flat, strict=True)
        at = [parts[other].ids[place] for other, place in where]
        np.testing.assert_array_equal(at, found.nodes.ids.ravel())
        gaps = np.linalg.norm(points[rows.ids][:, None] - points[found.nodes.ids], axis=2)
        np.testing.assert_allclose(found.distances, gaps)
        share.append(found.nodes.ids == ids[rows.ids])
        every = gaps_between(points[rows.ids], points)
        nodes = Nodes(np.tile(np.arange(len(points)), (len(rows.ids), 1)), None, None)
        recall = recalled(rows.ids, found.distances, [Found(nodes, every)])
        expected = np.mean(found.distances <= distances[rows.ids][:, -1:] * (1 + 1e-12))
        assert recall == pytest.approx(expected)
    assert np.concatenate(share).all() == all_found


def test_the_recall_of_an_approximate_search_is_the_share_it_found(cluster, points, tree):
    k, home = 6, part_of(points, tree)
    search = in_parts(cluster, points, home, tree, exact=False)
    found = search.own(k)
    distances = exact(points, k)[1]
    hits = [
        some.distances <= distances[own][:, -1:] * (1 + 1e-12)
        for own, some in zip(search.ids, found, strict=True)
    ]
    assert search.recall(found, k) == pytest.approx(np.mean(np.concatenate(hits)))
    worse = [some._replace(distances=some.distances + 10) for some in found]
    assert search.recall(worse, k) == 0.0


def test_an_approximate_search_in_parts_of_few_rows_finds_as_many_neighbours(cluster, points):
    search = in_parts(cluster, points[:40], np.arange(40) % 8, exact=False)
    for own, found in zip(search.ids, search.own(6), strict=True):
        assert np.isfinite(found.distances).all()
        assert not (found.nodes.ids == own[:, None]).any()
        gaps = np.linalg.norm(points[own][:, None] - points[found.nodes.ids], axis=2)
        np.testing.assert_allclose(found.distances, gaps)


def test_large_parts_are_searched_by_descent_and_every_row_gets_its_neighbours(
    cluster, tree, monkeypatch
):
    monkeypatch.setattr(searching, "exact_suits", lambda *_: False)  # as for large parts
    X = np.random.default_rng(0).normal(size=(400, 2))
    search = in_parts(cluster, X, part_of(X, tree), tree, exact=False)
    found = search.own(6)
    assert search.recall(found, 6) > 0.9
    new = np.random.default_rng(1).normal(size=(200, 2))
    there = search.new([new], [part_of(new, tree)], 6)
    found, points = [*found, *there], [*search.points, new]
    for some, own in zip(found, points, strict=True):
        gaps = np.linalg.norm(own[:, None] - X[some.nodes.ids], axis=2)
        np.testing.assert_allclose(some.distances, gaps)
    last = nearest(gaps_between(new, X), 6)[1][:, -1:]
    assert np.mean(there[0].distances <= last * (1 + 1e-12)) > 0.9
