"""A page says the same as Markdown and as HTML, and no text is taken for more than text."""

from __future__ import annotations

from html import unescape

import pytest

from patchfold.evaluation import document

ODD = "a_b | <c> & *d* [e](f) $g$"


@pytest.mark.parametrize(
    "block",
    [
        document.heading(2, ODD),
        document.text(ODD),
        document.bullets([ODD]),
        document.grid(["name"], [[ODD]]),
    ],
    ids=["heading", "text", "bullets", "grid"],
)
def test_odd_signs_are_escaped_in_both_forms(block):
    assert "<c>" not in block.html
    assert ODD in unescape(block.html)
    assert "\\|" in block.markdown
    assert "\\<c\\>" in block.markdown


def test_a_line_break_does_not_end_a_row():
    block = document.grid(["name", "value"], [["one\ntwo", "3"]])
    assert block.markdown.splitlines() == ["| name | value |", "| --- | --- |", "| one two | 3 |"]


def test_code_keeps_its_signs_in_markdown():
    block = document.code("a_b < c")
    assert block.markdown == "```\na_b < c\n```"
    assert "a_b &lt; c" in block.html


def test_a_page_is_whole_and_a_picture_is_part_of_it():
    blocks = [document.heading(1, "Title"), document.picture("p.svg", "a picture", "<svg></svg>")]
    page = document.to_html("A & B", blocks)
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>A &amp; B</title>" in page
    assert "<h1>Title</h1>\n<svg></svg>\n</body>" in page
    assert document.to_markdown(blocks) == "# Title\n\n![a picture](p.svg)\n"
