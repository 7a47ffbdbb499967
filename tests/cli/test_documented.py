"""The commands that the documentation shows run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from command_line import done, iris

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/guide/command.md", "docs/guide/saving.md")
# Their work takes minutes, and data sets from the network: only their words are checked.
LONG = {"reproduce"}


def commands(page):
    """Return the commands of blocks without a language, in their order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for kind, block in blocks if not kind for line in block.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("patchfold ")]


def test_commands_are_found():
    assert ["embed", "digits", "--png", "digits.png"] in commands("docs/guide/command.md")
    assert sum(map(len, map(commands, PAGES))) > 6


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_one_after_the_other(call, folder, opened, quick, page):
    frame = iris().rename(columns={"species": "class"}).assign(type=["a", "b"] * 74 + ["a"])
    frame = frame.assign(x=frame["sepal length"] + 1, y=frame["petal width"] * 2)
    shown = commands(page)
    assert shown
    for words in shown:
        if words[0] in LONG:
            done(call(*words, "--help"))
            continue
        for name in (word for word in words if re.fullmatch(r"[\w-]+\.csv", word)):
            written = words[words.index(name) - 1] in {"-o", "--output"}
            if not written and not (folder / name).exists():
                frame.to_csv(name, index=False)
        done(call(*words))
