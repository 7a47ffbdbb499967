"""The page in a real browser: whatever the data says stays data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from page_reader import exported
from patchfold import PatchIsomap
from patchfold.explorer import explore

if TYPE_CHECKING:
    from pathlib import Path


# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")


def test_names_of_the_language_and_empty_ones_are_names(visit: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((40, 2))
    fitted = PatchIsomap(n_neighbors=5).fit(X)
    labels = ["constructor", "__proto__", "toString"]
    page = explore(
        X,
        embeddings=dict.fromkeys(labels, fitted),
        columns={"": ["", "a"] * 20, "constructor": range(40)},
    )
    reader = visit(page.save(tmp_path / "names.html"))
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


def test_hostile_words_are_shown_as_text_and_harm_nothing(visit: Any, tmp_path: Path) -> None:
    n = 1000
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    script = "<script>alert(1)</script>"
    words = [script, "</textarea><img src=x onerror=alert(2)>", "🦊 emoji", "مرحبا بالعالم", ""]
    fits = {script: PatchIsomap(n_neighbors=5, landmarks=20).fit(X)}
    page = explore(
        X,
        embeddings=fits,
        columns={
            "</style>": [words[row % 5] for row in range(n)],
            "many": [f"category {row}" for row in range(n)],
            "long": ["x" * 1_000_000, *["short"] * (n - 1)],
            "=1+1": [None, *range(n - 1)],
        },
        ids=[f"<b>{row}</b>" for row in range(n)],
        title=script,
    )
    reader = visit(page.save(tmp_path / "hostile.html"))
    assert reader.text("#title") == script
    assert reader.page.title() == script
    assert script in reader.page.locator("#legend bdi").all_text_contents()
    assert "🦊 emoji" in reader.page.locator("#legend bdi").all_text_contents()
    names = reader.page.locator("#colour option").all_text_contents()
    assert names[:4] == ["</style>", "many", "long", "=1+1"]
    for name in ("many", "long"):
        reader.page.locator("#colour").select_option(name)
        labels = reader.page.locator("#legend bdi").all_text_contents()
        assert len(labels) <= 200
        assert max(map(len, labels)) < 100
    reader.ask("() => patchfold.select([0, 1, 2, 3, 4])")
    cells = reader.page.locator("#table .rows .row").first.locator("span").all_text_contents()
    assert cells[:3] == ["<b>0</b>", script, "category 0"]
    assert len(cells[3]) < 200
    rows = exported(reader)
    assert [row["</style>"] for row in rows] == words
    assert rows[0]["long"] == "x" * 1_000_000
    assert [row["'=1+1"] for row in rows] == ["", "0", "1", "2", "3"]
    reader.ask("() => patchfold.point(0, { clientX: 300, clientY: 300 })")
    assert script in reader.page.locator("#card").inner_text()
    assert reader.page.locator("img, b").count() == 0
    reader.page.locator("#search").fill("category 77")
    reader.wait("() => document.getElementById('found').textContent === '11'")


def test_an_export_has_no_text_that_spreadsheets_run(visit: Any, tmp_path: Path) -> None:
    run = ["=1+1", "+1+1", "-A1", "@A1", "\t=1", "\r=1", "\uff1d1"]
    harmless = ["-1.5", "-1,5", "-", "--", "'=1", "a=b", "\u2013"]
    n = len(run) + len(harmless)
    X = np.random.default_rng(0).standard_normal((n, 2))
    page = explore(
        X,
        embeddings={"map": PatchIsomap(n_neighbors=5).fit(X)},
        columns={"text": [*run, *harmless], "number": np.arange(n) - 100.5},
        ids=[f"={row}" for row in range(n)],
    )
    reader = visit(page.save(tmp_path / "formulas.html"))
    reader.ask(f"() => patchfold.select([...Array({n}).keys()])")
    rows = exported(reader)
    assert [row["text"] for row in rows] == [*(f"'{cell}" for cell in run), *harmless]
    assert [float(row["number"]) for row in rows] == (np.arange(n) - 100.5).tolist()
    assert rows[3]["id"] == "'=3"
