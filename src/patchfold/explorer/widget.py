"""The page in a notebook: a widget that gives the selection back, or an inline frame."""

from __future__ import annotations

import html as markup
from importlib import import_module, resources
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from patchfold.base.validation import require

if TYPE_CHECKING:
    from collections.abc import Iterable

# Height of the page in a notebook, in pixels.
INLINE_HEIGHT = 720
# What the page may do in its frame: save files and open the links of a text in a window of their
# own, but neither read the notebook nor leave its place.
SANDBOX = "allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox"

PROGRAM = resources.files(__package__).joinpath("widget.js").read_text(encoding="utf-8")


class Shown:
    """A page that a notebook can show."""

    def __init__(self, html: str) -> None:
        self.html = html
        self._widget: Any = None

    @property
    def selection(self) -> list[int]:
        """The rows that are selected on the page, in a notebook with anywidget; they can be set.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from patchfold import explore
        >>> view = explore(load_iris().data, n_neighbors=[15], divergences=["kl"])
        >>> view.selection = [3, 8]  # and in a notebook, what is drawn around on the page
        >>> view.selection
        [3, 8]
        """
        return list(self.widget().selection)

    @selection.setter
    def selection(self, rows: Iterable[int]) -> None:
        self.widget().selection = [int(row) for row in rows]

    def widget(self) -> Any:
        """Return the page as a widget, the same one every time, to combine it with others.

        Returns
        -------
        anywidget.AnyWidget
            Its trait ``selection`` can be observed.
        """
        if self._widget is None:
            self._widget = _widget_class()(html=self.html)
        return self._widget

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget where anywidget is installed; the frame is what others show."""
        if find_spec("anywidget") is None:
            return {}
        return self.widget()._repr_mimebundle_(**options)

    def _repr_html_(self) -> str:
        # A document of its own: neither style nor program meets those of the notebook.
        return (
            f'<iframe sandbox="{SANDBOX}" title="patchfold explorer" '
            f'style="width: 100%; height: {INLINE_HEIGHT}px; border: 0" '
            f'srcdoc="{markup.escape(self.html)}"></iframe>'
        )


def _widget_class() -> Any:
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
