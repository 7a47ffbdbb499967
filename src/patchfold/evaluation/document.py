"""A page made of blocks, each of which is written as Markdown and as HTML.

All text is escaped, since names and messages come from data and from other packages.
"""

from __future__ import annotations

import re
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

STYLE = resources.files(__package__).joinpath("document.css").read_text("utf-8").strip()


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


def link(words: str, file: str) -> Block:
    """Make a paragraph that leads to a file."""
    return Block(f"[{plain(words)}]({file})", f'<p><a href="{file}">{escape(words)}</a></p>')


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Block:
    """Make a table of texts."""
    head, *body = (f"| {' | '.join(map(plain, line))} |" for line in (header, *rows))
    markdown = "\n".join([head, f"|{' --- |' * len(header)}", *body])
    head = "".join(f"<th>{escape(word)}</th>" for word in header)
    lines = ["".join(f"<td>{escape(word)}</td>" for word in row) for row in rows]
    html = [
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>',
        "<tbody>",
        *(f"<tr>{cells}</tr>" for cells in lines),
        "</tbody></table></div>",
    ]
    return Block(markdown, "\n".join(html))


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


def plain(words: str) -> str:
    r"""Escape what Markdown or HTML would take for more than text, on one line.

    Examples
    --------
    >>> print(plain("a_b | <c>"))
    a\_b \| \<c\>
    """
    return re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", " ".join(words.split()))
