"""A page made of blocks, each of which is written as Markdown and as HTML.

All text is escaped, since names and messages come from data and from other packages.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# Blue and orange are told apart with any colour vision; the marks say the same without colour.
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #22262b; background: #fff; margin: 2rem auto;
  max-width: 75rem; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; }
pre { background: #f1f3f5; padding: .5em; white-space: pre-wrap; }
.scroll { overflow: auto; max-height: 85vh; margin: 1rem 0; border: 1px solid #d5d9de; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums;
  font-size: 13px; }
th, td { padding: .2em .5em; border-bottom: 1px solid #e3e6ea; text-align: left;
  vertical-align: top; }
.cells td { text-align: right; white-space: nowrap; }
.cells thead th { position: sticky; top: 0; background: #f1f3f5; z-index: 1; height: 1.8rem;
  box-sizing: border-box; }
.cells thead tr + tr th { top: 1.8rem; font-weight: 400; }
.cells thead .corner { left: 0; z-index: 2; }
.cells tbody th { position: sticky; left: 0; background: #f8f9fa; font-weight: 400;
  white-space: nowrap; }
.cells .first { border-left: 2px solid #b6bcc4; }
.cells tr.sum > * { font-style: italic; }
td[title] { cursor: help; }
.up1 { background: #dcebf8; } .up2 { background: #9cc6ea; }
.down1 { background: #fdebd5; } .down2 { background: #f8bd7a; }
svg { max-width: 100%; height: auto; display: block; }
""".strip()


class Block(NamedTuple):
    """A part of a page, written twice."""

    markdown: str
    html: str


def heading(level: int, words: str) -> Block:
    """Make a heading of a level from 1."""
    return Block(f"{'#' * level} {plain(words)}", f"<h{level}>{escape(words)}</h{level}>")


def text(words: str) -> Block:
    """Make a paragraph."""
    return Block(plain(words), f"<p>{escape(words)}</p>")


def code(line: str) -> Block:
    """Make a line of code."""
    return Block(f"```\n{line}\n```", f"<pre><code>{escape(line)}</code></pre>")


def bullets(items: Sequence[str]) -> Block:
    """Make a list."""
    return Block(
        "\n".join(f"- {plain(item)}" for item in items),
        "\n".join(["<ul>", *(f"<li>{escape(item)}</li>" for item in items), "</ul>"]),
    )


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Block:
    """Make a table of texts."""
    head = "".join(f"<th>{escape(word)}</th>" for word in header)
    body = ["".join(f"<td>{escape(word)}</td>" for word in row) for row in rows]
    return Block(
        markdown_table(header, rows),
        html_table(f"<tr>{head}</tr>", [f"<tr>{cells}</tr>" for cells in body]),
    )


def picture(file: str, caption: str, svg: str) -> Block:
    """Make a picture: a file beside the Markdown, a part of the HTML page."""
    return Block(f"![{plain(caption)}]({file})", svg)


def to_markdown(blocks: Sequence[Block]) -> str:
    """Write a page as Markdown."""
    return "\n\n".join(block.markdown for block in blocks) + "\n"


def to_html(title: str, blocks: Sequence[Block]) -> str:
    """Write a page as one HTML file that needs no other."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{STYLE}\n</style>",
            "</head>",
            "<body>",
            *(block.html for block in blocks),
            "</body>",
            "</html>\n",
        ]
    )


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table of texts as Markdown."""
    head, *body = (f"| {' | '.join(map(plain, line))} |" for line in (header, *rows))
    return "\n".join([head, f"|{' --- |' * len(header)}", *body])


def html_table(head: str, rows: Sequence[str], kind: str = "texts") -> str:
    """Put rows of HTML into a table that scrolls."""
    start = f'<div class="scroll"><table class="{kind}">'
    return "\n".join([start, f"<thead>{head}</thead>", "<tbody>", *rows, "</tbody></table></div>"])


def plain(words: str) -> str:
    r"""Escape what Markdown or HTML would take for more than text, on one line.

    Examples
    --------
    >>> print(plain("a_b | <c>"))
    a\_b \| \<c\>
    """
    return re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", " ".join(words.split()))
