from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from gaussians import factored_patches, full_patches, random_covariances
from patchfold import GaussianPatch, Patches, PatchIsomap, divergences
from patchfold.neighbors import ExactNeighbors, Neighborhoods, RadiusNeighbors, find_neighbors
from patchfold.patches import fitting
from patchfold.patches.covariances import AUTO_RIDGE, ESTIMATES

ALL = tuple(ESTIMATES)
ALWAYS = tuple(name for name in ALL if name != "empirical")


def recipe(covariance="ridge", **parameters):
    if covariance == "low-rank":
        parameters.setdefault("rank", 2)
    return GaussianPatch(covariance=covariance, **parameters)


def cloud(n=60, m=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


def members_of(near, row, *, include_self):
    own = near.indices[near.indptr[row] : near.indptr[row + 1]]
    return np.append(own, row) if include_self else own


# ------------------------------------------------------------------ means and covariances


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("center", ["mean", "point"])
@pytest.mark.parametrize(("m", "size"), [(3, 12), (20, 6), (5, 5), (1, 4)])
def test_moments_are_those_of_a_loop_over_the_points(m, size, center, include_self):
    X = cloud(40, m)
    near = find_neighbors(X, size)
    patches = recipe(gamma=0.1, center=center, include_self=include_self).fit(X, near)
    S = patches.covariances()
    for row in range(len(X)):
        P = X[members_of(near, row, include_self=include_self)]
        mean = P.mean(axis=0) if center == "mean" else X[row]
        divisor = len(P) - 1 if center == "mean" else len(P)
        C = sum(np.outer(p - mean, p - mean) for p in P) / divisor
        np.testing.assert_allclose(patches.means[row], mean, atol=1e-13)
        np.testing.assert_allclose(S[row], C + 0.1 * np.eye(m), atol=1e-12)


@pytest.mark.parametrize("covariance", ALWAYS)
@pytest.mark.parametrize("include_self", [True, False])
def test_ragged_neighbourhoods_equal_each_patch_fitted_alone(covariance, include_self):
    X = cloud(50, 3, seed=3)
    near = RadiusNeighbors(0.9).build(X).query()
    assert near.degrees.min() == 0
    assert near.degrees.max() > 5
    fit = recipe(covariance, gamma=0.2, include_self=include_self)
    together = fit.fit(X, near).covariances()
    for row in range(0, 50, 7):
        cut = slice(near.indptr[row], near.indptr[row + 1])
        alone = np.array([0, near.degrees[row]])
        single = Neighborhoods(alone, near.indices[cut], near.distances[cut])
        lonely = fit.fit(X, single, points=X[row : row + 1])
        np.testing.assert_allclose(lonely.covariances()[0], together[row], rtol=1e-9, atol=1e-12)


def test_an_isolated_point_is_the_mean_of_its_patch():
    X = np.array([[0.0, 0.0], [0.1, 0.0], [9.0, 9.0]])
    near = RadiusNeighbors(1.0).build(X).query()
    for include_self in (True, False):
        patches = GaussianPatch(include_self=include_self, gamma=0.5).fit(X, near)
        assert patches.means[2].tolist() == [9.0, 9.0]
        np.testing.assert_allclose(patches.covariances()[2], 0.5 * np.eye(2))


def test_size_takes_the_nearest_of_larger_neighbourhoods():
    X = cloud()
    near = find_neighbors(X, 20)
    few, some = GaussianPatch(size=6).fit(X, near), GaussianPatch().fit(X, find_neighbors(X, 6))
    assert np.array_equal(few.covariances(), some.covariances())


@pytest.mark.parametrize("m", [3, 30])
def test_new_points_get_patches_of_their_neighbours_and_the_ridge_of_the_data(m):
    X, new = cloud(50, m), cloud(7, m, seed=9)
    near = ExactNeighbors(6).build(X).query(new)
    patches = GaussianPatch().fit(X, near, points=new)
    gamma = AUTO_RIDGE * X.var(axis=0).mean()
    for row in range(7):
        P = np.vstack([X[members_of(near, row, include_self=False)], new[row]])
        expected = np.cov(P.T) + gamma * np.eye(m)
        np.testing.assert_allclose(patches.covariances()[row], expected, atol=1e-12)
    assert np.array_equal(patches.points, new)
    alone = GaussianPatch().fit(X, ExactNeighbors(6).build(X).query(new[:1]), points=new[:1])
    assert np.array_equal(alone.covariances(), patches[:1].covariances())


# ------------------------------------------------------------------ the two forms


@pytest.mark.parametrize("covariance", [name for name in ALWAYS if name != "diagonal-shrinkage"])
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
    arrays = (getattr(patches, name) for name in Patches._FIELDS)
    assert {array.dtype for array in arrays if array is not None} == {np.dtype(np.float32)}
    expected = recipe(covariance, size=size).fit(X.astype(float)).covariances()
    np.testing.assert_allclose(patches.covariances(), expected, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("covariance", ALWAYS)
@pytest.mark.parametrize("m", [3, 12])
def test_patches_do_not_depend_on_block_size_or_threads(monkeypatch, covariance, m):
    X = cloud(60, m)
    near = find_neighbors(X, 6)
    one = recipe(covariance).fit(X, near)
    monkeypatch.setattr("patchfold.engines.pools.CACHE_BYTES", 4000)
    many = recipe(covariance).fit(X, near, n_jobs=2)
    with sklearn.config_context(working_memory=0.001):
        least = recipe(covariance).fit(X, near)
    for other in (many, least):
        for name in Patches._FIELDS:
            assert np.array_equal(getattr(one, name), getattr(other, name))


def test_ragged_patches_do_not_depend_on_block_size_or_threads(monkeypatch):
    X = cloud(120, 20)
    near = RadiusNeighbors(4.4).build(X).query()
    assert len(np.unique(near.degrees)) > 5
    one = GaussianPatch().fit(X, near)
    assert one.factored
    monkeypatch.setattr("patchfold.engines.pools.CACHE_BYTES", 4000)
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


def test_ridge_if_singular_leaves_regular_patches_alone():
    X = cloud(40, 3)
    X[:10] = X[0]  # ten equal points among the others
    patches = recipe("ridge-if-singular", size=6, gamma=0.5).fit(X)
    plain = recipe("ridge", size=6, gamma=0.5).fit(X)
    S, ridged = patches.covariances(), plain.covariances()
    rank = np.linalg.matrix_rank(ridged - 0.5 * np.eye(3), tol=1e-8)
    singular = rank < 3
    assert 0 < singular.sum() < 40
    np.testing.assert_allclose(S[singular], ridged[singular], atol=1e-12)
    np.testing.assert_allclose(S[~singular] + 0.5 * np.eye(3), ridged[~singular], atol=1e-12)


# ------------------------------------------------------------------ Patches as a container


def test_given_moments_come_back():
    S = random_covariances(np.random.default_rng(0), 4, 5)
    means = cloud(4, 5)
    patches = Patches.from_moments(means, S)
    assert np.array_equal(patches.means, means)
    np.testing.assert_allclose(patches.covariances(), S, rtol=1e-12, atol=1e-14)


def test_given_factors_come_back():
    patches = factored_patches(np.random.default_rng(0), 4, 6, 2)
    expected = [
        ridge * np.eye(6) + Q @ np.diag(variances) @ Q.T
        for Q, variances, ridge in zip(
            patches.directions, patches.variances, patches.ridge, strict=True
        )
    ]
    np.testing.assert_allclose(patches.covariances(), expected, atol=1e-14)


@pytest.mark.parametrize("make", [full_patches, lambda *a: factored_patches(*a, 2)])
def test_indexing_selects_patches(make):
    patches = make(np.random.default_rng(0), 5, 4)
    S = patches.covariances()
    mask = np.array([True, False, False, True, False])
    for key, rows in [
        (2, [2]),
        (-1, [4]),
        (np.int64(3), [3]),
        (slice(1, 4), [1, 2, 3]),
        (slice(None, None, -1), [4, 3, 2, 1, 0]),
        ([3, 1], [3, 1]),
        (np.array([-1, 0]), [4, 0]),
        (mask, [0, 3]),
        (np.array([], dtype=int), []),
    ]:
        chosen = patches[key]
        assert isinstance(chosen, Patches)
        assert len(chosen) == len(rows)
        assert np.array_equal(chosen.means, patches.means[rows])
        assert np.array_equal(chosen.covariances(), S[rows])
    with pytest.raises(IndexError, match="patch 5 is out of range"):
        patches[5]
    for wrong in (np.array([[0, 1]]), True):
        with pytest.raises(IndexError, match="along one axis"):
            patches[wrong]
    assert len(patches[[]]) == 0


def test_patches_are_iterable_printable_and_picklable():
    patches = full_patches(np.random.default_rng(0), 3, 2)
    assert [len(patch) for patch in patches] == [1, 1, 1]
    assert repr(patches) == "Patches(n=3, features=2, full)"
    copy = pickle.loads(pickle.dumps(patches))
    assert np.array_equal(copy.covariances(), patches.covariances())


def test_a_recipe_can_be_cloned_and_set():
    other = clone(recipe("low-rank", size=7, rank=3)).set_params(rank=1)
    assert other.get_params()["size"] == 7
    assert other.fit(cloud()).directions.shape[2] == 1


def test_data_frames_are_points():
    frame = pd.DataFrame(cloud(20, 3), columns=list("abc"))
    assert np.array_equal(
        GaussianPatch(size=5).fit(frame).means, GaussianPatch(size=5).fit(frame.to_numpy()).means
    )


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"covariance": "rigde"}, r"covariance='rigde'.*'ridge'"),
        ({"covariance": "ledoit_wolf"}, "'ledoit-wolf'"),
        ({"center": "middle"}, "center='middle'"),
        ({"size": 0}, "size=0"),
        ({"size": 60}, "size=60 needs more than 60 samples, got 60; set size to at most 59"),
        ({"size": 2.5}, "size=2.5"),
        ({"gamma": 0}, r"gamma=0 must be positive.*'empirical'"),
        ({"gamma": -1.0}, "gamma=-1.0 must be positive"),
        ({"gamma": float("nan")}, "gamma=nan"),
        ({"gamma": float("inf")}, "gamma=inf"),
        ({"gamma": "large"}, "gamma='large'"),
        ({"gamma": None}, "gamma=None"),
        ({"gamma": True}, "gamma=True"),
        ({"include_self": "no"}, "include_self='no'"),
        ({"covariance": "shrinkage", "gamma": 1.0}, "gamma=1.0 must be between 0 and 1"),
        ({"covariance": "low-rank"}, "needs rank"),
        ({"covariance": "low-rank", "rank": 0}, "rank=0"),
    ],
)
def test_a_bad_parameter_is_named_with_what_is_allowed(parameters, words):
    with pytest.raises((ValueError, TypeError), match=words):
        GaussianPatch(**parameters).fit(cloud())


