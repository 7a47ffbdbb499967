"""What is computed for a printed table: tasks, their results, and the rows they belong to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchfold.base.validation import check_choice
from patchfold.datasets.loading import at_hand
from patchfold.papers import tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchfold.papers.tables import Cell

# The three ways to compute a cell: as the authors' programs do, by the paper's equations with its
# protocol, and by the equations with K chosen without the labels of the test points.
ACCOUNTS = ("published", "equations", "honest")
ACCOUNTS_NOTE = (
    "Each number is computed up to three times, in three columns. Published: as the authors' "
    "program computes it. Equations: by the paper's equations and protocol. Honest: like "
    "equations, but every choice is made without the labels of the test points."
)


@dataclass(frozen=True, slots=True)
class Task:
    """The unit of work and of storage: one method on one data set."""

    # As in `patchfold.papers.tables.TABLES`.
    paper: str
    table: str
    dataset: str  # the name for `patchfold.datasets.load`
    method: str  # the column of the printed table
    account: str  # one of ACCOUNTS

    def __str__(self) -> str:
        return f"{self.table} {self.dataset} {self.method} {self.account}"


@dataclass(frozen=True, slots=True)
class Result:
    """One cell as it comes out."""

    row: str  # the row of the printed table, as row_name writes it
    value: float
    # The interval, where the number is a mean over repetitions.
    low: float | None = None
    high: float | None = None
    note: str = ""  # what was chosen, for instance "K=40"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished task: its results, or why there are none."""

    task: Task
    results: tuple[Result, ...] = ()  # one for each row; empty after an error
    error: str = ""  # its message; empty where there was none


def row_name(cell: Cell) -> str:
    """Name the row of a printed cell: data set as printed, then classifier or score, if any.

    Examples
    --------
    >>> from patchfold.papers import tables
    >>> row_name(tables.read("isomap-kl", "III")[0])
    'first-order-theorem / KNN'
    """
    return " / ".join(part for part in (cell.printed, cell.classifier, cell.score) if part)


def rows(paper: str, table: str, dataset: str) -> list[str]:
    """Return the rows of a data set in a printed table, none where nothing is printed.

    Examples
    --------
    >>> rows("xspace", "2", "ionosphere")
    ['iono. / ARI', 'iono. / NMI', 'iono. / PUR']
    """
    names = (row_name(cell) for cell in printed(paper, table) if cell.data_set == dataset)
    return list(dict.fromkeys(names))


def printed(paper: str, table: str) -> list[Cell]:
    """Return the cells of a printed table, or none if the paper prints no such table."""
    return tables.read(paper, table) if table in tables.TABLES.get(paper, ()) else []


def printed_tasks(
    paper: str,
    table: str,
    datasets: Sequence[str] | None,
    accounts: Sequence[str],
    quick: bool,
    *,
    most: int,
    own: str = "",
) -> list[Task]:
    """List the tasks of a printed table: every method on every data set, by every account.

    Without names of ``datasets`` it is all that need no network; a ``quick`` run leaves out those
    with more than ``most`` rows. With ``own``, only this method has the account "equations".

    Examples
    --------
    >>> found = printed_tasks("pelle", "1", ["wine"], ["equations"], False, most=200, own="PELLE")
    >>> [str(task) for task in found]
    ['1 wine PELLE equations']
    """
    there = at_hand(datasets)
    cells = dict.fromkeys((cell.data_set, cell.column) for cell in printed(paper, table))
    return [
        Task(paper, table, name, method, account)
        for name, method in cells
        if name in there and not (quick and there[name].shape[0] > most)
        for account in accounts
        if method == own or account != "equations" or not own
    ]


def check_outcome(outcome: Outcome) -> Outcome:
    """Return an outcome if its rows are those of the printed table and its numbers finite."""
    task = outcome.task
    known = rows(task.paper, task.table, task.dataset)
    for result in outcome.results:
        if known:
            check_choice("row", result.row, known)
        numbers = [x for x in (result.value, result.low, result.high) if x is not None]
        if not all(math.isfinite(number) for number in numbers):
            raise ValueError(f"row {result.row!r} has the values {numbers}; leave it out instead")
    return outcome
