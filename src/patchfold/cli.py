"""The command ``patchfold``."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import joblib
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

import patchfold
from patchfold._files import remove_unfinished, write_whole
from patchfold._validation import check_choice
from patchfold.datasets import available
from patchfold.datasets.registry import registry
from patchfold.papers.reproduction import PAPERS
from patchfold.papers.reproduction.cells import ACCOUNTS, Outcome, Task, printed, rows
from patchfold.papers.reproduction.engine import (
    Paper,
    Store,
    cost,
    load_paper,
    run,
    stamp,
)
from patchfold.papers.reproduction.report import render

# Exit codes: something could not be computed; the user stopped it, as a shell reports SIGINT.
# Wrong arguments have 2, which is typer's.
FAILED = 1
WRONG = 2
STOPPED = 130
# A file that is written and removed again, to see whether the folder takes any.
PROBE = "probe"

if TYPE_CHECKING:
    from collections.abc import Iterator

app = typer.Typer(
    name="patchfold",
    help="Divergence-based manifold learning: the papers' tables and data sets.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # examples keep their lines
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"patchfold {patchfold.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


@app.command(
    epilog="""\b
Examples:
  patchfold reproduce isomap-kl --quick
  patchfold reproduce elap --table I --account published --account equations
  patchfold reproduce xspace --datasets iris,wine --jobs 2 --output results"""
)
def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=f"One of: {', '.join(PAPERS)}.")],
    table: Annotated[
        list[str] | None,
        typer.Option(metavar="T", help="A table of the paper; repeat for several. [all]"),
    ] = None,
    datasets: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Names of data sets. [all that need no network]"),
    ] = None,
    account: Annotated[
        list[str] | None,
        typer.Option(metavar="ACCOUNT", help=f"{', '.join(ACCOUNTS)}; repeat for several. [all]"),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Worker processes; results stay the same. [cores]"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only what takes minutes.")] = False,
    output: Annotated[
        Path,
        typer.Option(
            metavar="DIR", file_okay=False, help="Folder of the report and of stored results."
        ),
    ] = Path("reproduction"),
) -> None:
    """Compute the tables of a paper again and report them beside the printed ones.

    Every finished cell is stored at once in OUTPUT/PAPER, and a command that was stopped or killed
    goes on from there. The report is OUTPUT/PAPER.md and OUTPUT/PAPER.html.

    The exit code is 0 when all is computed, 1 when something failed (the report names it, and the
    same command tries it again), 2 for wrong arguments.
    """
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    names = _names(datasets)
    try:
        module = load_paper(paper)
        tables = [check_choice("--table", name, module.TABLES) for name in table or module.TABLES]
        accounts = [check_choice("--account", name, ACCOUNTS) for name in account or ACCOUNTS]
        for name in names:
            check_choice("--datasets", name, registry())
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    except ImportError as error:
        console.print(f"{paper} cannot be computed here: {error}")
        raise typer.Exit(FAILED) from error
    with _explained(console):
        tasks = [
            task
            for name in dict.fromkeys(tables)
            for task in _tasks(paper, module, name, names, accounts, quick=quick)
        ]
    if not tasks:
        raise typer.BadParameter(
            "there is nothing to compute with these options; ask for other tables, accounts or "
            "data sets ('patchfold datasets' lists them with the papers that use them)."
        )
    left_out = [name for name in names if name not in {task.dataset for task in tasks}]
    if left_out:
        console.print(f"Nothing to compute for {', '.join(left_out)} with these options.")
    command = ["patchfold", "reproduce", paper]
    command += [word for name in table or [] for word in ("--table", name)]
    command += ["--datasets", ",".join(names)] if names else []
    command += [word for name in account or [] for word in ("--account", name)]
    command += ["--quick"] if quick else []

    store = Store(output / paper, stamp(module))
    with _explained(console):
        write_whole(store.folder / PROBE, "")  # before hours are spent on what cannot be kept
        (store.folder / PROBE).unlink()
    try:
        outcomes = _complete(module, tasks, store, jobs or joblib.cpu_count(), console)
    except KeyboardInterrupt:
        console.print(f"Stopped. The same command goes on from what is in {store.folder}.")
        raise typer.Exit(STOPPED) from None
    report = render(paper, outcomes, command=shlex.join(command), stamp=store.stamp)
    with _explained(console):
        remove_unfinished(output, paper)
        for name, text in report.items():
            write_whole(output / name, text)
    for suffix in ("md", "html"):
        typer.echo(output / f"{paper}.{suffix}")
    failed = sum(bool(outcome.error) for outcome in outcomes)
    if failed:
        console.print(f"{failed} of {len(tasks)} tasks failed; the report says why.")
        raise typer.Exit(FAILED)


@app.command(
    "datasets",
    epilog="""\b
