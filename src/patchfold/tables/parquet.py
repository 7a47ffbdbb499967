"""Read Parquet files into a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchfold.base.validation import require
from patchfold.tables.decoding import LIMIT, Limit, check_unpacked
from patchfold.tables.problems import TableError, check_names
from patchfold.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Collection


def parse_parquet(data: bytes, keep: Collection[str], limit: Limit = LIMIT) -> Table:
    """Make a table of a Parquet file; an index becomes a column that names the rows."""
    pyarrow = require("pyarrow", "reading Parquet")
    parquet = require("pyarrow.parquet", "reading Parquet")
    try:
        return _parsed(pyarrow.BufferReader(data), parquet, len(data), keep, limit)
    except TableError:
        raise
    except Exception as error:  # what a damaged file says of itself leads anywhere
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TableError(f"the Parquet file is damaged ({reason}); make it anew.") from error


def _parsed(file: Any, parquet: Any, size: int, keep: Collection[str], limit: Limit) -> Table:
    described = parquet.read_metadata(file)
    groups = [described.row_group(place) for place in range(described.num_row_groups)]
    # Runs of equal values take no room in the file; a number, or the place of a text, has 8 bytes.
    cells = described.num_rows * described.num_columns * 8
    check_unpacked(max(cells, sum(group.total_byte_size for group in groups)), size, limit)
    stored = parquet.read_table(file)
    check_names(stored.column_names)
    frame = stored.to_pandas()
    frame, index = _with_index(frame)
    frame.columns = [str(column) for column in frame.columns]
    check_names(list(frame.columns))
    wanted = [name for name in stored.column_names if name in keep]
    if not wanted:  # a selection of no columns has no rows either
        return Table(frame, index=index)
    # Whole numbers stay such beside missing ones.
    kept = stored.select(wanted)
    written = kept.replace_schema_metadata().to_pandas(integer_object_nulls=True)
    return Table(frame, kept=written, index=index)


def _with_index(frame: Any) -> tuple[Any, str | None]:
    """Make columns of an index; return the name of the only one.

    A plain index without a name numbers the rows, and is left out.
    """
    names = list(frame.index.names)
    if len(names) > 1:
        return frame.reset_index([name for name in names if name is not None]).reset_index(
            drop=True
        ), None
    (name,) = names
    if name is None and frame.index.dtype.kind in "iu":
        return frame.reset_index(drop=True), None
    name = "index" if name is None else name
    return frame.rename_axis(index=name).reset_index(), str(name)
