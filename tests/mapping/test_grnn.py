"""The general regression network does what its formula says, in any units."""

from functools import partial

import mpmath
import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_swiss_roll
from sklearn.utils.estimator_checks import parametrize_with_checks

from patchfold.mapping import GRNN, grnn
from patchfold.mapping.grnn import _left_out_bandwidth
from patchfold.neighbors.points import SearchedPoints
from smooth_maps import NEW, RNG, X, Y, problem

seeds = st.integers(0, 2**32 - 1)


def slow_grnn(points, values, x, bandwidth):
    """Evaluate the formula of the network in 50 digits."""
    with mpmath.workdps(50):
        exact = mpmath.matrix
        weights = [
            mpmath.exp(-(mpmath.norm(exact(x) - exact(p)) ** 2) / (2 * mpmath.mpf(bandwidth) ** 2))
            for p in points
        ]
        total = mpmath.fsum(weights)
        return [float(mpmath.fdot(weights, map(float, column)) / total) for column in values.T]


def left_out_error(points, values, bandwidth):
    """Sum the squared errors of predicting each point by the others."""
    total = 0.0
    for i in range(len(points)):
        others = np.arange(len(points)) != i
        squared = ((points[others] - points[i]) ** 2).sum(axis=1)
        weights = np.exp((squared.min() - squared) / (2 * bandwidth**2))
        total += ((np.average(values[others], axis=0, weights=weights) - values[i]) ** 2).sum()
    return total


