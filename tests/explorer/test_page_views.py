"""The page in a real browser: slider, panes, edges, trust and filters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.sparse import triu

from page_reader import BLUE, CLASSES, ORANGE, N, Reader, near
from patchfold import PatchIsomap, divergences, explore

if TYPE_CHECKING:
    from pathlib import Path


# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")


def test_the_page_says_what_it_holds(reader: Reader, roll_file: Path) -> None:
    assert reader.text("#title") == "A roll"
    size = round(roll_file.stat().st_size / 1000)
    assert reader.text("#summary") == f"{N} points · 6 embeddings · {size} kB"
    assert reader.page.title() == "A roll"
    assert reader.requests == [roll_file.as_uri()]
    feet = reader.page.locator(".pane-foot").all_text_contents()
    assert all(re.match(r"trust 0\.\d\d · [\d\u202f]+ edges", foot) for foot in feet)


def test_the_slider_makes_points_glide_to_the_next_embedding(visit: Any, roll_file: Path) -> None:
    reader = visit(roll_file, motion=True)
    before, picture = reader.places(), reader.drawn()
    shares = reader.ask(
        """async () => {
          const pane = patchfold.panes[0];
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
    assert np.median(np.linalg.norm(after - before, axis=1)) < 200
    assert np.abs(reader.drawn() - picture).max() > 100


def test_points_jump_where_the_reader_wants_no_motion_by_keyboard_and_by_play(
    reader: Reader,
) -> None:
    reader.ask(
        """() => {
          const pane = patchfold.panes[0];
          window.shares = new Set();
          const look = () => window.shares.add(pane.share) && requestAnimationFrame(look);
          look();
          // Time between two k passes ten times as fast.
          const interval = window.setInterval;
          window.setInterval = (action, time) => interval(action, time / 10);
        }"""
    )
    reader.page.locator("#k").focus()
    reader.page.keyboard.press("ArrowLeft")
    reader.wait("() => patchfold.panes.every((pane) => pane.view.k === 6 && pane.graph)")
    assert reader.page.locator("#k").get_attribute("aria-valuetext") == "6 neighbours"
    reader.page.locator("#play").click()
    reader.wait("() => patchfold.panes.every((pane) => pane.view.k === 16 && pane.graph)")
    reader.page.locator("#play").click()
    assert reader.ask("() => [...window.shares]") == [1]


def test_a_graphics_card_that_forgets_is_told_again(reader: Reader) -> None:
    reader.page.locator("#edges").check()
    reader.settle()
    picture = reader.drawn()
    reader.ask(
        """async () => {
          const pane = patchfold.panes[0];
          const extension = pane.renderer.gl.getExtension("WEBGL_lose_context");
          const restored = new Promise((done) =>
            pane.canvas.addEventListener("webglcontextrestored", done));
          const lost = new Promise((done) =>
            pane.canvas.addEventListener("webglcontextlost", done));
          extension.loseContext();
          await lost;
          await new Promise((done) => setTimeout(done)); // not within the event
          extension.restoreContext();
          await restored;
        }"""
    )
    reader.settle()
    assert np.abs(reader.drawn() - picture).max() == 0


def test_a_switch_changes_the_divergence_of_its_pane_alone(visit: Any, roll_file: Path) -> None:
    reader = visit(roll_file, motion=True)  # points arrive where they glide to
    reader.page.locator(".pane .divergence").nth(1).select_option("kl")
    reader.wait("() => patchfold.panes[1].view === patchfold.panes[0].view")
    reader.settle()
    np.testing.assert_allclose(
        reader.places(0) - reader.place(0, 0), reader.places(1) - reader.place(0, 1), atol=0.5
    )


DIVERGENCES = "() => patchfold.panes.map((pane) => pane.view.divergence)"


def test_a_pane_can_be_closed_and_comes_back(reader: Reader) -> None:
    reader.page.locator(".pane .close").nth(1).click()
    assert reader.page.locator(".pane").count() == 1
    assert reader.ask(DIVERGENCES) == ["kl"]
    reader.page.locator("#compare").click()
    reader.settle()
    assert reader.ask(DIVERGENCES) == ["kl", "euclidean"]
    assert near(reader.drawn(0), BLUE) > 50
    # Of two panes the one with patches stays.
    reader.page.locator("#compare").click()
    assert reader.ask(DIVERGENCES) == ["kl"]
    reader.page.locator("#compare").click()
    reader.settle()
    assert reader.ask(DIVERGENCES) == ["kl", "euclidean"]


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
        shown = reader.ask("() => patchfold.panes[0].edgesShown()")
        assert shown["count"] == count
        np.testing.assert_allclose(shown["from"], falling[count - 1], rtol=2e-4)
        reader.settle()
        changed = (np.abs(reader.drawn() - picture).sum(axis=2) > 40).sum()
        assert changed > 20
    # The classical graph keeps the short circuits that the other is without.
    classical = reader.ask("() => patchfold.panes[1].edgesShown()")["count"]
    assert classical > len(falling)
    counts = f"{len(falling):,} | {classical:,}".replace(",", "\u202f")
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


def test_the_scale_of_edges_is_that_of_each_pane(
    visit: Any, roll: dict[str, Any], tmp_path: Path
) -> None:
    page = explore(roll["X"], n_neighbors=[10], divergences=["kl", "hellinger"])
    reader = visit(page.save(tmp_path / "two.html"))
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
