"""What reading a file gives, a table, and what the caller knows of its columns beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it was read.

    Attributes
    ----------
    frame : pandas.DataFrame
        Numbers are numbers; text is text, or categories in declared order; NaN where nothing is.
    notes : list of str
        What was guessed or changed, one sentence each.
    kept : pandas.DataFrame or None
        The columns that the caller asked for, or whose names are like those of ids and classes, as
        they are written in the file. None: as in `frame`.
    decimal : str
        The decimal sign.
    index : str or None
        The column that the file itself declares to name the rows.
    beside : tuple of str
        Columns that the file keeps apart from the points.
    shape : tuple of int
        The shape of a row that was laid out as one line of numbers; empty for others.
    one_unit : bool
        Whether the points are compared as they are, such as principal components.
    """

    frame: Any
    notes: list[str] = field(default_factory=list)
    kept: Any = None
    decimal: str = "."
    index: str | None = None
    beside: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    one_unit: bool = False


@dataclass(frozen=True)
class KnownColumns:
    """Columns that the caller knows by name before the file is read."""

    expected: Collection[str]  # a first row with one of them is a header
    text: Collection[str]  # hold no numbers, whatever they look like
    keep: Collection[str]  # are wanted as they are written, too
