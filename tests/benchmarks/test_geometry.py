"""Manifolds of physically known geometry: their truths against closed forms and facts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

pytest.importorskip("benchmarks.geometry", reason="benchmarks are part of the checkout only")

from benchmarks.geometry import (
    HELD_OUT,
    LEVELS,
    MANIFOLDS,
    TUNING,
    Domain,
    coordinates,
    observed,
    sample,
)
from benchmarks.geometry.machines import ATOMS, FIRST, burst, molecule
from benchmarks.geometry.truth import arc_lengths, geodesics, walking_distances

pytestmark = pytest.mark.slow
each = pytest.mark.parametrize("name", MANIFOLDS)
# Their truth is a physical fact, and no property of the signal.
PHYSICAL = ("fermentation", "wifi", "gallery")


def known(name):
    if name == "fermentation":
        pytest.importorskip("chemotools", reason="the fermentation comes with chemotools")
    return MANIFOLDS[name]


def cylinder(parameters):
    angle = parameters[:, 0]
    return np.column_stack([3 * np.cos(angle), 3 * np.sin(angle), parameters[:, 1:]])


def around(parameters, radius=3.0):
    """Return distances on a cylinder in closed form."""
    turn = np.abs(parameters[:, None, 0] - parameters[None, :, 0])
    turn = radius * np.minimum(turn, 2 * np.pi - turn)
    return np.hypot(turn, cdist(parameters[:, 1:], parameters[:, 1:]))


@pytest.mark.parametrize(
    ("d", "nodes", "mean", "almost_all"),
    # Fewer nodes than the benchmark has: how straight paths are depends on neighbours.
    [
        (2, 13, 0.002, 0.01),
        pytest.param(3, 12, 0.01, 0.025, marks=pytest.mark.long),
        pytest.param(4, 12, 0.025, 0.06, marks=pytest.mark.long),
    ],
)
def test_geodesics_of_a_flat_cylinder_are_those_of_its_closed_form(d, nodes, mean, almost_all):
    domain = Domain((0.0,) * d, (2 * np.pi, *[8.0] * (d - 1)), (True, *[False] * (d - 1)))
    parameters = domain.uniform(np.random.default_rng(0), 100)
    true = around(parameters)
    far = true > 2
    ratio = geodesics(cylinder, parameters, domain, nodes=nodes)[far] / true[far]
    assert ratio.min() > 1 - 2e-3
    assert ratio.mean() < 1 + mean
    assert np.quantile(ratio, 0.99) < 1 + almost_all


def test_geodesics_of_a_sphere_are_great_circles():
    def globe(parameters):
        around, up = parameters.T
        level = np.cos(up)
        return np.column_stack([level * np.cos(around), level * np.sin(around), np.sin(up)])

    domain = Domain((0.0, -1.3), (2 * np.pi, 1.3), (True, False))
    parameters = domain.uniform(np.random.default_rng(1), 100)
    points = globe(parameters)
    i, j = np.triu_indices(100, 1)
    true = 2 * np.arcsin(np.minimum(np.linalg.norm(points[i] - points[j], axis=1) / 2, 1))
    # Great circles over the poles, which are not in the domain, do not count.
    share = np.linspace(0, 1, 50)[:, None]
    height = np.sin((1 - share) * true) * points[i, 2] + np.sin(share * true) * points[j, 2]
    inside = (np.abs(height) < np.sin(1.3) * np.sin(true)).all(axis=0)
    far = inside & (true > 0.5)
    ratio = geodesics(globe, parameters, domain)[i[far], j[far]] / true[far]
    assert far.sum() > 1000
    assert ratio.min() > 1 - 1e-3
    assert ratio.max() < 1.01


def test_arc_lengths_of_a_circle_go_the_shorter_way_round():
    def circle(parameters):
        return 2 * np.column_stack([np.cos(parameters), np.sin(parameters)])

    parameters = np.array([[0.1], [1.1], [6.2]])
    closed = arc_lengths(circle, parameters, Domain((0.0,), (2 * np.pi,), (True,)))
    expected = 2 * (2 * np.pi - 6.1)
    np.testing.assert_allclose(closed[0], [0, 2.0, expected], rtol=1e-6)
    opened = arc_lengths(circle, parameters, Domain((0.0,), (2 * np.pi,), (False,)))
    np.testing.assert_allclose(opened[0], [0, 2.0, 12.2], rtol=1e-6)


def test_walking_goes_around_the_free_end_of_a_wall_and_straight_elsewhere():
    wall = np.array([[[0.0, -10.0], [0.0, 3.0]]])
    places = np.array([[-4.0, 0.0], [4.0, 0.0], [4.0, 8.0], [-4.0, -9.0]])
    found = walking_distances(places, wall)
    assert found[0, 1] == pytest.approx(10, abs=0.01)
    assert found[0, 2] == pytest.approx(np.hypot(8, 8), abs=0.01)
    assert found[0, 3] == pytest.approx(9, abs=1e-9)


def test_there_is_no_way_between_walls_that_meet():
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    room = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
    places = np.array([[1.0, 1.0], [0.5, 0.3], [3.0, 1.0], [-1.0, 1.0]])
    found = walking_distances(places, room)
    assert np.isinf(found[:2, 2:]).all()
    assert found[2, 3] == pytest.approx(2 * np.hypot(1, 1) + 2, abs=0.01)


@pytest.mark.some_cases(4)
@each
def test_truths_are_distances_and_at_least_the_chord(name):
    manifold = known(name)
    parameters = manifold.draw(np.random.default_rng(5), 80)
    assert parameters.shape == (80, manifold.dimension)
    true = manifold.truth(parameters, nodes=10, neighbors=40)
    assert np.isfinite(true).all()
    np.testing.assert_array_equal(np.diag(true), 0)
    np.testing.assert_array_equal(true, true.T)
    over_third = np.min(true[:, :, None] + true[None], axis=1)
    assert (true <= over_third * (1 + 1e-9)).all()
    if name not in PHYSICAL:
        points = manifold.clean(parameters)
        # A curve's length is interpolated between the pieces it is summed over.
        assert (true >= 0.99 * cdist(points, points) - 1e-4 * true.max()).all()


# A torus, and the map that is curved most.
@pytest.mark.long
@pytest.mark.parametrize("name", ["dipeptide", "vowels"])
def test_more_nodes_do_not_change_the_truth(name):
    manifold = known(name)
    parameters = manifold.draw(np.random.default_rng(6), 60)
    usual, fine = manifold.truth(parameters), manifold.truth(parameters, nodes=14)
    far = fine > 0.1 * fine.max()
    assert np.quantile(np.abs(usual[far] / fine[far] - 1), 0.99) < 0.01


def test_the_halves_are_apart_and_both_have_every_dimension():
    assert not set(TUNING) & set(HELD_OUT)
    assert {*TUNING, *HELD_OUT} == set(MANIFOLDS)
    for half in (TUNING, HELD_OUT):
        assert {MANIFOLDS[name].dimension for name in half} == {1, 2, 3, 4}


@pytest.mark.some_cases(4)
@each
def test_a_seed_gives_the_same_points_and_levels_are_ever_noisier(name):
    manifold = known(name)
    clean = manifold.clean(coordinates(name, 0))
    errors = []
    for level in LEVELS:
        X = observed(name, level, 0)
        assert X.shape == (manifold.n, clean.shape[1])
        errors.append(np.linalg.norm(X - clean))
        np.testing.assert_array_equal(X, observed(name, level, 0))
    assert errors[0] < errors[1] < errors[2]
    assert (observed(name, "high", 1) != observed(name, "high", 0)).any()


def test_a_sample_has_all_that_is_known_of_it():
    low, high = (sample("gait", level, 3) for level in ("low", "high"))
    n = MANIFOLDS["gait"].n
    assert low.X.shape == (n, 576)
    assert low.geodesics.shape == (n, n)
    assert low.condensed().shape == (n * (n - 1) // 2,)
    assert (low.dimension, low.components) == (1, 2)
    np.testing.assert_array_equal(low.geodesics, high.geodesics)


def dihedral(a, b, c, d):
    """Return the dihedral angle of four atoms by the usual formula."""
    first, middle, last = b - a, c - b, d - c
    one, other = np.cross(first, middle), np.cross(middle, last)
    return np.arctan2(
        np.linalg.norm(middle, axis=1) * np.sum(first * other, axis=1), np.sum(one * other, axis=1)
    )


def test_the_molecule_has_the_bonds_and_angles_of_its_table():
    parameters = np.random.default_rng(0).uniform(-3, 3, (20, 2))
    places = molecule(parameters)
    at = {name: places[:, i] for i, name in enumerate((*FIRST, *(atom[0] for atom in ATOMS)))}
    for name, (_, b, c), bond, angle, _ in ATOMS:
        np.testing.assert_allclose(np.linalg.norm(at[name] - at[c], axis=1), bond)
        cos = np.sum((at[name] - at[c]) * (at[b] - at[c]), axis=1) / bond
        cos /= np.linalg.norm(at[b] - at[c], axis=1)
        np.testing.assert_allclose(np.rad2deg(np.arccos(cos)), angle)
    np.testing.assert_allclose(dihedral(at["C0"], at["N"], at["CA"], at["C"]), parameters[:, 0])
    np.testing.assert_allclose(dihedral(at["N"], at["CA"], at["C"], at["N2"]), parameters[:, 1])
    # An L amino acid: seen from its hydrogen, CO, R and N follow clockwise.
    around = np.cross(at["C"] - at["CA"], at["CB"] - at["CA"])
    assert (np.sum(around * (at["N"] - at["CA"]), axis=1) > 0).all()


def test_a_burst_is_a_closed_curve_with_five_spikes():
    curve, length, phase = burst()
    assert (np.diff(length) > 0).all()
    potential = curve(phase)[:, 0]
    spikes = (potential[1:-1] > potential[:-2]) & (potential[1:-1] > potential[2:])
    assert (spikes & (potential[1:-1] > 1)).sum() == 5
    np.testing.assert_allclose(curve(0.0), curve(1.0))
