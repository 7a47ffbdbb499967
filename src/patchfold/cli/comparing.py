"""``patchfold compare``: all methods on the user's table, with honest scores."""

import json
import shlex
import sys
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from patchfold.cli import _options as options
from patchfold.cli._session import (
    FAILED,
    Refused,
    about,
    check_outputs,
    print_result,
    progress,
    say,
    stderr,
    write_outputs,
)

DIVERGENCES = ("kl", "hellinger", "wasserstein")
# Enough for halves with as many rows as the classifier has neighbours, and some to choose from.
FEWEST_ROWS = 20
# Of each class, so that both halves have two.
FEWEST_OF_CLASS = 4
# With fewer splits Student's interval is wider than anything there is to tell.
FEWEST_HALVES = 5
# Whole numbers with more values than this are measured by their error, not told apart as classes.
MOST_CLASSES = 20

HEADER = ("method", "divergence", "", "95 % interval", "trust", "visible", "stress", "seconds")


def compare(
    data: options.Data,
    target: Annotated[
        str, typer.Option(metavar="COL", help="The column to be told: classes, or values.")
    ],
    ids: options.Id = None,
    drop: options.Drop = None,
    divergence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="D",
            help=f"A divergence; repeat for several. [{', '.join(DIVERGENCES)}]",
            **options.chosen("--divergence", options.DIVERGENCES),
        ),
    ] = None,
    neighbors: options.Neighbors = None,
    halves: Annotated[int, typer.Option(min=2, metavar="N", help="How often rows are split.")] = 10,
    sample: Annotated[
        int, typer.Option(min=FEWEST_ROWS, metavar="N", help="Use at most so many rows.")
    ] = 1000,
    standardize: options.Standardize = True,
    categories: options.Categories = "onehot",
    missing: options.Missing = "error",
    header: options.Header = None,
    seed: options.Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A page: .html or .md."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compare all estimators with the classical methods on a table.

    The rows are split into halves again and again. Everything is fitted to one half, the other is
    mapped into the plane, and its target is predicted by the seven nearest rows of the first:
    accuracy for classes, R squared for values. Methods marked * cannot map new rows and are given
    all rows at once, without the target. The interval is Student's, corrected for halves that
    overlap; trust is the trustworthiness of the plane. Visible is the share of points that a plot
    tells apart: below 0.1 it shows a dot and strays. Stress is that of geodesics: how far distances
    in the plane are from shortest paths through the graph of 15 neighbours, 0 being best.
    """
    from patchfold.evaluation import comparison
    from patchfold.tables import check_ending, preprocessor

    ending = ""
    if output is not None:
        with about("--output"):
            ending = check_ending(output, (".html", ".md"))
    check_outputs([output], inputs=[data])
    selection = options.load(
        data, target=target, ids=ids, drop=drop, missing=missing, header=header
    )
    notes = selection.notes
    with about(data):
        rows, y, classes = _targets(selection, sample, seed, notes)
    features = selection.features.iloc[rows].reset_index(drop=True)
    k = _neighbors(data, neighbors, len(rows) // 2, notes)
    if halves < FEWEST_HALVES:
        notes.append(
            f"intervals of {halves} splits say little; give --halves {FEWEST_HALVES} or more"
        )
    prepare = preprocessor(
        features, categories=categories, standardize=standardize, impute=missing == "impute"
    )
    found = comparison.methods(
        len(rows) // 2,
        divergences=divergence or DIVERGENCES,
        n_neighbors=k,
        classes=classes,
        random_state=seed,
    )
    splits = comparison.halves(y, halves, classes=classes, random_state=seed)
    paths = comparison.geodesics(prepare, features, random_state=seed)
    scores = []
    bar = progress(stderr())
    with bar:
        line = bar.add_task("", total=len(found) * halves)
        for place, method in enumerate(found):
            label = f"{method.name} {method.divergence}"
            bar.update(line, completed=place * halves, description=f"{label:<32.32}")
            for score in comparison.evaluate(
                method, prepare, features, y, splits, classes=classes, paths=paths
            ):
                bar.advance(line)
                if score is not None:
                    scores.append(score)
    scores.sort(key=lambda score: -inf if score.mean is None else score.mean, reverse=True)

    measure = "accuracy" if classes else "R squared"
    what = options.described(data, selection, standardize=standardize, categories=categories)
    near = "chosen" if k == "auto" else k
    facts = [
        f"{what}; target '{target}'",
        f"{len(rows)} rows, {halves} splits into halves, {near} neighbours",
        _reference(y, classes),
    ]
    if output is not None:
        words = _command(sys.argv[1:])
        write_outputs({output: _page(ending, data, facts, notes, measure, scores, words)})
    say([*facts, *options.noted(notes)])
    if as_json:
        summary = {
            "command": "compare",
            "data": data,
            "target": target,
            "rows": len(rows),
            "halves": halves,
            "neighbors": k,
            "measure": measure,
            "scores": [asdict(score) for score in scores],
            "notes": notes,
            "outputs": {} if output is None else {"output": str(output)},
        }
        print_result(json.dumps(summary, ensure_ascii=False) + "\n")
    else:
        _print(measure, scores)
    if output is not None:
        say([f"Wrote {output}"])
    failed = [score for score in scores if score.error]
    if failed:
        say([f"{score.name} {score.divergence} failed: {score.error}" for score in failed])
        raise typer.Exit(FAILED)


def _neighbors(data: str, value: str | None, half: int, notes: list[str]) -> int | str:
    """Return the number of neighbours for halves of so many rows."""
    k = options.neighbors(value, half, notes)
    if isinstance(k, int) and k >= half:
        raise Refused(
            f"{data}: --neighbors={k} needs more than {k} rows in each half, and there are {half}; "
            f"lower it to at most {half - 1}."
        )
    return k


def _targets(selection: Any, sample: int, seed: int, notes: list[str]) -> tuple[Any, Any, bool]:
    """Return the rows to use, their targets, and whether these are classes."""
    import numpy as np

    from patchfold.evaluation.comparison import draw
    from patchfold.tables import TableError, classes, is_continuous

    target = selection.target
    rows = np.flatnonzero(target.notna())
    known = target.iloc[rows]
    numeric = known.map(lambda value: isinstance(value, int | float | np.number)).all()
    values = is_continuous(target) or (numeric and known.nunique() > MOST_CLASSES)
    if values:
        y = known.to_numpy(dtype=float)
    else:
        y, names = classes(known)
        often = _often(y, names, f"the target '{target.name}' has", notes)
        rows, y = rows[often], y[often]
    if len(rows) < FEWEST_ROWS:
        raise TableError(
            f"{len(rows)} rows with a target are too few to compare by; give at least "
            f"{FEWEST_ROWS}."
        )
    if len(rows) > sample:
        notes.append(f"{sample} of {len(rows)} rows were drawn at random (--sample)")
        drawn = draw(np.zeros(len(y)) if values else y, sample, random_state=seed)
        rows, y = rows[drawn], y[drawn]
        if not values:
            few = f"of --sample {sample} rows, which are too few, there are"
            often = _often(y, names, few, notes)
            rows, y = rows[often], y[often]
    return rows, y, not values


def _often(y: Any, names: list[str], words: str, notes: list[str]) -> Any:
    """Return which rows are of classes that both halves can have, and note the other classes."""
    import numpy as np

    from patchfold.tables import TableError
    from patchfold.tables._naming import counted, listed

    counts = np.bincount(y, minlength=len(names))
    rare = np.flatnonzero((counts > 0) & (counts < FEWEST_OF_CLASS))
    there = int((counts > 0).sum())
    if there - len(rare) < 2:
        raise TableError(
            f"{words} {counted(there, 'class', 'classes')}, of which {there - len(rare)} with at "
            f"least {FEWEST_OF_CLASS} rows; two are needed."
        )
    if len(rare):
        notes.append(
            f"left out, as classes of fewer than {FEWEST_OF_CLASS} rows: "
            f"{listed([names[code] for code in rare])}"
        )
    return ~np.isin(y, rare)


def _reference(y: Any, classes: bool) -> str:
    import numpy as np

    if not classes:
        return "The mean of all rows, told for each, has R squared 0"
    _, counts = np.unique(y, return_counts=True)
    return f"The most frequent of {len(counts)} classes has {counts.max() / len(y):.3f} of the rows"


def _lines(scores: list[Any]) -> list[tuple[str, ...]]:
    """Return the cells of the table."""
    return [
        (
            score.name + ("" if score.maps else " *"),
            score.divergence,
            *(
                ("failed", *[""] * 5)
                if score.error
                else (
                    f"{score.mean:.3f}",
                    f"{score.low:.3f} to {score.high:.3f}",
                    f"{score.trust:.3f}",
                    "" if score.visible is None else f"{score.visible:.2f}",
                    f"{score.stress:.2f}",
                    f"{score.seconds:.2f}",
                )
            ),
        )
        for score in scores
    ]


def _print(measure: str, scores: list[Any]) -> None:
    header = [word or measure for word in HEADER]
    lines = _lines(scores)
    if not sys.stdout.isatty():
        print_result("".join("\t".join(line) + "\n" for line in (header, *lines)))
        return
    # On 80 columns there is room for all numbers, and names of two words take two lines.
    grid = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for word in header:
        justify: Any = "left" if word in HEADER[:2] else "right"
        grid.add_column(word, justify=justify, no_wrap=word != HEADER[0], overflow="fold")
    for line in lines:
        grid.add_row(*line)
    Console(highlight=False, markup=False).print(grid)


def _command(arguments: list[str]) -> str:
    return shlex.join(["patchfold", *arguments])


def _page(
    ending: str,
    data: str,
    facts: list[str],
    notes: list[str],
    measure: str,
    scores: list[Any],
    command: str,
) -> str:
    from patchfold.evaluation import document

    title = f"Comparison on {options.title(data)}"
    blocks = [
        document.heading(1, title),
        document.code(command),
        document.bullets([*facts, *notes]),
        document.grid([word or measure for word in HEADER], _lines(scores)),
        document.text(
            f"Mean {measure} over test halves, predicted by the seven nearest rows of the training "
            "half, to which everything was fitted. Methods marked * cannot map new rows and were "
            "given all rows at once, without the target. The interval is Student's for the mean, "
            "corrected for halves that overlap (Nadeau and Bengio 2003). Trust is the "
            "trustworthiness of the training half. Visible is the share of its points that a plot "
            "tells apart, the occupied cells of a raster of 200 x 200; below 0.1 the plot shows a "
            "dot and strays. Stress is the stress of geodesics: how far distances in the plane are "
            "from shortest paths through the Euclidean graph of 15 neighbours of all rows, up to "
            "one scale; 0 is best and 1 worst. The best of many methods is better here than it "
            "will be on new data: intervals that overlap say that methods are about as good."
        ),
    ]
    failed = [f"{s.name} {s.divergence}: {s.error}" for s in scores if s.error]
    if failed:
        blocks += [document.heading(2, "Failed"), document.bullets(failed)]
    return document.to_html(title, blocks) if ending == ".html" else document.to_markdown(blocks)
