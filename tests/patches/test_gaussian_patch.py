"""A recipe turns neighbourhoods into Gaussians: their moments are those of a loop."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from gaussians import cloud, recipe
from patchfold import GaussianPatch
from patchfold.neighbors import ExactNeighbors, Neighborhoods, RadiusNeighbors, find_neighbors
from patchfold.patches.covariances import AUTO_RIDGE, ESTIMATES

ALWAYS = tuple(name for name in ESTIMATES if name != "empirical")


def members_of(near, row, *, include_self):
    own = near.indices[near.indptr[row] : near.indptr[row + 1]]
    return np.append(own, row) if include_self else own


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
        ({"covariance": "hazan", "rank": 0}, "rank=0"),
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
        (lambda X, near: GaussianPatch().fit(X, points=X), "needs neighborhoods"),
        (lambda X, near: GaussianPatch().fit(X, near, points=X[:, :2]), "points have 2 features"),
    ],
)
def test_points_and_neighbourhoods_that_do_not_fit_together_are_named(call, words):
    X = cloud()
    with pytest.raises((ValueError, TypeError), match=words):
        call(X, find_neighbors(X, 8))
