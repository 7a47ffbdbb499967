"""A diagram names every method at its rank."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from patchfold.evaluation.diagram import critical_difference_svg
from patchfold.evaluation.significance import compare
from patchfold.papers import tables


def printed(paper, *names, score=""):
    cells = [cell for table in names for cell in tables.read(paper, table) if cell.data_set]
    cells = [cell for cell in cells if score in {"", cell.score}]
    columns = list(dict.fromkeys(cell.column for cell in cells))
    return columns, np.reshape([cell.value for cell in cells], (-1, len(columns)))


NAMESPACE = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("control", ["", "PELLE"])
def test_the_diagram_names_every_method_with_its_rank_and_escapes_names(control):
    columns, values = printed("pelle", "1")
    comparison = compare([*columns[:-2], "<b>&", "PELLE"], values, control=control)
    svg = critical_difference_svg([("one < two", comparison), ("again", comparison)])
    root = ET.fromstring(svg)  # noqa: S314 - made a line before
    texts = [text.text for text in root.iter(f"{NAMESPACE}text")]
    assert texts.count("one < two") == 1
    for name, rank in zip(comparison.methods, comparison.ranks, strict=True):
        assert texts.count(f"{name} {rank:.2f}") == 2
    assert "href" not in svg


def test_no_part_of_a_diagram_lies_outside_even_where_nothing_can_differ():
    columns, values = printed("xspace", "2", score="ARI")
    root = ET.fromstring(critical_difference_svg([("", compare(columns, values[:2]))]))  # noqa: S314
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    lines = list(root.iter(f"{NAMESPACE}polyline"))
    assert lines
    for line in lines:
        points = np.array([p.split(",") for p in line.attrib["points"].split()], dtype=float)
        assert (points >= 0).all()
        assert (points <= [width, height]).all()
