"""A real browser for tests of the page."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# WebGL without a graphics card, also in a container whose user may not make sandboxes.
FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
DOWNLOAD_SECONDS = 120


@contextmanager
def chromium() -> Iterator[Any]:
    """Start Chromium: the one on the path, or Playwright's, which is fetched if need be."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None and not Path(playwright.chromium.executable_path).exists():
            _fetch()
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


def _fetch() -> None:
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=DOWNLOAD_SECONDS)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"no Chromium on the path, and none can be fetched ({error})")
