from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import array_api_strict
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import EllipseCollection, LineCollection, PathCollection
from matplotlib.colors import LogNorm, to_rgba
from matplotlib.figure import Figure

from patchfold import GaussianPatch, Patches, PatchIsomap, divergences
from patchfold.metrics import IntrinsicDimension
from patchfold.neighbors import find_neighbors
from patchfold.plotting import (
    CLASS_COLORS,
    plot_embedding,
    plot_k_profile,
    plot_patches,
    plot_residual_variance,
    plot_stability,
)
from patchfold.selection import select_n_neighbors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


def full(n: int = 12, m: int = 4) -> Patches:
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((n, m, m))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(m)
    return Patches.from_moments(rng.standard_normal((n, m)), covariances)


def factored(n: int = 12, m: int = 6, r: int = 2) -> Patches:
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.standard_normal((n, m, r)))[0]
    means, variances = rng.standard_normal((n, m)), rng.uniform(1, 2, (n, r))
    return Patches.from_factors(means, directions, variances, rng.uniform(0.01, 0.1, n))


def ring(n: int) -> tuple[Any, Any]:
    return np.arange(n), (np.arange(n) + 1) % n


def drawn(ax: Axes, kind: type) -> Any:
    """Return the only collection of a kind, after everything has been rendered."""
    ax.figure.canvas.draw()
    (found,) = [artist for artist in ax.collections if type(artist) is kind]
    return found


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


def test_every_edge_is_a_line_between_its_points_with_the_largest_divergence_on_top() -> None:
    patches = full()
    i, j = ring(12)
    values = np.random.default_rng(1).permutation(12).astype(float)
    lines = drawn(plot_patches(patches, edges=(i, j), values=values), LineCollection)
    order = np.argsort(values)
    ends = patches.points[:, :2]
    expected = np.stack([ends[i[order]], ends[j[order]]], axis=1)
    np.testing.assert_array_equal(np.array(lines.get_segments()), expected)
    np.testing.assert_array_equal(lines.get_array(), values[order])
    assert (np.diff(lines.get_linewidth()) > 0).all()


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


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(12),
        np.full(12, 3.0),
        np.r_[np.zeros(11), 1.0],
        np.r_[np.zeros(6), np.ones(6)],
        np.r_[np.linspace(1, 2, 11), 1e12],
        np.r_[np.linspace(1, 2, 11), 1e-300],
        np.linspace(1e-30, 2e-30, 12),
        np.arange(12, dtype=np.float32),
        list(range(12)),
    ],
    ids=[
        "zeros",
        "equal",
        "one-positive",
        "half-zero",
        "huge",
        "tiny",
        "all-tiny",
        "float32",
        "list",
    ],
)
def test_any_divergences_have_colours_that_grow_with_them(values: Any) -> None:
    ax = plot_patches(full(), edges=ring(12), values=values)
    lines = drawn(ax, LineCollection)
    places = lines.norm(lines.get_array())
    assert np.isfinite(places).all()
    assert (np.diff(places) >= 0).all()
    assert 0 <= places.min() <= places.max() <= 1


def test_ordinary_edges_keep_different_colours_beside_an_outlier() -> None:
    values = np.r_[np.linspace(1, 2, 99), 1e4]
    ax = plot_patches(full(100), edges=ring(100), values=values)
    places = drawn(ax, LineCollection).norm(values)
    assert places[98] - places[0] > 0.03
    assert places[98] < 0.5


def test_large_divergences_that_differ_little_use_the_whole_scale_beside_a_zero() -> None:
    values = np.r_[0.0, np.linspace(3e5, 4e5, 99)]
    ax = plot_patches(full(100), edges=ring(100), values=values)
    lines = drawn(ax, LineCollection)
    assert np.median(np.asarray(lines.norm(values))) < 0.7
    assert lines.colorbar.extend == "min"


def test_a_single_edge_is_drawn() -> None:
    ax = plot_patches(full(), edges=([0], [5]), values=[0.25])
    assert len(drawn(ax, LineCollection).get_segments()) == 1


def test_no_edges_are_drawn_from_empty_lists() -> None:
    ax = plot_patches(full(), edges=([], []), values=[])
    assert not [artist for artist in ax.collections if isinstance(artist, LineCollection)]


