"""Patches are drawn as the ellipses of their covariances."""

from __future__ import annotations

from typing import Any

import array_api_strict
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import EllipseCollection, LineCollection, PathCollection
from matplotlib.colors import to_rgba

from drawing import drawn, factored, full, ring
from patchfold import GaussianPatch, Patches, divergences
from patchfold.neighbors import find_neighbors
from patchfold.plotting import plot_patches


@pytest.mark.parametrize("patches", [full(), factored()], ids=["full", "factored"])
@pytest.mark.parametrize("features", [(0, 1), (3, 1)])
def test_an_ellipse_has_the_eigenvectors_of_the_covariance_of_its_features(
    patches: Patches, features: tuple[int, int]
) -> None:
    ax = plot_patches(patches, features=features, n_ellipses=None, n_std=1.5)
    ellipses = drawn(ax, EllipseCollection)
    covariances = patches.covariances()[:, features][:, :, features]
    half_axes = np.stack([ellipses.get_widths(), ellipses.get_heights()], axis=1) / 2
    assert (half_axes[:, 0] >= half_axes[:, 1]).all()
    angles = np.radians(ellipses.get_angles())
    along = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    across = np.stack([-np.sin(angles), np.cos(angles)], axis=1)
    for direction, radius in ((along, half_axes[:, 0]), (across, half_axes[:, 1])):
        image = np.einsum("nij,nj->ni", covariances, direction)
        np.testing.assert_allclose(image, (radius[:, None] / 1.5) ** 2 * direction, atol=1e-12)
    np.testing.assert_allclose(ellipses.get_offsets(), patches.means[:, features])


def test_ellipses_lie_within_the_axes() -> None:
    patches = full()
    ax = plot_patches(patches, n_ellipses=None, n_std=3)
    reach = 3 * np.sqrt(np.diagonal(patches.covariances(), axis1=1, axis2=2))[:, :2]
    for limits, axis in ((ax.get_xlim(), 0), (ax.get_ylim(), 1)):
        assert limits[0] <= (patches.means[:, axis] - reach[:, axis]).min()
        assert limits[1] >= (patches.means[:, axis] + reach[:, axis]).max()


@pytest.mark.parametrize("wanted", [0, 1, 5, 12, 100, None])
def test_as_many_ellipses_are_drawn_as_asked_for(wanted: int | None) -> None:
    ax = plot_patches(full(12), n_ellipses=wanted)
    found = [np.size(a.get_widths()) for a in ax.collections if isinstance(a, EllipseCollection)]
    assert sum(found) == (12 if wanted is None else min(wanted, 12))


def test_chosen_ellipses_cover_both_ends_of_crowded_data() -> None:
    means = np.zeros((1000, 2))
    means[:, 0] = 0.001 * np.arange(1000)
    means[0], means[-1] = (-50, 0), (50, 0)
    patches = Patches.from_moments(means, np.broadcast_to(np.eye(2), (1000, 2, 2)))
    centers = drawn(plot_patches(patches, n_ellipses=3), EllipseCollection).get_offsets()
    assert {-50.0, 50.0} < set(centers[:, 0].tolist())
    assert len(np.unique(centers, axis=0)) == 3


def test_ellipses_are_chosen_also_where_all_means_are_equal() -> None:
    patches = Patches.from_moments(np.ones((9, 2)), np.broadcast_to(np.eye(2), (9, 2, 2)))
    assert len(drawn(plot_patches(patches, n_ellipses=4), EllipseCollection).get_offsets()) == 4


@pytest.mark.slow
def test_dots_and_edges_are_at_the_means_when_asked() -> None:
    X = np.random.default_rng(0).standard_normal((40, 3))
    near = find_neighbors(X, 5)
    patches = GaussianPatch().fit(X, near)
    i, j = near.sources, near.indices
    values = np.arange(len(i), dtype=float)
    for nodes, at in (("points", patches.points), ("means", patches.means)):
        ax = plot_patches(patches, edges=(i, j), values=values, nodes=nodes)
        np.testing.assert_array_equal(drawn(ax, PathCollection).get_offsets(), at[:, :2])
        segments = np.array(drawn(ax, LineCollection).get_segments())
        np.testing.assert_array_equal(segments[:, 0], at[i, :2])


def test_dots_and_ellipses_take_one_colour_or_one_a_patch() -> None:
    patches = full(3)
    for colors, expected in (("red", ["red"] * 3), (["red", "lime", "blue"],) * 2):
        ax = plot_patches(patches, colors=colors, n_ellipses=None)
        rgba = [to_rgba(color) for color in expected]
        np.testing.assert_array_equal(drawn(ax, PathCollection).get_facecolor(), rgba)
        np.testing.assert_array_equal(drawn(ax, EllipseCollection).get_edgecolor(), rgba)


