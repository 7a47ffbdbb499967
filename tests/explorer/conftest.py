"""One browser for all tests of this folder, and a page of a Swiss roll open in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from browser import QUICK, chromium
from page_reader import CLASSES, DESK, N, Reader, Windows
from patchfold import explore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Visit = Callable[..., Reader]


# Not of the session: Playwright keeps an event loop running, which tests of other folders forbid.
@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    with chromium(*QUICK) as started:
        yield started


@pytest.fixture(scope="package")
def windows(browser: Any) -> Iterator[Windows]:
    kept = Windows(browser)
    yield kept
    kept.close()


@pytest.fixture
def visit(windows: Windows, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Open pages in a window. When the test ends, they must not have complained."""
    failures = request.session.testsfailed

    def visit(
        path: Path | None = None,
        size: tuple[int, int] = DESK,
        *,
        touch: bool = False,
        motion: bool = False,
        dark: bool = False,
    ) -> Reader:
        reader = windows.window(touch=touch).prepare(size, motion=motion, dark=dark)
        if path is not None:
            reader.open(path.as_uri())
        return reader

    yield visit
    windows.leave(failed=request.session.testsfailed > failures)


@pytest.fixture(scope="package")
def roll() -> dict[str, Any]:
    X, t = make_swiss_roll(N, noise=0.4, random_state=0)
    order = np.argsort(np.argsort(t))
    return {"X": X, "t": t, "classes": [CLASSES[3 * place // N] for place in order]}


@pytest.fixture(scope="package")
def roll_file(roll: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = explore(
        roll["X"],
        roll["classes"],
        columns={"turn": roll["t"], "remark": [f'a "quoted", {row}\nline' for row in range(N)]},
        ids=[f"point {row}" for row in range(N)],
        feature_names=["x", "y", "z"],
        n_neighbors=[6, 10, 16],
        title="A roll",
    )
    return page.save(tmp_path_factory.mktemp("page") / "roll.html")


@pytest.fixture
def reader(visit: Visit, roll_file: Path) -> Reader:
    return visit(roll_file)
