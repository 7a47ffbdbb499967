"""Read a table, whatever it is kept in: text with any separator, Parquet, ARFF, NumPy's files.

What a file is shows in its first bytes; the ending of its name only decides what those leave open.
Compression by gzip is undone first. Everything that had to be guessed is noted.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import warnings
import zlib
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from patchfold.tables._naming import TableError, counted, listed, quoted, require
from patchfold.tables.arff import parse_arff

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# Separators in the order in which they are believed: a semicolon is rarely part of a number.
SEPARATORS = ("\t", ";", "|", ",")
SPACES = r"\s+"
SEPARATOR_NAMES = {
    "\t": "tabs",
    ";": "semicolons",
    "|": "vertical bars",
    ",": "commas",
    SPACES: "spaces",
}
# Rows that separator, decimal sign and header are read from.
SAMPLE_ROWS = 200
# What an empty cell is called in files, however its letters are; "?" by ARFF and the older
# collections. "None" is what Python writes, and "none" may be a category.
MISSING_WORDS = ("", "?", "na", "n/a", "n.a.", "#n/a", "<na>", "nan", "null")
MISSING = frozenset(
    ["None"]
    + [
        "".join(letters)
        for word in MISSING_WORDS
        for letters in product(*({letter.lower(), letter.upper()} for letter in word))
    ]
)
# What an empty cell is called among numbers alone: elsewhere these are categories.
MISSING_NUMBERS = frozenset(["-", "--", ".", "none", "NONE"])
# Since then numbers are exact without being asked for.
EXACT_PANDAS = (3, 1)
# The largest field that csv takes; its own limit is there for files with a lost quote.
LARGEST_FIELD = 2**31 - 1

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
# What may as well be a whole number with a comma between thousands.
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
# Bytes that no text has; tab, line ends and form feed are left out.
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

# The marks at the beginning of a text that say its encoding; the longer of two alike comes first.
BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "utf-8",
    b"\xff\xfe\x00\x00": "utf-32-le",
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
# What spreadsheets write where the system is not set to UTF-8; Latin-1 takes what is left.
OLD_ENCODINGS = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}


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
        The columns that were to be kept as they are written; None where the frame has them so.
    """

    frame: Any
    notes: list[str] = field(default_factory=list)
    kept: Any = None


def read_table(
    source: str | Path,
    *,
    header: bool | None = None,
    expected: Collection[str] = (),
    text: Collection[str] = (),
    keep: Collection[str] = (),
) -> Table:
    r"""Read a table from a file, or from standard input.

    Parameters
    ----------
    source : str or Path
        CSV, TSV, Parquet, ARFF, NPY or NPZ, each also compressed by gzip; ``"-"`` is standard
        input.
    header : bool or None
        Whether the first row of a text names the columns; None looks.
    expected : collection of str
        Names of columns that the caller will ask for: a first row with one of them is a header.
    text : collection of str
        Columns of a text that hold no numbers, whatever they look like.
    keep : collection of str
        Columns that are wanted as they are written, too: 001 is no 1.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        Says what is wrong with the file, and what to do.
    OSError
        Where it cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "iris.csv"
    >>> _ = path.write_text("length;kind\n5,1;setosa\n4,9;versicolor\n")
    >>> table = read_table(path)
    >>> table.frame.to_dict("list")
    {'length': [5.1, 4.9], 'kind': ['setosa', 'versicolor']}
    >>> table.notes
    ['columns are separated by semicolons, decimals by commas']
    """
    require("pandas", "reading tables")
    if str(source) == "-":
        if sys.stdin is None:
            raise TableError("it is closed; name a file, or open it.")
        data, ending = sys.stdin.buffer.read(), ""
    else:
        path = Path(source)
        data = path.read_bytes()
        ending = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    data = _decompress(data)
    if not data.strip():
        raise TableError("the file is empty; give one with a row of names and rows of values.")
    names = _Names({*expected, *text, *keep}, frozenset(text), frozenset(keep))
    table = _parse(data, ending.lower(), header, names)
    if not len(table.frame):
        raise TableError(
            f"there are no rows, only names of columns: {listed(list(table.frame.columns))}."
        )
    return table


@dataclass(frozen=True)
class _Names:
    """Columns that the caller knows of: any, those of text, and those wanted as written."""

    expected: Collection[str]
    text: Collection[str]
    keep: Collection[str]


