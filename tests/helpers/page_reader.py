"""Someone who reads the explorer's page in a browser."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from pathlib import Path


N = 240
CLASSES = ["inner", "middle", "outer"]
# The colours of the first classes on the page.
BLUE, ORANGE = (0, 114, 178), (230, 159, 0)
PATIENCE = 30_000  # milliseconds


class Reader:
    """Someone who looks at a page, and notes what a page must not do."""

    def __init__(self, browser: Any, path: Path | None = None, **options: Any) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        options = {"viewport": {"width": 1200, "height": 800}, **options}
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", lambda said: self.complaints.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        if path is not None:
            self.open(path)

    def open(self, path: Path) -> None:
        self.page.goto(path.as_uri())
        self.wait("() => window.patchfold?.panes.every((pane) => pane.grid && pane.graph)")
        # What is written beside the panes moves them until all of it is there.
        self.ask(
            """async () => {
              for (let same = 0, before = ""; same < 5; ) {
                await new Promise(requestAnimationFrame);
                const { panes } = patchfold;
                const now = JSON.stringify(panes.map((pane) => [
                  pane.canvas.getBoundingClientRect(), pane.width, pane.height, pane.camera,
                ]));
                same = now === before ? same + 1 : 0;
                before = now;
              }
            }"""
        )

    def wait(self, condition: str) -> None:
        # The page's own policy forbids what Playwright's wait_for_function does.
        for _ in range(PATIENCE // 25):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(f"waited in vain for {condition}")

    def ask(self, expression: str, argument: Any = None) -> Any:
        return self.page.evaluate(expression, argument)

    def places(self, pane: int = 1) -> Any:
        """Where all points are on the screen."""
        places = self.ask(
            """(i) => {
              const pane = patchfold.panes[i];
              const { left, top } = pane.canvas.getBoundingClientRect();
              return Array.from({ length: patchfold.n }, (_, row) => {
                const [x, y] = pane.toScreen(pane.place(row));
                return [left + x, top + y];
              });
            }""",
            pane,
        )
        return np.array(places)

    def place(self, row: int, pane: int = 1) -> Any:
        return self.places(pane)[row]

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.text_content())

    def drawn(self, pane: int = 1, layer: str = "points") -> Any:
        """The pixels of a pane, as they are on the screen."""
        shot = self.page.locator(f".pane .{layer}").nth(pane).screenshot()
        return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)

    def settle(self) -> None:
        self.wait("() => patchfold.panes.every((pane) => pane.grid && pane.graph && !pane.frame)")

    def leave(self) -> None:
        self.context.close()
        assert self.complaints == []
        assert [url for url in self.requests if not url.startswith(("file:", "about:"))] == []


def near(pixels: Any, color: tuple[int, int, int]) -> int:
    return int((np.abs(pixels - color).sum(axis=2) < 60).sum())


def alone(places: Any, away: float = 30) -> int:
    """Return a point that no other is near, so that nobody else is pointed at."""
    gaps = np.linalg.norm(places[:, None] - places, axis=2) + np.diag(np.full(len(places), np.inf))
    row = int(np.argmax(gaps.min(axis=1)))
    assert gaps[row].min() > away / 3
    return row


def exported(reader: Reader) -> list[dict[str, str]]:
    with reader.page.expect_download() as started:
        reader.page.locator("#export").click()
    csv.field_size_limit(2_000_000)
    with started.value.path().open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