@pytest.mark.parametrize(("m", "size"), [(3, 8), (20, 6)])
def test_singular_empirical_covariances_are_refused_with_a_remedy(m, size):
    X = cloud(40, m)
    X[:, -1] = 0
    with pytest.raises(ValueError, match=r"singular in 40 of 40 patches .*covariance='ridge'"):
        recipe("empirical", size=size).fit(X)


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


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.array([[1.0, np.nan], [2.0, 3.0], [1.0, 1.0]]), "NaN"),
        (np.array([[1.0, np.inf], [2.0, 3.0], [1.0, 1.0]]), "inf"),
        (pd.DataFrame({"a": [1.0, 2.0, 3.0], "kind": ["x", "y", "z"]}), "kind"),
        (np.arange(5.0), "1D|1-D"),
        (np.ones((1, 3)), "1 sample|2"),
        (np.full((5, 2), 1e200) * np.array([[1], [2], [3], [4], [5]]), "cannot be squared"),
        (1e-200 * np.arange(10.0).reshape(5, 2), "cannot be squared"),
    ],
)
def test_bad_points_are_refused_with_a_remedy(X, words):
    with pytest.raises(ValueError, match=words):
        GaussianPatch(size=2).fit(X)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, near: GaussianPatch(size=9).fit(X, near), "size=9 needs neighborhoods of"),
        (
            lambda X, near: GaussianPatch().fit(X[:-1], near),
            "refer to points 0 to 59, X has 59 rows",
        ),
        (lambda X, near: GaussianPatch().fit(X, near, points=X[1:]), "of 60 points, but 59 points"),
        (lambda X, near: GaussianPatch().fit(X, X), "neighborhoods is a ndarray"),
        (lambda X, near: GaussianPatch().fit(X, near, points=X * np.nan), "points contains? .*NaN"),
        (lambda X, near: GaussianPatch(gamma=1e-50).fit(X.astype(np.float32), near), "1e-50"),
        (lambda X, near: Patches.from_moments(X[:1] + 1j, np.eye(4)[None]), "complex"),
        (lambda X, near: Patches.from_factors(X[:1], 1.0, [[1.0]], [1.0]), "directions has shape"),
        (lambda X, near: GaussianPatch().fit(X, points=X), "needs neighborhoods"),
        (lambda X, near: GaussianPatch().fit(X, near, points=X[:, :2]), "points have 2 features"),
        (lambda X, near: Patches.from_moments(X, np.eye(4)), "covariances has shape"),
        (lambda X, near: Patches.from_moments(X[0], np.eye(4)), "two-dimensional"),
        (lambda X, near: Patches.from_moments(X[:1], -np.eye(4)[None]), "positive definite"),
        (lambda X, near: Patches.from_moments(X[:1], np.zeros((1, 4, 4))), "positive definite"),
        (
            lambda X, near: Patches.from_moments(X[:1], np.tri(4)[None]),
            "not symmetric",
        ),
        (lambda X, near: Patches.from_moments(X[:1], np.eye(4)[None] * np.nan), "NaN"),
        (
            lambda X, near: Patches.from_factors(X[:1], np.eye(4)[None], [[1.0] * 4], [1.0]),
            "4 columns for 4 features",
        ),
        (
            lambda X, near: Patches.from_factors(X[:1], 2 * np.eye(4)[None, :, :1], [[1.0]], [1.0]),
            "not orthonormal",
        ),
        (
            lambda X, near: Patches.from_factors(X[:1], np.eye(4)[None, :, :1], [[1.0]], [0.0]),
            "ridge must be positive",
        ),
        (
            lambda X, near: Patches.from_factors(X[:1], np.eye(4)[None, :, :1], [1.0], [1.0]),
            "variances has shape",
        ),
    ],
)
def test_arrays_that_do_not_fit_together_are_named(call, words):
    X = cloud()
    with pytest.raises((ValueError, TypeError), match=words):
        call(X, find_neighbors(X, 8))


