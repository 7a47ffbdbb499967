"""What messages about tables share: the error, lists of names that end, and the needed packages."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
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
    """Count things in words.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1200 rows')
    """
    return f"{number} {word if number == 1 else several or word + 's'}"


def require(module: str, purpose: str, extra: str = "cli") -> Any:
    """Import a package of an extra, or say how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {module.split('.', maxsplit=1)[0]}; install it with: "
            f"pip install 'patchfold[{extra}]'"
        ) from error


def check_names(names: Sequence[str]) -> None:
    """Refuse a name that two columns have."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        places = [place for place, name in enumerate(names, start=1) if name == twice[0]]
        raise TableError(
            f"columns {places[0]} and {places[1]} are both named {quoted(twice[0])}; "
            "give every column a name of its own."
        )
