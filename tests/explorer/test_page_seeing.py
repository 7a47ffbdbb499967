"""The page in a real browser: nothing is out of sight, nothing hides something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from page_reader import BLUE, ORANGE, Reader, alone, near
from patchfold import explore

if TYPE_CHECKING:
    from pathlib import Path

# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def far_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of 300 points, two thousand times as far from each other as the first three."""
    plane = np.random.default_rng(0).standard_normal((300, 2))
    plane[:3] = [[2000, 0], [-3000, 10], [50, 2500]]
    page = explore(plane, embeddings={"plane": plane})
    return page.save(tmp_path_factory.mktemp("far") / "far.html")


def test_points_far_from_the_others_are_arrows_until_a_click_shows_all(
    browser: Any, far_file: Path
) -> None:
    reader = Reader(browser, far_file)
    places = reader.places(0)
    box = reader.page.locator(".pane .points").bounding_box()
    size = max(np.ptp(places[3:], axis=0) / [box["width"], box["height"]])
    assert size > 0.6  # the others fill the pane
    assert reader.page.locator(".arrow").count() == 3
    assert set(reader.page.locator(".arrow").all_text_contents()) == {"◀ 1", "1 ▶", "▲ 1"}
    assert reader.text(".show-all") == "3 beyond · Show all"
    reader.page.locator(".arrow.right").click()
    reader.settle()
    shown = reader.places(0)[:3] - [box["x"], box["y"]]
    assert (shown > 0).all()
    assert (shown < [box["width"], box["height"]]).all()
    assert reader.page.locator(".arrow").count() == 0
    reader.page.locator(".fit").click()
    reader.settle()
    np.testing.assert_allclose(reader.places(0), places, rtol=1e-3, atol=0.5)
    reader.leave()


def test_the_scale_of_colours_ends_where_most_values_do(browser: Any, far_file: Path) -> None:
    reader = Reader(browser, far_file)
    low, high = reader.page.locator("#legend .ends span").all_text_contents()
    assert low.startswith("≤ ")
    assert high.startswith("≥ ")
    assert float(high[2:]) < 10
    reader.leave()


def test_hidden_points_have_no_arrows(browser: Any, far_file: Path) -> None:
    reader = Reader(browser, far_file)
    reader.ask(
        """() => {
          const handle = document.querySelector("#legend .to");
          handle.value = "0.9";
          handle.dispatchEvent(new Event("input"));
        }"""
    )
    reader.settle()
    assert reader.page.locator(".arrow").all_text_contents() == ["◀ 1"]
    reader.leave()


def test_where_points_overlap_their_number_is_seen(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    plane = rng.uniform(-1, 1, (6000, 2))
    plane[:5000] = rng.normal(0, 0.02, (5000, 2))
    page = explore(plane, ["a"] * 6000, embeddings={"plane": plane}, n_neighbors=[5])
    reader = Reader(browser, page.save(tmp_path / "heap.html"))
    pixels = reader.drawn(0)
    assert near(pixels, BLUE) > 20  # the heap
    middle = np.array(reader.places(0)[:5000].mean(axis=0))
    box = reader.page.locator(".pane .points").bounding_box()
    x, y = (middle - [box["x"], box["y"]]).astype(int)
    heap = pixels[y - 3 : y + 4, x - 3 : x + 4].reshape(-1, 3)
    far = pixels[:, : x - 60].reshape(-1, 3)
    drawn = far[far.sum(axis=1) < 760]
    # A single point is paler than the heap, and still there.
    assert heap.sum(axis=1).mean() + 60 < drawn.sum(axis=1).mean() < 720
    reader.leave()


def test_overlapping_classes_have_the_mean_of_their_colours_in_any_order(
    browser: Any, tmp_path: Path
) -> None:
    plane = np.random.default_rng(0).normal(0, 1, (4000, 2))
    pictures = []
    for order in (1, -1):
        classes = ["a", "b"] * 2000
        page = explore(plane[::order], classes[::order], embeddings={"plane": plane[::order]})
        reader = Reader(
            browser, page.save(tmp_path / f"{order}.html"), viewport={"width": 560, "height": 480}
        )
        pictures.append(reader.drawn(0))
        reader.leave()
    assert np.abs(pictures[0] - pictures[1]).mean() < 1
    assert near(pictures[0], BLUE) + near(pictures[0], ORANGE) > 0


def test_the_card_covers_neither_the_point_nor_its_neighbours(reader: Reader) -> None:
    for row in (alone(reader.places()), 10, 77, 150):
        reader.page.mouse.move(*reader.place(row))
        reader.wait(f"() => patchfold.card.row === {row} || patchfold.pointed !== {row}")
        pointed = reader.ask("() => patchfold.pointed")
        covered = reader.ask(
            """() => {
              const card = document.getElementById("card").getBoundingClientRect();
              return patchfold.card.explained(patchfold.pointed).filter(([x, y]) =>
                x > card.left && x < card.right && y > card.top && y < card.bottom).length;
            }"""
        )
        assert pointed >= 0
        assert covered == 0


def test_every_number_on_the_card_has_a_name(reader: Reader) -> None:
    reader.page.mouse.move(*reader.place(alone(reader.places())))
    names = reader.page.locator("#card dt").all_text_contents()
    values = reader.page.locator("#card dd").all_text_contents()
    assert names[-2:] == ["trust, Euclidean, classical", "trust, Patches, KL"]
    assert all(0 <= float(value) <= 1 for value in values[-2:])
    reader.page.locator(".pane .close").nth(0).click()
    reader.page.mouse.move(*reader.place(alone(reader.places(0)), 0))
    assert reader.page.locator("#card dt").all_text_contents()[-1] == "trust"


def test_a_wide_patch_is_an_outline(reader: Reader) -> None:
    fills = reader.ask(
        """async () => {
          const pane = patchfold.panes[1];
          const filled = () => new Promise((done) => {
            let count = 0;
            const pen = pane.over.getContext("2d");
            const fill = pen.fill;
            pen.fill = (...given) => { count++; fill.apply(pen, given); };
            pane.draw(performance.now());
            pen.fill = fill;
            done(count);
          });
          patchfold.point(77);
          const before = await filled();
          pane.zoomBy(40, pane.toScreen(pane.place(77)));
          return [before, await filled()];
        }"""
    )
    assert fills == [1, 0]


def test_leaving_two_panes_keeps_the_patches(reader: Reader) -> None:
    reader.page.locator("#compare").click()
    assert reader.ask("() => patchfold.panes.map((pane) => pane.view.divergence)") == ["kl"]
    reader.page.locator("#compare").click()
    reader.settle()
    views = reader.ask("() => patchfold.panes.map((pane) => pane.view.divergence)")
    assert views == ["euclidean", "kl"]


def test_a_card_with_loadings_has_few_other_rows(reader: Reader) -> None:
    reader.ask("() => patchfold.point(3, { clientX: 300, clientY: 300 })")
    shown = reader.page.locator("#card dl").last.locator("dt").all_text_contents()
    assert len([name for name in shown if not name.startswith("trust")]) == 6
    more = reader.ask("() => patchfold.columns.length") - 6
    assert reader.page.locator("#card p.quiet").last.text_content() == f"and {more} more"