def flat_and_scattered():
    """Most points lie on a line, and the patches of a few need many directions."""
    rng = np.random.default_rng(0)
    line = np.linspace(0, 1, 300)[:, None] * np.ones(12)
    return np.concatenate([line, 5 + rng.standard_normal((20, 6)) @ rng.standard_normal((6, 12))])


def test_patches_use_more_directions_than_the_ones_that_were_looked_at(monkeypatch):
    X = flat_and_scattered()
    near = find_neighbors(X, 9)
    recipe = GaussianPatch(covariance="flattened")
    expected = recipe.fit(X, near)
    assert expected.directions.shape == (320, 12, 9)  # few numbers: there is room for all
    monkeypatch.setattr(fitting, "MANY_NUMBERS", 0)
    monkeypatch.setattr(fitting, "SAMPLE", 1)
    found = recipe.fit(X, near)
    used = int(expected.used_ranks().max())
    assert used < 9
    assert found.directions.shape == (320, 12, used)
    for name in ("directions", "variances"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name)[..., :used])
    for name in ("means", "ridge"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.variances.flags.c_contiguous
    alone = recipe.fit(X[:300], find_neighbors(X[:300], 8))
    assert alone.directions.shape == (300, 12, 1)
    assert alone.variances.shape == (300, 1)


@pytest.mark.parametrize("divergence", ["kl", "jeffreys-riemann", "own"])
def test_new_points_may_use_more_directions_than_fitted_ones(monkeypatch, divergence):
    def own(a, b):
        spread = np.abs(a.variances - b.variances).sum(axis=1)
        return np.linalg.norm(a.means - b.means, axis=1) + spread

    X = flat_and_scattered()
    method = PatchIsomap(
        n_neighbors=8,
        divergence=own if divergence == "own" else divergence,
        patch=GaussianPatch(covariance="flattened"),
    )
    expected = method.fit(X[:300]).transform(X[290:])
    monkeypatch.setattr(fitting, "MANY_NUMBERS", 0)
    method.fit(X[:300])
    assert method.patches_.directions.shape[2] == 1
    found = method.transform(X[290:])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    for many in (0, 2**20):  # one alone may have more room than many
        monkeypatch.setattr(fitting, "MANY_NUMBERS", many)
        one_by_one = [method.transform(X[[row]])[0] for row in range(290, 320)]
        np.testing.assert_array_equal(found, one_by_one)
