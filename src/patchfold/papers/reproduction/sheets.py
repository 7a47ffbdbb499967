"""Printed and recomputed cells of a table side by side, and what is to be said of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.validation import check_choice
from patchfold.evaluation.significance import Comparison, compare
from patchfold.papers import tables
from patchfold.papers.reproduction.cells import ACCOUNTS, Outcome, Result, printed, row_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from importlib.resources.abc import Traversable

    from patchfold.papers.tables import Cell


Key = tuple[str, str]  # row and column

# A recomputed number is the printed one within the first, near it within the second.
TOLERANCES = (0.005, 0.02)
# Numbers are compared and ranked as they are printed, with three digits. Both are decimal: a
# difference of 0.005 must not fail for its binary rounding.
DIGITS, ROUNDING = 3, 1e-9
# Rows over which methods are compared: fewer cannot tell ranks from chance.
LEAST_ROWS = 5

# The rows that sum up others; standard deviations are those of a sample, as the papers have them.
SUMS: dict[str, Callable[[list[float]], float | np.floating[Any]]] = {
    "Average": np.mean,
    "Mean": np.mean,
    "Std. Dev.": lambda values: np.std(values, ddof=1),
    "Median": np.median,
    "Minimum": np.min,
    "Maximum": np.max,
}
# Tables that sum up others; every other table sums up itself.
SUMMED = {("isomap-kl", "IV"): ("II", "III")}
# The row that sums up a table that no paper prints.
MEAN = "Mean"

# One file per paper says why cells do not come out.
REASONS = resources.files(__package__) / "reasons"
UNEXPLAINED = "not known yet"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table with all its accounts."""

    # As in `patchfold.papers.tables.TABLES`.
    paper: str
    table: str
    # In printed order; methods that are not printed come last.
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    scores: dict[str, str]  # row to score, "" where the table has one score only
    sums: frozenset[str]  # the rows that sum up others
    printed: dict[Key, float]  # (row, column) to printed number
    # Account to (row, column) to result; only accounts that were asked for.
    computed: dict[str, dict[Key, Result]]
    failed: tuple[Outcome, ...]  # the tasks without results


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many printed cells come out, and which do not."""

    account: str  # the account, or accounts, compared with the printed numbers
    computed: dict[Key, Result]  # (row, column) to what was compared with the printed number
    within: tuple[int, ...]  # how many of them lie within each of TOLERANCES
    # Column to (number within the first tolerance, number computed).
    columns: dict[str, tuple[int, int]]
    others: dict[str, list[Key]]  # reason to the cells outside the first tolerance
    missing: tuple[Key, ...]  # printed cells that were not computed

    @property
    def total(self) -> int:
        """Number of printed cells that were computed."""
        return sum(n for _, n in self.columns.values())


def build(paper: str, outcomes: Sequence[Outcome]) -> list[Sheet]:
    """Join outcomes with the printed tables, one sheet per table.

    A table that only sums up others has a sheet where all of those have one.
    """
    asked = list(dict.fromkeys(outcome.task.table for outcome in outcomes))
    known = [*tables.TABLES.get(paper, ()), *asked]
    return [
        _sheet(paper, table, outcomes)
        for table in dict.fromkeys(known)
        if set(SUMMED.get((paper, table), (table,))) <= set(asked)
    ]


def judge(sheet: Sheet, *, folder: Traversable = REASONS) -> Verdict | None:
    """Compare the account that explains printed numbers with them; None where there is none.

    The reasons for cells that do not come out are read from ``folder``.
    """
    # Cell by cell: where the authors released no program, the equations have to explain it.
    accounts = [name for name in ("published", "equations") if sheet.computed.get(name)]
    computed: dict[Key, Result] = {}
    for name in reversed(accounts):
        computed |= sheet.computed[name]
    keys = [
        key
        for key in sheet.printed
        if key[0] not in sheet.sums or len(sheet.sums) == len(sheet.rows)
    ]
    if not accounts or not keys:
        return None
    there = [key for key in keys if key in computed]
    off = {key: abs(difference(computed[key], sheet.printed[key])) for key in there}
    within = tuple(sum(_within(off[key], limit) for key in there) for limit in TOLERANCES)
    others: dict[str, list[Key]] = {}
    reasons = read_reasons(sheet.paper, sheet.table, folder)
    for key in there:
        if not _within(off[key], TOLERANCES[0]):
            others.setdefault(reasons.get(key, UNEXPLAINED), []).append(key)
    # What is not explained comes last.
    others = dict(sorted(others.items(), key=lambda item: item[0] == UNEXPLAINED))
    columns = {
        column: (
            sum(_within(off[key], TOLERANCES[0]) for key in there if key[1] == column),
            sum(key[1] == column for key in there),
        )
        for column in sheet.columns
        if any(key[1] == column for key in there)
    }
    missing = tuple(key for key in keys if key not in computed)
    first = sheet.computed[accounts[0]]
    used = accounts[:1] if all(key in first for key in there) else accounts
    account = ", or ".join(used) + (" where that is empty" if len(used) > 1 else "")
    return Verdict(account, computed, within, columns, others, missing)


def difference(result: Result, value: float) -> float:
    """Return by how much a number is above the printed one."""
    return round(result.value, DIGITS) - value


def read_reasons(paper: str, table: str, folder: Traversable = REASONS) -> dict[Key, str]:
    """Return why printed cells do not come out, from ``<paper>.toml`` in a folder.

    The file has entries ``[[reason]]`` with ``table``, ``because``, and ``rows`` and ``columns``
    as lists, each left out where it means all. A later entry overrides an earlier one.
    """
    path = folder / f"{paper}.toml"
    if not path.is_file():
        return {}
    cells = [(row_name(cell), cell.column) for cell in printed(paper, table)]
    every = [list(dict.fromkeys(names)) for names in zip(*cells, strict=True)]
    found = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["reason"]:
        if entry["table"] != table:
            continue
        rows = [check_choice("row", row, every[0]) for row in entry.get("rows", every[0])]
        columns = [
            check_choice("column", name, every[1]) for name in entry.get("columns", every[1])
        ]
        found.update({(row, column): entry["because"] for row in rows for column in columns})
    return found


def comparisons(sheet: Sheet, account: str) -> list[tuple[str, Comparison]]:
    """Test the methods of an account, or of the printed table, over its complete rows.

    There is one, with its title, for each score and each family of methods; none where fewer than
    three methods have enough rows in common.
    """
    values = (
        sheet.printed
        if account == "printed"
        else {key: round(result.value, DIGITS) for key, result in sheet.computed[account].items()}
    )
    found = []
    for score in dict.fromkeys(sheet.scores[row] for row in sheet.rows):
        rows = [row for row in sheet.rows if sheet.scores[row] == score and row not in sheet.sums]
        for name, columns, control, pairs in _families(sheet):
            there = [column for column in columns if any((row, column) in values for row in rows)]
            scores = [
                [values[row, column] for column in there]
                for row in rows
                if all((row, column) in values for column in there)
            ]
            needed = {control, *(method for pair in pairs for method in pair)} - {""}
            if len(there) >= 3 and len(scores) >= LEAST_ROWS and needed <= set(there):
                title = ", ".join(part for part in (account, score, name) if part)
                found.append((title, compare(there, scores, control=control, pairs=pairs)))
    return found


def _families(sheet: Sheet) -> list[tuple[str, tuple[str, ...], str, list[tuple[str, str]]]]:
    """Return the name, the methods, the control and the pairs of every comparison.

    The X-space paper compares each learner in its space with the three beside it (section 6). Its
    statements follow if all ten are ranked together, and four pairs compared.
    """
    if sheet.paper != "xspace":
        return [("", sheet.columns, "", [])]
    pairs = [(f"X-{name}", name) for name in ("ISM", "LEM", "LLE", "tSNE")]
    all_ten = ("Euc", "PCA", *(method for pair in pairs for method in pair))
    return [
        *((own, ("Euc", "PCA", usual, own), own, []) for own, usual in pairs),
        ("all ten", all_ten, "", pairs),
    ]


def _sheet(paper: str, table: str, outcomes: Sequence[Outcome]) -> Sheet:
    cells = printed(paper, table)
    own = [outcome for outcome in outcomes if outcome.task.table == table]
    results = [(outcome.task, result) for outcome in own for result in outcome.results]
    scores = {row_name(cell): cell.score for cell in cells}
    scores |= {result.row: "" for _, result in results if result.row not in scores}
    sums = [row_name(cell) for cell in cells if not cell.data_set]
    if not cells:
        scores[MEAN] = ""
        sums = [MEAN]
    columns = [*(cell.column for cell in cells), *(outcome.task.method for outcome in own)]
    sources = SUMMED.get((paper, table), (table,))
    there = {outcome.task.account for outcome in outcomes if outcome.task.table in sources}
    computed: dict[str, dict[Key, Result]] = {name: {} for name in ACCOUNTS if name in there}
    for task, result in results:
        computed[task.account][result.row, task.method] = result
    for account, found in computed.items():
        for cell in cells:
            if not cell.data_set:
                values = _summed(paper, sources, cell, account, outcomes)
                if values:
                    value = float(SUMS[cell.printed](values))
                    found[row_name(cell), cell.column] = Result(row_name(cell), value)
        if not cells:
            found.update(_means(found, [row for row in scores if row != MEAN], columns))
    return Sheet(
        paper=paper,
        table=table,
        rows=tuple(scores),
        columns=tuple(dict.fromkeys(columns)),
        scores=scores,
        sums=frozenset(sums),
        printed={(row_name(cell), cell.column): cell.value for cell in cells},
        computed=computed,
        failed=tuple(outcome for outcome in own if outcome.error),
    )


def _summed(
    paper: str, sources: Sequence[str], total: Cell, account: str, outcomes: Sequence[Outcome]
) -> list[float]:
    """Return the values that a row of sums is made of, none unless all of them are there."""
    values = {
        (outcome.task.table, result.row): result.value
        for outcome in outcomes
        if outcome.task.account == account and outcome.task.method == total.column
        for result in outcome.results
    }
    keys = [
        (table, row_name(cell))
        for table in sources
        for cell in printed(paper, table)
        if cell.data_set and cell.column == total.column
    ]
    return [values[key] for key in keys] if all(key in values for key in keys) else []


def _means(
    found: dict[Key, Result], rows: Sequence[str], columns: Iterable[str]
) -> dict[Key, Result]:
    """Return the mean of every column that has a number in all rows."""
    means = {}
    for column in dict.fromkeys(columns):
        values = [found[row, column].value for row in rows if (row, column) in found]
        if values and len(values) == len(rows):
            means[MEAN, column] = Result(MEAN, float(SUMS[MEAN](values)))
    return means


def _within(difference: float, tolerance: float) -> bool:
    return difference <= tolerance + ROUNDING
