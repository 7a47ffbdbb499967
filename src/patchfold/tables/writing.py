"""Write a table by the ending of its name."""

from __future__ import annotations

import gzip
import io
from typing import TYPE_CHECKING, Any

from patchfold.tables._naming import TableError, require

if TYPE_CHECKING:
    from pathlib import Path

SEPARATORS = {".csv": ",", ".tsv": "\t"}
ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")


def check_ending(path: Path, endings: tuple[str, ...] = ENDINGS) -> str:
    """Return the ending of a name that says how it is written, or say which there are."""
    for ending in sorted(endings, key=len, reverse=True):
        if path.name.lower().endswith(ending):
            return ending
    raise TableError(f"the ending of {path.name!r} is not known; use {' or '.join(endings)}.")


def encode_table(frame: Any, ending: str) -> bytes:
    r"""Return the bytes of a file with a table; numbers come back to the last digit.

    Examples
    --------
    >>> import pandas as pd
    >>> encode_table(pd.DataFrame({"x": [0.1], "name": ["a,b"]}), ".csv")
    b'x,name\n0.1,"a,b"\n'
    """
    if ending == ".parquet":
        require("pyarrow", "writing Parquet")
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    compressed = ending.endswith(".gz")
    separator = SEPARATORS[ending.removesuffix(".gz")]
    text = frame.to_csv(index=False, sep=separator, lineterminator="\n")
    data = str(text).encode()
    # Without the time of writing, so that equal tables are equal files.
    return gzip.compress(data, mtime=0) if compressed else data
