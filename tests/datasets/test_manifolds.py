"""Manifolds: their geodesics against lengths measured along them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.sparse.csgraph import dijkstra
from sklearn.datasets import make_swiss_roll

from patchfold.datasets import make_manifold
from patchfold.datasets.manifolds import MANIFOLDS, around_rectangle, spiral_length
from patchfold.graph.edges import symmetric, undirected
from patchfold.graph.geodesics import shortest_paths
from patchfold.neighbors import find_neighbors

each = pytest.mark.parametrize("name", MANIFOLDS)


@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_the_swiss_roll_is_that_of_scikit_learn(noise):
    expected, angle = make_swiss_roll(50, noise=noise, random_state=3)
    roll = make_manifold("swiss-roll", 50, noise, 3)
    np.testing.assert_allclose(roll.X, expected, rtol=1e-12)
    np.testing.assert_allclose(roll.coordinates[:, 0], spiral_length(angle))


def test_the_length_of_a_spiral_is_the_integral_of_its_speed():
    for angle in (0.3, 2.0, 14.1):
        length = quad(lambda t: np.hypot(1, t), 0, angle)[0]
        assert spiral_length(np.array(angle)) == pytest.approx(length, rel=1e-9)


@pytest.mark.slow
@each
def test_geodesics_are_lengths_along_the_manifold(name):
    # Short hops along a dense sample of the manifold are a way within it.
    n = 4000
    manifold = make_manifold(name, n, random_state=0)
    near = find_neighbors(manifold.X, 12)
    i, j, _ = undirected(near)
    hops = symmetric(i, j, np.linalg.norm(manifold.X[i] - manifold.X[j], axis=1), n)
    some = np.arange(0, n, 400)
    ways = shortest_paths(hops, some)
    true = manifold.geodesics()[some]
    known = np.isfinite(true) & (true > 5) & np.isfinite(ways)
    ratio = ways[known] / true[known]
    # Hops are chords, a little shorter; zigzag makes ways a little longer.
    assert 0.97 < np.quantile(ratio, 0.01) <= np.quantile(ratio, 0.99) < 1.1


@each
def test_geodesics_are_distances_and_at_least_the_straight_ones(name):
    manifold = make_manifold(name, 120, random_state=1)
    true = manifold.geodesics()
    np.testing.assert_array_equal(np.diag(true), 0)
    np.testing.assert_allclose(true, true.T, equal_nan=True)
    straight = np.linalg.norm(manifold.X[:, None] - manifold.X[None], axis=2)
    known = np.isfinite(true)
    assert (true[known] >= straight[known] * (1 - 1e-9)).all()
    assert np.isnan(true).any() == (name == "two-rolls")


rectangles = st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 8))


@given(rectangles)
def test_ways_around_a_rectangle_are_those_of_a_fine_walk(given_numbers):
    seed, n = given_numbers
    rng = np.random.default_rng(seed)
    across, up = np.array([-1.0, 1.5]), np.array([-0.5, 1.0])
    points = rng.uniform(-4, 4, (200, 2))
    inside = (points > [-1, -0.5]).all(axis=1) & (points < [1.5, 1.0]).all(axis=1)
    points = points[~inside][:n]
    places = np.concatenate([points, [(x, y) for x in across for y in up]])

    def clear(a, b):
        walk = a + np.linspace(0, 1, 4001)[:, None] * (b - a)
        within = (walk > [-1 + 1e-9, -0.5 + 1e-9]) & (walk < [1.5 - 1e-9, 1 - 1e-9])
        return not within.all(axis=1).any()

    hops = np.array(
        [[np.linalg.norm(a - b) if clear(a, b) else 0.0 for a in places] for b in places]
    )
    expected = dijkstra(hops)[: len(points), : len(points)]
    found = around_rectangle(points, across, up)
    # A walk of steps can cut a corner by less than a step.
    np.testing.assert_allclose(found, expected, atol=1e-2)


def test_two_rolls_lie_in_each_other_and_never_meet():
    rolls = make_manifold("two-rolls", 2000, random_state=0)
    X, second = rolls.X, rolls.coordinates[:, 2] == 1
    gaps = np.linalg.norm(X[second][:, None, [0, 2]] - X[~second][None, :, [0, 2]], axis=2)
    assert gaps.min() > 5
    assert np.isfinite(rolls.geodesics()[second][:, second]).all()


@each
def test_points_are_as_many_as_asked_for_and_depend_on_the_seed_alone(name):
    first, second, other = (make_manifold(name, 77, 0.1, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, second.X)
    assert first.X.shape == (77, 3)
    assert not np.array_equal(first.X, other.X)
    assert first.inliers.all()


def test_outliers_have_no_geodesics_and_lie_in_the_box():
    clean = make_manifold("s-curve", 200, 0.1, 0)
    roll = make_manifold("s-curve", 200, 0.1, 0, outliers=0.1)
    assert (~roll.inliers).sum() == 20
    np.testing.assert_array_equal(roll.X[roll.inliers], clean.X[roll.inliers])
    assert (clean.X.min(axis=0) <= roll.X).all()
    assert (clean.X.max(axis=0) >= roll.X).all()
    true = roll.geodesics()
    assert np.isnan(true[~roll.inliers]).all()
    assert np.isfinite(true[roll.inliers][:, roll.inliers]).all()


def test_noise_dimensions_have_noise_alone_and_density_can_be_uneven():
    wide = make_manifold("swiss-roll", 2000, 0.5, 0, noise_dimensions=10)
    assert wide.X.shape == (2000, 13)
    np.testing.assert_allclose(wide.X[:, 3:].std(axis=0), 0.5, rtol=0.1)
    even, uneven = (make_manifold("swiss-roll", 2000, 0, 0, uneven=u) for u in (0.0, 1.0))
    low, high = even.coordinates[:, 0].min(), even.coordinates[:, 0].max()
    middle = (low + high) / 2
    assert (uneven.coordinates[:, 0] < middle).mean() > (even.coordinates[:, 0] < middle).mean()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"name": "swiss"}, "name='swiss' is not known"),
        ({"name": "s-curve", "noise": -1}, "noise=-1 must be not negative"),
        ({"name": "s-curve", "outliers": 1.0}, "outliers=1.0 must be from 0 to below 1"),
        ({"name": "s-curve", "n": 0}, "n=0"),
    ],
)
def test_bad_parameters_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        make_manifold(**parameters)
