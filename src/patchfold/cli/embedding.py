"""``patchfold embed`` and ``patchfold apply``: rows of a table become points of a plane."""

import io
import json
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from patchfold.cli import _options as options
from patchfold.cli._session import (
    Refused,
    about,
    check_outputs,
    duration,
    print_result,
    say,
    working,
    write_outputs,
)

# The rule of patchfold.supervision that the published supervised Isomap has.
SUPERVISION = "dissimilarity"
PICTURE_DPI = 150
# A legend leaves the embedding some room.
LEGEND_LETTERS = 24

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


def embed(
    data: options.Data,
    target: options.Target = None,
    ids: options.Id = None,
    drop: options.Drop = None,
    method: options.Method = "isomap",
    divergence: options.Divergence = "kl",
    neighbors: options.Neighbors = None,
    components: Annotated[
        int, typer.Option(min=1, metavar="N", help="Dimensions of the embedding.")
    ] = 2,
    supervised: Annotated[
        bool,
        typer.Option("--supervised", help="Let the classes in --target shape the embedding."),
    ] = False,
    standardize: options.Standardize = True,
    categories: options.Categories = "onehot",
    missing: options.Missing = "error",
    header: options.Header = None,
    seed: options.Seed = 0,
    output: Output = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The fitted model, for 'patchfold apply' (.skops)."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A page to explore the embedding (.html).")
    ] = None,
    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A picture, coloured by --target (.png).")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Embed the rows of a table: every row becomes a point of the plane.

    A row is compared with others by the Gaussian of its neighbourhood. Columns of numbers are
    standardised, and text columns are taken for categories, unless options say otherwise. The
    output has the columns of --id and --target, then the coordinates; where rows were left out and
    no --id names them, the column 'row' has their numbers.
    """
    from patchfold.tables import classes
    from patchfold.tables._naming import counted

    outputs = {"output": output, "model": model, "html": html, "png": png}
    ending = _check_endings(outputs)
    check_outputs(outputs.values(), inputs=[data])
    _check_packages(outputs, ending)
    if supervised and target is None:
        raise typer.BadParameter("--supervised needs the column of the classes: --target COL.")
    if components != 2 and (html or png):
        raise typer.BadParameter("--html and --png show a plane; leave --components at 2.")

    selection = options.load(
        data, target=target, ids=ids, drop=drop, missing=missing, header=header
    )
    k = options.neighbors(neighbors, len(selection.features), selection.notes)
    pipeline = options.pipeline(
        selection.features,
        method,
        categories=categories,
        standardize=standardize,
        impute=missing == "impute",
        divergence=divergence,
        n_neighbors=k,
        n_components=components,
        random_state=seed,
        supervision=SUPERVISION if supervised else None,
        # A search by descent cannot be saved.
        knn="auto" if model is None else "exact",
    )
    beside = _beside(selection, written=ending != ".parquet")
    name = type(pipeline[-1]).__name__
    _check_names(data, beside, [f"{name.lower()}{place}" for place in range(components)])
    start = time.monotonic()
    with about(data), working(f"Embedding {counted(len(selection.features), 'row')} ...") as warned:
        labels = classes(selection.target)[0] if supervised else None
        places = pipeline.fit_transform(selection.features, labels)
    seconds = time.monotonic() - start
    notes = [*selection.notes, *warned]
    result = _result(beside, places, pipeline)

    contents: dict[Path, bytes | str] = {}
    if output is not None:
        contents[output] = _encoded(result, ending)
    if model is not None:
        contents[model] = _dumped(pipeline, target=target, ids=ids, dropped=drop or [])
    if html is not None:
        contents[html] = _page(pipeline, selection, target, data)
    if png is not None:
        contents[png] = _picture(places, selection.target)
    write_outputs(contents)

    estimator = pipeline[-1]
    used = int(getattr(estimator, "n_neighbors_", estimator.n_neighbors))  # the one that was chosen
    how = f"{name}, divergence {divergence}, {counted(used, 'neighbour')}"
    how += f", classes of '{target}'" if supervised else ""
    what = options.described(data, selection, standardize=standardize, categories=categories)
    say([what, *options.noted(notes)])
    say([f"{how}: {duration(seconds)}", *(f"Wrote {path}" for path in contents)])
    if as_json:
        summary = {
            "command": "embed",
            "data": data,
            "rows": len(result),
            "rows_left_out": selection.n_rows - len(result),
            "features": list(selection.features.columns),
            "target": target,
            "id": ids,
            "method": method,
            "divergence": divergence,
            "neighbors": used,
            "components": components,
            "supervised": supervised,
            "standardized": standardize,
            "notes": notes,
            "outputs": {kind: str(path) for kind, path in outputs.items() if path is not None},
        }
        print_result(json.dumps(summary, ensure_ascii=False) + "\n")
    elif not contents:
        print_result(_encoded(result, ending))


def apply(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="What 'patchfold embed --model' wrote.")
    ],
    new: Annotated[
        str,
        typer.Argument(
            metavar="NEW",
            help="Rows with the columns of the fitted table, in any order; '-' reads standard "
            "input.",
        ),
    ],
    ids: options.Id = None,
    drop: options.Drop = None,
    missing: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="Where values are missing and the model does not impute: 'error' names them, "
            "'drop' leaves their rows out.",
            **options.chosen("--missing", ("error", "drop")),
        ),
    ] = "error",
    header: options.Header = None,
    output: Output = None,
    as_json: options.Json = False,
) -> None:
    """Map new rows with a saved model.

    Columns are found by their names. Those that the fitted table had beside its features (--id,
    --target, --drop) may be there or not, and the first two are kept in the output, another --id
    in the place of the model's; others are refused. Rows that were fitted get the coordinates that
    they have.

    A model is data and no program: types that are not trusted are shown and not loaded.
    """
    from patchfold.tables import conform, read_table
    from patchfold.tables._naming import counted

    ending = _check_endings({"output": output})
    check_outputs([output], inputs=[model, new])
    pipeline, origin, notes = _loaded(model)
    numbers, known, imputes, ordinal = _columns_of(model, pipeline)
    with about(new), working(f"Reading {new} ..."):
        keep = [name for name in (ids, origin.ids, origin.target) if name is not None]
        table = read_table(new, header=header, expected=numbers, text=known, keep=keep)
        columns = list(table.frame.columns)
        _check_columns(columns, [*numbers, *known], ids, drop or [], origin)
        there = set(columns) - set(drop or [])
        names = ids or (origin.ids if origin.ids in there else None)
        target = origin.target if origin.target in there else None
        selection = conform(
            table.frame,
            numbers=numbers,
            categories=known,
            target=target,
            ids=names,
            missing="impute" if imputes else missing,
            written=table.kept,
            unknown="error" if ordinal else "note",
        )
    beside = _beside(selection, written=ending != ".parquet")
    _check_names(new, beside, pipeline[-1].get_feature_names_out())
    rows = counted(len(selection.features), "row")
    with about(new), working(f"Mapping {rows} ...") as warned:
        places = pipeline.transform(selection.features)
    notes += [*table.notes, *selection.notes, *warned]
    result = _result(beside, places, pipeline)
    if output is not None:
        write_outputs({output: _encoded(result, ending)})
    say([*options.noted(notes), f"{type(pipeline[-1]).__name__}: {rows} mapped"])
    if output is not None:
        say([f"Wrote {output}"])
    if as_json:
        summary = {
            "command": "apply",
            "model": str(model),
            "data": new,
            "rows": len(result),
            "rows_left_out": selection.n_rows - len(result),
            "notes": notes,
            "outputs": {} if output is None else {"output": str(output)},
        }
        print_result(json.dumps(summary, ensure_ascii=False) + "\n")
    elif output is None:
        print_result(_encoded(result, ending))


# ---------------------------------------------------------------- models


def _dumped(pipeline: Any, **origin: Any) -> bytes:
    from patchfold.cli.models import Origin, dump_model

    return dump_model(pipeline, Origin(**origin))


def _loaded(model: Path) -> tuple[Any, Any, list[str]]:
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


def _columns_of(model: Path, pipeline: Any) -> tuple[list[str], dict[str, Any], bool, bool]:
    """Return a model's columns of numbers, its categories, and how it fills and codes them."""
    try:
        return _columns_of_steps(pipeline)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Refused(
            f"{model}: the model has other steps than 'patchfold embed --model' writes; fit one by "
            "that command."
        ) from error


