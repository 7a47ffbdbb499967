"""A printed cell has one row and one column."""

from __future__ import annotations

import pytest

from patchfold.papers import tables
from patchfold.papers.reproduction.cells import row_name


@pytest.mark.parametrize(
    ("paper", "table"), [(p, t) for p, ts in tables.TABLES.items() for t in ts]
)
def test_a_row_and_a_column_name_one_printed_cell(paper, table):
    cells = tables.read(paper, table)
    assert len({(row_name(cell), cell.column) for cell in cells}) == len(cells)
