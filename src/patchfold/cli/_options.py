"""Options that several commands have, and what comes of them."""

import re
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from patchfold.base.types import Auto

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
    "calvo-oller",
    "euclidean",
)


def chosen(option: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    """Return what makes typer refuse other values of an option, and complete these."""

    def check(value: Any) -> Any:
        from patchfold.base.validation import check_choice

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


def command(function: Callable[[Any], None]) -> Callable[..., None]:
    """Make a command of a function of one data class, whose fields are the command's options."""
    (kind,) = (parameter.annotation for parameter in signature(function).parameters.values())

    @wraps(function)
    def run(**given: Any) -> None:
        function(kind(**given))

    vars(run)["__signature__"] = signature(kind)  # what typer reads
    return run


def check_neighbors(given: Any) -> Any:
    """Refuse a number of neighbours, or one of several, that is neither a count nor 'auto'."""
    for value in given if isinstance(given, list) else [given]:
        if value is not None and value != "auto" and not re.fullmatch(r"[1-9]\d{0,8}", value):
            raise typer.BadParameter(
                f"--neighbors={value!r} is not known; give a whole number from 1, or 'auto'."
            )
    return given


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, ARFF, NPY or NPZ, also compressed by gzip; H5AD; '-' reads "
        "standard input; or a name that 'patchfold datasets' lists.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="A column that is no feature: classes or values to colour by. [one that is called so]",
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COL",
        help="A column that names the rows, and is no feature. [one that numbers or names them]",
    ),
]
Info = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL", help="A column that is no feature, but shown on pages; repeat for several."
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="A column to leave out, from pages, too; repeat for several."),
]
Feature = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL",
        help="A column that is a feature, though it looks like an id or a target; repeat for "
        "several.",
    ),
]
Dates = Annotated[
    bool,
    typer.Option("--dates", help="Make numbers of dates (days since 1970) and times (hours)."),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="SIGN",
        help="The decimal sign of a CSV, '.' or ','; the other may stand between thousands. [look]",
        **chosen("--decimal", (".", ",")),
    ),
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
    bool | None,
    typer.Option(
        "--standardize/--raw",
        help="Give number columns mean 0 and variance 1, since units differ, or take them as they "
        "are. [standardize, but not pixels, spectra and counts]",
        show_default=False,
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
Metric = Annotated[
    str,
    typer.Option(
        metavar="METRIC",
        help="How rows are near: 'correlation' compares the shape of spectra whatever their "
        "intensity, 'cosine' texts whatever their length.",
        **chosen("--metric", ("euclidean", "cosine", "correlation")),
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
# The parameters of an estimator that are told even at their defaults.
MAIN = ("n_components", "n_neighbors", "divergence")
# So few rows are done before threads have found each other: on two busy cores t-SNE of 150 rows
# took half a minute with two threads, and 0.6 s with one.
FEW_ROWS = 2000


def neighbors(value: str | None) -> int | Auto:
    """Return ``n_neighbors`` of an estimator, which cuts what is too much for few rows."""
    if value is None:
        return DEFAULT_NEIGHBORS
    return "auto" if value == "auto" else int(value)


def estimator(
    method: str, n: int, *, divergence: str, supervision: str | None, **parameters: Any
) -> Any:
    """Return an unfitted estimator of ``n`` rows."""
    from patchfold.embedding.methods import METHODS as ESTIMATORS
    from patchfold.embedding.methods import divergence_parameters, supervised_parameters

    own = divergence_parameters(method, divergence) | {"supervision": supervision}
    if supervision is not None:
        own |= supervised_parameters(method)
    return ESTIMATORS[method](n_jobs=threads(n), **own, **parameters)


def call_of(estimator: Any) -> str:
    """Write the call that makes an estimator: what matters, and what is not at its default.

    Examples
    --------
    >>> from patchfold import PatchIsomap
    >>> call_of(PatchIsomap(random_state=0))
    "PatchIsomap(n_components=2, n_neighbors=15, divergence='kl', random_state=0)"
    """
    given, kind = estimator.get_params(deep=False), type(estimator)
    default = kind().get_params(deep=False)
    changed = [
        name
        for name in given
        if name not in {*MAIN, "n_jobs"} and repr(given[name]) != repr(default[name])
    ]
    told = [*(name for name in MAIN if name in given), *changed]
    words = ", ".join(f"{name}={given[name]!r}" for name in told)
    return f"{kind.__name__}({words})"


def threads(n: int) -> int | None:
    """Return ``n_jobs`` for n rows; numbers do not depend on it."""
    return -1 if n > FEW_ROWS else None


def noted(notes: Iterable[str]) -> list[str]:
    """Return notes as sentences."""
    return [f"Note: {note.rstrip('.')}." for note in notes]
