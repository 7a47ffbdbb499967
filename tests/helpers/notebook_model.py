"""The part of a notebook: a model that the page of a widget and Python may change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from page_reader import Reader

RENDER = """async ([program, state]) => {
  const values = { ...state };
  const heard = [];
  window.model = {
    get: (name) => values[name],
    set: (name, value) => (values[name] = value),
    save_changes: () => window.saved = [...values.selection],
    on: (name, action) => heard.push(action),
    off: () => {},
    change: (rows) => { values.selection = rows; heard.forEach((action) => action()); },
  };
  const url = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  widget.render({ model, el: document.getElementById("cell") });
}"""


def rendered(reader: Reader, program: str, state: dict[str, Any]) -> Any:
    """Let a browser render a widget; return the frame that has the page."""
    reader.page.set_content("<div id='cell'></div>")
    reader.page.evaluate(RENDER, [program, state])
    frame = next(one for one in reader.page.frames if one != reader.page.main_frame)
    frame.locator(".pane-foot").wait_for()
    return frame
