"""Put the explorer pages of an example beside its pictures.

A notebook shows a page inline. In the gallery it becomes a file of its own, which the browser loads
when a reader scrolls to it.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from patchfold.explorer import Explorer

# Pages of the example that is running, which are on the site already.
_shown: list[Explorer] = []

FRAME = """
.. raw:: html

    <iframe class="explorer" loading="lazy" src="{source}" title="{title}"></iframe>
    <p class="explorer-link"><a href="{source}">Open the page alone</a></p>

"""


def reset(gallery_conf: dict[str, Any], file_name: Any) -> None:
    """Forget the pages of the example before."""
    _shown.clear()


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the pages that a block of an example made; return what shows them."""
    text = ""
    for page in block_vars["example_globals"].values():
        if not isinstance(page, Explorer) or any(page is known for known in _shown):
            continue
        _shown.append(page)
        example = Path(block_vars["src_file"])
        name = f"{example.stem.removeprefix('plot_')}-{len(_shown)}.html"
        depth = len(example.relative_to(_examples(gallery_conf, example)).parts)
        folder = Path(gallery_conf["src_dir"], "gallery", "pages", "explorer")
        folder.mkdir(parents=True, exist_ok=True)
        page.save(folder / name)
        text += FRAME.format(
            source="../" * depth + f"explorer/{name}",
            title=escape(f"Explorer: {example.stem.removeprefix('plot_')}"),
        )
    return text


def _examples(gallery_conf: dict[str, Any], example: Path) -> Path:
    """Return the folder of examples that an example lies in."""
    roots = [
        Path(gallery_conf["src_dir"], folder).resolve() for folder in gallery_conf["examples_dirs"]
    ]
    return next(root for root in roots if example.resolve().is_relative_to(root))
