"""An embedding is drawn with its classes, numbers, edges and outliers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from drawing import PLANE, drawn, ring
from patchfold import PatchIsomap
from patchfold.plotting import CLASS_COLORS, plot_embedding

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLAT = PLANE[:, :2]


def groups(ax: Axes) -> dict[str, int]:
    """Return how many dots each entry of the legend stands for."""
    ax.figure.canvas.draw()
    dots = [one for one in ax.collections if isinstance(one, PathCollection)]
    return {str(one.get_label()): len(one.get_offsets()) for one in dots}


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
    ax = plot_embedding(FLAT, y)
    assert groups(ax) == expected
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(expected)


@pytest.mark.slow
def test_the_commonest_of_many_classes_have_colours_of_their_own() -> None:
    at = np.random.default_rng(0).normal(size=(100, 2))
    ax = plot_embedding(at, [f"class {min(row, 69)}" for row in range(100)])
    found = groups(ax)
    assert len(found) == 60
    assert found["class 69"] == 31
    assert found["11 others"] == 11
    assert len({tuple(one.get_facecolor()[0]) for one in ax.collections}) == 60
    assert len(groups(plot_embedding(FLAT, [f"class {row}" for row in range(40)]))) == 40


@pytest.mark.parametrize("edges", [None, "ring"])
def test_the_legend_is_beside_the_dots(edges: str | None) -> None:
    links = {"edges": ring(40), "values": np.arange(40.0)} if edges else {}
    ax = plot_embedding(FLAT, [f"a class of the name {row % 16}" for row in range(40)], **links)
    figure = ax.figure
    figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert not any(legend.overlaps(one.get_window_extent()) for one in figure.axes)
    assert legend.x1 <= figure.bbox.x1


def test_a_figure_without_a_layout_has_the_legend_within_its_axes() -> None:
    ax = Figure().add_subplot()
    plot_embedding(FLAT, np.arange(40) % 3, ax=ax)
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert ax.bbox.x0 <= legend.x0
    assert legend.x1 <= ax.bbox.x1


def test_numbers_of_an_embedding_get_a_colour_bar() -> None:
    y = np.linspace(0, 1, 40)
    y[3] = np.nan
    ax = plot_embedding(FLAT, y)
    assert len(ax.figure.axes) == 2
    assert ax.get_legend() is None
    grey, colored = ax.collections
    np.testing.assert_array_equal(grey.get_offsets(), PLANE[[3], :2])
    np.testing.assert_array_equal(colored.get_array(), np.delete(y, 3))


def test_an_embedding_has_its_edges_coloured_by_divergence() -> None:
    values = np.arange(1.0, 41.0)
    ax = plot_embedding(FLAT, edges=ring(40), values=values, label="kl")
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
        plot_embedding(FLAT, [1, 2, 3])
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


def test_three_components_are_drawn_in_space() -> None:
    ax = plot_embedding(PLANE, np.arange(40) % 3, labels=True)
    assert ax.name == "3d"
    assert [axis.get_label_text() for axis in (ax.xaxis, ax.yaxis, ax.zaxis)] == [
        f"component {place}" for place in range(3)
    ]
    widths = [np.ptp(limits) for limits in (ax.get_xlim(), ax.get_ylim(), ax.get_zlim())]
    np.testing.assert_allclose(widths, widths[0])
    assert plot_embedding(PLANE, ax=Figure().add_subplot()).name == "rectilinear"
    assert plot_embedding(PLANE, edges=ring(40), values=np.ones(40)).name == "rectilinear"
    assert plot_embedding(np.hstack([PLANE, PLANE])).name == "rectilinear"


def test_a_fitted_estimator_is_drawn_by_its_embedding() -> None:
    model = PatchIsomap(n_neighbors=8).fit(PLANE)
    dots = drawn(plot_embedding(model), PathCollection)
    np.testing.assert_array_equal(dots.get_offsets(), model.embedding_)
    assert set(groups(plot_embedding(model, y=np.arange(40) % 2))) == {"0", "1"}
    with pytest.raises(ValueError, match="a PatchIsomap without embedding_; fit it first"):
        plot_embedding(PatchIsomap())


@pytest.mark.slow
def test_dots_have_the_size_of_the_page_and_are_never_tiny() -> None:
    rng = np.random.default_rng(0)
    sizes = []
    for n in (100, 3000, 60_000):
        dots = drawn(plot_embedding(rng.normal(size=(n, 2))), PathCollection)
        sizes.append(dots.get_sizes()[0])
        assert (dots.get_alpha() is None) == (n < 5000)
    # The page has diameters of min(28 / n ** 0.2, 9) pixels, which are 3/4 of a point.
    expected = [(0.75 * min(28 / n**0.2, 9)) ** 2 for n in (100, 3000, 60_000)]
    np.testing.assert_allclose(sizes, expected, rtol=0.2)
    small = Figure().add_subplot(5, 5, 1)
    assert drawn(plot_embedding(FLAT, ax=small), PathCollection).get_sizes()[0] < sizes[0]


def test_classes_are_named_where_they_are_unless_names_overlap() -> None:
    at = np.vstack([FLAT, FLAT + 30, FLAT[:20] + 30.1])
    y = ["left"] * 40 + ["right"] * 40 + ["hidden"] * 20
    ax = plot_embedding(at, y, labels=True)
    assert {text.get_text() for text in ax.texts} == {"left", "right"}
    places = {text.get_text(): text.xy[0] for text in ax.texts}
    assert places["left"] < 5
    assert places["right"] > 25
    assert not plot_embedding(at, y).texts
    mixed = np.arange(100) % 2  # neither is anywhere among itself
    assert not plot_embedding(np.repeat(at[:50], 2, axis=0), mixed, labels=True).texts
    assert not plot_embedding(at, np.linspace(0, 1, 100), labels=True).texts


def test_an_embedding_has_a_title_and_no_ticks() -> None:
    ax = plot_embedding(FLAT, title="Forty points")
    assert ax.get_title() == "Forty points"
    assert list(ax.get_xticks()) == list(ax.get_yticks()) == []


def test_dots_take_a_size_an_opacity_and_the_keywords_of_scatter() -> None:
    ax = plot_embedding(FLAT, np.arange(40) % 2, size=3, alpha=0.25, marker="s", rasterized=True)
    for dots in ax.collections:
        np.testing.assert_allclose(dots.get_sizes(), 9)
        assert dots.get_alpha() == 0.25
        assert dots.get_rasterized()
        assert len(dots.get_paths()[0].vertices) == 5  # a square
    handles = ax.get_legend().legend_handles
    assert [handle.get_alpha() for handle in handles] == [1, 1]
    assert drawn(plot_embedding(FLAT, c="#ff0000"), PathCollection).get_facecolor()[0, 0] == 1


@pytest.mark.parametrize("missing", [0, 3])
def test_numbers_take_limits_of_their_colours_without_a_warning(missing: int) -> None:
    numbers = np.linspace(0, 1, 40)
    numbers[:missing] = np.nan
    ax = plot_embedding(FLAT, numbers, vmin=-1, vmax=3)
    np.testing.assert_allclose(ax.figure.axes[1].get_ylim(), [-1, 3])


def test_groups_are_named_that_are_no_classes() -> None:
    at = np.vstack([FLAT, FLAT + 30, FLAT + 60])
    cluster = np.repeat([7, -1, 12], 40)
    ax = plot_embedding(at, np.linspace(0, 1, 120), labels=cluster)
    assert {text.get_text() for text in ax.texts} == {"7", "12"}
    words = np.repeat(["a word", "", "another"], 40)
    assert {text.get_text() for text in plot_embedding(at, labels=words).texts} == {
        *("a word", "another")
    }
    with pytest.raises(ValueError, match=r"labels has shape \(3,\) for 120 points"):
        plot_embedding(at, labels=[1, 2, 3])


def test_a_name_whose_place_is_taken_goes_above_or_below() -> None:
    line = np.linspace(0, 1, 40)
    heaps = [np.column_stack([line + side, 0 * line]) for side in (0, 1.2)]
    words = ["a long name of a group", "another name of a group"]
    at = np.vstack([*heaps, np.repeat([[-9, -9], [9, 9]], 10, axis=0)])
    ax = plot_embedding(at, labels=[*np.repeat(words, 40), *[""] * 20])
    ax.figure.canvas.draw()
    boxes = {text.get_text(): text.get_window_extent() for text in ax.texts}
    assert boxes[words[0]].y0 != boxes[words[1]].y0
    assert not boxes[words[0]].overlaps(boxes[words[1]])


@pytest.mark.slow
def test_many_points_are_shades_of_the_mean_colour() -> None:
    rng = np.random.default_rng(0)
    n = 150_000
    at = rng.normal(size=(n, 2))
    at[: n // 3, 0] += 8  # one class alone, the other two on one heap
    y = np.repeat(["a", "b", "c"], n // 3)
    ax = plot_embedding(at, y, labels=True)
    (image,) = ax.images
    picture = np.asarray(image.get_array())
    left, right, bottom, top = image.get_extent()
    assert left < at[:, 0].min() < at[:, 0].max() < right
    assert bottom < at[:, 1].min() < at[:, 1].max() < top

    def around(x: float) -> Any:
        """Return the colour near a place of the heaps' middle."""
        row = int((0 - bottom) / (top - bottom) * picture.shape[0])
        column = int((x - left) / (right - left) * picture.shape[1])
        some = picture[row - 4 : row + 5, column - 4 : column + 5].reshape(-1, 4)
        assert some[:, 3].mean() > 0.8
        return some[some[:, 3] > 0][:, :3].mean(axis=0)

    blue, orange, green = (np.array(to_rgba(color)[:3]) for color in CLASS_COLORS[:3])
    np.testing.assert_allclose(around(8), blue, atol=0.01)
    np.testing.assert_allclose(around(0), (orange + green) / 2, atol=0.06)
    # A cell without points is empty, and one with few is fainter than the heaps.
    assert (picture[..., 3] == 0).any()
    assert 0.25 < picture[..., 3][picture[..., 3] > 0].min() < 0.6
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    assert "a" in {text.get_text() for text in ax.texts}


@pytest.mark.slow
def test_shades_of_numbers_have_their_bar_and_dots_are_drawn_if_asked_for() -> None:
    at = np.random.default_rng(0).normal(size=(120_000, 2))
    ax = plot_embedding(at, at[:, 0])
    (image,) = ax.images
    picture = np.asarray(image.get_array())
    known = picture[..., 3] > 0
    columns = np.flatnonzero(known.any(axis=0))
    green = [picture[known[:, column], column, 1].mean() for column in columns]
    assert green[0] + 0.2 < np.mean(green) < green[-1] - 0.2
    bar = ax.figure.axes[1]
    np.testing.assert_allclose(bar.get_ylim(), [at[:, 0].min(), at[:, 0].max()])
    dots = plot_embedding(at, size=1)
    assert not dots.images
    assert len(drawn(dots, PathCollection).get_offsets()) == 120_000
