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
    visit: Any, far_file: Path
) -> None:
    reader = visit(far_file)
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


def test_the_scale_ends_where_most_values_do_and_what_it_hides_has_no_arrow(
    visit: Any, far_file: Path
) -> None:
    reader = visit(far_file)
    low, high = reader.page.locator("#legend .ends span").all_text_contents()
    assert low.startswith("≤ ")
    assert high.startswith("≥ ")
    assert float(high[2:]) < 10
    reader.ask(
        """() => {
          const handle = document.querySelector("#legend .to");
          handle.value = "0.9";
          handle.dispatchEvent(new Event("input"));
        }"""
    )
    reader.settle()
    assert reader.page.locator(".arrow").all_text_contents() == ["◀ 1"]


def test_where_points_overlap_their_number_is_seen(visit: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    plane = rng.uniform(-1, 1, (2000, 2))
    plane[:1500] = rng.normal(0, 0.02, (1500, 2))
    page = explore(plane, ["a"] * 2000, embeddings={"plane": plane}, n_neighbors=[5])
    reader = visit(page.save(tmp_path / "heap.html"))
    pixels = reader.drawn(0)
    assert near(pixels, BLUE) > 20  # the heap
    middle = np.array(reader.places(0)[:1500].mean(axis=0))
    box = reader.page.locator(".pane .points").bounding_box()
    x, y = (middle - [box["x"], box["y"]]).astype(int)
    heap = pixels[y - 3 : y + 4, x - 3 : x + 4].reshape(-1, 3)
    far = pixels[:, : x - 60].reshape(-1, 3)
    drawn = far[far.sum(axis=1) < 760]
    # A single point is much paler than the heap, and still there.
    assert heap.sum(axis=1).mean() + 200 < drawn.sum(axis=1).mean() < 720


def test_overlapping_classes_have_the_mean_of_their_colours_in_any_order(
    visit: Any, tmp_path: Path
) -> None:
    n = 1500
    plane = np.random.default_rng(0).normal(0, 1, (n, 2))
    pictures = []
    for order in (1, -1):
        classes = ["a", "b"] * (n // 2)
        page = explore(plane[::order], classes[::order], embeddings={"plane": plane[::order]})
        reader = visit(page.save(tmp_path / f"{order}.html"), (560, 480))
        assert reader.ask("() => patchfold.panes[0].crowd()") > 0  # points are added up
        pictures.append(reader.drawn(0))
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


def test_every_number_on_the_card_has_a_name_and_beside_loadings_there_are_few(
    reader: Reader,
) -> None:
    reader.page.mouse.move(*reader.place(alone(reader.places())))
    names = reader.page.locator("#card dl").last.locator("dt").all_text_contents()
    values = reader.page.locator("#card dd").all_text_contents()
    assert names[-2:] == ["trust, Patches, KL", "trust, Euclidean, classical"]
    assert all(0 <= float(value) <= 1 for value in values[-2:])
    assert len([name for name in names if not name.startswith("trust")]) == 6
    more = reader.ask("() => patchfold.columns.length") - 6
    assert reader.page.locator("#card p.quiet").last.text_content() == f"and {more} more"
    reader.page.locator(".pane .close").nth(1).click()
    reader.page.mouse.move(*reader.place(alone(reader.places(0)), 0))
    assert reader.page.locator("#card dt").all_text_contents()[-1] == "trust"


def test_a_wide_patch_is_an_outline(reader: Reader) -> None:
    fills = reader.ask(
        """async () => {
          const pane = patchfold.panes[0];
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
