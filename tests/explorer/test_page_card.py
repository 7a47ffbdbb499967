"""The page in a real browser: the card in low windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from page_reader import Reader, alone

if TYPE_CHECKING:
    from pathlib import Path

# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")

WINDOWS = [(1024, 500), (390, 600), (844, 390)]
FEW = 12
CARD = """() => {
  const box = (element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return { left, top, right, bottom };
  };
  const slider = document.getElementById("neighbors");
  const fixed = getComputedStyle(slider).position === "fixed";
  return {
    row: patchfold.card.row,
    card: box(document.getElementById("card")),
    panes: patchfold.panes.map(({ canvas }) => box(canvas)),
    bottom: fixed ? box(slider).top : innerHeight,
    header: box(document.querySelector("header")),
    explained: patchfold.card.explained(patchfold.card.row),
  };
}"""


def in_sight(reader: Reader) -> list[int]:
    """Return some rows whose points are in sight in the first pane."""
    bottom = reader.ask(CARD)["bottom"]
    x, y = reader.places(0).T
    seen = np.flatnonzero((x > 0) & (y > 0) & (y < bottom - 4))
    return [int(row) for row in seen[:: max(len(seen) // FEW, 1)]]


def is_within(one: dict[str, float], other: dict[str, float]) -> bool:
    return (
        one["left"] >= other["left"]
        and one["top"] >= other["top"]
        and one["right"] <= other["right"]
        and one["bottom"] <= other["bottom"]
    )


@pytest.mark.parametrize(("width", "height"), WINDOWS)
def test_in_a_low_window_the_card_stays_in_a_pane_and_covers_no_neighbour(
    visit: Any, roll_file: Path, width: int, height: int
) -> None:
    reader = visit(roll_file, (width, height))
    rows = in_sight(reader)
    assert len(rows) >= FEW
    places = reader.places(0)
    for row in rows:
        reader.page.mouse.move(*places[row])
        found = reader.ask(CARD)
        card = found["card"]
        assert found["row"] >= 0
        assert any(is_within(card, pane) for pane in found["panes"])
        assert 0 <= card["left"] < card["right"] <= width
        assert 0 <= card["top"] < card["bottom"] <= found["bottom"]
        assert card["top"] >= found["header"]["bottom"]
        covered = [
            (x, y)
            for x, y in found["explained"]
            if card["left"] < x < card["right"] and card["top"] < y < card["bottom"]
        ]
        assert covered == []


def test_a_card_that_is_cut_says_so_and_scrolls_after_a_click(visit: Any, roll_file: Path) -> None:
    reader = visit(roll_file, (1024, 420))
    places = reader.places(0)
    row = alone(places, 15)
    reader.page.mouse.move(*places[row])
    card = reader.page.locator("#card")
    said = "() => getComputedStyle(document.getElementById('card'), '::after').content"
    assert reader.ask(said) == '"Click the point to read on"'
    reader.page.mouse.down()
    reader.page.mouse.up()
    assert reader.ask(said) == "none"
    box = card.bounding_box()
    reader.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    reader.page.mouse.wheel(0, 1000)
    reader.wait(
        """() => {
          const { scrollTop, scrollHeight, clientHeight } = document.getElementById("card");
          return scrollTop > 0 && scrollTop + clientHeight >= scrollHeight - 1;
        }"""
    )
    last = card.locator(".loadings span").last.bounding_box()
    assert last["y"] + last["height"] <= box["y"] + box["height"]
    reader.page.keyboard.press("Escape")
    assert not card.is_visible()
