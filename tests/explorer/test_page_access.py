"""The page in a real browser: darkness, keys, screen readers, phones, notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from page_reader import Reader, alone
from patchfold import PatchIsomap
from patchfold.explorer import explore

if TYPE_CHECKING:
    from pathlib import Path


# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")


def test_the_page_is_dark_where_the_reader_likes_it(visit: Any, roll_file: Path) -> None:
    reader = visit(roll_file, dark=True)
    brightness = reader.drawn().mean()
    assert brightness < 60
    reader.page.locator("#theme").click()
    reader.settle()
    assert reader.drawn().mean() > 200
    assert reader.page.locator("#theme").get_attribute("aria-pressed") == "false"
    reader.page.locator("#help").click()
    assert reader.page.locator("#help-text").is_visible()


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


def test_every_control_has_a_name_and_the_table_is_a_grid_with_a_header(reader: Reader) -> None:
    nameless = reader.ask(
        """() => [...document.querySelectorAll("button, input, select, canvas[tabindex]")]
          .filter((e) => !e.textContent.trim() && !e.ariaLabel && !e.labels?.length)
          .map((e) => e.outerHTML)"""
    )
    assert nameless == []
    reader.ask("() => patchfold.select([5, 6])")
    table = reader.page.get_by_role("grid", name="Selected rows")
    known = ["local dimension", "log density", "strangeness"]
    names = ["id", "target", "turn", "remark", "x", "y", "z", *known]
    assert table.get_by_role("columnheader").all_text_contents() == names
    assert table.get_by_role("row").count() == 3
    assert table.get_by_role("gridcell").count() == 2 * len(names)


def test_nothing_is_cut_off_sideways(visit: Any, roll_file: Path) -> None:
    reader = visit(roll_file, (420, 800))
    for width, height in ((420, 800), (1900, 1000)):
        reader.resize((width, height))
        reader.steady()
        assert reader.ask("() => [innerWidth, innerHeight]") == [width, height]
        assert reader.ask("() => document.documentElement.scrollWidth") <= width, width
        assert reader.page.locator(".pane .points").nth(0).bounding_box()["width"] > 200, width


def test_the_path_is_not_cut_off_where_panes_are_narrow(visit: Any, roll_file: Path) -> None:
    reader = visit(roll_file, (1000, 700))
    reader.page.locator("#edges").check()
    reader.ask("() => { patchfold.pick(3); patchfold.pick(70); }")
    for foot in reader.page.locator(".pane-foot").all():
        assert foot.evaluate("(e) => e.scrollWidth <= e.clientWidth")
        assert foot.evaluate("(e) => e.scrollHeight <= e.clientHeight")


class Fingers:
    """Fingers on a screen."""

    def __init__(self, reader: Reader) -> None:
        self.session = reader.context.new_cdp_session(reader.page)

    def at(self, kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_two_fingers_zoom_and_one_scrolls_the_page(visit: Any, roll_file: Path) -> None:
    reader = visit(roll_file, (400, 740), touch=True)
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


def test_a_tap_shows_the_card(visit: Any, roll_file: Path) -> None:
    reader = visit(roll_file, (400, 740), touch=True)
    places = reader.places(0)
    row = alone(places)
    reader.page.touchscreen.tap(*places[row])
    assert reader.page.locator("#card").is_visible()
    assert f"point {row}" in reader.page.locator("#card").inner_text()
    assert reader.ask("() => patchfold.ends") == [row]


def test_without_webgl_the_page_says_so(browser: Any, roll_file: Path) -> None:
    reader = Reader(browser)  # a window of its own: the others keep WebGL
    reader.page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    reader.page.goto(roll_file.as_uri())
    assert "WebGL 2" in reader.text("#failure")
    reader.leave()
    reader.context.close()


def test_a_notebook_shows_the_page_inline(visit: Any, roll: dict[str, Any]) -> None:
    fits = {
        name: PatchIsomap(n_neighbors=10, divergence=name).fit(roll["X"])
        for name in ("kl", "hellinger")
    }
    page = explore(roll["X"], embeddings=fits)
    reader = visit()
    reader.page.set_content(page._repr_html_())
    frame = reader.page.frame_locator("iframe")
    frame.locator(".pane-foot").nth(1).wait_for()
    assert frame.locator("#title").text_content() == "patchfold"
    assert frame.locator(".pane .method").nth(1).input_value() == "hellinger"
    assert not frame.locator("#neighbors").is_visible()
