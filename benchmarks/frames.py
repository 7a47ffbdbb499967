"""Frames a second of the explorer's page in a real Chromium, while it is panned and while k glides.

The page has heaps of points, random edges and ellipses: how long a frame takes depends on how many
there are, not on what they mean. Chromium renders in software, so a graphics card is faster. The
peer is a page that does no more than clear canvases of the same size, in the same browser: a rate
beside its own says how much of what software rendering can show is left. The time of the
processors for a frame, of all processes of the browser, hardly depends on what else the machine is
doing. Needs Linux, playwright and Chromium.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from patchfold.explorer.columns import pack_column, pack_ids
from patchfold.explorer.embeddings import Fitted
from patchfold.explorer.further import pack_further
from patchfold.explorer.packing import ArrayStore
from patchfold.explorer.page import assemble
from patchfold.explorer.views import pack_views, placed

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))

SIZES = {
    "70 000 points, two panes, three k": (70_000, 2, (10, 15, 20)),
    "a million points": (1_000_000, 1, (15,)),
}
HEAPS = 12
SECONDS, WARM = 5, 2  # of measuring, after those in which the page finds its pace

# Move the pane, or the slider, for some seconds; return the times between two frames.
COUNT = """async ([kind, seconds]) => {
  const gaps = [];
  const app = window.patchfold;
  const pane = app?.panes.at(-1);
  const start = performance.now();
  let last = start;
  let place = 0;
  while (last - start < 1000 * seconds) {
    if (kind === "pan") pane.moveBy(0.02 * Math.sin((last - start) / 200), 0);
    if (kind === "glide" && app.panes.every((one) => one.share === 1)) {
      app.setK(place++ % app.ks.length);
    }
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  return gaps;
}"""
# As many canvases as there are panes, each cleared in every frame.
PEER = """async ([panes, seconds]) => {
  document.body.replaceChildren();
  const pens = Array.from({ length: panes }, () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [1150 / panes, 757];
    document.body.append(canvas);
    return canvas.getContext("webgl2", { antialias: false });
  });
  const gaps = [];
  const start = performance.now();
  let last = start;
  while (last - start < 1000 * seconds) {
    for (const gl of pens) {
      gl.clearColor(Math.random(), 0, 0, 1);
      gl.clear(gl.COLOR_BUFFER_BIT);
    }
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  return gaps;
}"""
READY = "() => window.patchfold?.panes.every((pane) => pane.grid)"


def page_of(n: int, panes: int, ks: tuple[int, ...]) -> str:
    rng = np.random.default_rng(0)
    heap = rng.integers(0, HEAPS, n)
    store = ArrayStore()
    views = []
    for k in ks:
        for divergence in ("euclidean", "kl")[-panes:]:
            centres = rng.normal(0, 1, (HEAPS, 2))
            plane = placed(centres[heap] + rng.normal(0, 0.15, (n, 2)))
            degrees = np.full(n, k * 2 // 3)
            starts = np.concatenate([[0], np.cumsum(degrees)])
            ends = np.sort(rng.integers(0, n, starts[-1]).reshape(n, -1), axis=1).ravel()
            graph = csr_array((rng.random(starts[-1]), ends, starts), (n, n))
            ellipses = np.column_stack([plane, np.tile([1e-3, 0, 1e-3], (n, 1))])
            shown = plane, graph, "kl", graph.data, ellipses
            views.append(Fitted("isomap", divergence, k, *shown, trust=rng.random(n)))
    description = {
        "title": "frames",
        "n": n,
        "ids": pack_ids("row", np.arange(n), n, store),
        "columns": [pack_column("heap", heap, n, store)],
        "further": pack_further([], views[0].graph, store)[0],
        "text": None,
        "images": None,
        **pack_views(views, [], store),
    }
    return assemble(description, store)


def rate(page: Any, program: str, argument: Any) -> tuple[float, float]:
    """Return the frames a second, without those in which the page finds its pace, and ms of CPU."""
    page.evaluate(program, [argument, WARM])
    before = browser_seconds()
    gaps = np.array(page.evaluate(program, [argument, SECONDS]))
    return float(1000 / np.median(gaps)), 1000 * (browser_seconds() - before) / len(gaps)


def browser_seconds() -> float:
    """Return the time that the processes this one has started took of the processors so far."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            words = status.read_text().rpartition(")")[2].split()
            ticks = int(words[11]) + int(words[12])
            found[int(status.parent.name)] = int(words[1]), ticks / os.sysconf("SC_CLK_TCK")
    own = {os.getpid()}
    while more := {name for name, (parent, _) in found.items() if parent in own} - own:
        own |= more
    return sum(found[name][1] for name in own - {os.getpid()})


def main() -> None:
    from browser import chromium

    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for name, (n, panes, ks) in SIZES.items():
            html = page_of(n, panes, ks)
            path = Path(folder) / "page.html"
            path.write_text(html, encoding="utf-8")
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            peers = {count: rate(page, PEER, count) for count in {1, panes}}
            start = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_function(READY)
            opened = time.perf_counter() - start
            page.wait_for_timeout(1000)
            words = [f"{len(html) / 1e6:.1f} MB", f"open after {opened:.1f} s"]
            for kind, drawn in (("pan", 1), ("glide", panes))[: 2 if len(ks) > 1 else 1]:
                (frames, cost), (others, least) = rate(page, COUNT, kind), peers[drawn]
                words.append(
                    f"{kind} {frames:.1f} frames a second (peer {others:.1f}) of {cost:.0f} ms of "
                    f"CPU each (peer {least:.0f})"
                )
            print(f"{name}: {', '.join(words)}", flush=True)
            page.close()


if __name__ == "__main__":
    main()
