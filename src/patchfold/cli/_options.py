"""Options that several commands have, and what comes of them."""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from patchfold.cli._session import about, say, working

METHODS = ("isomap", "lle", "eigenmaps", "tsne")
# Those of patchfold.divergences, which takes long to import where only help is wanted.
DIVERGENCES = (
    "kl",
    "jeffreys",
    "bhattacharyya",
    "hellinger",
    "jeffreys-riemann",
    "bhattacharyya-riemann",
    "wasserstein",
    "cauchy-schwarz",
    "fisher-rao",
    "euclidean",
)


def chosen(option: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    """Return what makes typer refuse other values of an option, and complete these."""

    def check(value: Any) -> Any:
        from patchfold._validation import check_choice

        try:
            for name in value if isinstance(value, list) else [value]:
                if name is not None:
                    check_choice(option, name, allowed)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        return value

    def complete(incomplete: str) -> list[str]:
        return [name for name in allowed if name.startswith(incomplete)]

    return {"callback": check, "autocompletion": complete}


def check_neighbors(value: str | None) -> str | None:
    """Refuse a number of neighbours that is neither a count nor 'auto'."""
    if value is not None and value != "auto" and not re.fullmatch(r"[1-9]\d{0,8}", value):
        raise typer.BadParameter(
            f"--neighbors={value!r} is not known; give a whole number from 1, or 'auto'."
        )
    return value


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, ARFF, NPY or NPZ, also compressed by gzip; '-' reads standard "
        "input.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COL", help="A column that is no feature: classes or values to colour by."
    ),
]
Id = Annotated[
    str | None,
    typer.Option("--id", metavar="COL", help="A column that names the rows, and is no feature."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="A column to leave out; repeat for several."),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        help="Where values are missing: 'error' names them, 'drop' leaves their rows out, "
        "'impute' fills in the median or the most frequent category.",
        **chosen("--missing", ("error", "drop", "impute")),
    ),
]
Categories = Annotated[
    str,
    typer.Option(
        metavar="CODE",
        help="Text columns: 'onehot' makes a column of 0 and 1 of each category, 'ordinal' numbers "
        "them in declared or alphabetical order.",
        **chosen("--categories", ("onehot", "ordinal")),
    ),
]
Standardize = Annotated[
    bool,
    typer.Option(
        "--standardize/--raw",
        help="Give number columns mean 0 and variance 1, since units differ, or take them as they "
        "are.",
    ),
]
Formulas = Annotated[
    bool,
    typer.Option(
        "--keep-formulas",
        help="Write text that begins with =, +, - or @ as it is. Without this option an apostrophe "
        "is put before it in CSV and TSV, since spreadsheets would run it.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first row names the columns. [look]"),
]
Neighbors = Annotated[
    str | None,
    typer.Option(
        metavar="K|auto",
        callback=check_neighbors,
        help="Neighbours of a point; 'auto' tries some and chooses. [15, fewer for few rows]",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        metavar="METHOD",
        help=f"One of: {', '.join(METHODS)}.",
        **chosen("--method", METHODS),
    ),
]
Divergence = Annotated[
    str,
    typer.Option(
        metavar="D",
        help=f"One of: {', '.join(DIVERGENCES)}. With 'euclidean' it is the classical method.",
        **chosen("--divergence", DIVERGENCES),
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of what is random.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Coordinates: .csv, .tsv (also .gz) or .parquet. [standard output, where no other "
        "output is asked for]",
        show_default=False,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print a summary for programs on standard output.")
]

DEFAULT_NEIGHBORS = 15
# So few rows are done before threads have found each other: on two busy cores t-SNE of 150 rows
# took half a minute with two threads, and 0.6 s with one.
FEW_ROWS = 2000


@dataclass(frozen=True)
class TableOptions:
    """What options say about a table: where it is, what its columns are, how they become points."""

    data: str
    target: str | None
    ids: str | None
    drop: list[str] | None
    missing: str
    header: bool | None
    categories: str
    standardize: bool

    def load(self) -> Any:
        """Read the table and choose its features."""
        return load(
            self.data,
            target=self.target,
            ids=self.ids,
            drop=self.drop,
            missing=self.missing,
            header=self.header,
        )

    @property
    def coding(self) -> dict[str, Any]:
        """How columns become points, as arguments of :func:`patchfold.tables.preprocessor`."""
        return {
            "categories": self.categories,
            "standardize": self.standardize,
            "impute": self.missing == "impute",
        }

    def described(self, selection: Any) -> str:
        """Say in a sentence what was read, and what was made of it."""
        return described(
            self.data, selection, standardize=self.standardize, categories=self.categories
        )


def neighbors(value: str | None) -> int | str:
    """Return ``n_neighbors`` of an estimator, which cuts what is too much for few rows."""
    if value is None:
        return DEFAULT_NEIGHBORS
    return value if value == "auto" else int(value)


def load(
    data: str,
    *,
    target: str | None,
    ids: str | None,
    drop: list[str] | None,
    missing: str,
    header: bool | None,
) -> Any:
    """Read a table and choose its features; notes of both are in the selection's."""
    from patchfold.tables import check_rows, read_table, select

    if data == "-" and sys.stdin is not None and sys.stdin.isatty():
        say(["Reading standard input; Ctrl-D ends it."])
    with about(data), working(f"Reading {data} ..."):
        named = [name for name in (target, ids) if name is not None]
        table = read_table(data, header=header, expected=drop or (), keep=named)
        selection = select(
            table.frame,
            target=target,
            ids=ids,
            drop=drop or (),
            missing=missing,
            written=table.kept,
        )
        check_rows(selection)
    selection.notes[:0] = table.notes
    return selection


def described(data: str, selection: Any, *, standardize: bool, categories: str) -> str:
    """Say in a sentence what was read, and what was made of it."""
    from patchfold.tables._naming import counted

    features = selection.features
    kinds = [features[name].dtype == float for name in features.columns]
    numbers, texts = sum(kinds), len(kinds) - sum(kinds)
    parts = []
    if numbers:
        scaled = "standardised" if standardize else "as they are"
        parts.append(f"{numbers} of numbers ({scaled})")
    if texts:
        parts.append(f"{texts} of categories ({categories})")
    name = "standard input" if data == "-" else data
    wide = counted(len(kinds), "feature")
    return f"{name}: {counted(len(features), 'row')}, {wide}: {', '.join(parts)}"


def pipeline(
    features: Any,
    method: str,
    *,
    categories: str,
    standardize: bool,
    impute: bool,
    **parameters: Any,
) -> Any:
    """Return an unfitted pipeline: columns become points, points are embedded."""
    from sklearn.pipeline import Pipeline

    from patchfold.embedding.methods import METHODS as ESTIMATORS
    from patchfold.embedding.methods import supervised_parameters
    from patchfold.tables import preprocessor

    own = {} if parameters["supervision"] is None else supervised_parameters(method)
    estimator = ESTIMATORS[method](n_jobs=threads(len(features)), **own, **parameters)
    prepare = preprocessor(features, categories=categories, standardize=standardize, impute=impute)
    return Pipeline([("columns", prepare), ("embedding", estimator)])


def threads(n: int) -> int | None:
    """Return ``n_jobs`` for so many rows; numbers do not depend on it."""
    return -1 if n > FEW_ROWS else None


def columns(selection: Any, target: str | None) -> dict[str, list[Any]]:
    """Return what a page shows of each row, the target first; None where nothing is."""
    from patchfold.explorer.building import MOST_FEATURES

    frame = selection.others
    names = list(frame.columns)
    if selection.features.shape[1] > MOST_FEATURES:
        names = [name for name in names if name not in selection.features.columns]
    order = sorted(names, key=lambda name: name != target)
    return {name: [_shown(value) for value in frame[name]] for name in order}


def _shown(value: Any) -> Any:
    if value is None or value != value:  # noqa: PLR0124 - NaN, also that of dates
        return None
    return value if isinstance(value, int | float) else str(value)


def title(data: str) -> str:
    """Return what a page is called."""
    # A name that is no UTF-8 must not keep the page from being that.
    name = Path(data).name.encode(errors="backslashreplace").decode()
    return "standard input" if data == "-" else name


def noted(notes: Iterable[str]) -> list[str]:
    """Return notes as sentences."""
    return [f"Note: {note.rstrip('.')}." for note in notes]
