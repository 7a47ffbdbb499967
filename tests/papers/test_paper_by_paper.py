"""The page that lists the papers' contents leaves nothing out, and names what exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import patchfold
from patchfold.datasets.registry import registry
from patchfold.papers import tables

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "method" / "paper-by-paper.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*)\n((?:(?!^## ).*\n)*)", PAGE, flags=re.MULTILINE))

# How many numbered equations, algorithms and figures each text has.
EQUATIONS = {"ISOMAP-KL": 30, "X-space": 10, "PELLE": 45, "ELAP": 43, "SA-Isomap": 1}
ALGORITHMS = {"ISOMAP-KL": 1, "X-space": 1, "PELLE": 0, "ELAP": 2, "SA-Isomap": 0}
FIGURES = {"ISOMAP-KL": 3, "X-space": 3, "PELLE": 1, "ELAP": 3, "SA-Isomap": 0}
NAMES = {"isomap-kl": "ISOMAP-KL", "xspace": "X-space", "pelle": "PELLE", "elap": "ELAP"}

TOKENS = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))
TESTS = [token for token in TOKENS if "::" in token]
# A name of Python: with a dot, or a class.
CODE = [
    token for token in TOKENS if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)+|[A-Z]\w*[a-z]\w*|GRNN", token)
]


def rows(section):
    """Return the rows of a section's table without its header."""
    lines = [line for line in SECTIONS[section].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def items(paper):
    return ", ".join(row[0] for row in rows(paper))


def numbers(text, word):
    """Return the numbers that follow a word, ranges spelled out."""
    found = []
    for first, last in re.findall(rf"\b{word} (\d+)(?:-(\d+))?", text):
        found += range(int(first), int(last or first) + 1)
    return sorted(found)


@pytest.mark.parametrize("paper", EQUATIONS)
def test_every_equation_algorithm_and_figure_is_listed(paper):
    text = items(paper)
    equations = numbers(re.sub(r"eq\. ([\d-]+)-(?=\D)", r"\1", text).replace("eq. ", "eq "), "eq")
    assert sorted(set(equations)) == list(range(1, EQUATIONS[paper] + 1))
    assert set(numbers(text, "Algorithm")) == set(range(1, ALGORITHMS[paper] + 1))
    assert numbers(text, "Figure") == list(range(1, FIGURES[paper] + 1))


@pytest.mark.parametrize("paper", NAMES)
def test_every_printed_table_is_listed(paper):
    found = re.findall(r"(?<!of )\bTable (\w+)", items(NAMES[paper]))
    assert sorted(found) == sorted(tables.TABLES[paper])


@pytest.mark.parametrize("paper", NAMES)
def test_every_data_set_of_a_paper_is_listed(paper):
    listed = {name: set(sets.strip("`").split(", ")) for name, sets in rows("Data sets")}
    expected = {entry.name for entry in registry().values() if paper in entry.papers}
    assert listed[NAMES[paper]] == expected


@pytest.mark.parametrize("name", CODE)
def test_every_name_exists(name):
    place = name.removeprefix("patchfold.").split(".")
    found = patchfold
    for depth, part in enumerate(place):
        if not hasattr(found, part):
            importlib.import_module(".".join(["patchfold", *place[: depth + 1]]))
        found = getattr(found, part)


@pytest.mark.parametrize("test", TESTS)
def test_every_test_exists(test):
    file, name = test.split("::")
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text("utf-8"), flags=re.MULTILINE)


def test_what_is_there_has_a_test_or_a_page_of_numbers():
    for section in (*EQUATIONS, "What the papers wish for"):
        for *_, where, how in rows(section):
            if re.match(r"derivation|definition|a scheme|schemes|not there", where) is None:
                assert re.search(r"::|\]\(../(reproduction|evidence)/", how), (
                    section,
                    where,
                )


def test_the_page_names_code_and_tests():
    assert len(CODE) > 50
    assert len(TESTS) > 50
