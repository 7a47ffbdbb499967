"""Neighbours in parts that overlap."""

from __future__ import annotations

import numpy as np
import pytest

from in_one_place import InOnePlace
from patchfold.engines.cluster.halo import Nodes
from patchfold.engines.cluster.planes import Plane, near_parts, part_of
from patchfold.engines.cluster.rows import Rows
from patchfold.engines.cluster.searching import Found, Search, overlap, recalled, search_overlapping


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(150, 2))


@pytest.fixture
def tree():
    x, y = np.eye(2)
    return Plane(x, 0.1, Plane(y, 0.0, 0, 1), Plane(y, -0.2, 2, 3))


def test_parts_overlap_less_where_planes_tell_little_about_distances():
    X = np.random.default_rng(0).normal(size=(400, 60))
    x, y = np.eye(60)[:2]
    tree = Plane(x, 0.0, Plane(y, 0.0, 0, 1), Plane(y, 0.0, 2, 3))
    home = part_of(X, tree)
    ids = [np.flatnonzero(home == part) for part in range(4)]
    search = Search(InOnePlace(), ids, [X[own] for own in ids], tree, exact=False)
    kth = exact(X, 5)[1][:, -1].mean()
    margin = search._margin(kth)
    assert sum(map(len, near_parts(X, tree, kth).values())) == 4 * len(X)
    assert 0 < sum(map(len, near_parts(X, tree, margin).values())) <= 3 * len(X)
    assert search._margin(1e-3) == 1e-3


def exact(points, k):
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    order = np.argsort(gaps, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(gaps, order, axis=1)


def test_rows_near_a_plane_are_in_the_parts_on_both_sides(points, tree):
    home, margin = part_of(points, tree), 0.3
    near = near_parts(points, tree, margin)
    for part, (low, high) in enumerate([(0.1, 0.0), (0.1, 0.0), (0.1, -0.2), (0.1, -0.2)]):
        x, y = points.T
        in_x = x <= low + margin if part < 2 else x >= low - margin
        in_y = y <= high + margin if part % 2 == 0 else y >= high - margin
        np.testing.assert_array_equal(near[part], np.flatnonzero(in_x & in_y))
        assert np.isin(np.flatnonzero(home == part), near[part]).all()
    assert sum(map(len, near_parts(points, tree, 0.0).values())) == len(points)


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
        every = np.linalg.norm(points[rows.ids][:, None] - points, axis=2)
        nodes = Nodes(np.tile(np.arange(len(points)), (len(rows.ids), 1)), None, None)
        recall = recalled(rows.ids, found.distances, [Found(nodes, every)])
        expected = np.mean(found.distances <= distances[rows.ids][:, -1:] * (1 + 1e-12))
        assert recall == pytest.approx(expected)
    assert np.concatenate(share).all() == all_found
