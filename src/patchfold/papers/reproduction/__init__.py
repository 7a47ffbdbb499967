"""The papers' experiments run again: every printed cell beside what comes out here.

Each paper has a module with

- ``PROTOCOL``, a whole number that grows whenever ``compute`` would give other numbers, so that
  stored results of the old one are computed anew;
- ``TABLES``, the tables it recomputes, as :mod:`patchfold.papers.tables` names them;
- ``OWN``, its own methods, whose cells the report shows;
- ``NOTE``, what the report says the accounts are;
- ``tasks(table, datasets, accounts, quick)``, the list of what there is to compute; ``datasets``
  is None for all that can be loaded without a network, ``quick`` asks for a part that takes
  minutes;
- ``compute(task)``, the list of the task's results: pure, seeded, single-threaded, no prints.

Of the cells that do not come out, ``reasons/<paper>.toml`` says why.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from patchfold.base.validation import check_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchfold.papers.reproduction.cells import Result, Task

# The module of each paper, in this package where the name starts with a dot.
PAPERS = {
    "isomap-kl": ".isomap_kl",
    "xspace": ".xspace",
    "pelle": ".pelle",
    "elap": ".elap",
    "ranking": ".ranking",  # no paper's, but computed and reported in the same way
}


class Paper(Protocol):
    """The module of a paper, whose parts this package's description lists."""

    __name__: str
    PROTOCOL: int
    TABLES: tuple[str, ...]
    OWN: tuple[str, ...]
    NOTE: str

    def tasks(
        self, table: str, datasets: Sequence[str] | None, accounts: Sequence[str], quick: bool
    ) -> list[Task]:
        """List what there is to compute."""

    def compute(self, task: Task) -> list[Result]:
        """Compute a task."""


def load_paper(name: str) -> Paper:
    """Import the module of a paper by the paper's name."""
    check_choice("paper", name, PAPERS)
    return cast("Paper", import_module(PAPERS[name], __name__))
