"""What tests of the explorer share: points, and a look into a page."""

from __future__ import annotations

import base64
import json
import zlib
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import make_swiss_roll

from patchfold.analysis.stability import turn
from patchfold.explorer.packing import ArrayStore

if TYPE_CHECKING:
    from patchfold.explorer import Explorer

SCRIPT = "<script>alert(1)</script>"


def roll(n: int = 120) -> tuple[Any, Any]:
    return make_swiss_roll(n, noise=0.3, random_state=0)


def turned(plane: Any, reference: Any) -> Any:
    return plane @ turn(plane, reference)


def unpacked(store: ArrayStore, number: int) -> Any:
    """Undo the packing, one value at a time."""
    kind = store.kinds[number]
    planes = zlib.decompress(base64.b64decode(store.texts[number]))
    dtype, n = np.dtype(kind["type"]).newbyteorder("<"), kind["length"]
    scattered = (bytes(planes[i::n]) for i in range(n))
    result = np.array([np.frombuffer(one, dtype)[0] for one in scattered], dtype=kind["type"])
    if "scale" in kind:
        low, step = kind["scale"]
        return low + step * result.astype(float)
    if "powers" in kind:
        low, step = kind["powers"]
        return np.where(result == 0, 0, np.exp(low + step * (result.astype(float) - 1)))
    return np.add.accumulate(result, dtype=result.dtype) if kind["delta"] else result


class Page(HTMLParser):
    """What a parser of HTML finds in a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: dict[str, str] = {}
        self.current = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.current = dict(attrs).get("id") or tag

    def handle_data(self, data: str) -> None:
        self.texts[self.current] = self.texts.get(self.current, "") + data


def data_of(page: Explorer) -> Any:
    return json.loads(Page(page.html).texts["data"])


def store_of(page: Explorer) -> ArrayStore:
    store, texts = ArrayStore(), Page(page.html).texts
    store.kinds = data_of(page)["arrays"]
    store.texts = [texts[f"array-{number}"] for number in range(len(store.kinds))]
    return store