def test_patches_are_drawn_into_given_axes() -> None:
    _, (left, right) = plt.subplots(1, 2)
    assert plot_patches(full(), ax=right, features=(2, 0)) is right
    assert not left.collections
    assert (right.get_xlabel(), right.get_ylabel()) == ("feature 2", "feature 0")


@pytest.mark.slow
@pytest.mark.parametrize("make", [full, factored])
def test_arrays_of_another_namespace_are_drawn_alike(make: Any) -> None:
    ours = make()
    fields = {name: getattr(ours, name) for name in Patches.FIELDS}
    theirs = Patches(
        **{k: v if v is None else array_api_strict.asarray(v) for k, v in fields.items()}
    )
    i, j = ring(12)
    widths = []
    for patches in (ours, theirs):
        values = divergences.paired(patches, i, j)
        ax = plot_patches(patches, edges=(i, j), values=values)
        widths.append(drawn(ax, EllipseCollection).get_widths())
        assert len(drawn(ax, LineCollection).get_segments()) == 12
    np.testing.assert_allclose(widths[0], widths[1], rtol=1e-12)


def test_no_covariance_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    n, m, r = 2000, 784, 3
    directions = np.zeros((n, m, r), dtype=np.float32)
    directions[:, :r] = np.eye(r)
    means = rng.standard_normal((n, m), dtype=np.float32)
    ones = np.ones((n, r), dtype=np.float32)
    patches = Patches.from_factors(means, directions, ones, ones[:, 0])
    monkeypatch.setattr(Patches, "covariances", lambda _: pytest.fail("covariances() was called"))
    ellipses = drawn(plot_patches(patches, n_ellipses=None), EllipseCollection)
    np.testing.assert_allclose(ellipses.get_widths(), 2 * np.sqrt(2), rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": (0, 1, 2)}, r"features=\(0, 1, 2\) names 3 feature.*give two"),
        ({"features": 1}, r"features=1 names 1 feature.*give two"),
        ({"features": (0, 4)}, r"features=\(0, 4\) is out of range.*4 feature.*from 0 to 3"),
        ({"features": (0, -1)}, r"features=-1 is too small"),
        ({"features": (2, 2)}, r"features=\(2, 2\) names one feature twice; give two"),
        ({"edges": ([0], [1])}, r"edges are given without values.*paired\(patches, i, j\)"),
        ({"values": [1.0]}, r"values are given without edges; pass edges"),
        ({"edges": ([0, 1], [1, 2]), "values": [1.0]}, r"shapes \(2,\), \(2,\) and \(1,\)"),
        ({"edges": ([0, 1], [1]), "values": [1.0]}, r"shapes \(2,\), \(1,\) and \(1,\)"),
        ({"edges": np.zeros((5, 2), int), "values": [1.0] * 5}, r"ndarray with 5 entries.*\(i, j"),
        ({"edges": object(), "values": [1.0]}, r"edges is a object.*give two arrays \(i, j"),
        ({"edges": ([0], [12]), "values": [1.0]}, r"j has .*12 to 12; give integers from 0 to 11"),
        ({"edges": ([0.5], [1]), "values": [1.0]}, r"i has float64 .*give integers from 0 to 11"),
        ({"edges": ([0, 1], [1, 2]), "values": [1.0, -2.0]}, r"values has -2.0 at edge 1.*leave"),
        ({"edges": ([0], [1]), "values": [np.nan]}, r"values has nan at edge 0"),
        ({"colors": ["red"] * 5}, r"colors has 5 entries for 12 patches; give one, or 12"),
        ({"colors": np.arange(12)}, r"colors are not colours.*map labels or numbers"),
        ({"nodes": "mean"}, r"nodes='mean' is not known; did you mean 'means'"),
        ({"n_std": 0}, r"n_std=0 is not positive"),
        ({"n_ellipses": -1}, r"n_ellipses=-1 is too small; give at least 0"),
    ],
)
def test_bad_arguments_are_named_with_a_remedy_and_leave_no_figure(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        plot_patches(full(), **arguments)
    assert plt.get_fignums() == []


def test_patches_of_one_feature_are_refused() -> None:
    with pytest.raises(ValueError, match=r"1 feature\(s\); a plot needs at least two"):
        plot_patches(full(m=1))