def _decompress(data: bytes) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise TableError(f"the compressed file is damaged ({error}); make it anew.") from error


def _parse(data: bytes, ending: str, header: bool | None, known: _Names) -> Table:
    if data.startswith(b"PAR1"):
        return _parse_parquet(data, known.keep)
    if data.startswith(b"\x93NUMPY"):
        return _parse_arrays({"": _load_array(io.BytesIO(data))})
    if data.startswith(b"PK\x03\x04"):
        return _parse_npz(data)
    text, notes = _decode(data)
    if ending == ".arff" or re.match(r"(\s*%.*\n|\s*\n)*\s*@relation\b", text, re.IGNORECASE):
        frame, written = parse_arff(text)
        return Table(frame, notes, written[[name for name in written if name in known.keep]])
    tabs = "\t" if ending in {".tsv", ".tab"} else None
    table = _parse_text(text, tabs, header, known)
    return Table(table.frame, notes + table.notes, table.kept)


def _decode(data: bytes) -> tuple[str, list[str]]:
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding), []
            except UnicodeDecodeError as error:
                raise TableError(
                    f"the file begins like {encoding}, and byte {error.start} is none of it; "
                    "save it as UTF-8."
                ) from error
    if CONTROL.search(data):
        if _looks_like_utf16(data):
            raise TableError(
                "this seems to be text in UTF-16 without the mark that says so; save it as UTF-8."
            )
        raise TableError(
            "this is no table but a binary file; give CSV, TSV, Parquet, ARFF, NPY or NPZ."
        )
    try:
        return data.decode(), []
    except UnicodeDecodeError:
        pass
    for encoding, name in OLD_ENCODINGS.items():
        try:
            return data.decode(encoding), [f"the text is not UTF-8 and was read as {name}"]
        except UnicodeDecodeError:
            continue
    raise AssertionError("Latin-1 reads every byte")  # pragma: no cover


def _looks_like_utf16(data: bytes) -> bool:
    """Whether every second byte is zero, as in Latin letters, and text is left without them."""
    return any(
        not half.strip(b"\0") and not CONTROL.search(other)
        for half, other in ((data[::2], data[1::2]), (data[1::2], data[::2]))
    )


# ---------------------------------------------------------------- text


