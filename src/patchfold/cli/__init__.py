"""The command ``patchfold``: one module per group of commands.

Help and completion import nothing large: the commands import what they need when they run.
"""

from collections.abc import Callable
from typing import Annotated

import typer

from patchfold.cli._session import EXIT_CODES, FAILED, STOPPED, WRONG, Commands
from patchfold.cli.applying import apply
from patchfold.cli.bridging import bridges
from patchfold.cli.comparing import compare
from patchfold.cli.embedding import embed
from patchfold.cli.exploring import explore
from patchfold.cli.papers import list_datasets, reproduce

__all__ = ["FAILED", "STOPPED", "WRONG", "app"]

app = typer.Typer(
    name="patchfold",
    cls=Commands,
    help="Divergence-based manifold learning: embeddings of your tables, comparisons, pages to "
    "explore, and the papers' tables and data sets.",
    no_args_is_help=True,
    rich_markup_mode=None,  # examples keep their lines
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        import patchfold

        typer.echo(f"patchfold {patchfold.__version__}")
        raise typer.Exit


@app.callback(
    epilog=f"""\b
Examples:
  patchfold embed iris.csv --target species -o embedding.csv --png embedding.png
  patchfold explore iris.csv --target species
  patchfold embed --help

{EXIT_CODES}"""
)
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an unexpected error arose.")
    ] = False,
) -> None:
    pass


EXAMPLES: dict[Callable[..., None], str] = {
    embed: """
  patchfold embed iris.csv --target species -o embedding.csv
  patchfold embed wine.parquet --drop vintage --method tsne --png wine.png --html wine.html
  patchfold embed train.csv --target label --supervised --model model.skops -o train-2d.csv
  gunzip -c data.csv.gz | patchfold embed - --id name --missing impute > embedding.csv""",
    apply: """
  patchfold apply model.skops new.csv -o new-2d.csv
  patchfold apply model.skops - --id name --missing drop < new.csv > new-2d.csv""",
    bridges: """
  patchfold bridges cells.csv --id barcode --target type -o bridges.csv
  patchfold bridges wine.parquet --neighbors 30 --min-score 2 | head""",
    compare: """
  patchfold compare iris.csv --target species
  patchfold compare houses.csv --target price --halves 5 -o houses.html
  patchfold compare iris.csv --target species --json > scores.json""",
    explore: """
  patchfold explore iris.csv --target species
  patchfold explore wine.csv --method isomap --method tsne -o wine.html --no-open
  patchfold explore iris.csv --serve""",
    reproduce: """
  patchfold reproduce isomap-kl --quick
  patchfold reproduce elap --table I --account published --account equations
  patchfold reproduce xspace --datasets iris,wine --jobs 2 --output results
  patchfold reproduce figures""",
    list_datasets: """
  patchfold datasets
  PATCHFOLD_DATA=data patchfold datasets | grep elap""",
}
for command, examples in EXAMPLES.items():
    name = "datasets" if command is list_datasets else command.__name__
    app.command(name, epilog=f"\b\nExamples:{examples}")(command)
