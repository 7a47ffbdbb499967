"""What keeps columns from being features, all of it at once, with the options that settle it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchfold.tables._naming import NAMED, TableError, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Problem:
    """What is wrong with a column, or with rows."""

    words: str  # what was found and what can be done: a sentence without its end
    options: tuple[str, ...]  # words of the command line that settle it
    texts: bool = False  # whether it is a column of texts to read


class ColumnsError(TableError):
    """All that is wrong with the columns of a table.

    Attributes
    ----------
    problems : list of Problem
    only_texts : bool
        Whether there is nothing but texts, so that options leave nothing to embed.
    """

    def __init__(self, problems: Sequence[Problem], *, only_texts: bool = False) -> None:
        self.problems = list(problems)
        self.only_texts = only_texts
        words = "; ".join(problem.words for problem in self.problems[:NAMED])
        more = len(self.problems) - NAMED
        super().__init__(f"{words}; and {more} more." if more > 0 else f"{words}.")

    @property
    def options(self) -> list[str]:
        """The words of the command line that settle everything, each option once."""
        found: list[str] = []
        settings: set[str] = set()
        for problem in self.problems:
            name = problem.options[0]
            # A column is named again for each; what is true of the whole table is said once.
            if name in {"--info", "--drop"} or name not in settings:
                found += problem.options
            settings.add(name)
        return found


def beside(name: str, words: str) -> Problem:
    """Return the problem of a column that can be shown but not compared.

    Examples
    --------
    >>> beside("note", "has 40 different texts").words
    "column 'note' has 40 different texts; show it with --info 'note', or leave it out with --drop"
    """
    shown = quoted(name)
    return Problem(
        f"column {shown} {words}; show it with --info {shown}, or leave it out with --drop",
        ("--info", name),
    )
