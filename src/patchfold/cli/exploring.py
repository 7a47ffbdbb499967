"""``patchfold explore``: a page to look at a table in."""

import re
import threading
import webbrowser
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from patchfold.cli import _options as options
from patchfold.cli._loading import TableOptions, pair_of, title
from patchfold.cli._output import check_files, summary_of
from patchfold.cli._session import (
    STDOUT,
    about,
    in_options,
    noting,
    print_json,
    progress,
    say,
    stderr,
    write_outputs,
)

HOST = "127.0.0.1"
# What a page has where options name nothing else, as in patchfold.explore.
DIVERGENCES = ("euclidean", "kl")
# Of tables, which the name of a page does without.
ENDINGS = re.compile(r"(\.(csv|tsv|txt|parquet|arff|npy|npz|h5ad))?(\.gz)?$", re.IGNORECASE)

Methods = Annotated[
    list[str] | None,
    typer.Option(
        metavar="METHOD",
        help=(
            f"One of: {', '.join(options.METHODS)}; repeat for several. [isomap, none beside --xy]"
        ),
        **options.chosen("--method", options.METHODS),
    ),
]
Divergences = Annotated[
    list[str] | None,
    typer.Option(
        metavar="D",
        help="A divergence to switch to; repeat for several. [euclidean, kl]",
        **options.chosen("--divergence", options.DIVERGENCES),
    ),
]
Stops = Annotated[
    list[str] | None,
    typer.Option(
        metavar="K|auto",
        callback=options.check_neighbors,
        help="A stop of the slider; repeat for several. [some]",
    ),
]
Coordinates = Annotated[
    list[str] | None,
    typer.Option(
        "--xy",
        metavar="COL,COL",
        help=(
            "Two columns with coordinates to show, instead of embedding, or beside a --method; "
            "repeat for several."
        ),
    ),
]
Text = Annotated[
    str | None,
    typer.Option(metavar="COL", help="A column of texts to read in full beside the points."),
]
Images = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="A column of paths of images to show, relative to the folder of the table.",
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Where genes of cells are from: a layer of the file, or X. [raw where it is, else X]",
        show_default=False,
    ),
]
PageFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The page. [NAME-explorer.html for NAME.csv, in this folder]",
        show_default=False,
    ),
]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")]
Serve = Annotated[
    bool,
    typer.Option(
        "--serve", help="Serve the page on this machine alone until Ctrl-C, and write no file."
    ),
]


@dataclass(frozen=True)
class ExploreOptions(TableOptions):
    """What ``patchfold explore`` is asked for."""

    xy: Coordinates = None
    layer: Layer = None
    text: Text = None
    images: Images = None
    method: Methods = None
    divergence: Divergences = None
    neighbors: Stops = None
    seed: options.Seed = 0
    output: PageFile = None
    open_page: Open = True
    serve: Serve = False
    as_json: options.Json = False

    def coordinates(self, selection: Any) -> dict[str, Any]:
        """Return the coordinates that --xy names, by their names."""
        from patchfold.tables import TableError
        from patchfold.tables.columns import new_numbers

        found = {}
        for pair in self.xy or ():
            names = pair_of(pair, selection.others.columns)
            numbers = [
                new_numbers(name, selection.others[name], remedy="--xy needs numbers")
                for name in names
            ]
            for name, values in zip(names, numbers, strict=True):
                if values.isna().any():
                    row = selection.rows[int(values.isna().argmax())] + 1
                    raise TableError(
                        f"column '{name}' of --xy has no value in row {row}; fill it in, or leave "
                        "the row out."
                    )
            found[", ".join(names)] = np.column_stack(numbers)
        return found

    def pictures(self, selection: Any) -> Any:
        """Return the images of the paths in --images, or None."""
        from patchfold.tables import TableError

        if self.images is None:
            return None
        paths = selection.others[self.images]
        if paths.isna().any():
            row = selection.rows[int(paths.isna().argmax())] + 1
            raise TableError(f"column '{self.images}' of --images has no path in row {row}.")
        folder = Path() if self.data == "-" else Path(self.data).parent
        return [folder / str(path) for path in paths]


