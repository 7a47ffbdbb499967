"""The page in a real browser: by keyboard, by address, into files, on a phone."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from page_reader import BLUE, N, Reader, near, saved
from patchfold import explore

if TYPE_CHECKING:
    from pathlib import Path

# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")


def test_the_keyboard_goes_from_point_to_point(reader: Reader) -> None:
    reader.page.locator(".pane .points").nth(0).focus()
    keyboard = reader.page.keyboard
    keyboard.press("Shift+ArrowRight")
    first = reader.ask("() => patchfold.pointed")
    assert first >= 0  # the one in the middle
    keyboard.press("Shift+ArrowRight")
    second = reader.ask("() => patchfold.pointed")
    places = reader.places()
    assert places[second][0] > places[first][0]
    assert reader.page.locator("#card strong").text_content() == f"point {second}"
    assert reader.text("#status").startswith(f"point {second}, target ")
    keyboard.press("n")
    assert reader.ask("() => patchfold.pointed") == (second + 1) % N
    keyboard.press("p")
    keyboard.press("Enter")
    assert reader.ask("() => patchfold.ends") == [second]
    # Out of sight, the next point is brought into it.
    reader.ask("() => patchfold.panes[0].moveBy(50, 0)")
    keyboard.press("n")
    row = reader.ask("() => patchfold.pointed")
    box = reader.page.locator(".pane .points").nth(0).bounding_box()
    x, y = reader.place(row) - [box["x"], box["y"]]
    assert 0 < x < box["width"]
    assert 0 < y < box["height"]


SEEN = """() => ({
  k: patchfold.k, rows: patchfold.rows, ends: patchfold.ends, layers: patchfold.layers,
  colour: document.getElementById("colour").selectedIndex, theme: patchfold.theme,
  range: [patchfold.coloring.from, patchfold.coloring.to],
  panes: patchfold.panes.map((pane) => [pane.choice, pane.fitted]),
  search: document.getElementById("search").value,
})"""


def test_the_address_brings_back_what_was_seen(reader: Reader) -> None:
    reader.page.locator("#k").focus()
    reader.page.keyboard.press("ArrowLeft")
    reader.page.locator(".pane .divergence").nth(1).select_option("kl")
    reader.page.locator("#colour").select_option("turn")
    reader.page.locator("#edges").check()
    reader.page.locator("#theme").click()
    reader.page.locator("#words").select_option("clusters")
    reader.ask(
        """() => {
          const handle = document.querySelector("#legend .from");
          handle.value = "0.25";
          handle.dispatchEvent(new Event("input"));
          patchfold.select([3, 4, 5, 100]);
          patchfold.pick(3);
          patchfold.pick(70);
          patchfold.panes[0].zoomBy(2);
        }"""
    )
    reader.page.locator("#search").fill("point 1")
    camera = reader.ask("() => patchfold.panes[0].camera")
    reader.wait(
        "() => location.hash.includes('search=point+1') && location.hash.includes('camera=fit')"
    )
    before, address = reader.ask(SEEN), reader.page.url
    reader.open(address)
    assert reader.ask(SEEN) == before
    found = reader.ask("() => patchfold.panes[0].camera")
    np.testing.assert_allclose(
        [found[part] for part in ("x", "y", "zoom")],
        [camera[part] for part in ("x", "y", "zoom")],
        rtol=1e-4,
    )
    assert reader.ask("() => patchfold.panes.every((pane) => pane.path)")


def test_the_address_brings_back_a_second_pane(reader: Reader) -> None:
    reader.ask("() => patchfold.changed()")
    reader.wait("() => location.hash.length > 1")
    address = reader.ask("() => location.hash")
    reader.page.locator(".pane .close").nth(0).click()
    reader.ask("(address) => { location.hash = `${address}&words=none`; }", address)
    reader.wait("() => patchfold.panes.length === 2 && patchfold.layers.words === 'none'")
    reader.settle()
    divergences = reader.ask("() => patchfold.panes.map((pane) => pane.view.divergence)")
    assert divergences == ["kl", "euclidean"]


@pytest.mark.parametrize("pane", ["[", pytest.param("5", marks=pytest.mark.long), "{}", "[[]]"])
def test_a_wrong_address_harms_nothing(visit: Any, roll_file: Path, pane: str) -> None:
    reader = visit()
    words = f"k=x&pane={pane}&camera=,&rows=9999999.-1&ends=a&layers=b&hidden=77"
    reader.open(f"{roll_file.as_uri()}#{words}&colour=none&range=2,1")
    assert reader.ask("() => [patchfold.k, patchfold.rows.length, patchfold.panes.length]") == [
        10,
        0,
        1,
    ]


def test_the_selection_is_saved_as_parquet(reader: Reader, roll: dict[str, Any]) -> None:
    rows = [0, 5, 239]
    reader.ask("(rows) => patchfold.select(rows)", rows)
    table = pq.read_table(saved(reader, "#export-parquet"))
    assert table["id"].to_pylist() == ["point 0", "point 5", "point 239"]
    assert table["turn"].to_pylist() == [roll["t"][row] for row in rows]
    assert table["remark"].to_pylist()[1] == 'a "quoted", 5\nline'
    assert "isomap kl k=10 y" in table.column_names
    # Another view is asked for, and not unpacked yet: places are those of the view before.
    plane = reader.ask("(rows) => rows.map((row) => patchfold.panes[0].place(row))", rows)
    ask = "() => { patchfold.setK(2); document.getElementById('export-parquet').click(); }"
    with reader.page.expect_download() as started:
        reader.ask(ask)
    table = pq.read_table(started.value.path())
    assert "isomap kl k=16 x" not in table.column_names
    found = [table[f"isomap kl k=10 {axis}"].to_pylist() for axis in "xy"]
    assert np.transpose(found).tolist() == plane


def test_whole_numbers_with_infinity_are_saved_as_parquet(visit: Any, tmp_path: Path) -> None:
    plane = np.random.default_rng(0).normal(size=(6, 2))
    page = explore(plane, embeddings={"plane": plane}, columns={"n": [1, np.inf, 3, None, 5, 6]})
    reader = visit(page.save(tmp_path / "page.html"))
    reader.ask("() => patchfold.select([0, 1, 2, 3])")
    table = pq.read_table(saved(reader, "#export-parquet"))
    assert table["n"].to_pylist() == [1.0, np.inf, 3.0, None]
    reader.ask("() => patchfold.select([0, 2, 3])")
    table = pq.read_table(saved(reader, "#export-parquet"))
    assert table["n"].to_pylist() == [1, 3, None]


def test_a_picture_that_the_browser_cannot_make_is_no_file(reader: Reader) -> None:
    downloads: list[Any] = []
    reader.page.on("download", lambda download: downloads.append(download))  # noqa: PLW0108
    reader.ask("() => { HTMLCanvasElement.prototype.toBlob = (done) => done(null); }")
    reader.page.locator("#save summary").click()
    reader.page.locator("#save-png").click()
    assert "could not make a picture" in reader.text("#summary")
    assert downloads == []


def test_what_is_seen_is_saved_as_a_picture_and_as_a_drawing(reader: Reader) -> None:
    reader.ask("() => { patchfold.pick(3); patchfold.pick(70); }")
    reader.settle()
    sizes = reader.ask("() => patchfold.panes.map(({ width, height }) => [width, height])")
    reader.page.locator("#save summary").click()
    picture = Image.open(saved(reader, "#save-png")).convert("RGB")
    assert picture.width >= sum(width for width, _ in sizes)
    pixels = np.asarray(picture).astype(int)
    assert near(pixels[:, : picture.width // 2], BLUE) > 50
    assert near(pixels[:, picture.width // 2 :], BLUE) > 50
    reader.page.locator("#save summary").click()
    drawing = saved(reader, "#save-svg").read_text(encoding="utf-8")
    tree = ET.fromstring(drawing)  # noqa: S314
    tags = [re.sub("{.*}", "", element.tag) for element in tree.iter()]
    assert tags.count("circle") == 2 * N + 3  # points and the legend
    assert tags.count("polyline") == 2
    words = [element.text for element in tree.iter() if element.tag.endswith("text")]
    assert {"inner", "middle", "outer"} <= set(words)
    assert any("A roll: Isomap, Patches, KL, k = 10" in str(word) for word in words)


def test_on_a_phone_the_colours_stand_between_the_maps(visit: Any, roll_file: Path) -> None:
    reader = visit(roll_file, (390, 844), touch=True)
    boxes = [
        reader.page.locator(part).bounding_box()
        for part in (".pane >> nth=0", ".colours", ".pane >> nth=1", "#filters")
    ]
    for upper, lower in pairwise(boxes):
        assert upper["y"] + upper["height"] <= lower["y"] + 1
    # The first of them are seen without scrolling, above the slider.
    slider = reader.page.locator("#neighbors").bounding_box()
    legend = reader.page.locator("#legend li").first.bounding_box()
    assert legend["y"] + legend["height"] <= slider["y"]


def test_on_a_phone_the_slider_stays_in_sight(visit: Any, roll_file: Path) -> None:
    reader = visit(roll_file, (390, 844), touch=True)
    for share in (0, 0.5, 1):
        reader.ask("(share) => scrollTo(0, share * document.documentElement.scrollHeight)", share)
        box = reader.page.locator("#k").bounding_box()
        assert 0 < box["y"] < 844 - box["height"]
    assert reader.ask("() => document.documentElement.scrollWidth") <= 390
