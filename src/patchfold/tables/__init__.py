"""Tables of any make: read, cleaned, turned into points, and written.

Needs pandas, and pyarrow for Parquet: the extra ``patchfold[cli]``.
"""

from patchfold.tables.coding import preprocessor
from patchfold.tables.preparation import TablePreparation
from patchfold.tables.problems import ColumnsError, TableError
from patchfold.tables.reading import read_table
from patchfold.tables.roles import Roles, assign
from patchfold.tables.selection import (
    Selection,
    check_column,
    check_rows,
    classes,
    conform,
    is_continuous,
    select,
)
from patchfold.tables.table import Table
from patchfold.tables.writing import check_ending, encode_table

__all__ = [
    "ColumnsError",
    "Roles",
    "Selection",
    "Table",
    "TableError",
    "TablePreparation",
    "assign",
    "check_column",
    "check_ending",
    "check_rows",
    "classes",
    "conform",
    "encode_table",
    "is_continuous",
    "preprocessor",
    "read_table",
    "select",
]
