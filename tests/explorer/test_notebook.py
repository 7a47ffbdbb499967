"""The page in a real notebook: a kernel runs it, and a browser shows what the kernel returned."""

import pytest
from jupyter_client.manager import start_new_kernel

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
def kernel(browser, tmp_path_factory):
    """Return a kernel of this environment.

    The browser comes first: a client keeps to the event loop that it has begun with.
    """
    folder = tmp_path_factory.mktemp("notebook")
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(folder))
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def run(kernel, code):
    """Run a cell in the kernel; return what it says to all who listen."""
    heard = []
    reply = kernel.execute_interactive(code, output_hook=heard.append, timeout=240)
    assert reply["content"]["status"] == "ok", reply["content"]
    return [(message["msg_type"], message["content"]) for message in heard]


def test_a_browser_draws_what_a_notebook_shows(kernel, visit):
    first, last = (run(kernel, cell) for cell in CELLS)
    # The page is all that is shown: no words, no errors, no second page.
    assert not {kind for kind, _ in [*first, *last]} & {"stream", "error", "display_data"}
    (shown,) = [content["data"] for kind, content in last if kind == "execute_result"]
    assert "application/vnd.jupyter.widget-view+json" in shown
    # Where there are no widgets, there is a frame.
    assert "<iframe" in shown["text/html"]
    page = visit().page
    page.set_content(f"<body>{shown['text/html']}</body>")
    frame = page.frame_locator("iframe")
    frame.locator("canvas").first.wait_for()
    assert frame.get_by_text("Iris in a notebook").first.is_visible()
    assert frame.get_by_text("150 points").first.is_visible()


def test_what_is_selected_on_the_page_is_in_the_kernel_and_back(kernel, visit):
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
    reader = visit()
    frame = rendered(reader, state["_esm"], state)
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