@parametrize_with_checks([GRNN(), GRNN(bandwidth=0.5)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("bandwidth", [0.01, 0.3, 2.0, 50.0])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_predictions_are_the_formula_in_high_precision(bandwidth, offset):
    points, new = X + offset, NEW + offset
    expected = [slow_grnn(points, Y, x, bandwidth) for x in new]
    predicted = GRNN(bandwidth).fit(points, Y).predict(new)
    np.testing.assert_allclose(predicted, expected, rtol=1e-9, atol=1e-12)


def test_far_from_all_points_the_nearest_one_decides():
    network = GRNN(bandwidth=1e-3).fit(X, Y)
    for distance in (1e2, 1e4, 1e6):
        far = NEW / np.linalg.norm(NEW, axis=1, keepdims=True) * distance
        nearest = [np.argmin(((X - x) ** 2).sum(axis=1)) for x in far]
        np.testing.assert_allclose(network.predict(far), Y[nearest], rtol=1e-6)


@pytest.mark.parametrize("distance", [1e9, 1e30, 1e140])
def test_beyond_the_precision_of_distances_predictions_stay_among_the_values(distance):
    predicted = GRNN().fit(X, Y).predict(NEW * distance)
    assert (predicted >= Y.min(axis=0) - 1e-12).all()
    assert (predicted <= Y.max(axis=0) + 1e-12).all()


def test_a_query_whose_distances_overflow_is_refused():
    with pytest.raises(ValueError, match="X has values up to 1e\\+200, whose distances overflow"):
        GRNN().fit(X, Y).predict(np.full((1, 3), 1e200))


@pytest.mark.parametrize("bandwidth", [1e-8, 1e-160, 5e-324])
def test_the_narrowest_kernel_gives_the_value_of_the_nearest_point(bandwidth):
    network = GRNN(bandwidth).fit(X, Y)
    nearest = [np.argmin(((X - x) ** 2).sum(axis=1)) for x in NEW]
    assert np.array_equal(network.predict(NEW), Y[nearest])
    assert np.array_equal(network.predict(X), Y)


@pytest.mark.parametrize("bandwidth", [1e8, 1e160, 1e308])
def test_the_widest_kernel_gives_the_mean(bandwidth):
    predicted = GRNN(bandwidth).fit(X, Y).predict(NEW)
    np.testing.assert_allclose(predicted, np.tile(Y.mean(axis=0), (20, 1)), rtol=1e-12)


def test_points_in_one_place_share_the_mean_of_their_values():
    points = np.array([[0.0], [0.0], [5.0]])
    network = GRNN(bandwidth=0.1).fit(points, [1.0, 2.0, 7.0])
    np.testing.assert_allclose(network.predict(points), [1.5, 1.5, 7.0])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_features", [1, 3, 30])
def test_no_bandwidth_of_a_fine_grid_leaves_out_better(seed, n_features):
    points, values, _ = problem(seed, n_features=n_features)
    found = GRNN().fit(points, values).bandwidth_
    grid = np.geomspace(found / 30, found * 30, 200)
    least = min(left_out_error(points, values, bandwidth) for bandwidth in grid)
    assert left_out_error(points, values, found) <= least * (1 + 1e-5)


def test_pure_noise_is_averaged_over_all_points():
    points, noise = RNG.normal(size=(300, 2)), RNG.normal(size=300)
    predicted = GRNN().fit(points, noise).predict(points)
    assert predicted.std() < 0.3


def test_exact_repetitions_are_taken_from_the_repeated_point():
    points = np.repeat(RNG.normal(size=(20, 2)), 2, axis=0)
    values = np.repeat(RNG.normal(size=20), 2)
    np.testing.assert_allclose(GRNN().fit(points, values).predict(points), values, atol=1e-3)


def test_some_of_many_points_choose_nearly_the_bandwidth_of_all(monkeypatch):
    roll, place = make_swiss_roll(900, noise=0.3, random_state=0)
    of_all = GRNN().fit(roll, place).bandwidth_
    chosen = partial(_left_out_bandwidth, SearchedPoints(roll, None), place[:, None], None)
    assert chosen() == of_all
    monkeypatch.setattr(grnn, "CHOICE_ROWS", 300)
    some = chosen()
    assert some != of_all
    assert some == pytest.approx(of_all, rel=0.15)
    monkeypatch.undo()
    monkeypatch.setattr(grnn, "CHOICE_PAIRS", 300 * 900)
    assert chosen() == some


@pytest.mark.parametrize("n", [1, 5])
def test_where_all_points_coincide_the_mean_is_predicted(n):
    network = GRNN().fit(np.ones((n, 2)), np.arange(n))
    assert network.bandwidth_ == 1.0
    np.testing.assert_allclose(network.predict([[1.0, 1.0], [9.0, 9.0]]), (n - 1) / 2)


def test_two_points_keep_their_values():
    network = GRNN().fit([[0.0], [3.0]], [1.0, 2.0])
    np.testing.assert_allclose(network.predict([[0.0], [1.5], [3.0]]), [1, 1.5, 2], atol=1e-3)


def test_equally_distant_points_keep_their_values():
    network = GRNN().fit(np.eye(6), np.arange(6.0))
    np.testing.assert_allclose(network.predict(np.eye(6)), np.arange(6), atol=0.01)


@given(seeds, st.sampled_from([-700, -500, -3, 1, 40, 500, 700]))
def test_in_other_units_the_bandwidth_scales_and_predictions_stay(seed, power):
    points, values, new = problem(seed)
    # A power of two changes no digit, so that the same errors are compared.
    unit = 2.0**power
    network, scaled = GRNN().fit(points, values), GRNN().fit(points * unit, values)
    assert scaled.bandwidth_ == pytest.approx(network.bandwidth_ * unit, rel=1e-12)
    np.testing.assert_allclose(scaled.predict(new * unit), network.predict(new), rtol=1e-9)


@given(seeds, st.sampled_from([1e-150, 1e-9, 0.3, 7.0, 1e150]))
def test_rounding_of_the_units_hardly_moves_a_prediction(seed, unit):
    points, values, new = problem(seed)
    expected = GRNN().fit(points, values).predict(new)
    predicted = GRNN().fit(points * unit, values).predict(new * unit)
    np.testing.assert_allclose(predicted, expected, atol=1e-3 * np.ptp(values))


@pytest.mark.parametrize("unit", [0.1, 1e-150, 1e150])
def test_rounding_of_equal_distances_does_not_choose_the_bandwidth(unit):
    lattice = RNG.integers(0, 5, size=(80, 3))
    values = lattice @ [1.0, 0.3, 0.1] + RNG.normal(size=80)
    expected = GRNN().fit(lattice, values).bandwidth_
    assert GRNN().fit(lattice * unit, values).bandwidth_ / unit == pytest.approx(expected, rel=1e-6)


@given(seeds, st.sampled_from([1e-200, 0.5, 1e200]))
def test_predictions_shift_and_scale_with_the_values(seed, unit):
    points, values, new = problem(seed)
    shift = np.array([3.0, -40.0])
    expected = GRNN().fit(points, values).predict(new)
    predicted = GRNN().fit(points, (values + shift) * unit).predict(new)
    np.testing.assert_allclose(predicted / unit - shift, expected, atol=1e-3 * np.ptp(values))


@given(seeds, st.floats(1e-3, 1e3))
def test_the_order_of_the_points_does_not_matter(seed, bandwidth):
    points, values, new = problem(seed)
    order = np.random.default_rng(seed).permutation(len(points))
    expected = GRNN(bandwidth).fit(points, values).predict(new)
    predicted = GRNN(bandwidth).fit(points[order], values[order]).predict(new)
    np.testing.assert_allclose(predicted, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 2, 5])
@pytest.mark.parametrize("n", [60, 1237])
def test_no_bit_depends_on_blocks_threads_or_the_rest_of_the_batch(n, n_outputs):
    points, values = RNG.normal(size=(n, 7)), RNG.normal(size=(n, n_outputs))
    new = RNG.normal(size=(50, 7))
    network = GRNN().fit(points, values)
    batch = network.predict(new)
    assert np.array_equal(batch, np.concatenate([network.predict(x[None]) for x in new]))
    with sklearn.config_context(working_memory=1e-9):
        threaded = GRNN(n_jobs=2).fit(points[:60], values[:60])
        assert threaded.bandwidth_ == GRNN().fit(points[:60], values[:60]).bandwidth_
        assert np.array_equal(batch, network.set_params(n_jobs=2).predict(new))


@pytest.mark.parametrize(
    ("of_points", "of_values", "expected"),
    [
        (np.float32, np.float32, np.float32),
        (np.float32, np.int64, np.float32),
        (np.float32, np.float64, np.float64),
        (np.float64, np.float32, np.float64),
        (np.int64, np.int64, np.float64),
    ],
)
def test_predictions_have_the_type_of_points_and_values(of_points, of_values, expected):
    points, values = (10 * X).astype(of_points), (10 * Y).astype(of_values)
    assert GRNN().fit(points, values).predict(points).dtype == expected


def test_predictions_have_the_shape_of_the_values():
    assert GRNN().fit(X, Y[:, 0]).predict(NEW).shape == (20,)
    assert GRNN().fit(X, Y[:, :1]).predict(NEW).shape == (20, 1)
    assert GRNN().fit(X, Y).predict(NEW).shape == (20, 2)


def test_what_cannot_be_used_is_named():
    with pytest.raises(ValueError, match="bandwidth=0 is not positive"):
        GRNN(0).fit(X, Y)
    with pytest.raises(TypeError, match="bandwidth='wide' is not a number"):
        GRNN("wide").fit(X, Y)
    with pytest.raises(TypeError, match="X is a sparse matrix"):
        GRNN().fit(sparse.csr_array(X), Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GRNN().fit(X, Y[:-1])
    with pytest.raises(ValueError, match="X has 2 features, but GRNN is expecting 3"):
        GRNN().fit(X, Y).predict(NEW[:, :2])