def _columns_of_steps(pipeline: Any) -> tuple[list[str], dict[str, Any], bool, bool]:
    numbers: list[str] = []
    known: dict[str, Any] = {}
    imputes = ordinal = False
    for kind, transformer, names in pipeline[0].transformers_:
        steps = getattr(transformer, "named_steps", {})
        imputes = imputes or "impute" in steps
        if kind == "numbers":
            numbers = list(names)
        elif kind == "categories":
            known = dict(zip(names, steps["encode"].categories_, strict=True))
            ordinal = type(steps["encode"]).__name__ == "OrdinalEncoder"
    return numbers, known, imputes, ordinal


def _check_columns(
    columns: list[str], wanted: list[str], ids: str | None, drop: list[str], origin: Any
) -> None:
    """Refuse columns that are not there, not known, or left out though they are needed."""
    from patchfold.tables import TableError, check_column
    from patchfold.tables._naming import listed, quoted

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
        raise TableError(f"the model needs the columns {listed(lacking)}{there}.")
    if extra:
        raise TableError(
            f"the model does not know the columns {listed(extra)}; leave them out with --drop."
        )


# ---------------------------------------------------------------- outputs


def _check_endings(outputs: dict[str, Path | None]) -> str:
    """Refuse names whose endings do not say what they are; return that of the coordinates."""
    from patchfold.tables import check_ending

    known = {"model": (".skops",), "html": (".html", ".htm"), "png": (".png",)}
    for kind, path in outputs.items():
        if path is not None and kind in known:
            with about(f"--{kind}"):
                check_ending(path, known[kind])
    path = outputs["output"]
    if path is None:
        return ".csv"
    with about("--output"):
        return check_ending(path)


