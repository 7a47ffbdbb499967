"""Kernel ridge regression: leave-one-out chooses, and neither units nor offsets matter."""

import pickle
from importlib import import_module

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import parametrize_with_checks

from patchfold.mapping import DistanceScaler, kernel_ridge
from patchfold.mapping.kernel_ridge import KERNEL_WIDTHS, RIDGES, _choose_kernel
from smooth_maps import NEW, RNG, X, Y, problem


@parametrize_with_checks([DistanceScaler()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_width_and_ridge_are_those_of_refitting_without_each_point():
    points, values, _ = problem(0, n=14)
    points = DistanceScaler().fit_transform(points)
    errors = {}
    for width in KERNEL_WIDTHS:
        for ridge in RIDGES:
            model = KernelRidge(alpha=ridge, kernel="rbf", gamma=1 / (2 * width**2))
            total = 0.0
            for i in range(len(points)):
                others = np.arange(len(points)) != i
                left_out = model.fit(points[others], values[others]).predict(points[[i]])
                total += np.square(left_out[0] - values[i]).sum()
            errors[width, ridge] = total
    assert _choose_kernel(points, values) == min(errors, key=errors.get)


def test_the_choice_lies_inside_the_grid():
    roll, _ = make_swiss_roll(300, random_state=0)
    t = np.hypot(roll[:, 0], roll[:, 2])  # the place along the roll
    unrolled = np.column_stack([t**2, roll[:, 1]])
    for points, values in [(roll, unrolled), (load_iris().data, load_iris().data[:, :2])]:
        fitted = kernel_ridge(points, values - values.mean(axis=0))
        width = (2 * fitted["ridge"].gamma) ** -0.5
        assert min(KERNEL_WIDTHS) < width < max(KERNEL_WIDTHS)


def test_a_smooth_map_is_continued_to_new_points():
    new = np.clip(NEW, -1.5, 1.5)
    expected = np.column_stack([np.sin(new[:, 0]), new[:, 1] * new[:, 2]])
    error = np.abs(kernel_ridge(X, Y).predict(new) - expected)
    assert np.median(error) < 0.05


@pytest.mark.parametrize("unit", [1e-200, 1e-150, 1.0, 1e150, 1e200])
def test_neither_units_nor_an_offset_change_the_map(unit):
    expected = kernel_ridge(X, Y).predict(NEW)
    offset = 1e6
    predicted = kernel_ridge((X + offset) * unit, Y).predict((NEW + offset) * unit)
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-5)


def test_the_unit_is_the_median_distance_also_far_from_the_origin():
    points = np.array([[0.0], [2.0], [4.0]])
    assert DistanceScaler().fit(points + 1e15).unit_ == 2.0


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_map_scales_with_the_embedding(unit):
    expected = kernel_ridge(X, Y).predict(NEW)
    predicted = kernel_ridge(X, Y * unit).predict(NEW)
    np.testing.assert_allclose(predicted / unit, expected, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_a_row_is_mapped_alone_as_in_a_batch():
    roll, _ = make_swiss_roll(400, random_state=0)
    fitted = kernel_ridge(roll, roll[:, :2])
    alone = np.concatenate([fitted.predict(x[None]) for x in roll])
    largest = np.abs(roll).max()
    np.testing.assert_allclose(alone, fitted.predict(roll), rtol=0, atol=1e-9 * largest)


def test_some_rows_choose_and_all_are_fitted(monkeypatch):
    monkeypatch.setattr(import_module("patchfold.mapping.kernel_ridge"), "CHOICE_ROWS", 30)
    fitted = kernel_ridge(X, Y)
    assert fitted["ridge"].X_fit_.shape == X.shape
    again = pickle.loads(pickle.dumps(kernel_ridge(X, Y)))
    assert np.array_equal(fitted.predict(NEW), again.predict(NEW))


def test_float32_points_are_mapped_in_double_precision():
    fitted = kernel_ridge(X.astype(np.float32), Y.astype(np.float32))
    np.testing.assert_allclose(fitted.predict(NEW), kernel_ridge(X, Y).predict(NEW), atol=1e-3)


def test_points_in_few_places_are_mapped_to_their_means():
    points = np.repeat([[0.0, 0.0], [4.0, 0.0]], [9, 3], axis=0)  # most distances are zero
    values = np.where(points[:, :1] > 0, 3.0, -1.0) + 0.1 * RNG.normal(size=(12, 1))
    fitted = kernel_ridge(points, values)
    assert fitted["scale"].unit_ == 4.0
    means = [[values[:9].mean()], [values[9:].mean()]]
    np.testing.assert_allclose(fitted.predict(points[[0, -1]]), means, atol=0.2)


def test_points_in_one_place_can_be_fitted():
    fitted = kernel_ridge(np.ones((4, 2)), np.zeros((4, 2)))
    assert np.array_equal(fitted.predict([[1.0, 1.0], [5.0, 1.0]]), np.zeros((2, 2)))
