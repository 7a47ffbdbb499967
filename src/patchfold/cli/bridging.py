"""``patchfold bridges``: the suspicious edges between the rows of a table."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from patchfold.cli import _options as options
from patchfold.cli._loading import TableOptions
from patchfold.cli._output import (
    MOST_EDGES,
    check_files,
    encoded,
    finish,
    picture,
    summary_of,
)
from patchfold.cli._session import about, duration, say, working

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


@dataclass(frozen=True)
class BridgesOptions(TableOptions):
    """What ``patchfold bridges`` is asked for."""

    divergence: Divergence = "kl"
    neighbors: options.Neighbors = None
    min_score: MinScore = 1.0
    seed: options.Seed = 0
    output: Output = None
    png: PictureFile = None
    formulas: options.Formulas = False
    as_json: options.Json = False


@options.command
def bridges(asked: BridgesOptions) -> None:
    """List suspicious edges between rows: neighbours that should perhaps not touch.

    Each row is joined to its nearest. An edge is suspicious where the Gaussians of the two
    neighbourhoods differ much and the way around the edge is long: it jumps over a gap, or joins
    groups that nothing else joins. The table has one line per edge, the most suspicious first: the
    two rows by --id or by their numbers, and why the edge is suspicious; with --target also what
    that column has in both rows.
    """
    from patchfold.tables.problems import counted

    output, png = asked.output, asked.png
    ending = check_files({"output": output, "png": png}, [asked.data], as_json=asked.as_json)
    prepare, selection = asked.load()
    say([asked.described(prepare, selection), *options.noted(selection.notes)])
    estimator = _estimator(asked, len(selection.features))
    say([f"By {options.call_of(estimator)}.bridges(), as in Python"])
    start = time.monotonic()
    with about(asked.data), working("Looking for bridges ...") as warned:
        found = estimator.fit(prepare.points(selection)).bridges(asked.min_score)
    seconds = time.monotonic() - start
    result = _table(found, selection, written=ending != ".parquet")
    table = encoded(result, ending, formulas=asked.formulas)
    contents: dict[Path, bytes | str] = {} if output is None else {output: table}
    if png is not None:
        contents[png] = picture(estimator.embedding_, selection.target, found)
    edges = counted(len(found), "suspicious edge")
    outputs = {"output": output, "png": png}
    notes = [*selection.notes, *warned]
    summary = summary_of("bridges", asked.data, selection, notes, outputs) | {
        "edges": len(found),
        "removed": int(found.removed.sum()),
        "min_score": asked.min_score,
        "neighbors": estimator.n_neighbors_,
        "divergence": asked.divergence,
    }
    finish(
        contents,
        [*options.noted(warned), f"{edges}: {duration(seconds)}"],
        summary if asked.as_json else None,
        table if output is None else None,
    )


def _estimator(asked: BridgesOptions, n: int) -> Any:
    """Return what finds the edges, and places for a picture of them; both find the same edges."""
    from patchfold.embedding import PatchIsomap, PatchSpace

    kind: Any = PatchSpace if asked.png is None else PatchIsomap
    return kind(
        n_neighbors=options.neighbors(asked.neighbors),
        divergence=asked.divergence,
        metric=asked.metric,
        n_jobs=options.threads(n),
        random_state=asked.seed,
    )


def _table(found: Any, selection: Any, *, written: bool) -> Any:
    """Return the edges as a table, rows by their names."""
    from patchfold.explorer.tables import row_names

    target = selection.label if written else selection.target
    names = row_names(selection)
    labels = None if target is None else target.to_numpy()
    frame = found.to_frame(names=names.to_numpy(), labels=labels)
    if target is None:
        return frame
    ends = {f"{end}_label": f"{end} {target.name}" for end in ("source", "target")}
    return frame.rename(columns=ends)