def _parse_text(text: str, separator: str | None, header: bool | None, known: _Names) -> Table:
    import pandas as pd

    notes = []
    declared = re.match(r"sep=(.)\r?\n", text)  # the line that Excel writes and reads
    if declared:
        separator, text = declared[1], text[declared.end() :]
    separator = separator or _separator(text)
    sample = _sample(text, separator)
    if not sample:
        raise TableError("the file is empty; give one with a row of names and rows of values.")
    width = len(sample[0])
    decimal = "," if separator != "," and _has_decimal_commas(sample) else "."
    if separator != "," or decimal == ",":
        guess = f"columns are separated by {SEPARATOR_NAMES.get(separator, quoted(separator))}"
        notes.append(guess + (", decimals by commas" if decimal == "," else ""))
    if header is None:
        header = bool(set(known.expected) & set(sample[0])) or _looks_like_header(sample, decimal)
        if not header:
            notes.append(f"there is no row of names; columns are 'column 1' to 'column {width}'")
    names = _names(sample[0] if header else [""] * width, notes)
    _check_widths(sample, header)
    if width == 1:
        text = _without_blank_ends(text)
    options = {
        "sep": separator,
        "header": 0 if header else None,
        "names": names,
        "index_col": False,
        "keep_default_na": False,
        "skipinitialspace": True,
        "skip_blank_lines": width > 1,  # in a single column one is a missing value
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(text),
                decimal=decimal,
                na_values=list(MISSING),
                dtype=dict.fromkeys(known.text, str),
                **options,
                **_precision(pd.__version__),
                low_memory=False,  # one type a column
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise TableError(_in_words(str(error), separator)) from error
    _read_signs(frame, decimal, known.text)
    kept = [name for name in names if name in known.keep]
    if not kept:
        return Table(frame, notes)
    written = pd.read_csv(io.StringIO(text), usecols=kept, dtype=str, na_values=[""], **options)
    return Table(frame, notes, written)


def _without_blank_ends(text: str) -> str:
    return re.sub(r"\A([^\S\r\n]*(\r\n?|\n))+", "", text).rstrip()


def _read_signs(frame: Any, decimal: str, text: Collection[str]) -> None:
    """Make numbers of columns that are text only where a sign stands for a missing number."""
    for name in frame.select_dtypes(exclude=["number", "bool"]):
        signs = frame[name].isin(MISSING_NUMBERS)
        cells = frame[name][~signs].dropna().astype(str)
        if name in text or not signs.any() or not len(cells):
            continue
        if all(_is_number(cell, decimal) for cell in cells):
            numbers = [float(cell.replace(decimal, ".")) for cell in cells]
            frame[name] = cells.map(dict(zip(cells, numbers, strict=True))).reindex(frame.index)


def _precision(version: str) -> dict[str, Any]:
    """Return what makes pandas read the numbers that Python reads, to the last digit."""
    release = tuple(int(part) for part in version.split(".")[:2])
    return {} if release >= EXACT_PANDAS else {"float_precision": "round_trip"}


def _rows(text: str, separator: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)


def _sample(text: str, separator: str) -> list[list[str]]:
    """Return the first rows that are not blank."""
    if separator == SPACES:
        lines = (line.split() for line in io.StringIO(text))
        return list(islice((cells for cells in lines if cells), SAMPLE_ROWS))
    limit = csv.field_size_limit(LARGEST_FIELD)
    try:
        filled = (row for row in _rows(text, separator) if len(row) > 1 or "".join(row).strip())
        rows = islice(filled, SAMPLE_ROWS)
        return [[cell.strip() for cell in row] for row in rows]
    finally:
        csv.field_size_limit(limit)


def _separator(text: str) -> str:
    """Choose the separator that most rows agree on; the first of equals."""

    def agreement(separator: str) -> float:
        widths = Counter(len(row) for row in _sample(text, separator))
        if not widths:
            return 0.0
        width, count = widths.most_common(1)[0]
        return count / widths.total() if width > 1 else 0.0

    if any(map(agreement, SEPARATORS)):
        return max(SEPARATORS, key=agreement)
    # Text has spaces, too: a table by spaces has the same number in all rows, and numbers.
    _, *rows = _sample(text, SPACES) or [[]]
    numbers = all(any(_is_number(cell, ".") for cell in row) for row in rows)
    return SPACES if rows and numbers and agreement(SPACES) == 1 else ","


def _has_decimal_commas(sample: Sequence[Sequence[str]]) -> bool:
    """Whether there are decimal commas, that is commas that cannot stand between thousands."""
    cells = [cell for row in sample for cell in row]
    points = any("." in cell and NUMBER.fullmatch(cell) for cell in cells)
    commas = [cell for cell in cells if COMMA_NUMBER.fullmatch(cell)]
    return not points and not all(THOUSANDS.fullmatch(cell) for cell in commas)


def _looks_like_header(sample: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the first row is text above numbers; a table of text alone has a header.

    What stands for a missing value is data, but for an empty cell, and says nothing above numbers.
    """
    first, *rest = sample
    if not rest:
        return not any(_is_number(cell, decimal) for cell in first)
    numeric = [
        place
        for place in range(len(first))
        if all(
            _is_number(row[place], decimal) or _is_missing(row[place])
            for row in rest
            if place < len(row)
        )
    ]
    if not numeric:
        return not any(cell and _is_missing(cell) for cell in first)
    above = [first[place] for place in numeric]
    return not all(_is_number(cell, decimal) or _is_missing(cell) for cell in above)


def _is_missing(cell: str) -> bool:
    return cell in MISSING or cell in MISSING_NUMBERS


def _is_number(cell: str, decimal: str) -> bool:
    return NUMBER.fullmatch(cell.replace(decimal, ".")) is not None


def _names(given: Sequence[str], notes: list[str]) -> list[str]:
    """Name columns that have no name by their place; refuse names that two columns have."""
    names = [name or f"column {place}" for place, name in enumerate(given, start=1)]
    unnamed = [name for name, own in zip(names, given, strict=True) if not own]
    if unnamed and any(given):
        notes.append(f"columns without a name were called {listed(unnamed)}")
    check_names(names)
    return names


def check_names(names: Sequence[str]) -> None:
    """Refuse a name that two columns have."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        places = [place for place, name in enumerate(names, start=1) if name == twice[0]]
        raise TableError(
            f"columns {places[0]} and {places[1]} are both named {quoted(twice[0])}; "
            "give every column a name of its own."
        )


def _check_widths(sample: Sequence[Sequence[str]], header: bool) -> None:
    width = len(sample[0])
    for place, row in enumerate(sample[1:], start=1 if header else 2):
        if len(row) > width:
            raise TableError(
                f"row {place} has {counted(len(row), 'field')} and the "
                f"{'row of names' if header else 'first row'} {width}; "
                "quote fields that contain the separator."
            )


def _in_words(message: str, separator: str) -> str:
    """Say what pandas says, without its words for itself."""
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


# ---------------------------------------------------------------- other files


def _parse_parquet(data: bytes, keep: Collection[str]) -> Table:
    pyarrow = require("pyarrow", "reading Parquet")
    parquet = require("pyarrow.parquet", "reading Parquet")
    try:
        stored = parquet.read_table(pyarrow.BufferReader(data))
    except (OSError, pyarrow.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise TableError(f"the Parquet file is damaged ({reason}); make it anew.") from error
    check_names(stored.column_names)
    frame = stored.to_pandas()
    # The index of a frame is a column if it has a name, and the number of the row otherwise.
    named = [name for name in frame.index.names if name is not None]
    frame = frame.reset_index(named) if named else frame
    frame.columns = [str(column) for column in frame.columns]
    check_names(list(frame.columns))
    # Whole numbers stay such beside missing ones.
    kept = stored.select([name for name in stored.column_names if name in keep])
    written = kept.replace_schema_metadata().to_pandas(integer_object_nulls=True)
    return Table(frame.reset_index(drop=True), kept=written)


def _parse_npz(data: bytes) -> Table:
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            members = archive.namelist()
            if not members or not all(name.endswith(".npy") for name in members):
                raise TableError(
                    "this is a zip archive, perhaps a spreadsheet, and no NPZ file; save the "
                    "table as CSV."
                )
            arrays = {}
            for name in members:
                with archive.open(name) as file:
                    arrays[name.removesuffix(".npy")] = _load_array(io.BytesIO(file.read()))
    except (BadZipFile, zlib.error, NotImplementedError) as error:
        raise TableError(f"the NPZ file is damaged ({error}); make it anew.") from error
    return _parse_arrays(arrays)


def _load_array(file: io.BytesIO) -> Any:
    try:
        return np.load(file, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        reason = " ".join(str(error).split())
        raise TableError(
            f"the array cannot be read ({reason}); save numbers or text, not Python objects."
        ) from error


def _parse_arrays(arrays: dict[str, Any]) -> Table:
    """Make a table of one array of points, and of arrays with a value for each of them."""
    import pandas as pd

    if len(arrays) == 1:
        (points,) = arrays.values()
        if points.dtype.names:
            return Table(pd.DataFrame({name: points[name] for name in points.dtype.names}))
        matrices = {key: array for key, array in arrays.items() if array.ndim}
    else:
        matrices = {key: array for key, array in arrays.items() if array.ndim > 1}
    if len(matrices) != 1:
        shapes = [f"{key} {array.shape}" for key, array in arrays.items()]
        raise TableError(
            f"there is not one array of points but {listed(shapes)}; save one with a row for "
            "each point, and beside it only arrays with one value for each."
        )
    ((main, points),) = matrices.items()
    notes = []
    if points.ndim > 2:
        notes.append(f"each row of shape {points.shape[1:]} was laid out as one line of numbers")
    flat = points.reshape(len(points), -1)
    names = [f"column {place}" for place in range(1, flat.shape[1] + 1)]
    frame = pd.DataFrame(flat, columns=names)
    alike = [key for key in arrays if key != main and key in names]
    if alike:
        raise TableError(
            f"the array {quoted(alike[0])} has the name that a column of the points gets; save it "
            "under another."
        )
    for key, values in arrays.items():
        if key != main and values.shape == (len(flat),):
            frame[key] = values.astype(str) if values.dtype.kind == "S" else values
        elif key != main:
            notes.append(f"the array {quoted(key)} of shape {values.shape} was left out")
    return Table(frame, notes)
