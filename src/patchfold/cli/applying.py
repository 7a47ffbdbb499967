"""``patchfold apply``: new rows are mapped with a saved model."""

from pathlib import Path
from typing import Annotated, Any

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

    ending = check_files({"output": output}, [model, new], as_json=as_json)
    (prepare, estimator), notes = _load(model)
    with about(new), working(f"Reading {new} ..."):
        selection = _read(new, prepare, ids, drop or [], missing, header, decimal)
    beside = columns_beside(selection, written=ending != ".parquet")
    added = [OFF_MANIFOLD] if strangers else []
    check_names(new, beside, [*estimator.get_feature_names_out(), *added])
    rows = counted(len(selection.features), "row")
    with about(new), working(f"Mapping {rows} ...") as warned:
        points = prepare.points(selection)
        places = estimator.transform(points)
        p_values = estimator.off_manifold(points) if strangers else None
    notes += [*selection.notes, *warned]
    result = result_table(beside, places, estimator)
    if p_values is not None:
        result[OFF_MANIFOLD] = p_values
        strange = counted(int((p_values < STRANGE).sum()), "stranger")
        notes.append(f"{strange} among the rows ({OFF_MANIFOLD} below {STRANGE})")
    table = encoded(result, ending, formulas=formulas)
    summary = summary_of("apply", new, selection, notes, {"output": output})
    finish(
        {} if output is None else {output: table},
        [*options.noted(notes), f"{type(estimator).__name__}: {rows} mapped"],
        summary | {"model": str(model)} if as_json else None,
        table if output is None else None,
    )


def _load(model: Path) -> tuple[Any, list[str]]:
    """Return the preparation of columns and the estimator, and notes."""
    import patchfold
    from patchfold.cli.models import load_model
    from patchfold.tables import TablePreparation

    with about(model), working(f"Loading {model} ...") as warned:
        pipeline, origin = load_model(model.read_bytes())
    if origin.version != patchfold.__version__:
        warned.append(
            f"the model was fitted by patchfold {origin.version}, and this is "
            f"{patchfold.__version__}"
        )
    if len(pipeline) != 2 or not isinstance(pipeline[0], TablePreparation):
        raise Refused(
            f"{model}: the model has other steps than 'patchfold embed --model' writes; fit one by "
            "that command."
        )
    return pipeline, warned


def _read(
    new: str,
    prepare: Any,
    ids: str | None,
    drop: list[str],
    missing: str,
    header: bool | None,
    decimal: str | None,
) -> Any:
    """Read new rows and choose the columns that the model takes; notes are in the selection's."""
    numbers, known = prepare.kinds()
    keep = [name for name in (ids, prepare.id_, prepare.target_) if name is not None]
    # A few rows may not tell that 66.208 is 66208; the fitted ones did.
    apart = [] if decimal else [name for name in numbers if prepare.held_whole(name)]
    columns = {"expected": numbers, "text": [*known, *apart], "keep": keep}
    # Nor that 1.011 is 1011.
    commas = prepare.had_commas()
    table = read_any(new, header=header, decimal=decimal, commas=commas, **columns)
    return prepare.conform(table, id=ids, drop=drop, missing=missing)
