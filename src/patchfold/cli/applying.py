"""``patchfold apply``: new rows are mapped with a saved model."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from patchfold.cli import _options as options
from patchfold.cli._loading import read_any
from patchfold.cli._output import (
    check_files,
    check_names,
    columns_beside,
    encoded,
    finish,
    result_table,
    summary_of,
)
from patchfold.cli._session import Refused, about, working

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="What 'patchfold embed --model' wrote.")
]
NewRows = Annotated[
    str,
    typer.Argument(
        metavar="NEW",
        help="Rows with the columns of the fitted table, in any order; '-' reads standard input.",
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        help="Where values are missing and the model does not impute: 'error' names them, "
        "'drop' leaves their rows out.",
        **options.chosen("--missing", ("error", "drop")),
    ),
]
StrangersToo = Annotated[
    bool,
    typer.Option(
        "--strangers",
        help="Write the column 'off_manifold' as well: p-values, small for rows that are unlike "
        "the fitted ones.",
    ),
]

# The column of p-values, and below what a row is called a stranger.
OFF_MANIFOLD, STRANGE = "off_manifold", 0.01


def apply(
    model: ModelFile,
    new: NewRows,
    ids: options.Id = None,
    drop: options.Drop = None,
    missing: Missing = "error",
    decimal: options.Decimal = None,
    header: options.Header = None,
    strangers: StrangersToo = False,
    output: options.Output = None,
    formulas: options.Formulas = False,
    as_json: options.Json = False,
) -> None:
    """Map new rows with a saved model.

    Columns are found by their names. Those that the fitted table had beside its features (--id,
    --target, --drop) may be there or not, and the first two are kept in the output, another --id
    in the place of the model's; others are refused. Rows that were fitted get the coordinates that
    they have.

    A model is data and no program: types that are not trusted are shown and not loaded.
    """
    from patchfold.tables.problems import counted

    ending = check_files({"output": output}, [model, new])
    pipeline, origin, notes = _load(model)
    columns = _columns_of(model, pipeline)
    with about(new), working(f"Reading {new} ..."):
        selection = _read(new, columns, origin, ids, drop or [], missing, header, decimal)
    beside = columns_beside(selection, written=ending != ".parquet")
    added = [OFF_MANIFOLD] if strangers else []
    check_names(new, beside, [*pipeline[-1].get_feature_names_out(), *added])
    rows = counted(len(selection.features), "row")
    with about(new), working(f"Mapping {rows} ...") as warned:
        places = pipeline.transform(selection.features)
        p_values = None
        if strangers:
            p_values = pipeline[-1].off_manifold(pipeline[:-1].transform(selection.features))
    notes += [*selection.notes, *warned]
    result = result_table(beside, places, pipeline)
    if p_values is not None:
        result[OFF_MANIFOLD] = p_values
        strange = counted(int((p_values < STRANGE).sum()), "stranger")
        notes.append(f"{strange} among the rows ({OFF_MANIFOLD} below {STRANGE})")
    table = encoded(result, ending, formulas=formulas)
    summary = summary_of("apply", new, selection, notes, {"output": output})
    finish(
        {} if output is None else {output: table},
        [*options.noted(notes), f"{type(pipeline[-1]).__name__}: {rows} mapped"],
        summary | {"model": str(model)} if as_json else None,
        table if output is None else None,
    )


class _Columns(NamedTuple):
    """The columns that a model takes, and what it does to them."""

    numbers: list[str]
    categories: dict[str, Any]  # the known ones of each column of text
    imputes: bool
    ordinal: bool


def _load(model: Path) -> tuple[Any, Any, list[str]]:
    """Return the pipeline, where it came from, and notes."""
    import patchfold
    from patchfold.cli.models import load_model

    with about(model), working(f"Loading {model} ...") as warned:
        pipeline, origin = load_model(model.read_bytes())
    if origin.version != patchfold.__version__:
        warned.append(
            f"the model was fitted by patchfold {origin.version}, and this is "
            f"{patchfold.__version__}"
        )
    return pipeline, origin, warned


def _columns_of(model: Path, pipeline: Any) -> _Columns:
    numbers: list[str] = []
    known: dict[str, Any] = {}
    imputes = ordinal = False
    try:
        for kind, transformer, names in pipeline[0].transformers_:
            steps = getattr(transformer, "named_steps", {})
            imputes = imputes or "impute" in steps
            if kind == "numbers":
                numbers = list(names)
            elif kind == "categories":
                known = dict(zip(names, steps["encode"].categories_, strict=True))
                ordinal = type(steps["encode"]).__name__ == "OrdinalEncoder"
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Refused(
            f"{model}: the model has other steps than 'patchfold embed --model' writes; fit one by "
            "that command."
        ) from error
    return _Columns(numbers, known, imputes, ordinal)


def _read(
    new: str,
    columns: _Columns,
    origin: Any,
    ids: str | None,
    drop: list[str],
    missing: str,
    header: bool | None,
    decimal: str | None,
) -> Any:
    """Read new rows and choose the columns that the model takes; notes are in the selection's."""
    from patchfold.tables import conform

    numbers, known = columns.numbers, columns.categories
    keep = [name for name in (ids, origin.ids, origin.target) if name is not None]
    table = read_any(new, header=header, expected=numbers, text=known, keep=keep, decimal=decimal)
    present = list(table.frame.columns)
    _check_columns(present, [*numbers, *known], ids, drop, origin)
    there = set(present) - set(drop)
    selection = conform(
        table.frame,
        numbers=numbers,
        categories=known,
        target=origin.target if origin.target in there else None,
        ids=ids or (origin.ids if origin.ids in there else None),
        missing="impute" if columns.imputes else missing,
        written=table.kept,
        unknown="error" if columns.ordinal else "note",
        decimal=table.decimal,
        dates=origin.dates,
    )
    selection.notes[:0] = table.notes
    return selection


def _check_columns(
    columns: list[str], wanted: list[str], ids: str | None, drop: list[str], origin: Any
) -> None:
    """Refuse columns that are not there, not known, or left out though they are needed."""
    from patchfold.tables import TableError, check_column
    from patchfold.tables.problems import listed, quoted

    for name in (*([] if ids is None else [ids]), *drop):
        check_column(name, columns)
    needed = [name for name in drop if name in {*wanted, ids}]
    if needed:
        what = "names the rows" if needed[0] == ids else "is a feature of the model"
        raise TableError(f"the column {quoted(needed[0])} {what}; take it out of --drop.")
    allowed = {*wanted, *drop, ids, origin.ids, origin.target, *origin.dropped}
    lacking = [name for name in wanted if name not in columns]
    extra = [name for name in columns if name not in allowed]
    if lacking:
        there = f"; there are {listed(extra)} that it does not know" if extra else ""
        raise TableError(
            f"the model needs the columns {listed(lacking)}{there}; add them to the table."
        )
    if extra:
        raise TableError(
            f"the model does not know the columns {listed(extra)}; leave them out with --drop."
        )
