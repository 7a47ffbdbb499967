"""The report on a paper: Markdown, one HTML page that needs nothing else, and its pictures.

The same outcomes give the same bytes.
"""

from __future__ import annotations

from html import escape
from itertools import product
from typing import TYPE_CHECKING

from patchfold.evaluation import document
from patchfold.evaluation.diagram import critical_difference_svg
from patchfold.evaluation.document import Block
from patchfold.evaluation.significance import ALPHA
from patchfold.papers.reproduction.sheets import (
    REASONS,
    ROUNDING,
    TOLERANCES,
    Sheet,
    Verdict,
    build,
    comparisons,
    judge,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.resources.abc import Traversable

    from patchfold.evaluation.significance import Comparison
    from patchfold.papers.reproduction.cells import Outcome, Result
    from patchfold.papers.reproduction.sheets import Key
    from patchfold.papers.reproduction.storage import Stamp

LEGEND = (
    f"A mark says by how much a number differs from the printed one: △ higher and ▽ lower by more "
    f"than {TOLERANCES[0]}, ▲ and ▼ by more than {TOLERANCES[1]}."
)

# By the steps that a number is off.
MARKS = {0: "", 1: " △", 2: " ▲", -1: " ▽", -2: " ▼"}


def render(
    paper: str,
    outcomes: Sequence[Outcome],
    *,
    command: str,
    stamp: Stamp,
    note: str,
    reasons: Traversable = REASONS,
) -> dict[str, str]:
    """Write the report on a paper.

    The command that computes the outcomes, the versions and a note on the accounts stand at the
    top. The folder ``reasons`` says why cells do not come out. Return names of files with their
    texts: ``<paper>.md``, ``<paper>.html`` and the pictures of the former.
    """
    versions = ", ".join(f"{name} {version}" for name, version in stamp.versions.items())
    sheets = build(paper, outcomes)
    compared = any(sheet.printed for sheet in sheets)
    title = f"Reproduction of {paper}" if compared else paper.capitalize()
    blocks: list[Block] = [
        document.heading(1, title),
        document.code(command),
        document.text(f"Versions: {versions}; protocol {stamp.protocol}."),
        document.text(note),
        *([document.text(LEGEND)] if compared else []),
    ]
    pictures = {}
    for sheet in sheets:
        verdict = judge(sheet, folder=reasons)
        blocks.append(document.heading(2, f"Table {sheet.table}"))
        blocks += [*_summary(sheet, verdict), Block(_markdown_cells(sheet), _html_cells(sheet))]
        tests = [test for account in _shown(sheet) for test in comparisons(sheet, account)]
        if tests:
            file, svg = f"{paper}-{sheet.table}.svg", critical_difference_svg(tests)
            caption = f"Critical-difference diagrams of table {sheet.table}"
            blocks += [*_tests(tests), document.picture(file, caption, svg)]
            pictures[file] = f"{svg}\n"
    return {
        f"{paper}.md": document.to_markdown(blocks),
        f"{paper}.html": document.to_html(title, blocks),
        **pictures,
    }


# ---------------------------------------------------------------- what is said


def _summary(sheet: Sheet, verdict: Verdict | None) -> list[Block]:
    blocks = [] if verdict is None else _sentence(sheet, verdict)
    if sheet.failed:
        blocks += [
            document.text("Not computed, because of an error:"),
            document.bullets([f"{failed.task}: {failed.error}" for failed in sheet.failed]),
        ]
    return blocks


def _sentence(sheet: Sheet, verdict: Verdict) -> list[Block]:
    near, close = TOLERANCES
    if not verdict.total:
        return [document.text(f"Printed, but not computed: {_missing(sheet, verdict)}.")]
    sentence = (
        f"{verdict.within[0]} of {verdict.total} printed cells come out within {near} and "
        f"{verdict.within[1]} within {close} (column {verdict.account})."
    )
    more = f" These are more than {near} off:" if verdict.others else ""
    blocks = [document.text(sentence + more)]
    if verdict.others:
        computed = verdict.computed
        items = []
        for reason, keys in verdict.others.items():
            cells = (
                f"{' '.join(key)} ({sheet.printed[key]:.3f}, here {computed[key].value:.3f})"
                for key in keys
            )
            items.append(f"{', '.join(cells)}; reason: {reason}")
        blocks.append(document.bullets(items))
    columns = ", ".join(f"{name} {hits} of {n}" for name, (hits, n) in verdict.columns.items())
    if columns:
        blocks.append(document.text(f"Within {near} by method: {columns}."))
    if verdict.missing:
        blocks.append(document.text(f"Printed, but not computed: {_missing(sheet, verdict)}."))
    return blocks


def _tests(tests: Sequence[tuple[str, Comparison]]) -> list[Block]:
    post_hoc = "Bonferroni and Dunn" if tests[0][1].control else "Nemenyi"
    explanation = (
        "The methods are ranked in every row that all of them have; rank 1 is the best. "
        "Friedman's test, and Iman and Davenport's, asks whether any methods differ. The test of "
        f"{post_hoc} asks which. Two methods differ where p < {ALPHA}, that is, where their mean "
        "ranks are farther apart than the critical difference. A table with several rows per data "
        "set gives p-values that are too small, because these rows are not independent."
    )
    if any(comparison.chosen for _, comparison in tests):
        explanation += (
            " Where all ten methods are ranked together, each X-method is compared with its own "
            "method alone, corrected for four comparisons, and all four p-values are shown: the "
            "twelve statements of the paper are those of the printed numbers at the level 0.10."
        )
    header = ("", "rows", "Friedman p", "Iman-Davenport p", "mean ranks", "differ (p)")
    return [
        document.heading(3, "Do the methods differ?"),
        document.text(explanation),
        document.grid(header, [_test_row(title, comparison) for title, comparison in tests]),
    ]


def _missing(sheet: Sheet, verdict: Verdict) -> str:
    """Name whole rows once, and single cells one by one."""
    names = []
    for row in sheet.rows:
        columns = [column for there, column in verdict.missing if there == row]
        whole = len(columns) == sum(there == row for there, _ in sheet.printed)
        names += [row] if columns and whole else [f"{row} {column}" for column in columns]
    return ", ".join(names)


def _test_row(title: str, comparison: Comparison) -> tuple[str, ...]:
    ranked = sorted(zip(comparison.ranks, comparison.methods, strict=True))
    differ = [
        f"{better} before {worse} ({f'{p:.3f}' if p >= 0.001 else '<0.001'})"
        for (better, worse), p in comparison.p_values.items()
        if p < ALPHA or comparison.chosen
    ]
    return (
        title,
        str(comparison.n_datasets),
        f"{comparison.friedman.p_value:.3g}",
        f"{comparison.friedman.f_p_value:.3g}",
        ", ".join(f"{method} {rank:.2f}" for rank, method in ranked)
        + f"; critical difference {comparison.difference:.2f}",
        ", ".join(differ) or "none",
    )


# ---------------------------------------------------------------- the table itself


def _computed_rows(sheet: Sheet) -> list[str]:
    """Leave out rows of which nothing was computed; the summary names them."""
    there = {row for cells in sheet.computed.values() for row, _ in cells}
    return [row for row in sheet.rows if row in there]


def _markdown_cells(sheet: Sheet) -> str:
    """One line per cell: a column for every method and account would be too wide here."""
    rows = []
    for key in product(_computed_rows(sheet), sheet.columns):
        texts = {
            name: f"{_number(cells[key])}{MARKS[_step(sheet, name, key)]} {cells[key].note}".strip()
            for name, cells in sheet.computed.items()
            if key in cells
        }
        if key in sheet.printed:
            texts["printed"] = f"{sheet.printed[key]:.3f}"
        if texts:
            rows.append((*key, *(texts.get(name, "") for name in _shown(sheet))))
    return document.markdown_table(("row", "method", *_shown(sheet)), rows)


def _html_cells(sheet: Sheet) -> str:
    shown = _shown(sheet)
    methods = "".join(
        f'<th class="first" colspan="{len(shown)}">{escape(column)}</th>'
        for column in sheet.columns
    )
    accounts = "".join(
        f"<th{_attribute('class', 'first' if name == shown[0] else '')}>{name}</th>"
        for _, name in product(sheet.columns, shown)
    )
    body = []
    for row in _computed_rows(sheet):
        cells = "".join(
            _html_cell(sheet, name, (row, column), first=name == shown[0])
            for column, name in product(sheet.columns, shown)
        )
        kind = _attribute("class", "sum" if row in sheet.sums else "")
        body.append(f'<tr{kind}><th scope="row">{escape(row)}</th>{cells}</tr>')
    head = f'<tr><th class="corner" rowspan="2"></th>{methods}</tr><tr>{accounts}</tr>'
    return document.html_table(head, body, "cells")


def _html_cell(sheet: Sheet, account: str, key: Key, *, first: bool) -> str:
    classes = ["first"] if first else []
    text = title = ""
    if account == "printed":
        text = f"{sheet.printed[key]:.3f}" if key in sheet.printed else ""
    elif key in sheet.computed[account]:
        result = sheet.computed[account][key]
        step = _step(sheet, account, key)
        text = f"{result.value:.3f}{MARKS[step]}"
        title = f"{_number(result)} {result.note}" if result.note or result.low is not None else ""
        if step:
            classes.append(f"{'up' if step > 0 else 'down'}{abs(step)}")
    attributes = _attribute("class", " ".join(classes)) + _attribute("title", title)
    return f"<td{attributes}>{escape(text)}</td>"


def _attribute(name: str, value: str) -> str:
    return f' {name}="{escape(value, quote=True)}"' if value else ""


def _shown(sheet: Sheet) -> tuple[str, ...]:
    """Return what stands side by side."""
    return (*(["printed"] if sheet.printed else []), *sheet.computed)


def _number(result: Result) -> str:
    if result.low is None or result.high is None:
        return f"{result.value:.3f}"
    return f"{result.value:.3f} [{result.low:.3f}, {result.high:.3f}]"


def _step(sheet: Sheet, account: str, key: Key) -> int:
    """Return 0 where a number is the printed one, 1 or -1 where it is near, 2 or -2 beyond."""
    if key not in sheet.printed:
        return 0
    off = sheet.computed[account][key].value - sheet.printed[key]
    size = sum(abs(off) > limit + ROUNDING for limit in TOLERANCES)
    return size if off > 0 else -size
