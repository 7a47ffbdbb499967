"""A page of a Swiss roll, open in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from browser import chromium
from page_reader import CLASSES, N, Reader
from patchfold import explore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def roll() -> dict[str, Any]:
    X, t = make_swiss_roll(N, noise=0.4, random_state=0)
    order = np.argsort(np.argsort(t))
    return {"X": X, "t": t, "classes": [CLASSES[3 * place // N] for place in order]}


@pytest.fixture(scope="session")
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
def reader(browser: Any, roll_file: Path) -> Iterator[Reader]:
    at_page = Reader(browser, roll_file)
    yield at_page
    at_page.leave()
