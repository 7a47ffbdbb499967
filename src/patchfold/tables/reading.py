"""Read a table, whatever it is kept in: text with any separator, Parquet, ARFF, NumPy's files.

The first bytes of a file say what it is. The ending of its name decides only where they do not.
Every guess is noted.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from patchfold.base.validation import require
from patchfold.tables.arff import parse_arff
from patchfold.tables.decoding import decode, decompress
from patchfold.tables.delimited import parse_delimited
from patchfold.tables.numpy_files import parse_npy, parse_npz
from patchfold.tables.parquet import parse_parquet
from patchfold.tables.problems import TableError, listed
from patchfold.tables.table import KnownColumns, Table

if TYPE_CHECKING:
    from collections.abc import Collection


def read_table(
    source: str | Path,
    *,
    header: bool | None = None,
    expected: Collection[str] = (),
    text: Collection[str] = (),
    keep: Collection[str] = (),
    decimal: str | None = None,
    commas: bool = False,
) -> Table:
    r"""Read a table from a file, or from standard input.

    The source is CSV, TSV, Parquet, ARFF, NPY or NPZ, each also compressed by gzip; ``"-"`` is
    standard input. Of a text, None looks whether the first row names the columns (``header``), and
    for the decimal sign, "." or ",", of which the other one may stand between thousands; where the
    text leaves it open, it is a comma if ``commas``. A first row with one of the ``expected``
    names, for which the caller will ask, is a header. Columns of ``text`` hold no numbers, whatever
    they look like; those to ``keep`` are wanted as they are written, too: 001 is no 1.

    A :class:`TableError` says what is wrong with a file, and what to do.

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
    data = decompress(data)
    if not data.strip():
        raise TableError("the file is empty; give one with a row of names and rows of values.")
    names = KnownColumns({*expected, *text, *keep}, frozenset(text), frozenset(keep), commas)
    table = _parse(data, ending.lower(), header, names, decimal)
    if not len(table.frame):
        raise TableError(
            f"there are no rows, only names of columns: {listed(list(table.frame.columns))}; "
            "give a table with rows."
        )
    return table


def _parse(
    data: bytes, ending: str, header: bool | None, known: KnownColumns, decimal: str | None
) -> Table:
    if data.startswith(b"PAR1"):
        return parse_parquet(data, known.keep)
    if data.startswith(b"\x93NUMPY"):
        return parse_npy(data)
    if data.startswith(b"PK\x03\x04"):
        return parse_npz(data)
    text, notes = decode(data)
    if ending == ".arff" or re.match(r"(\s*%.*\n|\s*\n)*\s*@relation\b", text, re.IGNORECASE):
        frame, written = parse_arff(text)
        return Table(frame, notes, written[[name for name in written if name in known.keep]])
    tabs = "\t" if ending in {".tsv", ".tab"} else None
    table = parse_delimited(text, tabs, header, known, decimal)
    return replace(table, notes=notes + table.notes)
