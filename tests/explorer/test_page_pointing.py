"""The page in a real browser: pointing, paths, selecting, searching, moving."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from page_reader import N, Reader, alone, exported
from patchfold import PatchIsomap
from patchfold.explorer.views import ellipses

# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")


def test_pointing_shows_the_row_and_its_patch_in_both_panes(
    reader: Reader, roll: dict[str, Any]
) -> None:
    row = alone(reader.places())
    reader.page.mouse.move(*reader.place(row))
    reader.wait("() => patchfold.panes.every((pane) => pane.ellipse)")
    card = reader.page.locator("#card")
    assert card.is_visible()
    words = card.inner_text()
    assert f"point {row}" in words
    assert roll["classes"][row] in words
    fit = PatchIsomap(n_neighbors=10).fit(roll["X"])
    assert fit.patches_ is not None
    for pane in (0, 1):
        ellipse, zoom, plane = reader.ask(
            """(i) => {
              const { ellipse, camera, n } = patchfold.panes[i];
              const places = Array.from({ length: n }, (_, row) => patchfold.panes[i].place(row));
              return [ellipse, camera.zoom, places];
            }""",
            pane,
        )
        # The fitted patch, also of the classical pane, by the map that fits its points best.
        (drawn,) = ellipses(fit.patches_, fit.patches_.sample.members, [np.array(plane)])
        got = drawn[row]
        variances, axes = np.linalg.eigh(got[[2, 3, 3, 4]].reshape(2, 2))
        expected = np.maximum(2 * np.sqrt(variances[::-1].clip(0)) * zoom, 1)
        np.testing.assert_allclose(ellipse["half"], expected, rtol=2e-3, atol=0.05)
        long = axes[:, 1]
        turned = abs(np.cos(ellipse["angle"]) * long[0] + np.sin(ellipse["angle"]) * long[1])
        np.testing.assert_allclose(turned, 1, atol=1e-4)
        clear = reader.ask(
            """(i) => {
              const { over } = patchfold.panes[i];
              const { data } = over.getContext("2d").getImageData(0, 0, over.width, over.height);
              return data.every((value) => value === 0);
            }""",
            pane,
        )
        assert not clear
    reader.page.mouse.move(5, 5)
    assert not card.is_visible()
    assert reader.ask("() => patchfold.pointed") == -1


def test_two_clicks_draw_the_geodesic_of_each_pane(reader: Reader, roll: dict[str, Any]) -> None:
    places = reader.places()
    first = alone(places)
    second = int(np.argmax(np.linalg.norm(places - places[first], axis=1)))
    reader.page.mouse.click(*places[first])
    reader.page.mouse.click(*places[second])
    reader.wait("() => patchfold.panes.every((pane) => pane.path)")
    ends = reader.ask("() => patchfold.ends")
    for pane, divergence in enumerate(["kl", "euclidean"]):
        graph = PatchIsomap(n_neighbors=10, divergence=divergence).fit(roll["X"]).graph_
        rows, length = reader.ask(
            "(i) => [patchfold.panes[i].path.rows, patchfold.panes[i].path.length]", pane
        )
        assert [rows[0], rows[-1]] == ends
        steps = [graph[a, b] for a, b in pairwise(rows)]
        assert min(steps) > 0
        np.testing.assert_allclose(sum(steps), length, rtol=2e-4)
        np.testing.assert_allclose(length, dijkstra(graph, indices=ends[0])[ends[1]], rtol=2e-4)
        foot = reader.page.locator(".pane-foot").nth(pane).text_content()
        assert foot.startswith(f"path: {len(rows) - 1} steps, length ")
        assert reader.page.locator(".pane-foot").nth(pane).get_attribute("title") == foot
    reader.page.keyboard.press("Escape")
    assert reader.ask("() => patchfold.panes.map((pane) => pane.path)") == [None, None]


def test_paths_on_the_page_are_the_shortest(reader: Reader, roll: dict[str, Any]) -> None:
    graph = PatchIsomap(n_neighbors=10).fit(roll["X"]).graph_
    lengths = reader.ask(
        """() => {
          const { graph } = patchfold.panes[0];
          return [3, 77].map((from) =>
            Array.from({ length: patchfold.n }, (_, to) => graph.path(from, to).length));
        }"""
    )
    np.testing.assert_allclose(lengths, dijkstra(graph, indices=[3, 77]), rtol=2e-4)


def lasso(reader: Reader, left: float, right: float, top: float, bottom: float) -> None:
    mouse = reader.page.mouse
    mouse.move(left, top)
    mouse.down()
    for corner in ((right, top), (right, bottom), (left, bottom), (left, top)):
        mouse.move(*corner, steps=4)
    mouse.up()


def gap_near_the_middle(values: Any) -> float:
    """Return a whole number near the median that no value is next to, as pixels are whole."""
    whole = np.arange(int(values.min()), int(values.max()))
    free = whole[np.abs(whole[:, None] - values).min(axis=1) > 1]
    return float(free[np.argmin(np.abs(free - np.median(values)))])


def test_a_lasso_exports_exactly_the_selected_rows(reader: Reader, roll: dict[str, Any]) -> None:
    reader.page.keyboard.press("l")
    places = reader.places()
    (least, top), (_, bottom) = places.min(axis=0) - 5, places.max(axis=0) + 5
    left = (least, gap_near_the_middle(places[:, 0]), top, bottom)

    def within(box: tuple[float, float, float, float]) -> set[int]:
        x, y = places.T
        return set(np.flatnonzero((x > box[0]) & (x < box[1]) & (y > box[2]) & (y < box[3])))

    lasso(reader, *left)
    chosen = within(left)
    assert 10 < len(chosen) < N
    rows = exported(reader)
    assert [row["id"] for row in rows] == [f"point {row}" for row in sorted(chosen)]
    for row, number in zip(rows, sorted(chosen), strict=True):
        assert float(row["turn"]) == roll["t"][number]
        assert [float(row[name]) for name in "xyz"] == roll["X"][number].tolist()
        assert row["remark"] == f'a "quoted", {number}\nline'
        assert row["target"] == roll["classes"][number]
        for pane, name in enumerate(["isomap kl k=10", "isomap euclidean k=10"]):
            plane = reader.ask("([i, row]) => patchfold.panes[i].place(row)", [pane, int(number)])
            assert [float(row[f"{name} {axis}"]) for axis in "xy"] == plane
    assert reader.text("#selected") == f"{len(chosen)} rows selected"

    reader.settle()
    places = reader.places()  # the table has taken some room
    middle = [gap_near_the_middle(values) for values in places.T]
    right = (middle[0], places[:, 0].max() + 5, middle[1], places[:, 1].max() + 5)
    reader.page.keyboard.down("Shift")
    lasso(reader, *right)
    reader.page.keyboard.up("Shift")
    both = chosen | within(right)
    assert [row["id"] for row in exported(reader)] == [f"point {row}" for row in sorted(both)]
    reader.page.locator("#clear").click()
    assert not reader.page.locator("#drawer").is_visible()


def test_search_leaves_hidden_rows_alone(reader: Reader, roll: dict[str, Any]) -> None:
    reader.page.locator("#legend button").nth(0).click()
    reader.page.locator("#search").fill("point 23")
    matching = [23, *range(230, 240)]
    shown = [row for row in matching if roll["classes"][row] != "inner"]
    assert 0 < len(shown) < len(matching)
    reader.wait(f"() => document.getElementById('found').textContent === '{len(shown)}'")
    reader.page.locator("#legend button").nth(0).click()
    assert reader.text("#found") == str(len(matching))
    reader.page.locator("#legend button").nth(0).click()
    reader.page.locator("#search").press("Enter")
    assert reader.ask("() => patchfold.rows") == shown


def test_search_finds_and_selects(reader: Reader) -> None:
    reader.page.keyboard.press("/")
    reader.page.keyboard.type("POINT 23")
    reader.wait("() => document.getElementById('found').textContent === '11'")
    reader.page.keyboard.press("Enter")
    assert reader.text("#selected") == "11 rows selected"
    first = reader.page.locator("#table .rows .row").first.inner_text().split("\n")
    assert first[0] == "point 23"
    reader.page.locator("#table").focus()
    reader.page.keyboard.press("ArrowDown")
    reader.page.keyboard.press("ArrowDown")
    assert reader.ask("() => patchfold.pointed") == 230
    reader.page.keyboard.press("Enter")
    assert reader.ask("() => patchfold.ends") == [230]


def test_wheel_drag_and_keys_move_the_camera(reader: Reader) -> None:
    start = reader.place(0)
    box = reader.page.locator(".pane .points").nth(0).bounding_box()
    x, y = box["x"] + 100, box["y"] + 100
    reader.page.mouse.move(x, y)
    reader.page.mouse.down()
    reader.page.mouse.move(x + 60, y + 40, steps=3)
    reader.page.mouse.up()
    np.testing.assert_allclose(reader.place(0), [start[0] + 60, start[1] + 40], atol=0.5)
    before = reader.ask("() => patchfold.panes[0].camera.zoom")
    reader.page.mouse.wheel(0, -200)
    reader.wait(f"() => patchfold.panes[0].camera.zoom > {before}")
    reader.page.locator(".pane .points").nth(0).focus()
    reader.page.keyboard.press("0")
    np.testing.assert_allclose(reader.place(0), start, atol=0.5)
    reader.page.keyboard.press("+")
    zoom = reader.ask("() => patchfold.panes[0].camera.zoom")
    np.testing.assert_allclose(zoom, 1.25 * before)
