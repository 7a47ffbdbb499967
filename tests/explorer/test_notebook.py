"""The page in a real notebook: a kernel runs it, and a browser shows what the kernel returned."""

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

from notebook_model import rendered

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


@pytest.fixture
def kernel():
    manager, client = start_new_kernel(kernel_name="python3")
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def run(kernel, code):
    """Run code in the kernel; return what it says to all who listen."""
    heard = []
    reply = kernel.execute_interactive(code, output_hook=heard.append, timeout=240)
    assert reply["content"]["status"] == "ok", reply["content"]
    return [(message["msg_type"], message["content"]) for message in heard]


def test_what_is_selected_on_the_page_is_in_the_kernel_and_back(kernel, browser):
    explored = "view = patchfold.explore(iris.data[:60], n_neighbors=[8], divergences=['kl'])"
    heard = run(kernel, f"{CELLS[0]}\n{explored}\nview.selection = [2]\nview")
    (opened,) = [
        content
        for kind, content in heard
        if kind == "comm_open" and "_esm" in content["data"]["state"]
    ]
    state = opened["data"]["state"]
    for kind, content in heard:
        if kind == "comm_msg" and content["comm_id"] == opened["comm_id"]:
            state |= content["data"].get("state", {})
    reader, frame = rendered(browser, state["_esm"], state)
    reader.wait("() => window.saved?.join() === '2'")
    frame.evaluate("() => patchfold.select([1, 5, 6])")
    reader.wait("() => window.saved?.join() === '1,5,6'")
    # What a notebook makes of save_changes.
    data = {"method": "update", "state": {"selection": reader.ask("saved")}, "buffer_paths": []}
    content = {"comm_id": opened["comm_id"], "data": data}
    kernel.shell_channel.send(kernel.session.msg("comm_msg", content))
    said = [content for kind, content in run(kernel, "print(view.selection)") if kind == "stream"]
    assert said == [{"name": "stdout", "text": "[1, 5, 6]\n"}]
    updates = [content for kind, content in run(kernel, "view.selection = [9]") if "comm" in kind]
    assert [content["data"]["state"] for content in updates] == [{"selection": [9]}]
    reader.context.close()
