"""The intrinsic dimension and the density of the data at patches."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal, spearmanr

from patchfold import GaussianPatch, Patches, PatchSpace
from patchfold.cli.model_schema import check_part
from patchfold.datasets import make_manifold
from patchfold.neighbors import find_neighbors
from patchfold.patches.sample import dimension_of_skewness, expected_skewness, simplex_skewness


def sphere(n, d, random):
    points = random.standard_normal((n, d + 1))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def cube(n, d, random):
    turn = np.linalg.qr(random.standard_normal((d + 2, d + 2)))[0]
    return random.uniform(size=(n, d)) @ turn[:d]


@pytest.mark.parametrize("manifold", [sphere, cube])
@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_the_mean_dimension_is_within_a_tenth(manifold, d):
    X = manifold(2000, d, np.random.default_rng(d))
    assert GaussianPatch().fit(X).dimension().mean() == pytest.approx(d, rel=0.1)


def test_recommended_patches_know_their_data_before_denoising():
    roll = make_manifold("swiss-roll", 1000, noise=0.1, random_state=0).X
    given = GaussianPatch(size=19).fit(roll)
    fitted = PatchSpace().fit(roll).patches_
    np.testing.assert_array_equal(fitted.dimension(), given.dimension())
    np.testing.assert_array_equal(fitted.log_density(), given.log_density())
    assert fitted.dimension().mean() == pytest.approx(2, rel=0.1)


def test_skewness_is_the_sum_over_all_pairs():
    points = np.random.default_rng(0).standard_normal((3, 6, 4)) + 1e3
    for patch, got in zip(points, simplex_skewness(points), strict=True):
        v = patch - patch.mean(axis=0)
        area = whole = 0.0
        for i, j in combinations(range(6), 2):
            size = np.linalg.norm(v[i]) * np.linalg.norm(v[j])
            cosine = v[i] @ v[j] / size
            area, whole = area + size * np.sqrt(1 - cosine**2), whole + size
        assert got == pytest.approx(area / whole)


@pytest.mark.parametrize("d", [2, 3, 7])
def test_the_expectation_is_the_mean_sine_of_random_directions(d):
    u, v = np.random.default_rng(d).standard_normal((2, 200_000, d))
    cosine = (u * v).sum(axis=1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
    assert expected_skewness(d) == pytest.approx(np.sqrt(1 - cosine**2).mean(), abs=2e-3)


@given(st.floats(1, 500))
def test_the_dimension_of_the_expectation_is_the_dimension(d):
    assert dimension_of_skewness(expected_skewness(d)) == pytest.approx(d, rel=1e-3)


@given(st.floats(1e-3, 1e3), st.integers(0, 100))
def test_the_dimension_does_not_depend_on_unit_place_and_rotation(unit, seed):
    random = np.random.default_rng(seed)
    X = random.standard_normal((40, 3))
    turn = np.linalg.qr(random.standard_normal((3, 3)))[0]
    near = find_neighbors(X, 8)
    recipe = GaussianPatch()
    moved = unit * (X @ turn + 5)
    np.testing.assert_allclose(
        recipe.fit(moved, near).dimension(), recipe.fit(X, near).dimension(), rtol=1e-6
    )


def test_equal_points_have_no_dimension_and_a_line_has_one():
    X = np.zeros((20, 3))
    X[10:, 0] = 5 + np.arange(10)
    patches = GaussianPatch(size=3).fit(X)
    np.testing.assert_allclose(patches.dimension(), np.repeat([0.0, 1.0], 10), atol=1e-6)
    assert np.isposinf(patches.log_density()[:10]).all()


def test_the_density_of_a_gaussian_is_found():
    random = np.random.default_rng(0)
    X = random.standard_normal((3000, 2))
    got, true = GaussianPatch().fit(X).log_density(), multivariate_normal(np.zeros(2)).logpdf(X)
    assert spearmanr(got, true).statistic > 0.9
    # k-th distances average over a ball, which is wide where there are few points.
    middle = true > np.median(true)
    assert (got - true)[middle].mean() == pytest.approx(0, abs=0.05)
    assert (got - true)[middle].std() == pytest.approx(15**-0.5, rel=0.15)


def test_the_density_in_a_curved_sheet_is_that_of_the_sheet():
    X = 3 * sphere(3000, 2, np.random.default_rng(0))
    got = GaussianPatch().fit(X).log_density()
    assert got.mean() == pytest.approx(-np.log(4 * np.pi * 9), abs=0.03)


def test_the_density_in_an_uneven_roll_is_that_of_the_sheet():
    X = make_manifold("swiss-roll", 2000, random_state=0, uneven=1.0).X
    got = PatchSpace().fit(X).patches_.log_density()
    # Angle and width are squares of even numbers.
    radius = np.hypot(X[:, 0], X[:, 2])
    angle, width = (radius / (1.5 * np.pi) - 1) / 2, X[:, 1] / 21
    by_angle = 3 * np.pi * np.sqrt(1 + radius**2)
    true = -np.log(2 * np.sqrt(angle) * by_angle) - np.log(2 * np.sqrt(width) * 21)
    assert spearmanr(got, true).statistic > 0.9
    inner = (np.abs(angle - 0.5) < 0.4) & (np.abs(width - 0.5) < 0.4)
    assert (got - true)[inner].mean() == pytest.approx(0, abs=0.1)


def test_density_scales_with_the_unit_to_the_power_of_the_dimension():
    X = np.random.default_rng(0).uniform(size=(200, 3))
    small, large = GaussianPatch().fit(X), GaussianPatch().fit(10 * X)
    np.testing.assert_allclose(
        large.log_density(3), small.log_density(3) - 3 * np.log(10), rtol=1e-9
    )
    np.testing.assert_array_equal(small.log_density(), small.log_density(3))
    np.testing.assert_array_equal(small.log_density(3.0)[:7], small[:7].log_density(3))


def test_some_patches_have_the_values_that_they_have_among_all():
    X = np.random.default_rng(0).standard_normal((60, 4))
    patches = GaussianPatch(size=9).fit(X)
    rows = np.array([5, 0, 59])
    for some in (patches[rows], patches[[5, 0, 59]]):
        np.testing.assert_array_equal(some.dimension(), patches.dimension()[rows])
    np.testing.assert_array_equal(patches[5].dimension(), patches.dimension()[5:6])
    np.testing.assert_array_equal(patches[3:8:2].log_density(2), patches.log_density(2)[3:8:2])
    np.testing.assert_array_equal(patches.dimension(n_jobs=2), patches.dimension())


def test_float32_stays_float32_and_a_radius_leaves_some_alone():
    X = np.random.default_rng(0).standard_normal((80, 3)).astype(np.float32)
    X[0] = 50
    near = find_neighbors(X, radius=1.0)
    patches = GaussianPatch().fit(X, near)
    dimension, density = patches.dimension(), patches.log_density(3)
    assert dimension.dtype == density.dtype == np.float32
    assert dimension[0] == 0
    assert np.isneginf(density[0])
    i = int(np.argmax(near.degrees))
    k = near.degrees[i]
    apart = np.sort(cdist(X[i : i + 1], X)[0])[k]
    harmonic = sum(1 / j for j in range(1, k)) - 0.5772156649
    expected = harmonic - np.log(79 * 4 / 3 * np.pi * apart**3)
    assert density[i] == pytest.approx(expected, rel=1e-5)


def test_copies_of_a_row_have_the_values_of_their_point():
    X = np.random.default_rng(0).standard_normal((60, 3))
    twice = np.concatenate([X, X[:20]])
    patches, alone = PatchSpace().fit(twice).patches_, PatchSpace().fit(X).patches_
    for copied, single in (
        (patches.dimension(), alone.dimension()),
        (patches.log_density(2), alone.log_density(2)),
    ):
        np.testing.assert_array_equal(copied, np.concatenate([single, single[:20]]))
    check_part(alone.sample, n=60, m=3)
    with pytest.raises(ValueError, match="data is of shape"):
        check_part(alone.sample, n=59, m=3)


def test_patches_without_data_say_so():
    patches = Patches.from_moments(np.zeros((2, 3)), np.stack([np.eye(3)] * 2))
    for ask in (patches.dimension, patches.log_density):
        with pytest.raises(ValueError, match=r"needs the data.*GaussianPatch\(\)\.fit\(X\)"):
            ask()
    fitted = GaussianPatch(size=3).fit(np.eye(6))
    with pytest.raises(ValueError, match="dimension=0 is not positive"):
        fitted.log_density(0)
    with pytest.raises(TypeError, match="dimension='two' is not a number"):
        fitted.log_density("two")
