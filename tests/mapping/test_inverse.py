"""The way back from an embedding, on arrays."""

from dataclasses import replace

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st

from patchfold.mapping.inverse import BORDER, RIDGES, _least_mixture, _ridge_weights, fit_inverse


def sheet(n, d=2, m=5, seed=0):
    random = np.random.default_rng(seed)
    places = random.standard_normal((n, d))
    return places, places @ random.standard_normal((d, m)) + random.standard_normal(m)


def bent(n, m=4, seed=0, noise=0.05):
    random = np.random.default_rng(seed)
    places = random.uniform(-1, 1, (n, 2))
    wave = np.sin(2 * places @ random.standard_normal((2, m)))
    return places, wave + noise * random.standard_normal((n, m))


@pytest.mark.parametrize("by_features", [False, True])
def test_a_candidate_is_weighted_ridge_regression(by_features):
    places, points = bent(40)
    z, near = np.array([0.1, -0.2]), np.arange(25)
    given = np.linalg.norm(points[near] - points[30], axis=1) if by_features else None
    distances = np.linalg.norm(places[near] - z, axis=1) if given is None else given
    w = (1 - (distances / distances.max()) ** 3 + BORDER) ** 3
    w /= w.sum()
    A = places[near] - w @ places[near]
    B = points[near] - w @ points[near]
    gram = A.T @ (A * w[:, None])
    by = None if given is None else given[None]
    weights = _ridge_weights(places, z[None], near[None], by)[0]
    for ridge, own in zip(RIDGES, weights, strict=True):
        shrinking = ridge * np.trace(gram) / 2 * np.eye(2)
        slopes = np.linalg.solve(gram + shrinking, A.T @ (B * w[:, None]))
        expected = w @ points[near] + (z - w @ places[near]) @ slopes
        assert own.sum() == pytest.approx(1)
        np.testing.assert_allclose(own @ points[near], expected, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_an_affine_sheet_comes_back_exactly(d):
    places, points = sheet(200, d)
    back = fit_inverse(places[:150], points[:150])
    inside = np.linalg.norm(places[150:], axis=1) < np.sqrt(d)
    np.testing.assert_allclose(back(places[150:])[inside], points[150:][inside], atol=1e-6)


def test_what_is_bent_and_noisy_comes_back_better_than_from_the_nearest_point():
    places, points = bent(600)
    fitted, new = slice(0, 400), slice(400, None)
    back = fit_inverse(places[fitted], points[fitted])(places[new])
    apart = np.linalg.norm(places[new, None] - places[fitted], axis=2)
    nearest = points[fitted][apart.argmin(axis=1)]
    clean = bent(600, noise=0)[1]
    assert np.square(back - clean[new]).mean() < 0.5 * np.square(nearest - clean[new]).mean()


def test_a_squeezed_embedding_comes_back_by_points_of_similar_features():
    random = np.random.default_rng(0)
    angle, height = random.uniform(0, 6, 800), random.uniform(0, 6, 800)
    points = np.column_stack([np.cos(angle), np.sin(angle), height])
    places = np.column_stack([0.1 * angle, height])
    back = fit_inverse(places[:600], points[:600])
    once = replace(back, close=(), mixture=back.first)
    errors = [
        np.square(way(places[600:]) - points[600:]).sum(axis=1).mean() for way in (back, once)
    ]
    assert errors[0] < 0.3 * errors[1]


def test_the_mixture_of_two_candidates_has_the_least_error():
    errors = np.random.default_rng(0).standard_normal((2, 50))
    products = errors @ errors.T
    shares = np.linspace(0, 1, 100_001)
    total = (
        shares**2 * products[0, 0]
        + (1 - shares) ** 2 * products[1, 1]
        + 2 * shares * (1 - shares) * products[0, 1]
    )
    assert _least_mixture(products)[0] == pytest.approx(shares[total.argmin()], abs=1e-3)


@given(st.integers(0, 10**6), st.integers(1, 8))
def test_a_mixture_is_one_and_no_worse_than_its_best_candidate(seed, count):
    random = np.random.default_rng(seed)
    errors = random.standard_normal((count, 3)) * random.choice([1e-8, 1, 1e3], (count, 1))
    mixture = _least_mixture(errors @ errors.T)
    assert (mixture >= 0).all()
    assert mixture.sum() == pytest.approx(1)
    total = np.square(mixture @ errors).sum()
    assert total <= 1.01 * np.square(errors).sum(axis=1).min() + 1e-9 * np.square(errors).sum()


@pytest.mark.slow
@given(st.integers(0, 10**6), st.sampled_from([1e-3, 1.0, 1e4]))
def test_features_turn_move_and_grow_with_the_points(seed, size):
    places, points = bent(80, seed=seed)
    random = np.random.default_rng(seed)
    turn = np.linalg.qr(random.standard_normal((4, 4)))[0] * size
    move = 10 * size * random.standard_normal(4)
    at = places[:20] + 0.1
    expected = fit_inverse(places, points)(at) @ turn + move
    found = fit_inverse(places, points @ turn + move)(at)
    np.testing.assert_allclose(found, expected, atol=1e-5 * size)


@pytest.mark.slow
def test_no_bit_depends_on_the_batch_the_blocks_or_the_threads():
    places, points = bent(300)
    at = np.random.default_rng(1).uniform(-1, 1, (50, 2))
    together = fit_inverse(places, points)(at)
    with sklearn.config_context(working_memory=0.05):
        blocks = fit_inverse(places, points, n_jobs=2)
        np.testing.assert_array_equal(blocks(at, n_jobs=2), together)
    one_by_one = np.concatenate([blocks(at[i : i + 1]) for i in range(len(at))])
    np.testing.assert_array_equal(one_by_one, together)


@pytest.mark.parametrize("far", [10.0, 1e6, 1e300])
def test_far_outside_features_stay_near_those_at_the_border(far):
    places, points = bent(300)
    angles = np.linspace(0, 2 * np.pi, 12)
    found = fit_inverse(places, points)(far * np.column_stack([np.cos(angles), np.sin(angles)]))
    assert np.abs(found).max() < 3 * np.abs(points).max()


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_few_points_are_enough(n):
    places, points = bent(n)
    found = fit_inverse(places, points)(places)
    assert found.shape == points.shape
    assert np.isfinite(found).all()
    if n < 3:
        np.testing.assert_allclose(found, points, atol=1e-6)


def test_points_in_one_place_come_back_as_their_mean():
    points = np.random.default_rng(0).standard_normal((6, 3))
    found = fit_inverse(np.zeros((6, 2)), points)(np.ones((1, 2)))
    assert (found >= points.min(axis=0)).all()
    assert (found <= points.max(axis=0)).all()


def test_equal_points_come_back_as_they_are():
    found = fit_inverse(np.random.default_rng(0).standard_normal((9, 2)), np.full((9, 3), 7.0))
    np.testing.assert_array_equal(found(np.zeros((1, 2))), np.full((1, 3), 7.0))


def test_a_flat_component_does_not_matter():
    places, points = bent(100)
    wide = np.column_stack([places, np.zeros(100)])
    expected = fit_inverse(places, points)(places[:9])
    # Ridges are shares of a mean over one component more.
    np.testing.assert_allclose(fit_inverse(wide, points)(wide[:9]), expected, atol=0.05)


@pytest.mark.parametrize("scale", [1e-150, 1e120])
def test_sizes_beyond_the_root_of_the_largest_number_do_no_harm(scale):
    places, points = sheet(60)
    found = fit_inverse(places * scale, points * scale)(places[:5] * scale)
    np.testing.assert_allclose(found / scale, points[:5], atol=1e-5)


def test_float32_gives_float32():
    places, points = (part.astype(np.float32) for part in sheet(60))
    found = fit_inverse(places, points)(places)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, points, atol=1e-3)