def _check_packages(outputs: dict[str, Path | None], ending: str) -> None:
    """See that what writes the outputs is installed, before anything is computed."""
    from patchfold.tables._naming import require

    if ending == ".parquet":
        require("pyarrow", "writing Parquet")
    if outputs["model"] is not None:
        require("skops.io", "a model in a file")
    if outputs["png"] is not None:
        require("matplotlib", "a picture", extra="plot")


def _encoded(result: Any, ending: str) -> bytes:
    from patchfold.tables import encode_table

    return encode_table(result, ending)


def _beside(selection: Any, *, written: bool) -> list[Any]:
    """Return the columns of the output beside the coordinates, the target as it is written."""
    import pandas as pd

    target = selection.label if written else selection.target
    beside = [column for column in (selection.ids, target) if column is not None]
    if selection.ids is None and len(selection.rows) < selection.n_rows:
        taken = selection.target is not None and selection.target.name == "row"
        beside.insert(0, pd.Series(selection.rows + 1, name="row number" if taken else "row"))
    return beside


def _check_names(data: str, beside: list[Any], coordinates: Any) -> None:
    alike = [column.name for column in beside if column.name in set(coordinates)]
    if alike:
        raise Refused(f"{data}: the column '{alike[0]}' has the name of a coordinate; rename it.")


def _result(beside: list[Any], places: Any, pipeline: Any) -> Any:
    """Return the table of the output."""
    import pandas as pd

    names = pipeline[-1].get_feature_names_out()
    coordinates = dict(zip(names, places.T, strict=True))
    return pd.DataFrame({column.name: column for column in beside} | coordinates)


def _page(pipeline: Any, selection: Any, target: str | None, data: str) -> str:
    from patchfold.cli.exploring import row_names
    from patchfold.explorer import Explorer

    estimator = pipeline[-1]
    label = f"{type(estimator).__name__} {estimator.divergence}"
    page = Explorer.from_estimators(
        {label: estimator},
        pipeline[:-1].transform(selection.features),
        columns=options.columns(selection, target),
        ids=row_names(selection),
        feature_names=list(pipeline[:-1].get_feature_names_out()),
        title=options.title(data),
    )
    return str(page.html)


def _picture(places: Any, target: Any) -> bytes:
    """Draw the embedding, without a window anywhere."""
    from matplotlib.figure import Figure

    from patchfold.plotting import plot_embedding

    figure = Figure(layout="constrained")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of signs that the font lacks
        plot_embedding(places, None if target is None else _legible(target), ax=figure.subplots())
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=PICTURE_DPI)
    return buffer.getvalue()


def _legible(target: Any) -> Any:
    """Return classes as short texts in which matplotlib sees no formulas and no hidden names."""
    from pandas.api import types

    if types.is_numeric_dtype(target):
        return target
    labels: dict[str, str] = {}
    for name in target.dropna().astype(str).unique():
        short = " ".join(name.split())
        short = short if len(short) <= LEGEND_LETTERS else f"{short[:LEGEND_LETTERS]}..."
        short = short.replace("$", r"\$")
        short = f" {short}" if short.startswith("_") else short
        labels[name] = short if short not in labels.values() else f"{short} ({len(labels)})"
    return target.astype(object).map(lambda name: labels[str(name)], na_action="ignore")
