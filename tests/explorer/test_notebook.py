"""The page in a real notebook: a kernel runs it, and a browser shows what the kernel returned."""

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.xdist_group("browser")

CELLS = [
    """
from sklearn.datasets import load_iris

import patchfold

iris = load_iris()
""",
    "patchfold.explore(iris.data, iris.target, n_neighbors=[10], title='Iris in a notebook')",
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Return what the last cell shows, by type."""
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, CELLS)))
    folder = tmp_path_factory.mktemp("notebook")
    # The kernel of this environment, whichever others the machine knows.
    client = NotebookClient(
        notebook,
        timeout=240,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    ran = client.execute()
    assert all(output.output_type != "error" for cell in ran.cells for output in cell.outputs)
    (output,) = ran.cells[-1].outputs
    return output.data


def test_a_notebook_shows_a_widget_and_a_frame_where_there_are_none(shown):
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert "<iframe" in shown["text/html"]


def test_a_browser_draws_what_the_notebook_shows(shown, browser):
    page = browser.new_page(viewport={"width": 1100, "height": 800})
    page.set_content(f"<body>{shown['text/html']}</body>")
    frame = page.frame_locator("iframe")
    frame.locator("canvas").first.wait_for(timeout=30_000)
    assert frame.get_by_text("Iris in a notebook").first.is_visible()
    assert frame.get_by_text("150 points").first.is_visible()
    page.close()
