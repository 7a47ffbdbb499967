"""The tree of planes that shares rows out to parts of space."""

from __future__ import annotations

import numpy as np
import pytest

from patchfold.distributed.planes import Plane, grown, part_of, renumbered


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(256, 3)) * [1.0, 5.0, 0.2]


def test_planes_share_a_sample_out_evenly(points):
    tree = grown(points, 8)
    assert np.bincount(part_of(points, tree)).tolist() == [32] * 8


def test_the_first_plane_lies_across_the_direction_in_which_rows_vary_most(points):
    tree = grown(points, 2)
    assert abs(tree.axis[1]) > 0.99
    assert tree.cut == pytest.approx(np.median(points @ tree.axis))


@pytest.mark.parametrize("sample", [np.ones((5, 3)), np.empty((0, 3))])
def test_a_sample_of_equal_rows_or_none_gives_a_tree_that_takes_any_row(points, sample):
    tree = grown(sample, 4)
    assert set(part_of(points, tree)) <= set(range(4))


def test_the_part_of_a_row_does_not_depend_on_the_rows_beside_it():
    rng = np.random.default_rng(0)
    X, axis = rng.normal(size=(100, 30)), rng.normal(size=30)
    for row in range(100):
        tree = Plane(axis, (X[[row]] * axis).sum(axis=1)[0], 0, 1)  # through the row itself
        assert part_of(X, tree)[row] == part_of(X[row:], tree)[0] == part_of(X[[row]], tree)[0] == 0


def test_parts_without_rows_vanish_and_the_others_are_numbered_anew(points):
    tree = grown(points, 8)
    home = part_of(points, tree)
    kept = points[~np.isin(home, [0, 1, 6])]
    new = {part: number for number, part in enumerate([2, 3, 4, 5, 7])}
    found = part_of(kept, renumbered(tree, new))
    np.testing.assert_array_equal(found, [new[part] for part in part_of(kept, tree)])
    # Other rows go to a part that is left.
    assert set(part_of(points, renumbered(tree, new))) == set(range(5))
