"""A real browser for tests of the page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# WebGL without a graphics card, also in a container whose user may not make sandboxes.
FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
# Without a graphics card, a page opens in half the time if only its WebGL is drawn as on one. Tests
# ask for this; the benchmark of frames does not, as it measures how a page is drawn.
QUICK = ("--disable-gpu-compositing", "--disable-accelerated-2d-canvas")
DOWNLOAD_SECONDS = 300
# Playwright's errors go on for pages.
MESSAGE_LETTERS = 300
# With PATCHFOLD_BROWSER=required, as in continuous integration, tests fail without a browser
# instead of being skipped.
VARIABLE, REQUIRED = "PATCHFOLD_BROWSER", "required"


@contextmanager
def chromium(*flags: str) -> Iterator[Any]:
    """Start Chromium: the one on the path, or else Playwright's, which is downloaded if missing."""
    try:
        from playwright import sync_api
    except ImportError:
        unavailable("playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None and not Path(playwright.chromium.executable_path).exists():
            problem = _download()
            if problem:
                unavailable(f"no Chromium is on the path, and none can be downloaded: {problem}")
        try:
            browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS, *flags])
        except sync_api.Error as error:
            unavailable(f"Chromium does not start: {shorten(error.message, MESSAGE_LETTERS)}")
        yield browser
        browser.close()


def unavailable(reason: str) -> NoReturn:
    """Skip a test that needs a browser; fail where one is required."""
    if os.environ.get(VARIABLE) == REQUIRED:
        pytest.fail(f"{VARIABLE}={REQUIRED}, but {reason}", pytrace=False)
    pytest.skip(reason)


@cache  # what failed once is not tried again for every test
def _download() -> str:
    """Download Playwright's Chromium; return what went wrong, or nothing."""
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    try:
        subprocess.run(  # noqa: S603
            command, check=True, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS
        )
    except subprocess.CalledProcessError as error:
        return shorten(error.stderr, MESSAGE_LETTERS) or str(error)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return ""
