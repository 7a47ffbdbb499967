"""``patchfold compare``: all methods on the user's table, with honest scores."""

from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer

from patchfold.cli import _options as options
from patchfold.cli._loading import TableOptions
from patchfold.cli._loading import title as title_of
from patchfold.cli._output import check_files
from patchfold.cli._session import (
    FAILED,
    STDOUT,
    Refused,
    about,
    print_json,
    print_table,
    progress,
    say,
    stderr,
    to_paste,
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

Target = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="The column to be told: classes, or values. [one that is called so]",
        show_default=False,
    ),
]
Divergences = Annotated[
    list[str] | None,
    typer.Option(
        metavar="D",
        help=f"A divergence; repeat for several. [{', '.join(DIVERGENCES)}]",
        **options.chosen("--divergence", options.DIVERGENCES),
    ),
]
Halves = Annotated[int, typer.Option(min=2, metavar="N", help="How often rows are split.")]
Sample = Annotated[int, typer.Option(min=FEWEST_ROWS, metavar="N", help="Use at most N rows.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="A page: .html or .md."),
]


@dataclass(frozen=True)
class Problem:
    """The rows to compare by."""

    rows: Any  # which rows of the table they are
    y: Any  # their targets
    classes: bool  # whether targets are classes, or values

    @property
    def measure(self) -> str:
        """What methods are scored by."""
        return "accuracy" if self.classes else "R squared"

    @property
    def reference(self) -> str:
        """What is reached without any method, in a sentence."""
        import numpy as np

        if not self.classes:
            return "The mean of all rows, told for each, has R squared 0"
        _, counts = np.unique(self.y, return_counts=True)
        share = counts.max() / len(self.y)
        return f"The most frequent of {len(counts)} classes has {share:.3f} of the rows"


@dataclass(frozen=True)
class Report:
    """What was compared, and what came out."""

    data: str
    target: str
    rows: int
    halves: int
    neighbors: int | str
    measure: str  # what methods are scored by
    scores: list[Any]  # the best first
    facts: list[str]  # what was done
    notes: list[str]  # what the user should know of it

    @property
    def header(self) -> list[str]:
        """The names of the table's columns."""
        return [word or self.measure for word in HEADER]


@dataclass(frozen=True)
class CompareOptions(TableOptions):
    """What ``patchfold compare`` is asked for."""

    target: Target = None
    divergence: Divergences = None
    neighbors: options.Neighbors = None
    halves: Halves = 10
    sample: Sample = 1000
    seed: options.Seed = 0
    output: Output = None
    as_json: options.Json = False


@options.command
def compare(asked: CompareOptions) -> None:
    """Compare all estimators with the classical methods on a table.

    The rows are split into halves again and again. Everything is fitted to one half, the other is
    mapped into the plane, and its target is predicted by the seven nearest rows of the first:
    accuracy for classes, R squared for values. Methods marked * cannot map new rows and are given
    all rows at once, without the target. The interval is Student's, corrected for halves that
    overlap; trust is the trustworthiness of the plane. Visible is the share of points that a plot
    tells apart: below 0.1 it shows a dot and strays. Stress is that of geodesics: how far distances
    in the plane are from shortest paths through the graph of 15 neighbours, 0 being best. Seconds
    are those of a middling half, so that what UMAP compiles in the first is not counted.
    """
    output = None if asked.output == STDOUT else asked.output  # which has the scores anyway
    ending = check_files({"output": output}, [asked.data], (".html", ".md"))
    report = _report(asked)
    if output is not None:
        write_outputs({output: _page(report, ending, to_paste())})
    _tell(report, output, as_json=asked.as_json)


def _report(asked: CompareOptions) -> Report:
    """Read the table and score all methods; say what is done before it is."""
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    from patchfold.base.row_metric import in_metric
    from patchfold.cli.methods import equal_rows

    data, halves, (prepare, selection) = asked.data, asked.halves, asked.load()
    notes = selection.notes
    if selection.target is None:
        raise Refused(f"{data}: name the column to be told, --target COL.")
    with about(data):
        problem = _problem(selection, asked.sample, asked.seed, notes)
    features = selection.features.iloc[problem.rows].reset_index(drop=True)
    k = _neighbors(data, asked.neighbors, len(features) // 2, notes)
    if halves < FEWEST_HALVES:
        notes.append(
            f"intervals of {halves} splits say little; give --halves {FEWEST_HALVES} or more"
        )
    target, degrees = selection.roles.target, "chosen" if k == "auto" else k
    facts = [
        f"{asked.described(prepare, selection)}; target '{target}'",
        f"{len(features)} rows, {halves} splits into halves, {degrees} neighbours",
        problem.reference,
    ]
    say([*facts, *options.noted(notes)])
    # Every method, also those without a metric of their own, gets rows in the metric.
    measured = FunctionTransformer(in_metric, kw_args={"metric": asked.metric})
    coder = make_pipeline(prepare.coder(features), measured)
    scores = _scores(asked, problem, coder, features, k)
    degree = k if isinstance(k, int) else options.DEFAULT_NEIGHBORS
    alike = equal_rows(scores, lambda: clone(coder).fit_transform(features), degree)
    say(options.noted(alike))
    return Report(
        data, target, len(features), halves, k, problem.measure, scores, facts, [*notes, *alike]
    )


def _scores(
    asked: CompareOptions, problem: Problem, prepare: Any, features: Any, k: int | str
) -> list[Any]:
    """Score all methods, showing how far it is; return the best first, those that failed last."""
    from patchfold.cli import methods
    from patchfold.evaluation import comparison, sampling

    y, classes, halves, seed = problem.y, problem.classes, asked.halves, asked.seed
    found = methods.methods(
        len(y) // 2,
        divergences=asked.divergence or DIVERGENCES,
        n_neighbors=k,
        classes=classes,
        random_state=seed,
    )
    splits = sampling.halves(y, halves, stratify=classes, random_state=seed)
    with about(asked.data):  # a row may have no direction
        graph = methods.euclidean_graph(prepare, features)
    paths = comparison.geodesics(graph, random_state=seed)
    scores = []
    with progress(stderr()) as bar:
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
    return sorted(scores, key=lambda s: -inf if s.mean is None else s.mean, reverse=True)


def _tell(report: Report, output: Path | None, *, as_json: bool) -> None:
    """Print the scores, and end with an error where a method failed."""
    if as_json:
        told = {name: value for name, value in asdict(report).items() if name != "facts"}
        outputs = {} if output is None else {"output": str(output)}
        print_json({"command": "compare", **told, "outputs": outputs})
    else:
        print_table(report.header, _lines(report.scores), HEADER[:2])
    if output is not None:
        say([f"Wrote {output}"])
    failed = [score for score in report.scores if score.error]
    if failed:
        say([f"{score.name} {score.divergence} failed: {score.error}" for score in failed])
        raise typer.Exit(FAILED)


def _neighbors(data: str, value: str | None, half: int, notes: list[str]) -> int | str:
    """Return the number of neighbours for halves of ``half`` rows."""
    k = options.neighbors(value)
    if value is None and half <= options.DEFAULT_NEIGHBORS:
        k = half - 1
        notes.append(f"{k} neighbours instead of {options.DEFAULT_NEIGHBORS}, for {half} rows")
    if isinstance(k, int) and k >= half:
        raise Refused(
            f"{data}: --neighbors={k} needs more than {k} rows in each half, and there are {half}; "
            f"lower it to at most {half - 1}."
        )
    return k


def _problem(selection: Any, sample: int, seed: int, notes: list[str]) -> Problem:
    """Choose the rows to compare by, and tell whether their targets are classes."""
    import numpy as np

    from patchfold.evaluation.sampling import draw
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
        # Values are one class.
        drawn = draw(len(y), sample, seed, strata=np.zeros(len(y)) if values else y)
        rows, y = rows[drawn], y[drawn]
        if not values:
            few = f"of --sample {sample} rows, which are too few, there are"
            often = _often(y, names, few, notes)
            rows, y = rows[often], y[often]
    return Problem(rows, y, not values)


def _often(y: Any, names: list[str], words: str, notes: list[str]) -> Any:
    """Return which rows are of classes that both halves can have, and note the other classes."""
    import numpy as np

    from patchfold.tables import TableError
    from patchfold.tables.problems import counted, listed

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


def _page(report: Report, ending: str, command: str) -> str:
    from patchfold.evaluation import document

    title = f"Comparison on {title_of(report.data)}"
    blocks = [
        document.heading(1, title),
        document.code(command),
        document.bullets([*report.facts, *report.notes]),
        document.grid(report.header, _lines(report.scores)),
        document.text(
            f"Mean {report.measure} over test halves, predicted by the seven nearest rows of the "
            "training half, to which everything was fitted. Methods marked * cannot map new rows "
            "and were given all rows at once, without the target. The interval is Student's for "
            "the mean, corrected for halves that overlap (Nadeau and Bengio 2003). Trust is the "
            "trustworthiness of the training half. Visible is the share of its points that a plot "
            "tells apart, the occupied cells of a raster of 200 x 200; below 0.1 the plot shows a "
            "dot and strays. Stress is the stress of geodesics: how far distances in the plane are "
            "from shortest paths through the Euclidean graph of 15 neighbours of all rows, up to "
            "one scale; 0 is best and 1 worst. The best of many methods is better here than it "
            "will be on new data: intervals that overlap say that methods are about as good."
        ),
    ]
    failed = [f"{s.name} {s.divergence}: {s.error}" for s in report.scores if s.error]
    if failed:
        blocks += [document.heading(2, "Failed"), document.bullets(failed)]
    return document.to_html(title, blocks) if ending == ".html" else document.to_markdown(blocks)
