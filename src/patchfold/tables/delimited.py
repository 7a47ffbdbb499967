"""Read text with separators, such as CSV and TSV, into a table."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING, Any

from patchfold.tables.problems import TableError, check_names, counted, listed, quoted
from patchfold.tables.roles import named_like_a_role
from patchfold.tables.sniffing import (
    MISSING,
    MISSING_NUMBERS,
    POINTS_APART,
    SPACES,
    find_separator,
    first_rows,
    has_decimal_commas,
    is_number,
    looks_like_header,
    points_between_thousands,
)
from patchfold.tables.table import KnownColumns, Table

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

SEPARATOR_NAMES = {
    "\t": "tabs",
    ";": "semicolons",
    "|": "vertical bars",
    ",": "commas",
    SPACES: "spaces",
}
# A whole number that may have more than 64 bits. Python reads no more than 4300 digits, and Arrow's
# expressions count no further than 1000.
LARGE, MOST_DIGITS = r"[+-]?[1-9]\d{18,}", 4000
# From this version on, pandas reads numbers exactly by default.
EXACT_PANDAS = (3, 1)


def parse_delimited(
    text: str,
    separator: str | None,
    header: bool | None,
    known: KnownColumns,
    sign: str | None = None,
) -> Table:
    """Read a text whose rows are lines; None has separator, header or decimal sign guessed."""
    import pandas as pd

    notes = []
    declared = re.match(r"sep=(.)\r?\n", text)  # the line that Excel writes and reads
    if declared:
        separator, text = declared[1], text[declared.end() :]
    separator = separator or find_separator(text)
    sample = first_rows(text, separator)
    if not sample:
        raise TableError("the file is empty; give one with a row of names and rows of values.")
    width = len(sample[0])
    commas = separator != "," and has_decimal_commas(sample, expected=known.commas)
    decimal = sign or ("," if commas else ".")
    if separator != "," or decimal == ",":
        guess = f"columns are separated by {SEPARATOR_NAMES.get(separator, quoted(separator))}"
        notes.append(guess + (", decimals by commas" if decimal == "," else ""))
    if header is None:
        header = bool(set(known.expected) & set(sample[0])) or looks_like_header(sample, decimal)
        if not header:
            notes.append(f"there is no row of names; columns are 'column 1' to 'column {width}'")
    names = _column_names(sample[0] if header else [""] * width, notes)
    _check_widths(sample, header)
    if width == 1:
        text = re.sub(r"\A([^\S\r\n]*(\r\n?|\n))+", "", text).rstrip()  # without blank ends
    rows = sample[1:] if header else sample
    dotted = [] if sign or decimal == "," else _dotted(names, rows)
    options = {
        "sep": separator,
        "header": 0 if header else None,
        "names": names,
        "index_col": False,
        "keep_default_na": False,
        "skipinitialspace": True,
        "skip_blank_lines": width > 1,  # in a single column one is a missing value
    }
    frame = _read(text, decimal, [*known.text, *dotted], options)
    apart = _read_dotted(frame, dotted, notes)
    _read_signs(frame, decimal, known.text)
    codes = _zeros_first(frame, rows)
    kept = [name for name in names if name in known.keep or named_like_a_role(name)]
    if not kept:
        return Table(frame, notes, decimal=decimal, apart=apart, codes=codes)
    written = pd.read_csv(io.StringIO(text), usecols=kept, dtype=str, na_values=[""], **options)
    return Table(frame, notes, written, decimal=decimal, apart=apart, codes=codes)


def _read(text: str, decimal: str, words: Sequence[str], options: dict[str, Any]) -> Any:
    """Read the cells; columns of words hold no numbers, whatever they look like."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                io.StringIO(text),
                decimal=decimal,
                na_values=list(MISSING),
                dtype=dict.fromkeys(words, str),
                **options,
                **_precision(pd.__version__),
                low_memory=False,  # one type a column
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise TableError(_in_words(str(error), options["sep"])) from error


