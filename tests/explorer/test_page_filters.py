"""The page in a real browser: conditions, filters that cross, order, neighbours and copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from page_reader import N, Reader, alone, exported, near
from patchfold import explore

if TYPE_CHECKING:
    from pathlib import Path

# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")

VISIBLE = "() => [...patchfold.visible]"
MOVE = """([column, end, value]) => {
  const filter = patchfold.filters.add(patchfold.columns.find(({ name }) => name === column));
  const handle = filter.element.querySelector(`.${end}`);
  handle.value = String(value);
  handle.dispatchEvent(new Event("input"));
}"""


def test_a_condition_finds_rows_and_enter_selects_them(
    reader: Reader, roll: dict[str, Any]
) -> None:
    reader.page.locator("#search").fill("turn > 9 and target != outer")
    inner = np.array([label != "outer" for label in roll["classes"]])
    expected = np.flatnonzero((roll["t"] > 9) & inner)
    reader.wait(f"() => document.getElementById('found').textContent === '{len(expected)}'")
    reader.page.locator("#search").press("Enter")
    reader.wait("() => patchfold.rows.length > 0")
    assert reader.ask("() => patchfold.rows") == expected.tolist()


def test_zoom_shows_the_selected_points_large_and_fit_comes_back(reader: Reader) -> None:
    cameras = "() => patchfold.panes.map(({ camera }) => ({ ...camera }))"
    whole = reader.ask(cameras)
    rows = reader.ask("() => patchfold.panes[0].graph.neighbors(3).map(({ row }) => row)")
    for some in (rows, rows[:1]):
        reader.ask("(rows) => patchfold.select(rows)", some)
        reader.page.locator("#zoom").click()
        for place, camera in enumerate(reader.ask(cameras)):
            assert camera["zoom"] > whole[place]["zoom"]
        box = reader.page.locator(".pane .plot").nth(0).bounding_box()
        for row in some:
            x, y = reader.place(row) - [box["x"], box["y"]]
            assert 0 < x < box["width"]
            assert 0 < y < box["height"]
    reader.page.locator("#clear").click()
    for button in reader.page.locator(".fit").all():
        button.click()
    assert [camera["zoom"] for camera in reader.ask(cameras)] == pytest.approx(
        [camera["zoom"] for camera in whole]
    )


def test_a_search_names_a_column_that_is_not_there(reader: Reader) -> None:
    field = reader.page.locator("#search")
    field.fill("turm > 9")
    reader.wait("() => document.getElementById('found').textContent.includes('turm')")
    assert (
        reader.text("#found")
        == "No column is called \N{LEFT DOUBLE QUOTATION MARK}turm\N{RIGHT DOUBLE QUOTATION MARK}"
    )
    field.fill("turn > 1000")
    reader.wait("() => document.getElementById('found').textContent === '0'")


def test_filters_cross(reader: Reader, roll: dict[str, Any]) -> None:
    reader.page.locator("#add-filter").select_option("turn")
    reader.page.locator("#add-filter").select_option("y")
    reader.ask(MOVE, ["turn", "from", 0.5])
    t, y = roll["t"], roll["X"][:, 1]
    first = t >= (t.min() + t.max()) / 2
    assert reader.ask(VISIBLE) == first.astype(int).tolist()
    reader.ask(MOVE, ["y", "to", 0.5])
    both = first & (y <= (y.min() + y.max()) / 2)
    assert reader.ask(VISIBLE) == both.astype(int).tolist()
    assert reader.text("#filters output") == f"{both.sum()} of {N} shown"
    # The histogram of y has what the other filter leaves, and before it what both leave.
    bars = reader.ask(
        """() => patchfold.filters.list[1].histogram.element.querySelectorAll("path").length"""
    )
    assert bars == 2
    shapes = """() => [...document.querySelectorAll(".filter")].map((filter) =>
      ["left", "seen"].map((part) => filter.querySelector(`.${part}`).getAttribute("d")))"""
    (_, turn_seen), (y_left, y_seen) = reader.ask(shapes)
    assert y_left != y_seen
    assert y_left.startswith(y_seen.split("M36")[0][:20])
    # The address brings the filters back.
    reader.wait("() => location.hash.includes('filter=')")
    reader.open(reader.page.url)
    assert reader.ask(VISIBLE) == both.astype(int).tolist()
    assert reader.ask(shapes)[0][1] == turn_seen
    reader.page.locator(".filter button").first.click()
    assert reader.ask(VISIBLE) == (y <= (y.min() + y.max()) / 2).astype(int).tolist()


def test_a_filter_by_classes_hides_some(reader: Reader, roll: dict[str, Any]) -> None:
    reader.page.locator("#colour").select_option("turn")
    reader.page.locator("#add-filter").select_option("target")
    reader.page.locator(".filter .classes button").nth(1).click()
    expected = [int(label != "middle") for label in roll["classes"]]
    assert reader.ask(VISIBLE) == expected


def test_escape_clears_one_thing_after_the_other(reader: Reader) -> None:
    reader.ask(MOVE, ["turn", "from", 0.2])
    reader.ask("() => { patchfold.select([1, 2, 3]); patchfold.pick(5); }")
    left = """() => [
      patchfold.ends.length, patchfold.rows.length, patchfold.filters.list.length,
      document.getElementById("drawer").hidden,
    ]"""
    found = [reader.ask(left)]
    for _ in range(3):
        reader.page.keyboard.press("Escape")
        found.append(reader.ask(left))
    assert found == [[1, 3, 1, False], [0, 3, 1, False], [0, 0, 1, True], [0, 0, 0, True]]


def test_the_table_sorts_and_is_saved_in_its_order(reader: Reader, roll: dict[str, Any]) -> None:
    rows = list(range(0, N, 9))
    reader.ask("(rows) => patchfold.select(rows)", rows)
    turns = reader.page.locator("#table .head button").get_by_text("turn")
    turns.click()
    rising = sorted(rows, key=lambda row: roll["t"][row])
    assert [row["id"] for row in exported(reader)] == [f"point {row}" for row in rising]
    turns.click()
    first = reader.page.locator("#table .rows .row span").first
    assert first.text_content() == f"point {rising[-1]}"
    heads = reader.page.locator("#table [aria-sort=descending]").all_text_contents()
    assert [head.split()[0] for head in heads] == ["turn"]
    turns.click()
    assert first.text_content() == "point 0"


def test_the_neighbours_of_a_point_are_listed_with_their_distances(reader: Reader) -> None:
    row = alone(reader.places())
    reader.page.mouse.click(*reader.place(row))
    graph = """(row) => {
      const { graph } = patchfold.panes[0];
      return graph.neighbors(row).map((one) => [one.row, one.length / graph.median, one.colour]);
    }"""
    expected = sorted(reader.ask(graph, row), key=lambda one: one[1])
    words = reader.text(".near")
    assert words.startswith(f"Nearest to A: point {expected[0][0]} ({expected[0][1]:.2g}")
    assert words.endswith(f"all {len(expected)}")
    reader.page.locator(".near").first.click()
    saved = exported(reader)
    assert [one["id"] for one in saved] == [f"point {one[0]}" for one in expected]
    lengths = [float(one[f"distance, in median edges, from point {row}"]) for one in saved]
    np.testing.assert_allclose(lengths, [one[1] for one in expected], rtol=1e-6)
    kl = [float(one[f"KL divergence from point {row}"]) for one in saved]
    np.testing.assert_allclose(kl, [one[2] for one in expected], rtol=1e-6)
    # The next selection has no such columns.
    reader.ask("() => patchfold.select([1, 2])")
    assert "distance" not in reader.text("#table .head")


def test_size_and_opacity_of_points_can_be_set(reader: Reader) -> None:
    ink = "() => patchfold.panes[0].pointSize()"
    before, drawn = reader.ask(ink), reader.drawn()
    set_to = """([id, value]) => {
      const slider = document.getElementById(id);
      slider.value = value;
      slider.dispatchEvent(new Event("input"));
    }"""
    reader.ask(set_to, ["size", "200"])
    reader.settle()
    assert reader.ask(ink) == pytest.approx(2 * before)
    larger = reader.drawn()
    assert (larger.sum(axis=2) < 700).sum() > 2 * (drawn.sum(axis=2) < 700).sum()
    reader.ask(set_to, ["opacity", "30"])
    reader.settle()
    assert near(reader.drawn(), (0, 114, 178)) < near(larger, (0, 114, 178)) / 4
    reader.wait("() => location.hash.includes('opacity=0.3')")
    reader.open(reader.page.url)
    assert reader.ask("() => patchfold.look") == {"size": 2, "opacity": 0.3}


def test_copies_are_counted(visit: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[20:] = X[19]
    X[40:] = np.random.default_rng(1).normal(size=(20, 3))
    page = explore(X, n_neighbors=[6], divergences=["kl"])
    reader = visit(page.save(tmp_path / "copies.html"))
    reader.page.mouse.move(*reader.place(25))
    assert reader.text("#card .copies") == "21 rows here"
    reader.page.mouse.move(*reader.place(45))
    reader.wait("() => patchfold.pointed === 45")
    assert reader.page.locator("#card .copies").count() == 0


def test_a_condition_has_room_on_a_phone(visit: Any, roll_file: Path) -> None:
    reader = visit(roll_file, (390, 844), touch=True)
    assert reader.page.locator("#search").bounding_box()["width"] > 300


def test_the_help_starts_at_its_top_and_has_the_words_of_the_device(
    visit: Any, roll_file: Path
) -> None:
    for size, touch, word in (((700, 420), False, "Click"), ((390, 600), True, "Tap")):
        reader = visit(roll_file, size, touch=touch)
        reader.page.locator("#help").click()
        assert reader.ask("() => document.getElementById('help-text').scrollTop") == 0
        title = reader.page.locator("#help-title").bounding_box()
        assert 0 <= title["y"] < size[1]
        words = reader.page.locator("#help-text").inner_text()
        assert f"{word} two points" in words
        assert {"Click", "Tap"} - {word} & set(words.split()) == set()


def test_colours_on_the_dark_ground_have_contrast(visit: Any, roll_file: Path) -> None:
    reader = visit(roll_file, dark=True)
    swatches = """() => [...document.querySelectorAll("#legend i")].map(
      (swatch) => getComputedStyle(swatch).backgroundColor)"""
    assert min(contrast(color) for color in reader.ask(swatches)) > 4.5
    reader.page.locator("#colour").select_option("turn")
    bar = "() => document.querySelector('#legend .gradient').style.background"
    stops = reader.ask(bar).split("rgb")[1:]
    assert len(stops) == 11
    assert min(contrast(stop) for stop in stops) > 3


def test_dates_are_a_scale_in_their_order(visit: Any, tmp_path: Path) -> None:
    n = 300
    X = np.random.default_rng(0).normal(size=(n, 3))
    days = [f"{1 + row % 28}.{1 + row // 28}.2023" for row in range(n)]
    page = explore(X, days, n_neighbors=[8], divergences=["kl"])
    reader = visit(page.save(tmp_path / "dates.html"))
    assert reader.page.locator("#legend .ends span").all_text_contents() == [
        *("2023-01-01", "2023-11-20")
    ]
    reader.ask("() => patchfold.select([200, 3, 40])")
    reader.page.locator("#table .head button").get_by_text("target").click()
    reader.page.locator("#table .head button").get_by_text("target").click()
    rows = exported(reader)
    assert [row["target"] for row in rows] == ["2023-08-05", "2023-02-13", "2023-01-04"]
    reader.page.locator("#search").fill("2023-02 <= target < 2023-04-01")
    reader.wait("() => document.getElementById('found').textContent === '56'")


def contrast(color: str) -> float:
    """Return the contrast of a CSS colour with the dark ground, as WCAG defines it."""
    numbers = "".join(letter if letter.isdigit() else " " for letter in color).split()[:3]
    lights = []
    for levels in ([int(number) for number in numbers], [0x15, 0x18, 0x1C]):
        shares = np.array(levels) / 255
        linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
        lights.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(lights) + 0.05) / (min(lights) + 0.05)
