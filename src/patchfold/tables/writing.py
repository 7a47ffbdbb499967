"""Write a table by the ending of its name."""

from __future__ import annotations

import gzip
import io
import re
from typing import TYPE_CHECKING, Any

from patchfold.base.validation import require
from patchfold.tables.problems import TableError

if TYPE_CHECKING:
    from pathlib import Path

SEPARATORS = {".csv": ",", ".tsv": "\t"}
ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
# Spreadsheets run text that begins so; some of them also with the wide signs of East Asia. Signed
# numbers, and signs alone, are harmless. explorer/table.js has the same.
FORMULA = re.compile(r"(?![+-][\d.,]*([eE][+-]?\d+)?\Z|--\Z)[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def check_ending(path: Path, endings: tuple[str, ...] = ENDINGS) -> str:
    """Return the ending of a name that says how it is written, or say which there are."""
    for ending in sorted(endings, key=len, reverse=True):
        if path.name.lower().endswith(ending):
            return ending
    raise TableError(f"the ending of {path.name!r} is not known; use {' or '.join(endings)}.")


def encode_table(frame: Any, ending: str, *, formulas: bool = False) -> bytes:
    r"""Return the bytes of a file with a table; numbers come back to the last digit.

    The ending is one of :data:`ENDINGS`. Text that a spreadsheet would run is written behind an
    apostrophe, or with ``formulas`` as it is. Parquet has types, and needs none.

    Examples
    --------
    >>> import pandas as pd
    >>> encode_table(pd.DataFrame({"x": [0.1], "name": ["a,b"]}), ".csv")
    b'x,name\n0.1,"a,b"\n'
    >>> encode_table(pd.DataFrame({"x": [-0.1], "name": ["=A1"]}), ".csv")
    b"x,name\n-0.1,'=A1\n"
    """
    if ending == ".parquet":
        require("pyarrow", "writing Parquet")
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    compressed = ending.endswith(".gz")
    separator = SEPARATORS[ending.removesuffix(".gz")]
    frame = frame if formulas else _without_formulas(frame)
    text = frame.to_csv(index=False, sep=separator, lineterminator="\n")
    data = str(text).encode()
    # Without the time of writing, so that equal tables are equal files.
    return gzip.compress(data, mtime=0) if compressed else data


def _without_formulas(frame: Any) -> Any:
    from pandas.api import types

    frame = frame.copy(deep=False)
    for place, dtype in enumerate(frame.dtypes):
        categories = getattr(dtype, "categories", None)
        kind = dtype if categories is None else categories.dtype
        if types.is_object_dtype(kind) or types.is_string_dtype(kind):
            column = frame.iloc[:, place].astype(object).map(_harmless, na_action="ignore")
            frame.isetitem(place, column)
    return frame.set_axis([_harmless(name) for name in frame.columns], axis=1)


def _harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell
