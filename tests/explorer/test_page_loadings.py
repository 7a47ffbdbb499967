"""The page in a real browser: features that move points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from page_reader import Reader, alone
from patchfold import PatchIsomap

# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")


def screen_moves(reader: Reader, roll: dict[str, Any], rows: list[int]) -> Any:
    """Return where features move rows on the screen of the second pane, (3, 2)."""
    fitted = PatchIsomap(n_neighbors=10).fit(roll["X"])
    slopes = fitted.local_loadings()[rows].mean(axis=0) * roll["X"].std(axis=0)
    # From the embedding to the screen: a rotation and a scale, found by least squares.
    middle = fitted.embedding_ - fitted.embedding_.mean(axis=0)
    screen = reader.places() - reader.places().mean(axis=0)
    return slopes.T @ np.linalg.lstsq(middle, screen, rcond=None)[0]


def test_the_card_names_the_features_that_move_a_point(
    reader: Reader, roll: dict[str, Any]
) -> None:
    row = alone(reader.places())
    moves = screen_moves(reader, roll, [row])
    reader.page.mouse.move(*reader.place(row))
    reader.wait("() => !document.getElementById('card').hidden")
    lengths = np.linalg.norm(moves, axis=1)
    for place, feature in enumerate(["x", "y", "z"]):
        name = reader.page.locator(f".loadings span:text-is('{feature}')")
        turned, width = name.evaluate(
            """(name) => {
              const cell = name.nextElementSibling;
              const [arrow, bar] = cell.children;
              return [parseFloat(arrow.style.rotate), parseFloat(bar.style.width)];
            }"""
        )
        np.testing.assert_allclose(width, 44 * lengths[place] / lengths.max(), atol=1)
        across, down = moves[place] / lengths[place]
        angle = np.degrees(np.arctan2(down, across))
        assert abs((turned - angle + 180) % 360 - 180) < 3
    reader.page.mouse.move(5, 5)
    reader.page.locator("#loadings").uncheck()
    reader.page.mouse.move(*reader.place(row))
    reader.wait("() => !document.getElementById('card').hidden")
    assert reader.page.locator(".loadings").count() == 0


def test_arrows_show_what_moves_the_selected_points(reader: Reader, roll: dict[str, Any]) -> None:
    rows = list(range(0, 240, 7))
    reader.ask("(rows) => patchfold.select(rows)", rows)
    reader.settle()
    moves = screen_moves(reader, roll, rows)
    lengths = np.linalg.norm(moves, axis=1)
    arrows = reader.ask("() => patchfold.panes[0].moved")
    assert arrows[0]["name"] == "xyz"[int(lengths.argmax())]
    for arrow in arrows:
        got = np.array(arrow["to"]) - arrow["from"]
        expected = 54 * moves["xyz".index(arrow["name"])] / lengths.max()
        np.testing.assert_allclose(got, expected, atol=1.5)
    box = reader.page.locator(".pane .points").nth(0).bounding_box()
    middle = reader.places()[rows].mean(axis=0) - [box["x"], box["y"]]
    np.testing.assert_allclose(arrows[0]["from"], middle, atol=0.5)
    before = reader.drawn(layer="over")
    reader.page.locator("#loadings").uncheck()
    reader.settle()
    assert reader.ask("() => patchfold.panes[0].moved") == []
    assert np.abs(reader.drawn(layer="over") - before).max() > 100
    reader.wait(
        "() => location.hash.includes('layers=patch&') || location.hash.endsWith('layers=patch')"
    )


def test_the_card_covers_no_name_of_an_arrow(reader: Reader) -> None:
    row = 30
    reader.ask("(row) => patchfold.select([row, row + 1, row + 2])", row)
    reader.settle()
    reader.page.mouse.move(*reader.place(row))
    reader.wait("() => !document.getElementById('card').hidden")
    card = reader.page.locator("#card").bounding_box()
    plot = reader.page.locator(".pane .points").nth(0).bounding_box()
    arrows = reader.ask("() => patchfold.panes[0].moved")
    assert arrows
    for arrow in arrows:
        left, middle = np.add(arrow["at"], [plot["x"], plot["y"]])
        beside = left + arrow["width"] <= card["x"] or left >= card["x"] + card["width"]
        assert beside or not card["y"] < middle < card["y"] + card["height"], arrow["name"]
