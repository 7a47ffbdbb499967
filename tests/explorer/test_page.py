"""The page in a real browser: what a reader does, and what then is to be seen."""

from __future__ import annotations

import csv
import io
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from scipy.sparse import triu
from scipy.sparse.csgraph import dijkstra
from sklearn.datasets import make_swiss_roll

from browser import chromium
from patchfold import PatchIsomap, divergences, explore
from patchfold.explorer import Explorer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")

N = 240
CLASSES = ["inner", "middle", "outer"]
# The colours of the first classes on the page.
BLUE, ORANGE = (0, 114, 178), (230, 159, 0)
PATIENCE = 30_000  # milliseconds


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def roll() -> dict[str, Any]:
    X, t = make_swiss_roll(N, noise=0.4, random_state=0)
    order = np.argsort(np.argsort(t))
    return {"X": X, "t": t, "classes": [CLASSES[3 * place // N] for place in order]}


@pytest.fixture(scope="module")
def roll_file(roll: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = explore(
        roll["X"],
        roll["classes"],
        columns={"turn": roll["t"], "remark": [f'a "quoted", {row}\nline' for row in range(N)]},
        ids=[f"point {row}" for row in range(N)],
        feature_names=["x", "y", "z"],
        n_neighbors=[6, 10, 16],
        title="A roll",
    )
    return page.save(tmp_path_factory.mktemp("page") / "roll.html")


class Reader:
    """Someone who looks at a page, and notes what a page must not do."""

    def __init__(self, browser: Any, path: Path | None = None, **options: Any) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        options = {"viewport": {"width": 1200, "height": 800}, **options}
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", lambda said: self.complaints.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        if path is not None:
            self.open(path)

    def open(self, path: Path) -> None:
        self.page.goto(path.as_uri())
        self.wait("() => window.patchfold?.panes.every((pane) => pane.grid && pane.graph)")
        # What is written beside the panes moves them until all of it is there.
        self.ask(
            """async () => {
              for (let same = 0, before = ""; same < 5; ) {
                await new Promise(requestAnimationFrame);
                const { panes } = patchfold;
                const now = JSON.stringify(panes.map((pane) => [
                  pane.canvas.getBoundingClientRect(), pane.width, pane.height, pane.camera,
                ]));
                same = now === before ? same + 1 : 0;
                before = now;
              }
            }"""
        )

    def wait(self, condition: str) -> None:
        # The page's own policy forbids what Playwright's wait_for_function does.
        for _ in range(PATIENCE // 25):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(f"waited in vain for {condition}")

    def ask(self, expression: str, argument: Any = None) -> Any:
        return self.page.evaluate(expression, argument)

    def places(self, pane: int = 1) -> Any:
        """Where all points are on the screen."""
        places = self.ask(
            """(i) => {
              const pane = patchfold.panes[i];
              const { left, top } = pane.canvas.getBoundingClientRect();
              return Array.from({ length: patchfold.n }, (_, row) => {
                const [x, y] = pane.toScreen(pane.place(row));
                return [left + x, top + y];
              });
            }""",
            pane,
        )
        return np.array(places)

    def place(self, row: int, pane: int = 1) -> Any:
        return self.places(pane)[row]

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.text_content())

    def drawn(self, pane: int = 1, layer: str = "points") -> Any:
        """The pixels of a pane, as they are on the screen."""
        shot = self.page.locator(f".pane .{layer}").nth(pane).screenshot()
        return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)

    def settle(self) -> None:
        self.wait("() => patchfold.panes.every((pane) => pane.grid && pane.graph && !pane.frame)")

    def leave(self) -> None:
        self.context.close()
        assert self.complaints == []
        assert [url for url in self.requests if not url.startswith(("file:", "about:"))] == []


@pytest.fixture
def reader(browser: Any, roll_file: Path) -> Iterator[Reader]:
    at_page = Reader(browser, roll_file)
    yield at_page
    at_page.leave()


def near(pixels: Any, color: tuple[int, int, int]) -> int:
    return int((np.abs(pixels - color).sum(axis=2) < 60).sum())


def alone(places: Any, away: float = 30) -> int:
    """Return a point that no other is near, so that nobody else is pointed at."""
    gaps = np.linalg.norm(places[:, None] - places, axis=2) + np.diag(np.full(len(places), np.inf))
    row = int(np.argmax(gaps.min(axis=1)))
    assert gaps[row].min() > away / 3
    return row


# ---------------------------------------------------------------- the views


def test_the_page_says_what_it_holds(reader: Reader, roll_file: Path) -> None:
    assert reader.text("#title") == "A roll"
    size = round(roll_file.stat().st_size / 1000)
    assert reader.text("#summary") == f"{N} points · 6 embeddings · {size} kB"
    assert reader.page.title() == "A roll"
    assert reader.requests == [roll_file.as_uri()]
    feet = reader.page.locator(".pane-foot").all_text_contents()
    assert all(re.match(r"trust 0\.\d\d · [\d\u202f]+ edges", foot) for foot in feet)


def test_the_slider_makes_points_glide_to_the_next_embedding(reader: Reader) -> None:
    before, picture = reader.places(), reader.drawn()
    shares = reader.ask(
        """async () => {
          const pane = patchfold.panes[1];
          const { places } = pane;
          const slider = document.getElementById("k");
          slider.value = "2";
          slider.dispatchEvent(new Event("input"));
          const shares = [];
          do {
            await new Promise(requestAnimationFrame);
            shares.push(pane.share);
          } while (pane.places === places || pane.share < 1);
          return shares;
        }"""
    )
    # However late frames are, there are some on the way.
    assert len({share for share in shares if 0 < share < 1}) >= 4
    assert shares[-1] == 1
    assert reader.text("#k-value") == "16"
    after = reader.places()
    assert np.linalg.norm(after - before, axis=1).mean() > 1
    # Embeddings lie over each other, so that most points move little.
    assert np.median(np.linalg.norm(after - before, axis=1)) < 150
    assert np.abs(reader.drawn() - picture).max() > 100


def test_the_slider_obeys_the_keyboard(reader: Reader) -> None:
    reader.page.locator("#k").focus()
    reader.page.keyboard.press("ArrowLeft")
    reader.wait("() => patchfold.panes.every((pane) => pane.view.k === 6)")
    assert reader.page.locator("#k").get_attribute("aria-valuetext") == "6 neighbours"


def test_points_jump_where_the_reader_wants_no_motion(browser: Any, roll_file: Path) -> None:
    reader = Reader(browser, roll_file, reduced_motion="reduce")
    reader.ask(
        """() => {
          const pane = patchfold.panes[1];
          window.shares = new Set();
          const look = () => window.shares.add(pane.share) && requestAnimationFrame(look);
          look();
        }"""
    )
    reader.page.locator("#play").click()
    reader.wait("() => patchfold.panes.every((pane) => pane.view.k === 16 && pane.graph)")
    reader.page.locator("#play").click()
    assert reader.ask("() => [...window.shares]") == [1]
    reader.leave()


def test_a_graphics_card_that_forgets_is_told_again(reader: Reader) -> None:
    reader.page.locator("#edges").check()
    reader.settle()
    picture = reader.drawn()
    reader.ask(
        """async () => {
          const pane = patchfold.panes[1];
          const extension = pane.renderer.gl.getExtension("WEBGL_lose_context");
          const restored = new Promise((done) =>
            pane.canvas.addEventListener("webglcontextrestored", done));
          extension.loseContext();
          await new Promise((done) => setTimeout(done, 50));
          extension.restoreContext();
          await restored;
        }"""
    )
    reader.settle()
    assert np.abs(reader.drawn() - picture).max() == 0


def test_a_switch_changes_the_divergence_of_its_pane_alone(reader: Reader) -> None:
    reader.page.locator(".pane .divergence").nth(0).select_option("kl")
    reader.wait("() => patchfold.panes[0].view === patchfold.panes[1].view")
    reader.settle()
    np.testing.assert_allclose(
        reader.places(0) - reader.place(0, 0), reader.places(1) - reader.place(0, 1), atol=0.5
    )


def test_a_pane_can_be_closed_and_comes_back(reader: Reader) -> None:
    reader.page.locator(".pane .close").nth(0).click()
    assert reader.page.locator(".pane").count() == 1
    assert reader.ask("() => patchfold.panes[0].view.divergence") == "kl"
    reader.page.locator("#compare").click()
    reader.settle()
    views = reader.ask("() => patchfold.panes.map((pane) => pane.view.divergence)")
    assert views == ["euclidean", "kl"]
    assert near(reader.drawn(0), BLUE) > 50


# ---------------------------------------------------------------- pointing


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
        ellipse, zoom, packed = reader.ask(
            """([i, row]) => {
              const { ellipse, camera, ellipses, n } = patchfold.panes[i];
              const packed = [0, 1, 2, 3, 4].map((part) => ellipses[part * n + row]);
              return [ellipse, camera.zoom, packed];
            }""",
            [pane, row],
        )
        xx, xy, yy = packed[2:]
        variances, axes = np.linalg.eigh([[xx, xy], [xy, yy]])
        expected = np.maximum(2 * np.sqrt(variances[::-1].clip(0)) * zoom, 1)
        np.testing.assert_allclose(ellipse["half"], expected, rtol=1e-4)
        long = axes[:, 1]
        turned = abs(np.cos(ellipse["angle"]) * long[0] + np.sin(ellipse["angle"]) * long[1])
        np.testing.assert_allclose(turned, 1, atol=1e-6)
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
    for pane, divergence in enumerate(["euclidean", "kl"]):
        graph = PatchIsomap(n_neighbors=10, divergence=divergence).fit(roll["X"]).graph_
        rows, length = reader.ask(
            "(i) => [patchfold.panes[i].path.rows, patchfold.panes[i].path.length]", pane
        )
        assert [rows[0], rows[-1]] == ends
        steps = [graph[a, b] for a, b in pairwise(rows)]
        assert min(steps) > 0
        np.testing.assert_allclose(sum(steps), length, rtol=1e-5)
        np.testing.assert_allclose(length, dijkstra(graph, indices=ends[0])[ends[1]], rtol=1e-5)
        foot = reader.page.locator(".pane-foot").nth(pane).text_content()
        assert foot.startswith(f"path: {len(rows) - 1} steps, length ")
        assert reader.page.locator(".pane-foot").nth(pane).get_attribute("title") == foot
    reader.page.keyboard.press("Escape")
    assert reader.ask("() => patchfold.panes.map((pane) => pane.path)") == [None, None]


def test_paths_on_the_page_are_the_shortest(reader: Reader, roll: dict[str, Any]) -> None:
    graph = PatchIsomap(n_neighbors=10).fit(roll["X"]).graph_
    lengths = reader.ask(
        """() => {
          const { graph } = patchfold.panes[1];
          return [3, 77].map((from) =>
            Array.from({ length: patchfold.n }, (_, to) => graph.path(from, to).length));
        }"""
    )
    np.testing.assert_allclose(lengths, dijkstra(graph, indices=[3, 77]), rtol=1e-5)


# ---------------------------------------------------------------- layers


def edge_divergences(X: Any, name: str) -> Any:
    """Return what edges are coloured by, which is not what they are long."""
    fitted = PatchIsomap(n_neighbors=10, divergence=name).fit(X)
    edges = triu(fitted.graph_, 1).tocoo()
    return divergences.paired(fitted.patches_, edges.row, edges.col, name)


def test_the_threshold_shows_the_edges_of_largest_divergence(
    reader: Reader, roll: dict[str, Any]
) -> None:
    falling = np.sort(edge_divergences(roll["X"], "kl"))[::-1]
    picture = reader.drawn()
    reader.page.locator("#edges").check()
    for share in (30, 100):
        reader.ask(
            """(share) => {
              const slider = document.getElementById("threshold");
              slider.value = String(share);
              slider.dispatchEvent(new Event("input"));
            }""",
            share,
        )
        count = round(len(falling) ** (share / 100))
        shown = reader.ask("() => patchfold.panes[1].edgesShown()")
        assert shown["count"] == count
        np.testing.assert_allclose(shown["from"], falling[count - 1], rtol=1e-6)
        reader.settle()
        changed = (np.abs(reader.drawn() - picture).sum(axis=2) > 40).sum()
        assert changed > 20
    # The classical graph keeps the short circuits that the other is without.
    classical = reader.ask("() => patchfold.panes[0].edgesShown()")["count"]
    assert classical > len(falling)
    counts = f"{classical:,} | {len(falling):,}".replace(",", "\u202f")
    assert reader.text("#threshold-value") == counts
    reader.page.locator("#edges").uncheck()
    reader.settle()
    assert np.abs(reader.drawn() - picture).max() == 0


def test_trust_is_a_layer_of_its_own(reader: Reader) -> None:
    assert near(reader.drawn(), BLUE) > 50
    reader.page.locator("#trust").check()
    reader.settle()
    assert near(reader.drawn(), BLUE) == 0
    assert reader.text("#colour-title") == "Trust"
    reader.page.locator("#trust").uncheck()
    reader.settle()
    assert near(reader.drawn(), BLUE) > 50


def test_the_legend_filters(reader: Reader, roll: dict[str, Any]) -> None:
    labels = reader.page.locator("#legend bdi").all_text_contents()
    assert labels == CLASSES
    assert near(reader.drawn(), BLUE) > 50
    reader.page.locator("#legend button").nth(0).click()
    reader.settle()
    pixels = reader.drawn()
    assert near(pixels, BLUE) == 0
    assert near(pixels, ORANGE) > 50
    hidden = roll["classes"].index("inner")
    reader.page.mouse.move(*reader.place(hidden))
    assert reader.ask("() => patchfold.pointed") != hidden
    reader.page.locator("#legend button").nth(2).dblclick()
    shown = reader.ask("() => [...patchfold.visible]")
    assert shown == [int(label == "outer") for label in roll["classes"]]


def test_a_scale_filters_by_its_ends(reader: Reader, roll: dict[str, Any]) -> None:
    reader.page.locator("#colour").select_option("turn")
    reader.ask(
        """() => {
          const handle = document.querySelector("#legend .from");
          handle.value = "0.5";
          handle.dispatchEvent(new Event("input"));
        }"""
    )
    t = roll["t"]
    expected = (t >= (t.min() + t.max()) / 2).astype(int)
    assert reader.ask("() => [...patchfold.visible]") == expected.tolist()


# ---------------------------------------------------------------- selecting


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


def exported(reader: Reader) -> list[dict[str, str]]:
    with reader.page.expect_download() as started:
        reader.page.locator("#export").click()
    csv.field_size_limit(2_000_000)
    with started.value.path().open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_lasso_exports_exactly_the_selected_rows(reader: Reader, roll: dict[str, Any]) -> None:
    reader.page.keyboard.press("l")
    places = reader.places()
    middle = [gap_near_the_middle(values) for values in places.T]
    left = (places[:, 0].min() - 5, middle[0], places[:, 1].min() - 5, middle[1])

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
        for pane, name in enumerate(["isomap euclidean k=10", "isomap kl k=10"]):
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
    box = reader.page.locator(".pane .points").nth(1).bounding_box()
    x, y = box["x"] + 100, box["y"] + 100
    reader.page.mouse.move(x, y)
    reader.page.mouse.down()
    reader.page.mouse.move(x + 60, y + 40, steps=3)
    reader.page.mouse.up()
    np.testing.assert_allclose(reader.place(0), [start[0] + 60, start[1] + 40], atol=0.5)
    before = reader.ask("() => patchfold.panes[1].camera.zoom")
    reader.page.mouse.wheel(0, -200)
    reader.wait(f"() => patchfold.panes[1].camera.zoom > {before}")
    reader.page.locator(".pane .points").nth(1).focus()
    reader.page.keyboard.press("0")
    np.testing.assert_allclose(reader.place(0), start, atol=0.5)
    reader.page.keyboard.press("+")
    zoom = reader.ask("() => patchfold.panes[1].camera.zoom")
    np.testing.assert_allclose(zoom, 1.25 * before)


# ---------------------------------------------------------------- light, help, places to be


def test_the_page_is_dark_where_the_reader_likes_it(browser: Any, roll_file: Path) -> None:
    reader = Reader(browser, roll_file, color_scheme="dark")
    brightness = reader.drawn().mean()
    assert brightness < 60
    reader.page.locator("#theme").click()
    reader.settle()
    assert reader.drawn().mean() > 200
    assert reader.page.locator("#theme").get_attribute("aria-pressed") == "false"
    reader.page.locator("#help").click()
    assert reader.page.locator("#help-text").is_visible()
    reader.leave()


def test_keys_work_whatever_was_clicked_last(reader: Reader) -> None:
    reader.page.locator("#trust").check()
    reader.page.keyboard.press("l")
    assert reader.ask("() => patchfold.tool") == "lasso"
    reader.page.locator("#k").click()
    reader.page.keyboard.press("v")
    assert reader.ask("() => patchfold.tool") == "move"
    reader.page.locator("#trust").uncheck()
    reader.page.locator("#colour").focus()
    reader.page.keyboard.press("l")
    assert reader.ask("() => patchfold.tool") == "move"
    reader.page.keyboard.press("/")
    reader.page.keyboard.type("l?")
    assert reader.page.locator("#search").input_value() == "l?"
    assert reader.ask("() => patchfold.tool") == "move"


def test_escape_leaves_the_path_to_a_reader_who_searches(reader: Reader) -> None:
    reader.ask("() => { patchfold.pick(3); patchfold.pick(70); }")
    reader.page.locator("#search").fill("point")
    reader.page.keyboard.press("Escape")
    assert reader.ask("() => patchfold.ends") == [3, 70]
    reader.page.locator("#help").click()
    reader.page.keyboard.press("Escape")
    assert not reader.page.locator("#help-text").is_visible()
    assert reader.ask("() => patchfold.ends") == [3, 70]
    reader.page.keyboard.press("Escape")
    assert reader.ask("() => patchfold.ends") == []


def test_the_table_is_a_grid_with_a_header(reader: Reader) -> None:
    reader.ask("() => patchfold.select([5, 6])")
    table = reader.page.get_by_role("grid", name="Selected rows")
    names = ["id", "target", "turn", "remark", "x", "y", "z"]
    assert table.get_by_role("columnheader").all_text_contents() == names
    assert table.get_by_role("row").count() == 3
    assert table.get_by_role("gridcell").count() == 2 * len(names)


def test_every_control_has_a_name(reader: Reader) -> None:
    nameless = reader.ask(
        """() => [...document.querySelectorAll("button, input, select, canvas[tabindex]")]
          .filter((e) => !e.textContent.trim() && !e.ariaLabel && !e.labels?.length)
          .map((e) => e.outerHTML)"""
    )
    assert nameless == []


@pytest.mark.parametrize(("width", "height"), [(420, 800), (1900, 1000)])
def test_nothing_is_cut_off_sideways(
    browser: Any, roll_file: Path, width: int, height: int
) -> None:
    reader = Reader(browser, roll_file, viewport={"width": width, "height": height})
    assert reader.ask("() => document.documentElement.scrollWidth") <= width
    assert reader.page.locator(".pane .points").nth(1).bounding_box()["width"] > 200
    reader.leave()


def test_the_path_is_not_cut_off_where_panes_are_narrow(browser: Any, roll_file: Path) -> None:
    reader = Reader(browser, roll_file, viewport={"width": 1000, "height": 700})
    reader.page.locator("#edges").check()
    reader.ask("() => { patchfold.pick(3); patchfold.pick(70); }")
    for foot in reader.page.locator(".pane-foot").all():
        assert foot.evaluate("(e) => e.scrollWidth <= e.clientWidth")
        assert foot.evaluate("(e) => e.scrollHeight <= e.clientHeight")
    reader.leave()


PHONE = {"viewport": {"width": 400, "height": 740}, "has_touch": True, "is_mobile": True}


class Fingers:
    """Fingers on a screen."""

    def __init__(self, reader: Reader) -> None:
        self.session = reader.context.new_cdp_session(reader.page)

    def at(self, kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_two_fingers_zoom_and_one_scrolls_the_page(browser: Any, roll_file: Path) -> None:
    reader = Reader(browser, roll_file, **PHONE)
    fingers = Fingers(reader)
    zoom = "() => patchfold.panes[0].camera.zoom"
    before = reader.ask(zoom)
    middle = reader.ask("() => patchfold.panes[0].toPlane([200, 200])")
    top = reader.page.locator(".pane .points").nth(0).bounding_box()
    x, y = top["x"] + 200, top["y"] + 200
    fingers.at("touchStart", (x - 35, y))
    fingers.at("touchStart", (x - 35, y), (x + 35, y))
    for step in range(1, 8):
        fingers.at("touchMove", (x - 35 - 5 * step, y), (x + 35 + 5 * step, y))
    fingers.at("touchEnd")
    np.testing.assert_allclose(reader.ask(zoom) / before, 2, rtol=0.01)
    held = reader.ask("() => patchfold.panes[0].toPlane([200, 200])")
    np.testing.assert_allclose(held, middle, atol=3 / before)
    assert reader.ask("() => [scrollY, patchfold.ends.length]") == [0, 0]
    fingers.at("touchStart", (x, y))
    for step in range(1, 8):
        fingers.at("touchMove", (x, y - 30 * step))
    fingers.at("touchEnd")
    reader.wait("() => scrollY > 20")
    np.testing.assert_allclose(reader.ask(zoom) / before, 2, rtol=0.01)
    reader.leave()


def test_a_tap_shows_the_card(browser: Any, roll_file: Path) -> None:
    reader = Reader(browser, roll_file, **PHONE)
    places = reader.places(0)
    row = alone(places)
    reader.page.touchscreen.tap(*places[row])
    assert reader.page.locator("#card").is_visible()
    assert f"point {row}" in reader.page.locator("#card").inner_text()
    assert reader.ask("() => patchfold.ends") == [row]
    reader.leave()


def test_without_webgl_the_page_says_so(browser: Any, roll_file: Path) -> None:
    reader = Reader(browser)
    reader.page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    reader.page.goto(roll_file.as_uri())
    assert "WebGL 2" in reader.text("#failure")
    reader.leave()


def test_a_notebook_shows_the_page_inline(browser: Any, roll: dict[str, Any]) -> None:
    fits = {
        name: PatchIsomap(n_neighbors=10, divergence=name).fit(roll["X"])
        for name in ("kl", "hellinger")
    }
    page = Explorer.from_estimators(fits, roll["X"])
    reader = Reader(browser)
    reader.page.set_content(page._repr_html_())
    frame = reader.page.frame_locator("iframe")
    frame.locator(".pane-foot").nth(1).wait_for()
    assert frame.locator("#title").text_content() == "patchfold"
    assert frame.locator(".pane .method").nth(1).input_value() == "hellinger"
    assert not frame.locator("#neighbors").is_visible()
    reader.leave()


def test_the_scale_of_edges_is_that_of_each_pane(
    browser: Any, roll: dict[str, Any], tmp_path: Path
) -> None:
    page = explore(roll["X"], n_neighbors=[10], divergences=["kl", "hellinger"])
    reader = Reader(browser, page.save(tmp_path / "two.html"))
    reader.page.locator("#edges").check()
    assert reader.text("#measure") == "KL divergence | hellinger"
    lines = reader.page.locator("#edge-scales p").all()
    assert len(lines) == 2
    largest = [edge_divergences(roll["X"], name).max() for name in ("kl", "hellinger")]
    for line, name, value in zip(lines, ["KL divergence", "hellinger"], largest, strict=True):
        words = line.locator("span").all_text_contents()
        assert words[1].endswith(f"pane: {name}")
        np.testing.assert_allclose(float(words[2]), value, rtol=1e-3)
    reader.page.locator(".pane .close").nth(0).click()
    assert reader.page.locator("#edge-scales p").count() == 1
    assert reader.text("#measure") == "hellinger"
    reader.leave()


# ---------------------------------------------------------------- hostile data


def test_names_of_the_language_and_empty_ones_are_names(browser: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((40, 2))
    fitted = PatchIsomap(n_neighbors=5).fit(X)
    labels = ["constructor", "__proto__", "toString"]
    page = Explorer.from_estimators(
        dict.fromkeys(labels, fitted), X, columns={"": ["", "a"] * 20, "constructor": range(40)}
    )
    reader = Reader(browser, page.save(tmp_path / "names.html"))
    methods = reader.page.locator(".pane .method").nth(0).locator("option")
    assert methods.all_text_contents() == labels
    assert reader.page.locator("#colour option").all_text_contents()[:2] == [
        "(empty)",
        "constructor",
    ]
    assert reader.page.locator("#legend bdi").all_text_contents() == ["(empty)", "a"]
    reader.ask("() => patchfold.point(7, { clientX: 300, clientY: 300 })")
    assert reader.page.locator("#card strong").text_content() == "row 7"
    assert reader.page.locator("#card dt").first.text_content() == "(empty)"
    reader.page.locator("#search").fill("7")
    reader.wait("() => document.getElementById('found').textContent === '1'")
    reader.leave()


def test_hostile_words_are_shown_as_text_and_harm_nothing(browser: Any, tmp_path: Path) -> None:
    n = 10_000
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    script = "<script>alert(1)</script>"
    words = [script, "</textarea><img src=x onerror=alert(2)>", "🦊 emoji", "مرحبا بالعالم", ""]
    fits = {script: PatchIsomap(n_neighbors=5, landmarks=20).fit(X)}
    page = Explorer.from_estimators(
        fits,
        X,
        columns={
            "</style>": [words[row % 5] for row in range(n)],
            "many": [f"category {row}" for row in range(n)],
            "long": ["x" * 1_000_000, *["short"] * (n - 1)],
            "=1+1": [None, *range(n - 1)],
        },
        ids=[f"<b>{row}</b>" for row in range(n)],
        title=script,
    )
    reader = Reader(browser, page.save(tmp_path / "hostile.html"))
    assert reader.text("#title") == script
    assert reader.page.title() == script
    assert script in reader.page.locator("#legend bdi").all_text_contents()
    assert "🦊 emoji" in reader.page.locator("#legend bdi").all_text_contents()
    names = reader.page.locator("#colour option").all_text_contents()
    assert names[:4] == ["</style>", "many", "long", "=1+1"]
    for name in ("many", "long"):
        reader.page.locator("#colour").select_option(name)
        labels = reader.page.locator("#legend bdi").all_text_contents()
        assert len(labels) <= 16
        assert max(map(len, labels)) < 100
    reader.ask("() => patchfold.select([0, 1, 2, 3, 4])")
    cells = reader.page.locator("#table .rows .row").first.locator("span").all_text_contents()
    assert cells[:3] == ["<b>0</b>", script, "category 0"]
    assert len(cells[3]) < 200
    rows = exported(reader)
    assert [row["</style>"] for row in rows] == words
    assert rows[0]["long"] == "x" * 1_000_000
    assert [row["=1+1"] for row in rows] == ["", "0", "1", "2", "3"]
    reader.ask("() => patchfold.point(0, { clientX: 300, clientY: 300 })")
    assert script in reader.page.locator("#card").inner_text()
    assert reader.page.locator("img, b").count() == 0
    reader.page.locator("#search").fill("category 77")
    reader.wait("() => document.getElementById('found').textContent === '111'")
    reader.leave()
