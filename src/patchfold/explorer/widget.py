"""The page in a notebook: a widget that gives the selection back, or an inline frame."""

from __future__ import annotations

import html as markup
from importlib import import_module, resources
from typing import Any

from patchfold.base.validation import require

# Height of the page in a notebook, in pixels.
INLINE_HEIGHT = 720
# What the page may do in its frame: save files and open the links of a text in a window of their
# own, but neither read the notebook nor leave its place.
SANDBOX = "allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox"

PROGRAM = resources.files(__package__).joinpath("widget.js").read_text(encoding="utf-8")


def frame_of(html: str) -> str:
    """Return the page in an inline frame: neither style nor program meets those of the notebook."""
    return (
        f'<iframe sandbox="{SANDBOX}" title="patchfold explorer" '
        f'style="width: 100%; height: {INLINE_HEIGHT}px; border: 0" '
        f'srcdoc="{markup.escape(html)}"></iframe>'
    )


def widget_class() -> Any:
    """Return the class of the widget, made when it is first needed: anywidget need not be there."""
    anywidget = require("anywidget", "the selection of a page", extra="notebook")
    traitlets = import_module("traitlets")

    class ExplorerWidget(anywidget.AnyWidget):  # type: ignore[name-defined]
        """A page whose selection is a trait."""

        _esm = PROGRAM
        html = traitlets.Unicode().tag(sync=True)
        sandbox = traitlets.Unicode(SANDBOX).tag(sync=True)
        height = traitlets.Int(INLINE_HEIGHT).tag(sync=True)
        selection = traitlets.List(traitlets.Int()).tag(sync=True)

    return ExplorerWidget
