"""The tables that the papers print, cell by cell.

One CSV file per table: ``printed`` is the name in the paper, ``data_set`` the name for
:func:`patchfold.datasets.load`, empty in rows of averages and the like; numbers have the digits of
the paper. Table 2 of the X-space paper repeats the columns Euc and PCA four times, always with the
same numbers; they are kept once.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources

from patchfold.base.validation import check_choice

# The tables of each paper, as it numbers them.
TABLES = {
    "isomap-kl": ("I", "II", "III", "IV"),
    "xspace": ("1", "2"),
    "pelle": ("1",),
    "elap": ("I", "II"),
}

# What describes a row; every other column of a file holds numbers.
ROW_FIELDS = ("printed", "data_set", "k", "classifier", "score")


@dataclass(frozen=True, slots=True)
class Cell:
    """One printed number.

    Attributes
    ----------
    printed : str
        The row's name in the paper: a data set, or "Average", "Std. Dev." and so on.
    data_set : str
        The data set's registered name; empty where the row sums up the others.
    column : str
        The column's name in the paper, mostly a method.
    value : float
        The printed number.
    k : int or None
        The number of neighbours, where the table says it.
    classifier : str
        The classifier whose accuracy it is, where the table has several.
    score : str
        The score, where the table has several.
    """

    printed: str
    data_set: str
    column: str
    value: float
    k: int | None
    classifier: str
    score: str


def read(paper: str, table: str) -> list[Cell]:
    """Return the cells of a printed table, row by row.

    Parameters
    ----------
    paper : {"isomap-kl", "xspace", "pelle", "elap"}
        The paper.
    table : str
        The table's number as the paper writes it; :data:`TABLES` lists them.

    Returns
    -------
    list of Cell
        Every printed number with what it belongs to.

    Examples
    --------
    >>> from patchfold.papers import tables
    >>> cells = tables.read("isomap-kl", "I")
    >>> [cell.value for cell in cells if cell.data_set == "iris" and cell.column == "ISO-KL"]
    [0.576]
    >>> {cell.k for cell in tables.read("isomap-kl", "II") if cell.data_set == "satimage"}
    {200}
    """
    check_choice("paper", paper, TABLES)
    check_choice("table", table, TABLES[paper])
    path = resources.files(__package__) / f"{paper}_{table}.csv"
    return [
        Cell(
            printed=row["printed"],
            data_set=row["data_set"],
            column=column,
            value=float(text),
            k=int(row["k"]) if row.get("k") else None,
            classifier=row.get("classifier", ""),
            score=row.get("score", ""),
        )
        for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
        for column, text in row.items()
        if column not in ROW_FIELDS
    ]
