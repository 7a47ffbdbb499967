"""In a notebook the page gives its selection back to Python."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from explorer_pages import roll
from notebook_model import rendered
from patchfold import explore
from patchfold.explorer import Explorer
from patchfold.explorer.widget import PROGRAM

# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def page() -> Explorer:
    X, _ = roll(40)
    return explore(X, n_neighbors=[6], divergences=["kl"])


def test_the_selection_goes_to_the_widget_and_back(page: Explorer) -> None:
    assert page.selection == []
    page.selection = range(2, 4)
    assert page.widget().selection == [2, 3]
    page.widget().selection = [7]
    assert page.selection == [7]
    assert page.widget() is page.widget()


def test_a_notebook_gets_the_widget_and_others_the_frame(page: Explorer) -> None:
    bundle = page._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data
    assert page._repr_html_().startswith("<iframe ")


def test_without_anywidget_there_is_the_frame(
    page: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.setattr("patchfold.explorer.explorer.find_spec", lambda name: None)
    other = Explorer(page.html, 40, 1)
    assert other._repr_mimebundle_() == {}
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[notebook\]'"):
        _ = other.selection


def test_the_page_tells_the_widget_what_is_selected(visit: Any, page: Explorer) -> None:
    reader = visit()
    state = {"html": page.html, "sandbox": "allow-scripts", "height": 600, "selection": [4]}
    frame = rendered(reader, PROGRAM, state)
    reader.wait("() => window.saved?.join() === '4'")
    frame.evaluate("() => patchfold.select([1, 5, 6])")
    reader.wait("() => window.saved?.join() === '1,5,6'")
    reader.page.evaluate("() => model.change([9])")
    for _ in range(200):
        if frame.evaluate("() => patchfold.rows.join()") == "9":
            break
        reader.page.wait_for_timeout(25)
    assert frame.evaluate("() => patchfold.rows") == [9]
