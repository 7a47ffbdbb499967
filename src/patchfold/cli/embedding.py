"""``patchfold embed``: rows of a table become points of a plane."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from patchfold.cli import _options as options
from patchfold.cli._loading import TableOptions, columns, images_of, row_names, title
from patchfold.cli._output import (
    check_endings,
    check_names,
    check_packages,
    columns_beside,
    encoded,
    picture,
    result_table,
)
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
from patchfold.cli.streaming import Streamed, embed_streamed, is_streamed

# The rule of patchfold.supervision that the published supervised Isomap has.
SUPERVISION = "dissimilarity"

Components = Annotated[int, typer.Option(min=1, metavar="N", help="Dimensions of the embedding.")]
Supervised = Annotated[
    bool, typer.Option("--supervised", help="Let the classes in --target shape the embedding.")
]
ModelFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The fitted model, for 'patchfold apply' (.skops)."),
]
PageFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A page to explore the embedding (.html).")
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Embed Parquet files ('rows/*.parquet') on the Dask cluster with this scheduler, "
        "e.g. tcp://10.0.0.1:8786. [workers on this machine, for a table beyond its memory]",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="What workers on this machine may use together, e.g. 4GB. [80% of what is free]",
    ),
]
PictureFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A picture, coloured by --target (.png).")
]


def embed(
    data: options.Data,
    target: options.Target = None,
    ids: options.Id = None,
    info: options.Info = None,
    drop: options.Drop = None,
    feature: options.Feature = None,
    method: options.Method = "isomap",
    divergence: options.Divergence = "kl",
    neighbors: options.Neighbors = None,
    components: Components = 2,
    supervised: Supervised = False,
    standardize: options.Standardize = None,
    categories: options.Categories = "onehot",
    missing: options.Missing = "error",
    dates: options.Dates = False,
    decimal: options.Decimal = None,
    header: options.Header = None,
    seed: options.Seed = 0,
    output: options.Output = None,
    formulas: options.Formulas = False,
    model: ModelFile = None,
    html: PageFile = None,
    png: PictureFile = None,
    cluster: ClusterAddress = None,
    memory: Memory = None,
    as_json: options.Json = False,
) -> None:
    """Embed the rows of a table: every row becomes a point of the plane.

    A row is compared with others by the Gaussian of its neighbourhood. Columns of numbers are
    standardised, and text columns are taken for categories, unless options say otherwise. The
    output has the columns of --id and --target, then the coordinates; where rows were left out and
    no --id names them, the column 'row' has their numbers.
    """
    asked = _Request(
        TableOptions(
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
        ),
        method=method,
        divergence=divergence,
        neighbors=neighbors,
        components=components,
        supervised=supervised,
        seed=seed,
        outputs={"output": output, "model": model, "html": html, "png": png},
        formulas=formulas,
    )
    if is_streamed(data, cluster):
        _stream(asked, cluster, memory, standardize=standardize is not False)
        return
    _refuse_memory(memory)
    ending = _check(asked)
    _finish(asked, _fit(asked, ending), ending, as_json=as_json)


@dataclass(frozen=True)
class _Request:
    """What the user asked for."""

    table: TableOptions
    method: str
    divergence: str
    neighbors: str | None
    components: int
    supervised: bool
    seed: int
    outputs: dict[str, Path | None]
    formulas: bool = False


@dataclass(frozen=True, eq=False)
class _Done:
    """A fitted pipeline, and what it made of the table."""

    selection: Any
    pipeline: Any
    places: Any
    result: Any  # the table of the output
    seconds: float
    notes: list[str]

    @property
    def n_neighbors(self) -> int:
        """The number of neighbours that was used: with 'auto' the chosen one."""
        estimator = self.pipeline[-1]
        return int(getattr(estimator, "n_neighbors_", estimator.n_neighbors))


def _finish(asked: _Request, done: Any, ending: str, *, as_json: bool) -> None:
    """Write the outputs, and say what was done."""
    contents = _contents(asked, done, ending)
    write_outputs(contents)
    say([f"{_how(asked, done)}: {duration(done.seconds)}", *(f"Wrote {path}" for path in contents)])
    if as_json:
        print_result(json.dumps(_summary(asked, done), ensure_ascii=False) + "\n")
    elif not contents:
        print_result(encoded(done.result, ending, formulas=asked.formulas))


def _refuse_memory(memory: str | None) -> None:
    """Refuse a limit of workers where there are none."""
    if memory is not None:
        raise Refused(
            f"--memory {memory} is for Parquet files beyond memory; name them by a pattern: "
            "'rows/*.parquet'."
        )


def _stream(asked: _Request, cluster: str | None, memory: str | None, *, standardize: bool) -> None:
    """Embed Parquet files on a cluster; refuse what is not done there."""
    from patchfold.embedding.methods import METHODS, divergence_parameters
    from patchfold.tables._naming import counted

    table, outputs = asked.table, asked.outputs
    others = [f"--{kind}" for kind in ("model", "html", "png") if outputs[kind] is not None]
    if asked.supervised or others:
        named = "--supervised" if asked.supervised else others[0]
        raise Refused(f"{named} does not go with rows on a cluster; leave it out.")
    if outputs["output"] is None:
        raise Refused("rows on a cluster are written to a file; name it: --output FILE.parquet.")
    estimator = METHODS[asked.method](
        asked.components,
        n_neighbors=options.neighbors(asked.neighbors),
        random_state=asked.seed,
        **divergence_parameters(asked.method, asked.divergence),
    )
    beside = tuple(name for name in (table.ids, table.target) if name is not None)
    drop = (*(table.drop or ()), *(table.info or ()))
    place = outputs["output"]
    streamed = Streamed(table.data, cluster, beside, drop, standardize, place, memory)
    start = time.monotonic()
    n = embed_streamed(streamed, estimator)
    say([f"{counted(n, 'row')}: {duration(time.monotonic() - start)}", f"Wrote {place}"])


def _check(asked: _Request) -> str:
    """Refuse what cannot be done, before anything is read; return the ending of the output."""
    outputs = asked.outputs
    ending = check_endings(outputs)
    check_outputs(outputs.values(), inputs=[asked.table.data])
    check_packages(outputs, ending)
    return ending


def _fit(asked: _Request, ending: str) -> _Done:
    """Read the table and embed it."""
    from patchfold.tables import classes
    from patchfold.tables._naming import counted

    data = asked.table.data
    selection = asked.table.load()
    features = selection.features
    if asked.supervised and selection.target is None:
        raise Refused(f"{data}: --supervised needs the column of the classes: --target COL.")
    pipeline = _pipeline(asked, selection)
    beside = columns_beside(selection, written=ending != ".parquet")
    name = type(pipeline[-1]).__name__.lower()
    check_names(data, beside, [f"{name}{place}" for place in range(asked.components)])
    say([asked.table.described(selection), *options.noted(selection.notes)])
    say([f"By {options.call_of(pipeline[-1])}, as in Python"])
    start = time.monotonic()
    with about(data), working(f"Embedding {counted(len(features), 'row')} ...") as warned:
        labels = classes(selection.target)[0] if asked.supervised else None
        places = pipeline.fit_transform(features, labels)
    seconds = time.monotonic() - start
    say(options.noted(warned))
    result = result_table(beside, places, pipeline)
    return _Done(selection, pipeline, places, result, seconds, [*selection.notes, *warned])


def _pipeline(asked: _Request, selection: Any) -> Any:
    return options.pipeline(
        selection.features,
        asked.method,
        **asked.table.coding(selection),
        divergence=asked.divergence,
        n_neighbors=options.neighbors(asked.neighbors),
        n_components=asked.components,
        random_state=asked.seed,
        supervision=SUPERVISION if asked.supervised else None,
    )


def _contents(asked: _Request, done: _Done, ending: str) -> dict[Path, bytes | str]:
    """Return the files to write and what is in them."""
    output, model, html, png = (asked.outputs[kind] for kind in ("output", "model", "html", "png"))
    contents: dict[Path, bytes | str] = {}
    if output is not None:
        contents[output] = encoded(done.result, ending, formulas=asked.formulas)
    if model is not None:
        contents[model] = _model(done)
    if html is not None:
        contents[html] = _page(asked.table, done)
    if png is not None:
        contents[png] = picture(done.places, done.selection.target)
    return contents


def _model(done: _Done) -> bytes:
    from patchfold.cli.models import Origin, dump_model

    roles = done.selection.roles
    origin = Origin(
        target=roles.target,
        ids=roles.ids,
        dropped=[*roles.drop, *roles.info],
        dates=done.selection.dates,
    )
    return dump_model(done.pipeline, origin)


def _page(table: TableOptions, done: _Done) -> str:
    from patchfold.explorer import explore

    prepare, estimator = done.pipeline[:-1], done.pipeline[-1]
    page = explore(
        prepare.transform(done.selection.features),
        done.selection.roles.target,
        embeddings={f"{type(estimator).__name__} {estimator.divergence}": estimator},
        columns=columns(done.selection),
        ids=row_names(done.selection),
        feature_names=list(prepare.get_feature_names_out()),
        images=images_of(done.selection),
        title=title(table.data),
    )
    return str(page.html)


def _how(asked: _Request, done: _Done) -> str:
    """Say in a sentence how the rows were embedded."""
    from patchfold.tables._naming import counted

    name = type(done.pipeline[-1]).__name__
    how = f"{name}, divergence {asked.divergence}, {counted(done.n_neighbors, 'neighbour')}"
    return how + (f", classes of '{done.selection.roles.target}'" if asked.supervised else "")


def _summary(asked: _Request, done: _Done) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    table = asked.table
    return {
        "command": "embed",
        "data": table.data,
        "rows": len(done.result),
        "rows_left_out": done.selection.n_rows - len(done.result),
        "features": list(done.selection.features.columns),
        "target": done.selection.roles.target,
        "id": done.selection.roles.ids,
        "method": asked.method,
        "divergence": asked.divergence,
        "neighbors": done.n_neighbors,
        "components": asked.components,
        "supervised": asked.supervised,
        "standardized": table.scaled(done.selection),
        "notes": done.notes,
        "outputs": {kind: str(path) for kind, path in asked.outputs.items() if path is not None},
    }