@options.command
def explore(asked: ExploreOptions) -> None:
    """Build a page to explore a table in, and open it.

    The page is one file that needs no network. A slider moves over the numbers of neighbours,
    switches over methods and divergences; colours, search and selections are by any column. With
    --xy it shows coordinates of the table, computed by any program; the other columns say how far
    they can be trusted.
    """
    place = _place(asked)
    shown = [name for name in (asked.text, asked.images) if name is not None]
    prepare, selection = asked.load(shown=shown, xy=asked.xy or ())
    built, warned = _page(asked, prepare, selection)
    page = str(built.html)
    if place is not None:
        write_outputs({place: page})
    file = None if place == STDOUT else place
    say([*options.noted(warned), *([f"Wrote {file} ({built.size})"] if file else [])])
    if asked.as_json:
        notes = [*selection.notes, *warned]
        summary = summary_of("explore", asked.data, selection, notes, {"output": place})
        print_json(summary | {"features": list(selection.features.columns)})
    if asked.serve:
        _serve(page, open_page=asked.open_page)
    elif asked.open_page and file is not None and not webbrowser.open(file.resolve().as_uri()):
        say(["No browser was found; open the file in one."])


def _page(asked: ExploreOptions, prepare: Any, selection: Any) -> tuple[Any, list[str]]:
    """Return the explorer and the warnings that building it gave."""
    from patchfold.explorer import explore as build
    from patchfold.explorer.tables import of_selection

    parameters: dict[str, Any] = {
        "n_neighbors": [k if k == "auto" else int(k) for k in asked.neighbors or ()] or None,
        "methods": tuple(asked.method) if asked.method else None,
        "divergences": tuple(asked.divergence or DIVERGENCES),
        "metric": asked.metric,
    }
    with about(asked.data):
        given = asked.coordinates(selection)
    say([asked.described(prepare, selection), *options.noted(selection.notes)])
    say([_how(parameters, len(selection.features), given)])
    with about(asked.data), progress(stderr()) as bar, noting() as warned:
        line = bar.add_task("embedding", total=None)

        def step(done: int, total: int, what: str) -> None:
            bar.update(line, completed=done, total=total, description=what)

        built = build(
            replace(of_selection(prepare, selection), notes=[]),  # they are said already
            embeddings=given or None,
            images=asked.pictures(selection),
            text=asked.text,
            title=title(asked.data),
            n_jobs=options.threads(len(selection.features)),
            progress=step,
            random_state=asked.seed,
            **parameters,
        )
    return built, [*warned, *map(in_options, built.notes)]


def _how(parameters: dict[str, Any], n: int, given: dict[str, Any]) -> str:
    """Say in a sentence what the page will show."""
    from patchfold.explorer.embeddings import slider
    from patchfold.explorer.explorer import FIRST

    methods = parameters["methods"] or (() if given else FIRST)
    if given:
        beside = f", beside {', '.join(methods)}" if methods else ""
        return f"Coordinates as given: {'; '.join(given)}{beside}"
    ks, metric = parameters["n_neighbors"] or slider(n), parameters["metric"]
    measured = "" if metric == "euclidean" else f" and metric={metric!r}"
    return (
        f"By {', '.join(methods)} with {', '.join(parameters['divergences'])}{measured} at "
        f"{', '.join(map(str, ks))} neighbours, as in Python"
    )


def _place(asked: ExploreOptions) -> Path | None:
    """Return where the page goes, or refuse the place before anything is read."""
    place = asked.output or (None if asked.serve else Path(f"{_stem(asked.data)}-explorer.html"))
    check_files({"output": place}, [asked.data], (".html", ".htm"), as_json=asked.as_json)
    return place


def _stem(data: str) -> str:
    """Return the name of a table without folder and known endings.

    Examples
    --------
    >>> _stem("tables/wine.v1.csv.gz"), _stem("-")
    ('wine.v1', 'input')
    """
    if data == "-":
        return "input"
    return ENDINGS.sub("", Path(data).name) or "data"


def _serve(page: str, *, open_page: bool) -> None:
    """Serve one page on this machine, on a free port, until Ctrl-C."""
    with ThreadingHTTPServer((HOST, 0), _handler(page.encode())) as server:
        address = f"http://{HOST}:{server.server_port}/"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            say([f"Serving {address} until Ctrl-C"])
            if open_page:
                webbrowser.open(address)
            _wait()
        except KeyboardInterrupt:
            say(["Stopped serving."])
        finally:
            server.shutdown()


def _wait() -> None:
    """Wait for Ctrl-C."""
    threading.Event().wait()


def _handler(page: bytes) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers with the page, and only to who asked for this machine by its name."""

        def do_GET(self) -> None:
            port = self.connection.getsockname()[1]
            # A page of another site that resolves its own name to this machine must not read ours.
            if self.headers.get("Host") not in {f"{HOST}:{port}", f"localhost:{port}"}:
                self.send_error(HTTPStatus.FORBIDDEN)
            elif self.path != "/":
                self.send_error(HTTPStatus.NOT_FOUND)
            else:
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

        def log_message(self, *_: Any) -> None:
            """Keep quiet: the terminal is for notes."""

    return Handler
