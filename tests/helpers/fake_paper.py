"""A paper whose cells take no work, and the command with it in place of PELLE.

``FAKE_SECONDS`` is how long a task takes. ``FAKE_TROUBLE`` is what goes wrong in one of them.
"""

from __future__ import annotations

import hashlib
import os
import time

from patchfold.papers import tables
from patchfold.papers.reproduction import PAPERS
from patchfold.papers.reproduction.cells import ACCOUNTS, Outcome, Result, Task, row_name, rows

PROTOCOL = 1
TABLES = ("1",)
OWN = ()
NOTE = "Accounts: as usual."

# What a trouble is met by.
TROUBLED = Task("pelle", "1", "parity5", "LLE", "published")


def tasks(table, datasets, accounts, quick):
    cells = [cell for cell in tables.read("pelle", table) if cell.data_set]
    at_hand = list(dict.fromkeys(cell.data_set for cell in cells))[: 2 if quick else 4]
    return [
        Task("pelle", table, cell.data_set, cell.column, account)
        for account in accounts
        for cell in cells
        if cell.data_set in (at_hand if datasets is None else datasets)
    ]


def compute(task):
    time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
    trouble = os.environ.get("FAKE_TROUBLE", "") if task == TROUBLED else ""
    if trouble == "raise":
        raise ArithmeticError("no neighbours <at all>")
    if trouble == "die":
        os._exit(9)
    (row,) = ["nowhere"] if trouble == "row" else rows(task.paper, task.table, task.dataset)
    return [Result(row, float("nan") if trouble == "nan" else value(task), note="K=7")]


def value(task):
    """Return the printed number, up to 0.04 off in a way that only the task decides."""
    (printed,) = [
        cell.value
        for cell in tables.read(task.paper, task.table)
        if (cell.data_set, cell.column) == (task.dataset, task.method)
    ]
    digest = hashlib.sha256(repr(task).encode()).digest()
    return printed + (digest[0] - 128) / 128 * 0.04


def outcomes(accounts=ACCOUNTS, **arguments):
    """Return what the tasks give."""
    asked = tasks("1", arguments.get("datasets"), accounts, arguments.get("quick"))
    return [Outcome(task, tuple(compute(task))) for task in asked]


def perfect(paper, table, account="published", *, off=0.0):
    """Return outcomes in which every printed number comes out, ``off`` from it."""
    return [
        Outcome(
            Task(paper, table, cell.data_set, cell.column, account),
            (Result(row_name(cell), cell.value + off),),
        )
        for cell in tables.read(paper, table)
        if cell.data_set
    ]


if __name__ == "__main__":
    from patchfold.cli import app

    PAPERS["pelle"] = "fake_paper"
    app(prog_name="patchfold")
