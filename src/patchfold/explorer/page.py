"""Put programs, style and data together into one page that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from patchfold.explorer.packing import safe_json

if TYPE_CHECKING:
    from patchfold.explorer.packing import ArrayStore

# Room for the size of the page, filled in when it is known.
_SIZE = "@" * 15


def assemble(description: dict[str, Any], store: ArrayStore) -> str:
    """Return the page as HTML.

    Data are in elements that are neither run nor parsed as markup. A content security policy lets
    the browser run the one program and apply the one style that are named by their hashes, and
    load nothing.
    """
    style, program = _file("style.css"), _file("page.js")
    policy = (
        f"default-src 'none'; script-src {_hash(program)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    arrays = "".join(
        f'<script type="text/plain" id="array-{number}">{text}</script>\n'
        for number, text in enumerate(store.texts)
    )
    data = safe_json({"bytes": _SIZE, **description, "arrays": store.kinds})
    parts = {
        "POLICY": policy,
        "STYLE": f"<style>{style}</style>",
        "DATA": f'<script type="application/json" id="data">{data}</script>\n{arrays}',
        "PROGRAM": f'<script type="module">{program}</script>',
    }
    html = re.sub(
        r"<!-- ([A-Z]+) -->|@POLICY@", lambda m: parts[m[1] or "POLICY"], _file("page.html")
    )
    size = len(html.encode())
    return html.replace(_SIZE, str(size).rjust(len(_SIZE)), 1)


def size_of(html: str) -> str:
    """Say how large a page is.

    Examples
    --------
    >>> size_of("x" * 1_234_567)
    '1.2 MB'
    """
    size = len(html.encode())
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"


@cache
def _file(name: str) -> str:
    return resources.files("patchfold.explorer").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