@pytest.mark.parametrize(
    "values",
    [
        np.r_[np.linspace(0, 3, 11), 47.0],
        np.linspace(40, 47, 12),
        np.r_[np.logspace(-5, 1, 11), 47],
        np.full(12, 47.0),
    ],
    ids=["outlier", "narrow", "wide", "equal"],
)
def test_the_colour_bar_names_round_values_up_to_the_largest_divergence(values: Any) -> None:
    ax = plot_patches(full(), edges=ring(12), values=values, label="kl")
    bar = drawn(ax, LineCollection).colorbar
    assert bar.ax.get_ylabel() == "kl"
    ticks = bar.get_ticks()
    assert ticks[-1] == 47
    assert (np.diff(ticks) > 0).all()
    assert 3 <= len(ticks) <= 15
    np.testing.assert_allclose([float(t.get_text()) for t in bar.ax.get_yticklabels()], ticks)


def test_the_colour_bar_can_be_left_out() -> None:
    ax = plot_patches(full(), edges=ring(12), values=np.arange(12), colorbar=False)
    assert ax.figure.axes == [ax]


def test_colours_and_their_scale_can_be_given() -> None:
    scale = LogNorm(1, 100)
    values = np.arange(12.0)
    ax = plot_patches(full(), edges=ring(12), values=values, cmap="cividis", norm=scale)
    lines = drawn(ax, LineCollection)
    assert lines.norm is scale
    assert lines.get_cmap().name == "cividis"


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


@pytest.mark.parametrize("make", [full, factored])
def test_arrays_of_another_namespace_are_drawn_alike(make: Any) -> None:
    ours = make()
    fields = {name: getattr(ours, name) for name in Patches._FIELDS}
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


def groups(ax: Axes) -> dict[str, int]:
    """Return how many dots each entry of the legend stands for."""
    ax.figure.canvas.draw()
    dots = [one for one in ax.collections if isinstance(one, PathCollection)]
    return {str(one.get_label()): len(one.get_offsets()) for one in dots}


PLANE = np.random.default_rng(0).standard_normal((40, 3))


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.arange(40) % 3, {"0": 14, "1": 13, "2": 13}),
        (
            [*np.arange(39) % 12.0, np.nan],
            {**{str(k): 4 - (k > 2) for k in range(12)}, "missing": 1},
        ),
        (["b", "a", None, "b"] * 10, {"a": 10, "b": 20, "missing": 10}),
        (np.arange(40) % 2 == 0, {"False": 20, "True": 20}),
    ],
    ids=["whole", "few numbers", "text", "bool"],
)
def test_classes_of_an_embedding_are_in_the_legend(y: Any, expected: dict[str, int]) -> None:
    ax = plot_embedding(PLANE, y)
    assert groups(ax) == expected
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(expected)


def test_the_commonest_of_many_classes_have_colours_of_their_own() -> None:
    y = [f"class {min(row, 25)}" for row in range(40)]
    found = groups(plot_embedding(PLANE, y))
    assert len(found) == len(CLASS_COLORS)
    assert found["class 25"] == 15
    assert found["11 others"] == 11


@pytest.mark.parametrize("edges", [None, "ring"])
def test_the_legend_is_beside_the_dots(edges: str | None) -> None:
    links = {"edges": ring(40), "values": np.arange(40.0)} if edges else {}
    ax = plot_embedding(PLANE, [f"a class of the name {row % 16}" for row in range(40)], **links)
    figure = ax.figure
    figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert not any(legend.overlaps(one.get_window_extent()) for one in figure.axes)
    assert legend.x1 <= figure.bbox.x1


def test_a_figure_without_a_layout_has_the_legend_within_its_axes() -> None:
    ax = Figure().add_subplot()
    plot_embedding(PLANE, np.arange(40) % 3, ax=ax)
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert ax.bbox.x0 <= legend.x0
    assert legend.x1 <= ax.bbox.x1


def test_numbers_of_an_embedding_get_a_colour_bar() -> None:
    y = np.linspace(0, 1, 40)
    y[3] = np.nan
    ax = plot_embedding(PLANE, y)
    assert len(ax.figure.axes) == 2
    assert ax.get_legend() is None
    grey, colored = ax.collections
    np.testing.assert_array_equal(grey.get_offsets(), PLANE[[3], :2])
    np.testing.assert_array_equal(colored.get_array(), np.delete(y, 3))


def test_an_embedding_has_its_edges_coloured_by_divergence() -> None:
    values = np.arange(1.0, 41.0)
    ax = plot_embedding(PLANE, edges=ring(40), values=values, label="kl")
    lines = drawn(ax, LineCollection)
    np.testing.assert_array_equal(lines.get_array(), values)
    np.testing.assert_array_equal(lines.get_segments()[0], PLANE[:2, :2])
    assert lines.colorbar.ax.get_ylabel() == "kl"
    np.testing.assert_array_equal(drawn(ax, PathCollection).get_offsets(), PLANE[:, :2])


