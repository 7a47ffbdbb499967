"""The page in a real browser: words on the map, and legends of many categories."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from patchfold import explore

if TYPE_CHECKING:
    from pathlib import Path

    from page_reader import Reader

# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")

GROUPS = ["comp", "rec", "sci", "talk"]
TOPICS = [f"{group}.topic{number}" for group in GROUPS for number in range(10)]


@pytest.fixture(scope="module")
def topics_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of forty topics on a lattice of eight times five heaps, each with its own words."""
    rng = np.random.default_rng(0)
    heap = np.repeat(np.arange(40), 25)
    plane = np.column_stack([heap % 8, heap // 8]) + rng.normal(0, 0.07, (1000, 2))
    texts = [f"the thing about word{number} and other things" for number in heap]
    page = explore(
        plane,
        [TOPICS[number] for number in heap],
        embeddings={"map": plane},
        text=texts,
        feature_names=["across", "up"],
    )
    return page.save(tmp_path_factory.mktemp("topics") / "topics.html")


@pytest.fixture
def at_topics(visit: Any, topics_file: Path) -> Reader:
    return visit(topics_file)


LABELS = """() => patchfold.panes[0].placed.map(
  ({ label, left, top, width, height }) => ({ text: label.text, left, top, width, height }))"""


def test_labels_of_classes_stand_at_their_points_without_overlap(at_topics: Reader) -> None:
    labels = at_topics.ask(LABELS)
    assert len(labels) > 15
    assert {label["text"] for label in labels} <= set(TOPICS)
    for a, b in combinations(labels, 2):
        beside = a["left"] + a["width"] <= b["left"] or b["left"] + b["width"] <= a["left"]
        above = a["top"] + a["height"] <= b["top"] or b["top"] + b["height"] <= a["top"]
        assert beside or above
    places = at_topics.places(0)
    box = at_topics.page.locator(".pane .points").bounding_box()
    for label in labels:
        number = TOPICS.index(label["text"])
        heap = places[25 * number : 25 * number + 25].mean(axis=0) - [box["x"], box["y"]]
        middle = [label["left"] + label["width"] / 2, label["top"] + label["height"] / 2]
        assert np.abs(heap - middle).max() < 80


def test_zooming_in_makes_room_and_labels_fade_when_one_is_amid_them(at_topics: Reader) -> None:
    centre = at_topics.ask("() => patchfold.panes[0].toScreen(patchfold.panes[0].place(0))")
    at_topics.ask("(at) => patchfold.panes[0].zoomBy(3, at)", centre)
    at_topics.settle()
    assert TOPICS[0] in {label["text"] for label in at_topics.ask(LABELS)}
    at_topics.ask("(at) => patchfold.panes[0].zoomBy(3000, at)", centre)
    at_topics.settle()
    assert at_topics.ask(LABELS) == []


def test_clusters_are_called_by_their_words(at_topics: Reader) -> None:
    at_topics.page.locator("#words").select_option("clusters")
    at_topics.settle()
    found = at_topics.ask("() => patchfold.panes[0].labels.map(({ text }) => text)")
    assert len(found) >= 30
    single = [text for text in found if text in {f"word{number}" for number in range(40)}]
    assert len(single) >= 25
    at_topics.page.locator("#words").select_option("none")
    at_topics.settle()
    assert at_topics.ask(LABELS) == []


def test_forty_categories_have_forty_colours_in_groups_that_can_be_searched(
    at_topics: Reader,
) -> None:
    swatches = at_topics.ask(
        """() => [...document.querySelectorAll("#legend i")].map((i) => i.style.background)"""
    )
    assert len(set(swatches)) == len(swatches) == 40
    assert at_topics.page.locator("#legend summary bdi").all_text_contents() == GROUPS
    at_topics.page.locator("#legend input[type=search]").fill("SCI.topic3")
    assert at_topics.page.locator("#legend li:visible bdi").all_text_contents() == ["sci.topic3"]
    at_topics.page.locator("#legend input[type=search]").fill("")
    at_topics.page.locator("#legend summary button").nth(1).click()
    shown = at_topics.ask("() => [...patchfold.visible]")
    assert shown == [int(not 250 <= row < 500) for row in range(1000)]
    at_topics.settle()
    texts = {label["text"] for label in at_topics.ask(LABELS)}
    assert texts
    assert not any(text.startswith("rec.") for text in texts)
