"""Cosine and correlation are Euclidean distances of changed rows."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from patchfold.base.row_metric import in_metric


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_half_the_squared_distance_of_rows_is_that_of_the_metric(metric, dtype, tolerance):
    X = np.random.default_rng(0).uniform(0, 9, (40, 7)).astype(dtype)
    rows = in_metric(X, metric)
    assert rows.dtype == dtype
    expected = cdist(X.astype(float), X.astype(float), metric)
    found = cdist(rows.astype(float), rows.astype(float), "sqeuclidean") / 2
    np.testing.assert_allclose(found, expected, atol=tolerance)


def test_multiples_of_a_row_become_the_same_row():
    counts = np.random.default_rng(0).integers(0, 50, (30, 9)).astype(float)
    for factor in (3, 7, 10, 2.0**1000):
        many = in_metric(factor * counts, "cosine")
        np.testing.assert_array_equal(many, in_metric(counts, "cosine"))
    for factor, shift in ((3, 5), (7, -2), (1, 1000)):
        moved = in_metric(factor * counts + shift, "correlation")
        np.testing.assert_array_equal(moved, in_metric(counts, "correlation"))


def test_rows_far_from_zero_keep_their_correlation():
    X = np.random.default_rng(0).normal(size=(20, 50))
    moved = in_metric(X + 1e8, "correlation")
    np.testing.assert_allclose(moved, in_metric(X, "correlation"), atol=1e-7)


def test_a_row_that_differs_only_in_its_last_digit_keeps_its_correlation():
    row = np.full((1, 5), 0.9)
    row[0, 0] = np.nextafter(0.9, 0)
    expected = np.array([[-4.0, 1.0, 1.0, 1.0, 1.0]]) / np.sqrt(20)
    np.testing.assert_allclose(in_metric(row, "correlation"), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("metric", "row", "message"),
    [
        ("cosine", 0.0, "row 2 of X has only zeros, and so no direction"),
        ("correlation", 0.1, "row 2 of X has one value only, and so no direction"),
    ],
)
def test_a_row_without_a_direction_is_named(metric, row, message):
    X = np.random.default_rng(0).normal(size=(5, 3))
    X[2] = row
    with pytest.raises(ValueError, match=message):
        in_metric(X, metric)
    X[4] = row
    with pytest.raises(ValueError, match="as 1 other rows do"):
        in_metric(X, metric)