def test_an_embedding_of_one_component_is_a_line_in_given_axes() -> None:
    _, (left, right) = plt.subplots(1, 2)
    assert plot_embedding(PLANE[:, :1], ax=right) is right
    assert not left.collections
    assert not np.asarray(drawn(right, PathCollection).get_offsets())[:, 1].any()


def test_an_embedding_needs_a_value_a_point() -> None:
    with pytest.raises(ValueError, match=r"y has shape \(3,\) for 40 points; give one value"):
        plot_embedding(PLANE, [1, 2, 3])
    assert plt.get_fignums() == []


def outlying(n=300, **places):
    """Return normal points, of which those with the given row numbers lie elsewhere."""
    at = np.random.default_rng(0).standard_normal((n, 2))
    for row, place in places.items():
        at[int(row.strip("_"))] = place
    return at


def triangles(ax: Axes) -> dict[str, Any]:
    """Return the places of triangles, by their side of the view."""
    found = {}
    for one in ax.collections:
        tip = np.asarray(one.get_paths()[0].vertices)[:-1]
        if len(tip) == 3:
            off = tip[np.argmax(np.abs(tip - tip.mean(axis=0)).max(axis=1))] - tip.mean(axis=0)
            axis = int(np.argmax(np.abs(off)))
            name = (("left", "right"), ("below", "above"))[axis][int(off[axis] > 0)]
            found[name] = (np.asarray(one.get_offsets()), one.get_facecolor())
    return found


def test_points_far_out_are_marked_at_the_border_of_a_view_of_the_others() -> None:
    at = outlying(_7=(900.0, 0.5), _9=(-70.0, 60.0), _20=(0.0, -3e4))
    y = np.zeros(300, dtype=int)
    y[7] = 1
    ax = plot_embedding(at, y)
    ax.figure.canvas.draw()
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    others = np.delete(at, [7, 9, 20], axis=0)
    inside = (others > [left, bottom]) & (others < [right, top])
    assert inside.all()
    assert right - left == pytest.approx(top - bottom)
    assert right - left < 1.5 * np.ptp(others, axis=0).max()
    assert ax.get_aspect() == 1
    found = triangles(ax)
    assert set(found) == {"left", "right", "below"}
    places, colors = found["right"]
    assert left < places[0, 0] < right
    assert places[0, 0] == pytest.approx(right, abs=0.02 * (right - left))
    assert places[0, 1] == 0.5
    np.testing.assert_array_equal(colors, [to_rgba(CLASS_COLORS[1])])
    np.testing.assert_array_equal(found["below"][1], [to_rgba(CLASS_COLORS[0])])
    assert [text.get_text() for text in ax.texts] == ["3 points lie beyond"]
    note = ax.texts[0].get_window_extent()
    assert ax.bbox.x0 <= note.x0 <= note.x1 <= ax.bbox.x1
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]


def test_triangles_have_the_colours_of_numbers_and_of_missing_ones() -> None:
    at = outlying(_7=(900.0, 0.0), _9=(-900.0, 0.0))
    y = np.linspace(0, 1, 300)
    y[9] = np.nan
    ax = plot_embedding(at, y)
    found = triangles(ax)
    dots = next(one for one in ax.collections if one.get_array() is not None)
    np.testing.assert_allclose(found["right"][1], dots.to_rgba(y[[7]]))
    np.testing.assert_allclose(found["left"][1], [to_rgba("#8a9099")])


def test_the_note_keeps_away_from_the_points_and_counts_one_as_one() -> None:
    rng = np.random.default_rng(0)
    at = np.column_stack([rng.uniform(size=400), np.repeat([0.0, 1.0], 200)])
    at[200:, 0] *= 0.3
    at[0] = 0.5, 500.0
    ax = plot_embedding(at)
    ax.figure.canvas.draw()
    (note,) = ax.texts
    assert note.get_text() == "1 point lies beyond"
    dots = ax.transData.transform(at[1:])
    box = note.get_window_extent()
    assert not ((dots > [box.x0, box.y0]) & (dots < [box.x1, box.y1])).all(axis=1).any()


@pytest.mark.parametrize(
    "at",
    [
        np.random.default_rng(0).standard_normal((300, 2)),
        np.random.default_rng(0).laplace(size=(5000, 2)),
        np.vstack([PLANE[:19, :2], [[1e6, 1e6]]])[1:],
        np.vstack([PLANE[:, :2], PLANE[:, :2] + 1000]),
        np.zeros((50, 2)),
        np.vstack([np.zeros((200, 2)), [[1.0, 1.0]]]),
    ],
    ids=["normal", "heavy", "few", "groups", "one place", "copies"],
)
def test_without_a_few_points_far_out_all_are_in_view(at: Any) -> None:
    ax = plot_embedding(at)
    ax.figure.canvas.draw()
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert ((at >= [left, bottom]) & (at <= [right, top])).all()
    assert not ax.texts
    assert not triangles(ax)


