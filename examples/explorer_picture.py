"""Take the picture of the explorer's guide: ``python examples/explorer_picture.py [PICTURE]``.

Needs playwright and Chromium.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits

from patchfold import explore

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "guide" / "explorer.png"
SIZE = {"width": 1360, "height": 1000}
READY = "() => window.patchfold?.panes.every((pane) => pane.grid && pane.graph)"
# Select digits 4, and point at one of them in the left pane.
SHOW = """() => {
  const pane = patchfold.panes[0];
  const { values } = patchfold.columns[0];
  const rows = [...Array(patchfold.n).keys()].filter((row) => values[row] === 4);
  patchfold.select(rows.slice(0, 90));
  return new Promise((done) => setTimeout(() => {
    const row = rows[20];
    const { left, top } = pane.canvas.getBoundingClientRect();
    const [x, y] = pane.toScreen(pane.place(row));
    patchfold.point(row, { clientX: left + x, clientY: top + y });
    setTimeout(done, 500);
  }, 700));
}"""


def main() -> None:
    """Build a page of the digits, look at it, and save what is seen."""
    X, y = load_digits(return_X_y=True)
    page = explore(X, y, n_neighbors=[10, 15, 20], title="Digits")
    print(page, *page.notes, sep="\n")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = page.save(Path(folder) / "digits.html")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
        )
        seen = browser.new_page(viewport=SIZE)
        seen.goto(path.as_uri())
        while not seen.evaluate(READY):
            seen.wait_for_timeout(50)
        seen.evaluate(SHOW)
        shot = Image.open(io.BytesIO(seen.screenshot())).convert("RGB")
        browser.close()
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    shot.save(target, optimize=True)  # fewer colours would change those of the classes
    print(f"{target}: {target.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