def _column_names(given: Sequence[str], notes: list[str]) -> list[str]:
    """Call a column without a name by its place; refuse a name that two columns have."""
    names = [name or f"column {place}" for place, name in enumerate(given, start=1)]
    unnamed = [name for name, own in zip(names, given, strict=True) if not own]
    if unnamed and any(given):
        notes.append(f"columns without a name were called {listed(unnamed)}")
    check_names(names)
    return names


def _check_widths(sample: Sequence[Sequence[str]], header: bool) -> None:
    width = len(sample[0])
    for place, row in enumerate(sample[1:], start=1 if header else 2):
        if len(row) > width:
            raise TableError(
                f"row {place} has {counted(len(row), 'field')} and the "
                f"{'row of names' if header else 'first row'} {width}; "
                "quote fields that contain the separator."
            )


def _precision(version: str) -> dict[str, Any]:
    """Return the option with which pandas reads the same numbers as Python, to the last digit."""
    release = tuple(int(part) for part in version.split(".")[:2])
    return {} if release >= EXACT_PANDAS else {"float_precision": "round_trip"}


def _dotted(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the columns with points between thousands."""
    whole = [row for row in rows if len(row) == len(names)]
    cells = zip(*whole, strict=True) if whole else ()
    return [
        name for name, column in zip(names, cells, strict=False) if points_between_thousands(column)
    ]


def _read_dotted(frame: Any, names: Sequence[str], notes: list[str]) -> tuple[str, ...]:
    """Turn columns with points between thousands into numbers, unless a later row has others.

    Return those that are.
    """
    import pandas as pd

    apart = []
    for name in names:
        cells = frame[name].str.strip()
        fits = cells.str.fullmatch(POINTS_APART) | cells.str.fullmatch(r"[+-]?\d{1,3}")
        if fits[cells.notna()].all():
            apart.append(name)
            cells = cells.str.replace(".", "")
        numbers = pd.to_numeric(cells, errors="coerce")
        frame[name] = cells if (numbers.isna() & cells.notna()).any() else numbers
    if apart:
        notes.append(
            f"points stand between thousands in {listed(apart)} (--decimal . takes them for "
            "decimal points)"
        )
    return tuple(apart)


def _zeros_first(frame: Any, rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the columns of whole numbers of which one begins with a zero."""
    found = {
        place
        for row in rows
        for place, cell in enumerate(row)
        if cell[:1] == "0" and cell[1:].isdecimal()
    }
    names = list(frame.columns)
    return tuple(
        str(names[place])
        for place in sorted(found)
        if place < len(names) and frame[names[place]].dtype.kind in "iuf"
    )


def _read_signs(frame: Any, decimal: str, text: Collection[str]) -> None:
    """Turn columns of text into numbers if only signs for missing numbers, such as "-", are not.

    Before its third version, pandas leaves whole numbers beyond 64 bits as text.
    """
    import pandas as pd

    for name in frame.select_dtypes(exclude=["number", "bool"]):
        signs = frame[name].isin(MISSING_NUMBERS)
        cells = frame[name][~signs].dropna().astype(str)
        if name in text or not len(cells):
            continue
        large = cells.str.fullmatch(LARGE).any() and cells.str.len().max() <= MOST_DIGITS
        if large and cells.str.fullmatch(r"[+-]?\d+").all():
            whole = pd.Series([int(cell) for cell in cells], cells.index, dtype=object)
            frame[name] = whole.reindex(frame.index)
        elif signs.any() and all(is_number(cell, decimal) for cell in cells):
            numbers = [float(cell.replace(decimal, ".")) for cell in cells]
            frame[name] = cells.map(dict(zip(cells, numbers, strict=True))).reindex(frame.index)


def _in_words(message: str, separator: str) -> str:
    """Say in plain words what pandas complains about."""
    fields = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
    name = SEPARATOR_NAMES.get(separator, quoted(separator))
    if fields:
        return (
            f"one row has {fields[3]} fields and the others {fields[1]}, separated by {name}; "
            "quote fields that contain the separator."
        )
    if "EOF inside string" in message:
        return "a quotation mark is never closed; close it, or double it where it is part of text."
    return f"the rows do not fit together ({' '.join(message.split())}); check them."
