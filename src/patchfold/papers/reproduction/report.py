"""The report on a paper: Markdown, one HTML page that needs nothing else, and its pictures.

It has the cells of the paper's own methods; those of all others are in the CSV file of results. The
same outcomes give the same bytes.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from patchfold.evaluation import document
from patchfold.evaluation.diagram import critical_difference_svg
from patchfold.evaluation.significance import ALPHA
from patchfold.papers.reproduction.sheets import (
    REASONS,
    ROUNDING,
    TOLERANCES,
    Sheet,
    Verdict,
    build,
    comparisons,
    difference,
    judge,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.resources.abc import Traversable

    from patchfold.evaluation.document import Block
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
    own: Sequence[str] = (),
    reasons: Traversable = REASONS,
) -> dict[str, str]:
    """Write the report on a paper.

    The command that computes the outcomes, the versions and a note on the accounts stand at the
    top. Cells are those of the methods ``own``, of all where it is empty, and sums are those of all
    methods. The folder ``reasons`` says why cells do not come out. Return names of files with their
    texts: ``<paper>.md``, ``<paper>.html`` and the pictures of the former.
    """
    sheets = build(paper, outcomes)
    compared = any(sheet.printed for sheet in sheets)
    title = f"Reproduction of {paper}" if compared else paper.capitalize()
    file = f"{paper}.csv"
    blocks: list[Block] = [
        document.heading(1, title),
        document.code(command),
        document.text(f"Versions: {stamp}."),
        document.text(note),
        document.link(f"Every number of every method: {file}", file),
        *([document.text(LEGEND)] if compared else []),
    ]
    pictures = {}
    for sheet in sheets:
        verdict = judge(sheet, folder=reasons)
        blocks.append(document.heading(2, f"Table {sheet.table}"))
        blocks += [*_summary(sheet, verdict), _cells(sheet, own)]
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
        "The methods are ranked in every row that all of them have; rank 1 is the best, and "
        "numbers with the same three digits share their rank. "
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


def _cells(sheet: Sheet, own: Sequence[str]) -> Block:
    """One line per cell: a column for every method and account would be too wide."""
    rows = []
    for row, column in product(sheet.rows, sheet.columns):
        key = row, column
        if own and column not in own and row not in sheet.sums:
            continue
        texts = {
            name: f"{_number(cells[key])}{MARKS[_step(sheet, name, key)]} {cells[key].note}".strip()
            for name, cells in sheet.computed.items()
            if key in cells
        }
        if texts:  # the summary names rows of which nothing was computed
            if key in sheet.printed:
                texts["printed"] = f"{sheet.printed[key]:.3f}"
            rows.append((*key, *(texts.get(name, "") for name in _shown(sheet))))
    return document.grid(("row", "method", *_shown(sheet)), rows)


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
    off = difference(sheet.computed[account][key], sheet.printed[key])
    size = sum(abs(off) > limit + ROUNDING for limit in TOLERANCES)
    return size if off > 0 else -size
