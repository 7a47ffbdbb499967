"""What messages about tables share, and what keeps columns from being features.

All of it is told at once, with the options that settle it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


# Lists in messages stop here: a table may have thousands of columns.
NAMED = 5
# Of a value that a message shows, this much: a cell may hold a book.
SHOWN = 40


class TableError(ValueError):
    """What is wrong with a table, in one line that says what to do."""


def listed(names: Sequence[Any], most: int = NAMED) -> str:
    """List names in quotes, the first few of many.

    Examples
    --------
    >>> listed(["a", "b"]), listed(list("abcdefg"))
    ("'a', 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(quoted(name) for name in names[:most]) + more


def quoted(value: Any) -> str:
    """Show a value on one line, cut where it is long.

    Examples
    --------
    >>> quoted("two" + chr(10) + "lines"), len(quoted("x" * 1000))
    ("'two lines'", 45)
    """
    text = " ".join(str(value).split())
    return f"'{text}'" if len(text) <= SHOWN else f"'{text[:SHOWN]}...'"


def counted(number: int, word: str, several: str = "") -> str:
    """Count things in words, such as ``"1 row"`` and ``"1200 rows"``."""
    return f"{number} {word if number == 1 else several or word + 's'}"


def check_names(names: Sequence[str]) -> None:
    """Refuse a name that two columns have."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        places = [place for place, name in enumerate(names, start=1) if name == twice[0]]
        raise TableError(
            f"columns {places[0]} and {places[1]} are both named {quoted(twice[0])}; "
            "give every column a name of its own."
        )


@dataclass(frozen=True)
class Problem:
    """What is wrong with a column, or with rows."""

    words: str  # what was found and what can be done: a sentence without its end
    options: tuple[str, ...]  # words of the command line that settle it
    texts: bool = False  # whether it is a column of texts to read


class ColumnsError(TableError):
    """All that is wrong with the columns of a table: its ``problems``.

    There may be ``only_texts``, so that options leave nothing to embed.
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
