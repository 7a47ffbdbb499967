"""Patches are fitted in blocks, without large matrices, and stay finite for hard data."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st

from gaussians import cloud, recipe
from patchfold import GaussianPatch, Patches, PatchSpace, divergences
from patchfold.neighbors import ExactNeighbors, RadiusNeighbors, find_neighbors
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.patches.covariances import ESTIMATES, FULL
from patchfold.patches.fitting import PatchFit

ALL = tuple(ESTIMATES)
ALWAYS = tuple(name for name in ALL if name != "empirical")


@pytest.mark.parametrize("covariance", [name for name in ALWAYS if name not in FULL])
def test_no_large_matrix_is_formed_for_patches_of_low_rank(covariance):
    m, size = 400, 5
    X = cloud(100, m)
    near = find_neighbors(X, size)
    tracemalloc.start()
    patches = recipe(covariance).fit(X, near)
    divergences.paired(patches, near.sources, near.indices)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert patches.factored
    assert patches.directions.shape[1] == m
    assert patches.directions.shape[2] <= size
    assert peak < 100 * m * m * 8 / 2  # half of what full covariances would take


@pytest.mark.parametrize(
    ("covariance", "m", "size"),
    [(name, 4, 12) for name in ALL] + [(name, 12, 6) for name in ALWAYS],
)
def test_float32_stays_float32(covariance, m, size):
    X = cloud(40, m).astype(np.float32)
    patches = recipe(covariance, size=size).fit(X)
    arrays = (getattr(patches, name) for name in Patches.FIELDS)
    assert {array.dtype for array in arrays if array is not None} == {np.dtype(np.float32)}
    expected = recipe(covariance, size=size).fit(X.astype(float)).covariances()
    np.testing.assert_allclose(patches.covariances(), expected, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("covariance", ALWAYS)
@pytest.mark.parametrize("m", [3, 12])
def test_patches_do_not_depend_on_block_size_or_threads(covariance, m):
    X = cloud(60, m)
    near = find_neighbors(X, 6)
    one = recipe(covariance).fit(X, near)
    with sklearn.config_context(working_memory=0.01):
        many = recipe(covariance).fit(X, near, n_jobs=2)
    with sklearn.config_context(working_memory=0.001):
        least = recipe(covariance).fit(X, near)
    for other in (many, least):
        for name in Patches.FIELDS:
            assert np.array_equal(getattr(one, name), getattr(other, name))


def test_ragged_patches_do_not_depend_on_block_size_or_threads():
    X = cloud(120, 20)
    near = RadiusNeighbors(4.4).build(X).query()
    assert len(np.unique(near.degrees)) > 5
    one = GaussianPatch().fit(X, near)
    assert one.factored
    with sklearn.config_context(working_memory=0.01):
        many = GaussianPatch().fit(X, near, n_jobs=2)
    for name in ("means", "directions", "variances", "ridge"):
        assert np.array_equal(getattr(one, name), getattr(many, name))
    again = Patches.from_factors(one.means, one.directions, one.variances, one.ridge)
    assert np.array_equal(again.covariances(), one.covariances())


def test_equal_sets_of_points_give_bit_identical_patches():
    # Five far apart groups of four: within one, every patch is the same set of points.
    X = cloud(20, 2) + np.repeat(100 * np.arange(5), 4)[:, None]
    patches = GaussianPatch(size=3).fit(X)
    groups = divergences.pairwise(patches, "kl").reshape(5, 4, 5, 4)
    for group in range(5):
        assert (groups[group, :, group] == 0).all()


def test_rescaling_the_data_rescales_the_patches():
    X = cloud(40, 3)
    small, large = GaussianPatch(size=8).fit(X), GaussianPatch(size=8).fit(1024 * X)
    np.testing.assert_allclose(large.covariances(), 2.0**20 * small.covariances(), rtol=1e-12)
    np.testing.assert_allclose(
        divergences.pairwise(large, "kl"), divergences.pairwise(small, "kl"), rtol=1e-9, atol=1e-12
    )


# ------------------------------------------------------------------ unequal numbers of directions


@pytest.mark.parametrize("divergence", ["kl", "jeffreys-riemann", "own"])
def test_new_points_may_use_more_directions_than_fitted_ones(divergence):
    def own(a, b):
        spread = np.abs(a.variances - b.variances).sum(axis=1)
        return np.linalg.norm(a.means - b.means, axis=1) + spread

    X = cloud(330, 12)
    X, new = X[:300], X[300:]
    X[299] += 50  # nobody's neighbour
    search = ExactNeighbors(8).build(X)
    near = search.query(new)
    fitted = PatchFit(X, None, search.query().nearest(2)).run(None)
    sizes = np.where(np.arange(300) < 299, 2, 8)  # one of them has more
    wide = PatchFit(X, None, search.query().nearest(sizes)).run(None)
    assert (fitted.directions.shape[2], wide.directions.shape[2]) == (2, 8)
    np.testing.assert_allclose(wide.variances[:-1, 2:], 0, atol=1e-25)

    def compared(rows, others):
        patches = PatchFit(X, new[rows], near[rows]).run(None)
        function = own if divergence == "own" else divergence
        edges = near[rows].sources, near[rows].indices
        return divergences.paired(patches, *edges, function, other=others)

    everything = np.arange(len(new))
    found = compared(everything, fitted)
    np.testing.assert_allclose(found, compared(everything, wide), rtol=1e-9, atol=1e-9)
    one_by_one = [compared(np.array([row]), fitted) for row in everything]
    np.testing.assert_array_equal(found, np.concatenate(one_by_one))


# ------------------------------------------------------------------ hard data

HARD = {
    "a constant column": np.column_stack([cloud(40, 3), np.full(40, 7.0)]),
    "all points equal": np.full((40, 3), 0.1),
    "one-hot": np.eye(4)[np.random.default_rng(0).integers(0, 4, 40)],
    "duplicates": np.repeat(cloud(10, 3), 4, axis=0),
    "around 1e9": 1e9 + cloud(40, 3),
    "of size 1e9": 1e9 * cloud(40, 3),
    "of size 1e-9": 1e-9 * cloud(40, 3),
    "1e9 beside 1e-9": cloud(40, 3) * [1e9, 1.0, 1e-9],
    "collinear columns": np.column_stack([cloud(40, 2), cloud(40, 2).sum(axis=1)]),
    "two points": np.array([[0.0, 1.0], [2.0, 3.0]]),
    "one feature": cloud(40, 1),
}


@pytest.mark.some_cases(22)
@pytest.mark.parametrize("covariance", ALWAYS)
@pytest.mark.parametrize("X", HARD.values(), ids=HARD)
def test_hard_data_gives_finite_divergences(X, covariance):
    patches = recipe(covariance).fit(X, find_neighbors(X, min(8, len(X) - 1)))
    for name in divergences.NAMES:
        D = divergences.pairwise(patches, name)
        assert np.isfinite(D).all(), name
        assert (D >= 0).all(), name


@pytest.mark.parametrize("name", divergences.NAMES)
def test_equal_points_have_equal_patches_at_distance_zero(name):
    patches = GaussianPatch(size=5).fit(HARD["all points equal"])
    assert (divergences.pairwise(patches, name) == 0).all()


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from(ALWAYS), st.integers(1, 6), st.integers(1, 9))
def test_any_data_on_a_small_grid_gives_positive_definite_patches(seed, covariance, m, size):
    X = np.random.default_rng(seed).integers(0, 2, (10, m)).astype(float)
    patches = recipe(covariance).fit(X, find_neighbors(X, size))
    assert np.linalg.eigvalsh(patches.covariances()).min() > 0
    D = divergences.pairwise(patches, "kl")
    assert np.isfinite(D).all()
    assert (D >= 0).all()


def test_a_ridge_far_below_the_variance_is_not_lost():
    # Cholesky of C + gamma I would see nothing of gamma: 1e-4 beside 1e18.
    X = 1e9 * np.column_stack([cloud(40, 2), cloud(40, 2).sum(axis=1)])
    patches = GaussianPatch(size=10, gamma=1e-4).fit(X)
    L = patches.roots
    smallest = np.linalg.svd(L, compute_uv=False)[:, -1] ** 2
    np.testing.assert_allclose(smallest, 1e-4, rtol=1e-3)


def test_features_of_other_units_are_not_taken_for_singular():
    X = cloud(40, 3) * [1e9, 1.0, 1e-9]
    units = np.array([1e9, 1.0, 1e-9])
    near = find_neighbors(cloud(40, 3), 10)
    patches, plain = recipe("empirical").fit(X, near), recipe("empirical").fit(cloud(40, 3), near)
    np.testing.assert_allclose(
        patches.covariances() / np.outer(units, units), plain.covariances(), rtol=1e-9
    )
    np.testing.assert_allclose(
        divergences.pairwise(patches, "kl"), divergences.pairwise(plain, "kl"), rtol=1e-7
    )


def test_full_covariances_of_very_many_features_are_refused_with_a_remedy():
    X = cloud(12, 1001)
    with pytest.raises(ValueError, match=r"full covariances of 1001 features.*'shrinkage'"):
        GaussianPatch(size=3, covariance="diagonal-shrinkage").fit(X)
    with pytest.raises(ValueError, match="full covariances of 1001 features"):
        PatchSpace(n_neighbors=3, patch=GaussianPatch(covariance="diagonal-shrinkage")).fit(X)
    wide = np.zeros((1002, 1001))
    near = Neighborhoods(np.array([0, 1001]), np.arange(1, 1002), np.ones(1001))
    with pytest.raises(ValueError, match="a size below the number of features"):
        GaussianPatch().fit(wide, near, points=wide[:1])
    assert GaussianPatch(size=3, covariance="shrinkage").fit(X).factored