Examples:
  patchfold datasets
  PATCHFOLD_DATA=data patchfold datasets | grep elap""",
)
def list_datasets() -> None:
    """List the registered data sets, the papers that use them and where they would come from.

    In a pipe, columns are separated by tabs.
    """
    header = ("name", "rows", "features", "classes", "papers", "source")
    with _explained(Console(stderr=True, highlight=False, markup=False, soft_wrap=True)):
        registered = available()
    lines = [
        (
            entry.name,
            *(str(number) for number in (*entry.shape, entry.n_classes)),
            ", ".join(entry.papers),
            source or "its authors",
        )
        for entry, source in registered
    ]
    if not sys.stdout.isatty():
        for line in (header, *lines):
            typer.echo("\t".join(line))
        return
    grid = Table(box=None)
    for name in header:
        grid.add_column(name, justify="right" if name in header[1:4] else "left")
    for line in lines:
        grid.add_row(*line)
    Console(highlight=False, markup=False).print(grid)


def _names(datasets: str | None) -> list[str]:
    """Return the names in a list that the user gave; none where there is no list."""
    names = [name.strip() for name in (datasets or "").split(",") if name.strip()]
    if datasets is not None and not names:
        raise typer.BadParameter(f"--datasets={datasets!r} names none; leave it out for all.")
    return names


@contextmanager
def _explained(console: Console) -> Iterator[None]:
    """End with the message of an error of the file system, and no more than that."""
    try:
        yield
    except OSError as error:
        console.print(f"{error}")
        raise typer.Exit(WRONG) from error


def _tasks(
    paper: str, module: Paper, table: str, names: list[str], accounts: list[str], *, quick: bool
) -> list[Task]:
    """List the tasks of a table for the given data sets, of which it may lack some."""
    if not names:
        return module.tasks(table, None, accounts, quick)
    chosen = [name for name in names if rows(paper, table, name) or not printed(paper, table)]
    return module.tasks(table, chosen, accounts, quick) if chosen else []


def _complete(
    paper: Paper, tasks: list[Task], store: Store, jobs: int, console: Console
) -> list[Outcome]:
    """Compute what is not stored yet, and return the outcomes of all tasks in their order."""
    outcomes, ignored = store.load()
    for reason, count in Counter(ignored.values()).items():
        example = next(name for name, why in ignored.items() if why == reason)
        console.print(f"Ignored {count} file(s) in {store.folder}, such as {example}: {reason}")
    todo = [task for task in tasks if task not in outcomes or outcomes[task].error]
    if len(todo) < len(tasks):
        console.print(f"{len(tasks) - len(todo)} of {len(tasks)} tasks are stored already.")
    total, done, start = sum(map(cost, todo)), 0, time.monotonic()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        # Over the whole run: tasks come in the order of their length.
        speed_estimate_period=float("inf"),
    )
    with bar, closing(run(paper, todo, jobs=jobs)) as finished:
        line = bar.add_task(f"0/{len(todo)}", total=total)
        for number, outcome in enumerate(finished, start=1):
            store.save(outcome)
            outcomes[outcome.task] = outcome
            done += cost(outcome.task)
            place = f"{number}/{len(todo)} {outcome.task}"
            bar.update(line, completed=done, description=place)
            if outcome.error:
                console.print(f"{place} failed: {outcome.error}")
            elif not console.is_terminal:
                left = (time.monotonic() - start) * (total - done) / done
                console.print(f"{place}, about {_duration(left)} left")
    return [outcomes[task] for task in tasks]


def _duration(seconds: float) -> str:
    """Round a time to what is worth reading.

    Examples
    --------
    >>> _duration(7.2), _duration(200), _duration(8000)
    ('7 s', '3 min', '2.2 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
