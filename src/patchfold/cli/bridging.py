"""``patchfold bridges``: the suspicious edges between the rows of a table."""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from patchfold.cli import _options as options
from patchfold.cli._loading import TableOptions, row_names
from patchfold.cli._output import MOST_EDGES, check_endings, check_packages, encoded, picture
from patchfold.cli._session import (
    about,
    check_outputs,
    duration,
    print_result,
    say,
    working,
    write_outputs,
)

# Bridges are judged by patches, which the last of them does without.
DIVERGENCES = tuple(name for name in options.DIVERGENCES if name != "euclidean")

Divergence = Annotated[
    str,
    typer.Option(
        metavar="D",
        help=f"One of: {', '.join(DIVERGENCES)}.",
        **options.chosen("--divergence", DIVERGENCES),
    ),
]
MinScore = Annotated[
    float,
    typer.Option(min=0.0, metavar="S", help="The least score of an edge; 0 lists all edges."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The table: .csv, .tsv (also .gz) or .parquet. [standard output]",
        show_default=False,
    ),
]
PictureFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help=f"A picture: the rows by Isomap, coloured by --target, and up to {MOST_EDGES} of the "
        "edges (.png).",
    ),
]


def bridges(
    data: options.Data,
    target: options.Target = None,
    ids: options.Id = None,
    info: options.Info = None,
    drop: options.Drop = None,
    feature: options.Feature = None,
    divergence: Divergence = "kl",
    neighbors: options.Neighbors = None,
    min_score: MinScore = 1.0,
    standardize: options.Standardize = None,
    categories: options.Categories = "onehot",
    missing: options.Missing = "error",
    dates: options.Dates = False,
    decimal: options.Decimal = None,
    header: options.Header = None,
    seed: options.Seed = 0,
    output: Output = None,
    png: PictureFile = None,
    formulas: options.Formulas = False,
    as_json: options.Json = False,
) -> None:
    """List suspicious edges between rows: neighbours that should perhaps not touch.

    Each row is joined to its nearest. An edge is suspicious where the Gaussians of the two
    neighbourhoods differ much and the way around the edge is long: it jumps over a gap, or joins
    groups that nothing else joins. The table has one line per edge, the most suspicious first: the
    two rows by --id or by their numbers, and why the edge is suspicious; with --target also what
    that column has in both rows.
    """
    table = TableOptions(
        data,
        target=target,
        ids=ids,
        info=info,
        drop=drop,
        feature=feature,
        missing=missing,
        header=header,
        dates=dates,
        decimal=decimal,
        categories=categories,
        standardize=standardize,
    )
    ending = check_endings({"output": output, "png": png})
    check_outputs([output, png], inputs=[data])
    check_packages({"model": None, "png": png}, ending)
    selection = table.load()
    say([table.described(selection), *options.noted(selection.notes)])
    parameters = {"n_neighbors": options.neighbors(neighbors), "divergence": divergence}
    pipeline = _pipeline(table, selection, png, random_state=seed, **parameters)
    say([f"By {options.call_of(pipeline[-1])}.bridges(), as in Python"])
    found, warned, seconds = _looked_for(pipeline, data, selection, min_score)
    result = _table(found, selection, written=ending != ".parquet")
    contents = {} if output is None else {output: encoded(result, ending, formulas=formulas)}
    if png is not None:
        contents[png] = picture(pipeline[-1].embedding_, selection.target, found)
    write_outputs(contents)
    wrote = [f"Wrote {path}" for path in contents]
    say([*options.noted(warned), f"{_counted(len(found))}: {duration(seconds)}", *wrote])
    if as_json:
        summary = _summary(table, selection, found, [*selection.notes, *warned])
        summary |= {"outputs": _named(output=output, png=png), "min_score": min_score}
        summary |= {"neighbors": pipeline[-1].n_neighbors_, "divergence": divergence}
        print_result(json.dumps(summary, ensure_ascii=False) + "\n")
    elif output is None:
        print_result(encoded(result, ending, formulas=formulas))


def _summary(table: TableOptions, selection: Any, found: Any, notes: list[str]) -> dict[str, Any]:
    """Return what ``--json`` prints of the table and its edges."""
    return {
        "command": "bridges",
        "data": table.data,
        "rows": len(selection.features),
        "rows_left_out": selection.n_rows - len(selection.features),
        "edges": len(found),
        "removed": int(found.removed.sum()),
        "notes": notes,
    }


def _named(**outputs: Path | None) -> dict[str, str]:
    return {kind: str(path) for kind, path in outputs.items() if path is not None}


def _looked_for(
    pipeline: Any, data: str, selection: Any, min_score: float
) -> tuple[Any, list[str], float]:
    """Return the bridges, what the fit warned of, and how many seconds it took."""
    start = time.monotonic()
    with about(data), working("Looking for bridges ...") as warned:
        found = pipeline.fit(selection.features)[-1].bridges(min_score)
    return found, warned, time.monotonic() - start


def _pipeline(table: TableOptions, selection: Any, png: Path | None, **parameters: Any) -> Any:
    """Return what finds the edges, and places for a picture of them; both find the same edges."""
    from sklearn.pipeline import Pipeline

    from patchfold.embedding import PatchIsomap, PatchSpace
    from patchfold.tables import preprocessor

    features = selection.features
    prepare = preprocessor(features, **table.coding(selection))
    kind = PatchSpace if png is None else PatchIsomap
    return Pipeline(
        [
            ("columns", prepare),
            ("graph", kind(n_jobs=options.threads(len(features)), **parameters)),
        ]
    )


def _table(found: Any, selection: Any, *, written: bool) -> Any:
    """Return the edges as a table, rows by their names."""
    target = selection.label if written else selection.target
    names = row_names(selection)
    labels = None if target is None else target.to_numpy()
    frame = found.to_frame(names=names.to_numpy(), labels=labels)
    if target is None:
        return frame
    ends = {f"{end}_label": f"{end} {target.name}" for end in ("source", "target")}
    return frame.rename(columns=ends)


def _counted(edges: int) -> str:
    from patchfold.tables._naming import counted

    return counted(edges, "suspicious edge")
