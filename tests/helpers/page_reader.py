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
DESK = (1200, 800)  # pixels of a window
TOUCH = {"has_touch": True, "is_mobile": True}
BLANK = "about:blank"
OWN = ("file:", "about:", "blob:")  # addresses of what is on this machine
# The browser says so of itself: the flags QUICK let it read what WebGL has drawn.
NO_COMPLAINT = "GPU stall due to ReadPixels"
READY = "() => window.patchfold?.panes.every((pane) => pane.grid && pane.graph)"


class Windows:
    """Windows of one browser, which stay open from test to test: a new one takes time."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.kept: dict[bool, Reader] = {}
        self.used: set[Reader] = set()

    def window(self, *, touch: bool = False) -> Reader:
        """Return a reader at a window: of a phone, or of a desk."""
        if touch not in self.kept:
            self.kept[touch] = Reader(self.browser, **(TOUCH if touch else {}))
        self.used.add(self.kept[touch])
        return self.kept[touch]

    def leave(self, *, failed: bool) -> None:
        """Leave all pages. Where a test has failed, a button or a key may still be down."""
        readers, self.used = self.used, set()
        if failed:
            self.close()
        for reader in readers:
            reader.leave()

    def close(self) -> None:
        for reader in self.kept.values():
            reader.context.close()
        self.kept = {}


class Reader:
    """Someone who looks at pages in one window, and notes what a page must not do."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self.hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def hear(self, said: Any) -> None:
        if NO_COMPLAINT not in said.text:
            self.complaints.append(f"{said.type}: {said.text}")

    def prepare(
        self, size: tuple[int, int] = DESK, *, motion: bool = False, dark: bool = False
    ) -> Reader:
        """Make the window as the next page needs it; most do without motion, which takes time."""
        self.resize(size)
        self.page.emulate_media(
            color_scheme="dark" if dark else "light",
            reduced_motion="no-preference" if motion else "reduce",
        )
        return self

    def resize(self, size: tuple[int, int]) -> None:
        self.page.set_viewport_size({"width": size[0], "height": size[1]})

    def open(self, address: str) -> None:
        """Open a page anew, also where only the end of the address is another."""
        if self.page.url != BLANK:
            self.page.goto(BLANK)
        self.page.goto(address, wait_until="commit")
        self.wait(READY)
        self.steady()

    def steady(self) -> None:
        """Wait until nothing moves the panes, as what is written beside them does."""
        self.ask(
            """async () => {
              for (let same = 0, before = ""; same < 3; ) {
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
        met = self.ask(
            f"""async (patience) => {{
              const condition = {condition};
              for (const until = performance.now() + patience; performance.now() < until; ) {{
                if (condition()) return true;
                await new Promise((next) => setTimeout(next, 5));
              }}
              return false;
            }}""",
            PATIENCE,
        )
        assert met, f"waited in vain for {condition}"

    def ask(self, expression: str, argument: Any = None) -> Any:
        return self.page.evaluate(expression, argument)

    def places(self, pane: int = 0) -> Any:
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

    def place(self, row: int, pane: int = 0) -> Any:
        return self.places(pane)[row]

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.text_content())

    def drawn(self, pane: int = 0, layer: str = "points") -> Any:
        """The pixels of a pane, as they are on the screen."""
        shot = self.page.locator(f".pane .{layer}").nth(pane).screenshot()
        return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)

    def settle(self) -> None:
        self.wait("() => patchfold.panes.every((pane) => pane.grid && pane.graph && !pane.frame)")

    def leave(self) -> None:
        """Leave the page, and fail if it complained or asked for something from elsewhere."""
        if not self.page.is_closed():
            self.page.goto(BLANK)
            self.page.mouse.move(0, 0)  # so that it points at nothing on the next page
        complaints, requests = self.complaints[:], self.requests[:]
        self.complaints.clear()
        self.requests.clear()
        assert not complaints, complaints
        strangers = [url for url in requests if not url.startswith(OWN)]
        assert not strangers, strangers


def near(pixels: Any, color: tuple[int, int, int]) -> int:
    return int((np.abs(pixels - color).sum(axis=2) < 60).sum())


def alone(places: Any, away: float = 30) -> int:
    """Return a point that no other is near, so that nobody else is pointed at."""
    gaps = np.linalg.norm(places[:, None] - places, axis=2) + np.diag(np.full(len(places), np.inf))
    row = int(np.argmax(gaps.min(axis=1)))
    assert gaps[row].min() > away / 3
    return row


def saved(reader: Reader, button: str) -> Path:
    """Click a button, and return the file that the page saves."""
    with reader.page.expect_download() as started:
        reader.page.locator(button).click()
    return started.value.path()


def exported(reader: Reader) -> list[dict[str, str]]:
    csv.field_size_limit(2_000_000)
    with saved(reader, "#export").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