def test_heat_maps_of_stability_share_their_colours_and_say_the_scores() -> None:
    tables = {"a": [[0.1, 0.9], [0.2, np.nan], [0.3, 0.7]], "b": np.ones((3, 2))}
    figure = plot_stability(tables, noises=[0, 0.5, 1], neighbors=[10, 20], label="correlation")
    figure.canvas.draw()
    a, b, bar = figure.axes
    assert [ax.get_title(loc="left") for ax in (a, b)] == ["a", "b"]
    assert [text.get_text() for text in a.texts] == ["0.10", "0.90", "0.20", "0.30", "0.70"]
    assert [text.get_text() for text in a.get_xticklabels()] == ["10", "20"]
    assert [text.get_text() for text in a.get_yticklabels()] == ["0", "0.5", "1"]
    assert a.images[0].get_clim() == b.images[0].get_clim() == (0, 1)
    assert bar.get_ylabel() == "correlation"


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({}, "scores is empty"),
        ({"a": [[1]]}, r"scores\['a'\] has shape \(1, 1\) for 1 noises and 2"),
    ],
)
def test_heat_maps_need_tables_of_the_right_shape(scores: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_stability(scores, noises=[0], neighbors=[10, 20])


CURVE = np.array([0.8, 0.4, 0.05, 0.04])


def test_the_curve_of_residual_variances_has_the_dimension_marked() -> None:
    ax = plot_residual_variance(IntrinsicDimension(3, CURVE))
    ax.figure.canvas.draw()
    curve, mark = ax.lines
    np.testing.assert_array_equal(curve.get_xydata(), np.column_stack([[1, 2, 3, 4], CURVE]))
    np.testing.assert_array_equal(mark.get_xydata(), [[3, 0.05]])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["dimension 3"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("number of components", "residual variance")
    assert ax.get_ylim()[0] <= 0
    assert all(tick == round(tick) for tick in ax.get_xticks())


@pytest.mark.parametrize("curve", [np.zeros(3), np.array([0.2])], ids=["exact", "one component"])
def test_curves_without_a_fall_are_drawn(curve: Any) -> None:
    ax = plot_residual_variance(IntrinsicDimension(1, curve))
    ax.figure.canvas.draw()
    assert ax.get_ylim()[0] <= 0 < ax.get_ylim()[1]


def test_the_curve_is_drawn_into_given_axes() -> None:
    _, (left, right) = plt.subplots(1, 2)
    assert plot_residual_variance(IntrinsicDimension(3, CURVE), ax=right) is right
    assert not left.lines


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[plot\]'"):
        plot_patches(full())
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[plot\]'"):
        plot_residual_variance(IntrinsicDimension(3, CURVE))
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[plot\]'"):
        plot_embedding(PLANE)
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[plot\]'"):
        plot_stability({"a": [[1]]}, [0], [10])


def test_a_profile_shows_the_scores_of_each_candidate_and_the_choice() -> None:
    ax = plot_k_profile([5, 10, 20], {"lcmc": [0.2, 0.4, 0.3]}, chosen=10)
    curve, mark = ax.lines
    np.testing.assert_array_equal(curve.get_xydata(), [[5, 0.2], [10, 0.4], [20, 0.3]])
    assert list(mark.get_xdata()) == [10, 10]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["5", "10", "20"]
    assert ax.get_ylabel() == "lcmc"


def test_several_criteria_share_one_scale_and_leave_out_what_was_not_fitted() -> None:
    scores = {"a": [-np.inf, 10.0, 30.0], "b": [0.1, 0.2, 0.15], "c": [1.0, 1.0, 1.0]}
    ax = plot_k_profile([5, 10, 20], scores)
    a, b, c = (line.get_ydata() for line in ax.lines)
    np.testing.assert_allclose(a, [0, 1])
    np.testing.assert_allclose(b, [0, 1, 0.5])
    np.testing.assert_allclose(c, 0.5)


def test_a_score_for_each_candidate_is_needed() -> None:
    with pytest.raises(ValueError, match=r"scores\['a'\] has shape \(2,\) for 3 candidates"):
        plot_k_profile([5, 10, 20], {"a": [1.0, 2.0]})


def test_a_selection_draws_its_own_profile() -> None:
    X = np.random.default_rng(0).standard_normal((60, 2))
    chosen = select_n_neighbors(PatchIsomap(), X, criterion=["lcmc", "area"], candidates=[15, 25])
    ax = chosen.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "lcmc",
        "area",
        f"k = {chosen.n_neighbors}",
    ]
