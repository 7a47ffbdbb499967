"""``patchfold embed``: rows of a table become points of a plane."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from patchfold.cli import _options as options
from patchfold.cli._loading import TableOptions, title
from patchfold.cli._output import (
    check_files,
    check_names,
    columns_beside,
    encoded,
    finish,
    picture,
    result_table,
    summary_of,
)
from patchfold.cli._session import (
    Refused,
    about,
    duration,
    say,
    working,
)
from patchfold.cli.streaming import embed_streamed, is_streamed

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


# What is said of a map that classes have shaped.
SHAPED = (
    "--supervised draws classes apart, random ones too: the map does not show that features tell "
    "them apart; 'patchfold compare' maps rows whose class it has not seen"
)


@dataclass(frozen=True)
class EmbedOptions(TableOptions):
    """What ``patchfold embed`` is asked for."""

    method: options.Method = "isomap"
    divergence: options.Divergence = "kl"
    neighbors: options.Neighbors = None
    components: Components = 2
    supervised: Supervised = False
    seed: options.Seed = 0
    output: options.Output = None
    formulas: options.Formulas = False
    model: ModelFile = None
    html: PageFile = None
    png: PictureFile = None
    cluster: ClusterAddress = None
    memory: Memory = None
    as_json: options.Json = False

    @property
    def outputs(self) -> dict[str, Path | None]:
        """The files to write, by what they are."""
        return {"output": self.output, "model": self.model, "html": self.html, "png": self.png}


@options.command
def embed(asked: EmbedOptions) -> None:
    """Embed the rows of a table: every row becomes a point of the plane.

    A row is compared with others by the Gaussian of its neighbourhood. Columns of numbers are
    standardised, and text columns are taken for categories, unless options say otherwise. The
    output has the columns of --id and --target, then the coordinates; where rows were left out and
    no --id names them, the column 'row' has their numbers.
    """
    if is_streamed(asked.data, asked.cluster):
        embed_streamed(asked)
        return
    if asked.memory is not None:
        raise Refused(
            f"--memory {asked.memory} is for Parquet files beyond memory; name them by a pattern: "
            "'rows/*.parquet'."
        )
    ending = check_files(asked.outputs, [asked.data], as_json=asked.as_json)
    done = _fit(asked, ending)
    contents = _contents(asked, done, ending)
    said = [f"{_how(asked, done)}: {duration(done.seconds)}"]
    summary = _summary(asked, done) if asked.as_json else None
    result = None if contents else encoded(done.result, ending, formulas=asked.formulas)
    finish(contents, said, summary, result)


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


def _fit(asked: EmbedOptions, ending: str) -> _Done:
    """Read the table and embed it."""
    from sklearn.pipeline import Pipeline

    from patchfold.tables import classes
    from patchfold.tables.problems import counted

    data, (prepare, selection) = asked.data, asked.load()
    n = len(selection.features)
    if asked.supervised and selection.target is None:
        raise Refused(f"{data}: --supervised needs the column of the classes: --target COL.")
    estimator = options.estimator(
        asked.method,
        n,
        divergence=asked.divergence,
        metric=asked.metric,
        n_neighbors=options.neighbors(asked.neighbors),
        n_components=asked.components,
        random_state=asked.seed,
        supervision="dissimilarity" if asked.supervised else None,
    )
    beside = columns_beside(selection, written=ending != ".parquet")
    name = type(estimator).__name__.lower()
    check_names(data, beside, [f"{name}{place}" for place in range(asked.components)])
    say([asked.described(prepare, selection), *options.noted(selection.notes)])
    say([f"By {options.call_of(estimator)}, as in Python"])
    start = time.monotonic()
    with about(data), working(f"Embedding {counted(n, 'row')} ...") as warned:
        labels = classes(selection.target)[0] if asked.supervised else None
        places = estimator.fit_transform(prepare.points(selection), labels)
    seconds = time.monotonic() - start
    warned += [SHAPED] if asked.supervised else []
    say(options.noted(warned))
    pipeline = Pipeline([("columns", prepare), ("embedding", estimator)])
    result = result_table(beside, places, estimator)
    return _Done(selection, pipeline, places, result, seconds, [*selection.notes, *warned])


def _contents(asked: EmbedOptions, done: _Done, ending: str) -> dict[Path, bytes | str]:
    """Return the files to write and what is in them."""
    contents: dict[Path, bytes | str] = {}
    if asked.output is not None:
        contents[asked.output] = encoded(done.result, ending, formulas=asked.formulas)
    if asked.model is not None:
        contents[asked.model] = _model(done)
    if asked.html is not None:
        contents[asked.html] = _page(asked.data, done)
    if asked.png is not None:
        contents[asked.png] = picture(done.places, done.selection.target)
    return contents


def _model(done: _Done) -> bytes:
    from patchfold.cli.models import dump_model

    return dump_model(done.pipeline)


def _page(data: str, done: _Done) -> str:
    from patchfold.explorer import explore
    from patchfold.explorer.tables import of_selection

    prepare, estimator = done.pipeline
    page = explore(
        of_selection(prepare, done.selection),
        embeddings={f"{type(estimator).__name__} {estimator.divergence}": estimator},
        title=title(data),
    )
    return str(page.html)


def _how(asked: EmbedOptions, done: _Done) -> str:
    """Say in a sentence how the rows were embedded."""
    from patchfold.tables.problems import counted

    name = type(done.pipeline[-1]).__name__
    how = f"{name}, divergence {asked.divergence}, {counted(done.n_neighbors, 'neighbour')}"
    return how + (f", classes of '{done.selection.roles.target}'" if asked.supervised else "")


def _summary(asked: EmbedOptions, done: _Done) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    told = {
        "features": list(done.selection.features.columns),
        "target": done.selection.roles.target,
        "id": done.selection.roles.ids,
        "method": asked.method,
        "divergence": asked.divergence,
        "neighbors": done.n_neighbors,
        "components": asked.components,
        "supervised": asked.supervised,
        "standardized": done.pipeline[0].scale_ == "standardize",
    }
    return summary_of("embed", asked.data, done.selection, done.notes, asked.outputs) | told
