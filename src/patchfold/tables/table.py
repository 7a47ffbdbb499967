"""What reading a file gives, a table, and what the caller knows of its columns beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it was read."""

    # Numbers are numbers; text is text, or categories in declared order; NaN where nothing is.
    frame: Any
    notes: list[str] = field(default_factory=list)  # what was guessed or changed, one sentence each
    # The columns that the caller asked for, or that are called like ids and classes, as they are
    # written in the file; None where `frame` has them so.
    kept: Any = None
    decimal: str = "."  # the decimal sign
    apart: tuple[str, ...] = ()  # columns of whole numbers with points between thousands
    codes: tuple[str, ...] = ()  # columns of numbers of which some begin with a zero, as 02366
    index: str | None = None  # the column that the file itself declares to name the rows
    beside: tuple[str, ...] = ()  # columns that the file keeps apart from the points
    # The shape of a row that was laid out as one line of numbers; empty for others.
    shape: tuple[int, ...] = ()
    # Whether the points are compared as they are, such as principal components.
    one_unit: bool = False
    genes: Any = None  # the values of genes beside points that are made of them


@dataclass(frozen=True)
class KnownColumns:
    """Columns that the caller knows by name before the file is read."""

    expected: Collection[str]  # a first row with one of them is a header
    text: Collection[str]  # hold no numbers, whatever they look like
    keep: Collection[str]  # are wanted as they are written, too
    commas: bool = False  # have decimal commas, unless a decimal point tells otherwise
