"""Slopes of embeddings and of maps, on arrays."""

import numpy as np
import pytest
import sklearn

from patchfold.mapping.loadings import BAND, CUT, fitted_slopes, map_slopes
from patchfold.neighbors import find_neighbors
from patchfold.neighbors.neighborhoods import Neighborhoods


def cloud(n=60, m=4, d=2, seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, m)), random.standard_normal((n, d))


def test_slopes_are_those_of_the_formula():
    points, places = cloud()
    near = find_neighbors(points, 12)
    found = fitted_slopes(points, places, near, points)
    for i in (0, 17, 59):
        who = near.indices[near.indptr[i] : near.indptr[i + 1]]
        distances = np.linalg.norm(points[who] - points[i], axis=1)
        w = (1 - (distances / (BAND * distances.max())) ** 3) ** 3
        w /= w.sum()
        A = points[who] - w @ points[who]
        B = places[who] - w @ places[who]
        S = A.T @ (A * w[:, None])
        cut = CUT * np.linalg.eigvalsh(S)[-1]
        expected = (B * w[:, None]).T @ A @ np.linalg.inv(S @ S + cut**2 * np.eye(4)) @ S
        np.testing.assert_allclose(found[i], expected, atol=1e-10)


def test_a_linear_embedding_of_a_round_cloud_has_its_own_slopes():
    random = np.random.default_rng(0)
    points, slopes = random.uniform(-1, 1, (2000, 2)), random.standard_normal((3, 2))
    near = find_neighbors(points, 30)
    found = fitted_slopes(points, points @ slopes.T, near, points)
    assert np.median(np.abs(found - slopes)) < 0.03


def test_there_are_no_slopes_across_a_sheet():
    random = np.random.default_rng(0)
    points = random.uniform(-1, 1, (500, 3)) * [1, 1, 1e-3]
    found = fitted_slopes(points, points[:, :2], find_neighbors(points, 20), points)
    assert np.median(np.abs(found[:, :, 2])) < 0.01


def test_rows_may_have_different_numbers_of_neighbours():
    points, places = cloud()
    full = find_neighbors(points, 9)
    mixed = full.nearest(np.arange(len(points)) % 5 + 4)
    together = fitted_slopes(points, places, mixed, points)
    for i in (0, 1, 4):
        alone = mixed[np.array([i])]
        found = fitted_slopes(points, places, alone, points[[i]])
        np.testing.assert_allclose(found[0], together[i], atol=1e-12)


def test_equal_neighbours_have_no_slopes():
    near = Neighborhoods(np.array([0, 3]), np.arange(3), np.zeros(3))
    found = fitted_slopes(np.ones((3, 2)), np.eye(3), near, np.ones((1, 2)))
    np.testing.assert_array_equal(found, np.zeros((1, 3, 2)))


def test_no_bit_depends_on_blocks_or_threads():
    points, places = cloud(300)
    near = find_neighbors(points, 15)
    expected = fitted_slopes(points, places, near, points)
    with sklearn.config_context(working_memory=0.05):
        found = fitted_slopes(points, places, near, points, n_jobs=2)
    np.testing.assert_array_equal(found, expected)


def curved(X, rows):
    return np.column_stack([X[:, 0] ** 2 * X[:, 1], np.sin(X[:, 2])])


def test_derivatives_of_a_smooth_map_are_exact_to_rounding():
    X = np.random.default_rng(0).standard_normal((20, 3))
    a, b, c = X.T
    zero = np.zeros(20)
    expected = np.stack(
        [np.column_stack([2 * a * b, a**2, zero]), np.column_stack([zero, zero, np.cos(c)])], axis=1
    )
    np.testing.assert_allclose(map_slopes(curved, X, np.ones(20)), expected, atol=1e-8)


def test_a_jump_beside_a_point_is_no_slope():
    X = np.array([[1.0, 0.0]])

    def jumps(Y, rows):
        return 2 * Y[:, :1] + 100.0 * (Y[:, :1] > 1.0)

    np.testing.assert_allclose(map_slopes(jumps, X, np.ones(1)), [[[2.0, 0.0]]], atol=1e-6)


def test_a_map_far_from_the_origin_keeps_its_slopes():
    X = np.full((1, 2), 1e9)

    def linear(Y, rows):
        return (Y - 1e9) @ np.array([[3.0], [-1.0]])

    np.testing.assert_allclose(map_slopes(linear, X, np.full(1, 1e-3)), [[[3.0, -1.0]]], rtol=1e-6)


def test_the_map_is_told_which_row_a_point_belongs_to():
    seen = []

    def noted(Y, rows):
        seen.append((len(Y), set(rows.tolist())))
        return Y[:, :1]

    map_slopes(noted, np.ones((3, 2)), np.ones(3))
    assert seen == [(3, {0, 1, 2}), (6, {0, 1, 2}), (6, {0, 1, 2})]


@pytest.mark.parametrize("function", [curved])
def test_float32_gives_float32(function):
    X = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    found = map_slopes(function, X, np.ones(20))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, map_slopes(function, X.astype(float), np.ones(20)), atol=0.02)
