"""Guess how a text is written: its separator, its decimal sign, whether its first row is a header.

The guesses come from the first rows alone, so that they cost the same for a file of any length.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from itertools import islice, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Separators in the order in which they are believed: a semicolon is rarely part of a number.
SEPARATORS = ("\t", ";", "|", ",")
SPACES = r"\s+"
# Guesses are made from the first SAMPLE_ROWS rows.
SAMPLE_ROWS = 200
# What files write for a missing value, in small or capital letters; "?" stands in ARFF and in older
# collections. Python writes "None", while "none" may be a category.
MISSING_WORDS = ("", "?", "na", "n/a", "n.a.", "#n/a", "<na>", "nan", "null")
MISSING = frozenset(
    ["None"]
    + [
        "".join(letters)
        for word in MISSING_WORDS
        for letters in product(*({letter.lower(), letter.upper()} for letter in word))
    ]
)
# These stand for a missing value among numbers, dates, and two categories or more.
DASHES = frozenset(["-", "--", "\u2013", "\u2014", "."])
# These do so among numbers and dates: elsewhere they are categories.
MISSING_NUMBERS = DASHES | {"none", "NONE"}
# The longest cell that csv may read, in characters. Its own limit, 131072, guards against files
# with a quote that is never closed; those are refused later.
LARGEST_FIELD = 2**31 - 1
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(
    r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?\s?([%€$£]|[A-Za-z]{1,4})?"
)
# This may also be a whole number with commas between thousands.
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
POINTS_APART = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
# So many different numbers with points before three digits are no chance.
FEWEST_APART = 3


def find_separator(text: str) -> str:
    """Choose the separator by which most rows have the same number of cells."""

    def agreement(separator: str) -> float:
        widths = Counter(len(row) for row in first_rows(text, separator))
        if not widths:
            return 0.0
        width, count = widths.most_common(1)[0]
        return count / widths.total() if width > 1 else 0.0

    if any(map(agreement, SEPARATORS)):
        return max(SEPARATORS, key=agreement)
    # Plain text has spaces, too. A table has the same number of cells in all rows, and numbers.
    _, *rows = first_rows(text, SPACES) or [[]]
    numbers = all(any(is_number(cell, ".") for cell in row) for row in rows)
    return SPACES if rows and numbers and agreement(SPACES) == 1 else ","


def first_rows(text: str, separator: str) -> list[list[str]]:
    """Return the first rows that are not blank."""
    if separator == SPACES:
        lines = (line.split() for line in io.StringIO(text))
        return list(islice((cells for cells in lines if cells), SAMPLE_ROWS))
    limit = csv.field_size_limit(LARGEST_FIELD)
    try:
        file = io.StringIO(text, newline="")
        read = csv.reader(file, delimiter=separator, skipinitialspace=True)
        filled = (row for row in read if len(row) > 1 or "".join(row).strip())
        rows = islice(filled, SAMPLE_ROWS)
        return [[cell.strip() for cell in row] for row in rows]
    finally:
        csv.field_size_limit(limit)


def has_decimal_commas(sample: Sequence[Sequence[str]], *, expected: bool = False) -> bool:
    """Whether there are decimal commas, that is commas that cannot stand between thousands.

    Points may then stand between thousands, and nowhere else. Where commas are ``expected``, it is
    enough that no point is a decimal one.
    """
    cells = [cell for row in sample for cell in row]
    points = [cell for cell in cells if "." in cell and NUMBER.fullmatch(cell)]
    commas = [cell for cell in cells if COMMA_NUMBER.fullmatch(cell)]
    apart = all(POINTS_APART.fullmatch(cell) for cell in points)
    return apart and (expected or not all(THOUSANDS.fullmatch(cell) for cell in commas))


def points_between_thousands(column: Sequence[str]) -> bool:
    """Whether points of a column stand between thousands, as in 980 and 1.234.

    Every cell has a point before three digits at the end, or at most three digits and no point.
    Both must occur: measurements to three decimals have them in every cell.

    Examples
    --------
    >>> points_between_thousands(["980", "1.234", "12.500", "2.750"])
    True
    >>> points_between_thousands(["980", "1.5", "1.234"])
    False
    """
    cells = [cell for cell in column if not _is_missing(cell)]
    apart = [cell for cell in cells if POINTS_APART.fullmatch(cell)]
    small = [cell for cell in cells if re.fullmatch(r"[+-]?\d{1,3}", cell)]
    return len(set(apart)) >= FEWEST_APART and bool(small) and len(apart) + len(small) == len(cells)


def looks_like_header(sample: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the first row is text above numbers; a table of text alone has a header.

    A sign for a missing value, such as "?", counts as data; an empty cell does so above numbers.
    """
    first, *rest = sample
    if not rest:
        return not any(is_number(cell, decimal) for cell in first)
    numeric = [
        place
        for place in range(len(first))
        if all(
            is_number(row[place], decimal) or _is_missing(row[place])
            for row in rest
            if place < len(row)
        )
    ]
    if not numeric:
        return not any(cell and _is_missing(cell) for cell in first)
    above = [first[place] for place in numeric]
    return not all(is_number(cell, decimal) or _is_missing(cell) for cell in above)


def is_number(cell: str, decimal: str) -> bool:
    """Whether a cell is a number, written with this decimal sign."""
    return NUMBER.fullmatch(cell.replace(decimal, ".")) is not None


def _is_missing(cell: str) -> bool:
    return cell in MISSING or cell in MISSING_NUMBERS
