"""Patches of denoised points, of all and of new ones."""

from __future__ import annotations

import numpy as np
import pytest

from equations import DATA, normal
from patchfold import GaussianPatch, PatchIsomap, PatchLLE, PatchSpace
from patchfold.graph.short_circuits import recommended_patch
from patchfold.neighbors import ExactNeighbors, find_neighbors
from patchfold.patches import patch_means
from patchfold.patches.denoising import Denoised, fit_denoised


@pytest.mark.parametrize("setting", [{"n_neighbors": 4}, {"radius": 1.5}])
def test_patch_means_are_those_of_a_loop(setting):
    X, Y = normal(0, 40, 3) + 1e3, normal(1, 6, 3) + 1e3
    near = find_neighbors(X, setting.get("n_neighbors"), radius=setting.get("radius"))
    rows = np.split(near.indices, near.indptr[1:-1])
    expected = [np.mean(X[[i, *row]], axis=0) for i, row in enumerate(rows)]
    np.testing.assert_allclose(patch_means(X, near), expected, rtol=1e-14)
    near = near[np.arange(len(Y))]
    expected = [np.mean([y, *X[row]], axis=0) for y, row in zip(Y, rows, strict=False)]
    np.testing.assert_allclose(patch_means(X, near, points=Y), expected, rtol=1e-14)


@pytest.mark.parametrize("covariance", ["ridge", "diagonal-shrinkage", "low-rank"])
def test_denoised_points_come_back_along_any_patch(covariance):
    X = normal(2, 30, 4)
    near = find_neighbors(X, 6)
    Z = patch_means(X, near)
    recipe = GaussianPatch(covariance=covariance, rank=2 if covariance == "low-rank" else None)
    found = recipe.gaussians(X, near, denoised=(Z, Z))
    for x, z, mean, S in zip(X, Z, found.means, found.covariances(), strict=True):
        # A bound of the largest eigenvalue where the ridge differs from feature to feature.
        ratio = np.linalg.norm(mean - z) / np.linalg.norm(S @ (x - z))
        np.testing.assert_allclose(np.cross((mean - z)[:3], (S @ (x - z))[:3]), 0, atol=1e-9)
        assert 0 < ratio <= (1 + 1e-9) / np.linalg.eigvalsh(S)[-1]
        if covariance != "diagonal-shrinkage":
            np.testing.assert_allclose(ratio, 1 / np.linalg.eigvalsh(S)[-1])


def test_a_radius_leaves_the_size_of_patches_to_the_neighbourhoods():
    X = normal(0, 60, 3)
    fitted = PatchSpace(radius=2.5).fit(X)
    near = find_neighbors(X, None, radius=2.5)
    Z = patch_means(X, near)
    assert repr(fitted.patch_) == repr(recommended_patch(60, sized=False))
    expected = fitted.patch_.gaussians(X, find_neighbors(Z, None, radius=2.5), denoised=(Z, Z))
    np.testing.assert_array_equal(fitted.patches_.means, expected.means)


def test_a_wrong_denoise_is_named():
    with pytest.raises(TypeError, match="denoise='yes' must be True or False"):
        PatchLLE(n_neighbors=7, patch=GaussianPatch(denoise="yes")).fit(DATA["k > m"][0])


def assert_same_patches(found, expected):
    np.testing.assert_array_equal(found.means, expected.means)
    np.testing.assert_array_equal(found.points, expected.points)
    np.testing.assert_array_equal(found.covariances(), expected.covariances())


def test_a_recipe_denoises_where_it_says_so():
    X = normal(0, 60, 3)
    near = find_neighbors(X, 9)
    recipe = GaussianPatch(9, denoise=True)
    Z = patch_means(X, near)
    expected = recipe.gaussians(X, find_neighbors(Z, 9), denoised=(Z, Z))
    assert_same_patches(recipe.fit(X), expected)
    assert_same_patches(recipe.fit(X, near), expected)
    plain = GaussianPatch(9).fit(X)
    assert abs(plain.means - expected.means).max() > 0.01
    # Whatever a recipe says, its Gaussians are those of the neighbourhoods that are given.
    assert_same_patches(recipe.gaussians(X, near), plain)
    fitted = PatchIsomap(n_neighbors=9, patch=recipe).fit(X)
    assert_same_patches(fitted.patches_, expected)


@pytest.mark.parametrize("searched", [True, False])
def test_new_points_are_denoised_among_the_fitted_ones(searched):
    X, new = normal(0, 60, 3), normal(1, 5, 3)
    recipe = GaussianPatch(9, denoise=True)
    near = find_neighbors(X, 9)
    search = ExactNeighbors(9)
    patches, denoised = fit_denoised(recipe, X, near, search if searched else None)
    assert isinstance(denoised, Denoised)
    np.testing.assert_array_equal(denoised.points, patch_means(X, near))
    assert (denoised.search is None) == (denoised.members is not None) == (not searched)
    if searched:
        assert_same_patches(patches, recipe.fit(X))
    own = ExactNeighbors(9).build(X).query(new)
    found = denoised.of_new(recipe, new, X, own)
    z = patch_means(X, own, points=new)
    if searched:
        members = ExactNeighbors(9).build(denoised.points).query(z)
        both = denoised.points, z
        assert_same_patches(found, recipe.gaussians(X, members, points=new, denoised=both))
        assert_same_patches(found, recipe.fit(X, own, points=new))
    assert len(found) == 5
    alone = [denoised.of_new(recipe, new[[i]], X, own[np.array([i])]).means for i in range(5)]
    np.testing.assert_array_equal(np.vstack(alone), found.means)
