"""Planes lie over each other, and patches are seen as ellipses in them."""

from __future__ import annotations

import numpy as np
import pytest

from explorer_pages import roll, turned
from patchfold import GaussianPatch
from patchfold.explorer.embeddings import fit_all
from patchfold.explorer.views import ellipses, placed, turned_ellipses
from patchfold.neighbors import find_neighbors


def test_a_turned_and_scaled_copy_lies_over_the_original() -> None:
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((50, 2)) * [3, 1]
    mirror = np.array([[0.6, 0.8], [0.8, -0.6]])
    np.testing.assert_allclose(turned(placed(7 * Y @ mirror + 3), placed(Y)), placed(Y), atol=1e-12)


def test_no_turn_brings_points_nearer_than_procrustes() -> None:
    rng = np.random.default_rng(1)
    A, B = placed(rng.standard_normal((40, 2))), placed(rng.standard_normal((40, 2)))
    best = ((turned(A, B) - B) ** 2).sum()
    for angle in np.linspace(0, 2 * np.pi, 181):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        for mirror in ([1, 1], [1, -1]):
            assert ((A @ (turn * mirror) - B) ** 2).sum() >= best - 1e-9


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_placed_points_have_mean_square_one_in_any_unit(scale: float) -> None:
    plane = placed(np.random.default_rng(0).standard_normal((20, 3)) * scale)
    np.testing.assert_allclose((plane**2).sum(axis=1).mean(), 1)
    np.testing.assert_allclose(plane.mean(axis=0), 0, atol=1e-12)


def test_one_component_lies_on_a_line_and_equal_points_on_a_point() -> None:
    assert not placed(np.arange(4.0)[:, None])[:, 1].any()
    assert not placed(np.ones((4, 2))).any()


@pytest.mark.parametrize("m", [3, 30], ids=["full", "factored"])
@pytest.mark.parametrize("recipe", [GaussianPatch(), GaussianPatch(denoise=True)])
def test_an_ellipse_is_the_fitted_patch_under_the_least_squares_map(
    m: int, recipe: GaussianPatch
) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, m)) @ rng.standard_normal((m, m))
    plane = rng.standard_normal((40, 2))
    near = find_neighbors(X, 8)
    patches = recipe.fit(X, near)
    got = ellipses(patches, near, [plane])[0]
    points = np.asarray(patches.points)  # smoothed where the recipe denoises
    for i in range(40):
        who = [i, *near.indices[8 * i : 8 * i + 8]]
        x, y = points[who] - points[who].mean(axis=0), plane[who] - plane[who].mean(axis=0)
        # Ridge regression as least squares with m more rows.
        ridge = 1e-3 * (x**2).sum() / len(x)
        A = np.linalg.lstsq(
            np.vstack([x, np.sqrt(ridge) * np.eye(m)]),
            np.vstack([y, np.zeros((m, 2))]),
            rcond=None,
        )[0].T
        image = A @ patches.covariances()[i] @ A.T
        centre = plane[who].mean(axis=0) + A @ (patches.means[i] - points[who].mean(axis=0))
        np.testing.assert_allclose(got[i, :2], centre, atol=1e-9)
        np.testing.assert_allclose(got[i, 2:], image[[0, 0, 1], [0, 1, 1]], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
def test_the_ellipse_of_a_recommended_patch_is_no_larger_than_its_points(divergence: str) -> None:
    X, _ = roll(300)
    fits = fit_all(
        X, ["isomap"], [divergence], [15], n_jobs=None, random_state=0, step=lambda _: None
    )
    near = find_neighbors(X, 15).indices.reshape(300, 15)
    spread = fits[0].plane[near].std(axis=1).max(axis=1)
    found = fits[0].ellipses
    assert found is not None
    longest = np.sqrt(np.linalg.eigvalsh(found[:, [2, 3, 3, 4]].reshape(-1, 2, 2))[:, 1])
    assert np.median(longest / spread) < 1
    assert (longest < 2 * spread).mean() > 0.99


def test_a_linear_embedding_shows_the_patch_itself() -> None:
    X = np.random.default_rng(0).standard_normal((60, 2))
    near = find_neighbors(X, 10)
    patches = GaussianPatch(gamma=1e-12).fit(X, near)
    (got,) = ellipses(patches, near, [X])
    np.testing.assert_allclose(got[:, :2], patches.means)
    covariances = patches.covariances()
    np.testing.assert_allclose(got[:, [2, 3, 4]], covariances[:, [0, 0, 1], [0, 1, 1]], rtol=0.02)


def test_ellipses_turn_with_their_plane() -> None:
    rng = np.random.default_rng(0)
    X, plane = rng.standard_normal((30, 3)), rng.standard_normal((30, 2))
    near = find_neighbors(X, 6)
    patches = GaussianPatch().fit(X, near)
    by = np.array([[0.6, 0.8], [0.8, -0.6]])
    np.testing.assert_allclose(
        turned_ellipses(ellipses(patches, near, [plane])[0], by),
        ellipses(patches, near, [plane @ by])[0],
        atol=1e-12,
    )
