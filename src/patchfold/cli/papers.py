"""``patchfold reproduce`` and ``patchfold datasets``: the papers' tables and data sets."""

import shlex
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from patchfold.base.files import write_whole
from patchfold.cli import _options as options
from patchfold.cli._session import (
    FAILED,
    STOPPED,
    Refused,
    about,
    duration,
    print_json,
    print_result,
    print_table,
    progress,
    stderr,
)

if TYPE_CHECKING:
    from patchfold.papers.reproduction import Paper
    from patchfold.papers.reproduction.cells import Outcome, Task
    from patchfold.papers.reproduction.storage import Store

# Those of patchfold.papers.reproduction, which takes long to import where only help is wanted.
PAPERS = ("isomap-kl", "xspace", "pelle", "elap", "ranking")
ACCOUNTS = ("published", "equations", "honest")
# What draws the papers' figures in place of a paper's tables.
FIGURES = "figures"

PaperName = Annotated[
    str, typer.Argument(metavar="PAPER", help=f"One of: {', '.join((*PAPERS, FIGURES))}.")
]
Tables = Annotated[
    list[str] | None,
    typer.Option(metavar="T", help="A table of the paper; repeat for several. [all]"),
]
Datasets = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Names of data sets. [all that need no network]"),
]
Accounts = Annotated[
    list[str] | None,
    typer.Option(metavar="ACCOUNT", help=f"{', '.join(ACCOUNTS)}; repeat for several. [all]"),
]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Worker processes; results stay the same. [cores]"),
]
Quick = Annotated[bool, typer.Option("--quick", help="Only what takes minutes.")]
Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        file_okay=False,
        help="Folder of the report and of stored results.",
    ),
]


def reproduce(
    paper: PaperName,
    table: Tables = None,
    datasets: Datasets = None,
    account: Accounts = None,
    jobs: Jobs = None,
    quick: Quick = False,
    output: Output = Path("reproduction"),
    as_json: options.Json = False,
) -> None:
    """Compute the tables of a paper again and report them beside the printed ones.

    Every finished cell is stored at once in OUTPUT/PAPER.csv, and a command that was stopped or
    killed goes on from there. The report, OUTPUT/PAPER.md and OUTPUT/PAPER.html, is about all that
    is stored: what several commands compute in parts becomes one report. FIGURES as PAPER draws the
    papers' figures again, on the page OUTPUT/figures.md.

    The exit code is 0 when all is computed, 1 when something failed (the report names it, and the
    same command tries it again), 2 for wrong arguments.
    """
    if paper == FIGURES:
        given = {"--table": table, "--account": account, "--jobs": jobs}
        _draw(_names(datasets), given, output, quick=quick, as_json=as_json)
        return
    import joblib

    from patchfold.papers.reproduction.report import render
    from patchfold.papers.reproduction.storage import Store, stamp

    console = stderr()
    names = _names(datasets)
    module, tasks = _asked(paper, table, names, account, quick=quick)
    left_out = [name for name in names if name not in {task.dataset for task in tasks}]
    if left_out:
        console.print(f"Nothing to compute for {', '.join(left_out)} with these options.")
    store = Store(output / f"{paper}.csv", stamp(module))
    with about(store.path):
        _, problem = store.load()
        if problem:
            aside = store.path.with_suffix(".old.csv")
            store.path.replace(aside)
            console.print(f"{store.path} is not used, because {problem}. It is now {aside}.")
        store.save([])  # before hours are spent on what cannot be kept
    try:
        stored = _complete(module, tasks, store, jobs or joblib.cpu_count(), console)
    except KeyboardInterrupt:
        console.print(f"Stopped. The same command goes on from what is in {store.path}.")
        raise typer.Exit(STOPPED) from None
    command = _command(paper, table, names, account, quick=quick)
    others = sorted(stored.keys() - set(tasks), key=str)
    if others:
        console.print(f"The report has {len(others)} results of other commands, too.")
        command += "  # and others, into the same folder"
    outcomes = [stored[task] for task in (*tasks, *others)]
    report = render(
        paper, outcomes, command=command, stamp=store.stamp, note=module.NOTE, own=module.OWN
    )
    failed = sum(bool(stored[task].error) for task in tasks)
    pages = _write(report, output, paper)
    _tell(pages, as_json=as_json, paper=paper, tasks=len(tasks), failed=failed)
    if failed:
        console.print(f"{failed} of {len(tasks)} tasks failed; the report says why.")
        raise typer.Exit(FAILED)


def list_datasets(as_json: options.Json = False) -> None:
    """List the registered data sets, the papers that use them and where they would come from.

    In a pipe, columns are separated by tabs.
    """
    from patchfold.datasets import available

    entries: list[dict[str, Any]] = [
        {
            "name": entry.name,
            "rows": entry.shape[0],
            "features": entry.shape[1],
            "classes": entry.n_classes,
            "papers": list(entry.papers),
            "source": source or None,
        }
        for entry, source in available()
    ]
    if as_json:
        print_json(entries)
        return
    shown = [
        entry | {"papers": ", ".join(entry["papers"]), "source": entry["source"] or "its authors"}
        for entry in entries
    ]
    lines = [tuple(map(str, entry.values())) for entry in shown]
    print_table(list(entries[0]), lines, ("name", "papers", "source"))


def _draw(
    names: list[str], given: dict[str, Any], output: Path, *, quick: bool, as_json: bool
) -> None:
    """Draw the figures of all data sets at hand, or of those that are named."""
    from patchfold.base.validation import check_choice
    from patchfold.papers.reproduction import figures

    if useless := [option for option, value in given.items() if value is not None]:
        raise typer.BadParameter(f"figures have no {useless[0]}; leave it out.")
    known = sorted({name for plate in figures.PLATES for name in plate.data})
    try:
        for name in names:
            check_choice("--datasets", name, known)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    with about(output):
        output.mkdir(parents=True, exist_ok=True)
        files = figures.draw_all(output, names or None, quick=quick)
    _tell([str(output / file) for file in files], as_json=as_json, paper=FIGURES)


def _write(report: dict[str, str], output: Path, paper: str) -> list[str]:
    """Write the files of a report, and return the names of its pages."""
    with about(output):
        for name, text in report.items():
            write_whole(output / name, text)
        for picture in output.glob(f"{paper}-*.svg"):  # of tables that are in it no more
            if picture.name not in report:
                picture.unlink()
    return [str(output / f"{paper}.{suffix}") for suffix in ("md", "html")]


def _names(datasets: str | None) -> list[str]:
    """Return the names in a list that the user gave; none where there is no list."""
    names = [name.strip() for name in (datasets or "").split(",") if name.strip()]
    if datasets is not None and not names:
        raise typer.BadParameter(f"--datasets={datasets!r} names none; leave it out for all.")
    return names


def _command(
    paper: str, table: list[str] | None, names: list[str], account: list[str] | None, *, quick: bool
) -> str:
    """Return the command that computes the same, wherever and by how many workers."""
    words = ["patchfold", "reproduce", paper]
    words += [word for name in table or [] for word in ("--table", name)]
    words += ["--datasets", ",".join(names)] if names else []
    words += [word for name in account or [] for word in ("--account", name)]
    words += ["--quick"] if quick else []
    return shlex.join(words)


def _asked(
    paper: str,
    tables: list[str] | None,
    names: list[str],
    accounts: list[str] | None,
    *,
    quick: bool,
) -> tuple["Paper", list["Task"]]:
    """Return the paper's module and the tasks that the options ask for, or refuse the options."""
    from patchfold.base.validation import check_choice
    from patchfold.datasets.registry import registry
    from patchfold.papers.reproduction import load_paper
    from patchfold.papers.reproduction.cells import printed, rows

    try:
        module = load_paper(paper)
        tables = [check_choice("--table", name, module.TABLES) for name in tables or module.TABLES]
        accounts = [check_choice("--account", name, ACCOUNTS) for name in accounts or ACCOUNTS]
        for name in names:
            check_choice("--datasets", name, registry())
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    except ImportError as error:
        raise Refused(f"{paper} cannot be computed here: {error}", FAILED) from error
    asked = []
    for table in tables:  # which may lack some of the data sets
        chosen = [name for name in names if rows(paper, table, name) or not printed(paper, table)]
        if chosen or not names:
            asked += module.tasks(table, chosen or None, accounts, quick)
    if not asked:
        raise typer.BadParameter(
            "there is nothing to compute with these options; ask for other tables, accounts or "
            "data sets ('patchfold datasets' lists them with the papers that use them)."
        )
    return module, list(dict.fromkeys(asked))


def _tell(paths: list[str], *, as_json: bool, **what: Any) -> None:
    """Print the names of the files written; programs are told what they are about, too."""
    if as_json:
        print_json({"command": "reproduce", **what, "outputs": paths})
    else:
        print_result("".join(f"{path}\n" for path in paths))


def _complete(
    paper: "Paper", tasks: list["Task"], store: "Store", jobs: int, console: Console
) -> dict["Task", "Outcome"]:
    """Compute what is not stored yet, and return all that is stored then."""
    from patchfold.papers.reproduction import workers

    outcomes, _ = store.load()
    todo = [task for task in tasks if task not in outcomes]
    if len(todo) < len(tasks):
        console.print(f"{len(tasks) - len(todo)} of {len(tasks)} tasks are stored already.")
    total, done, start = sum(map(workers.cost, todo)), 0, time.monotonic()
    with progress(console) as bar, closing(workers.run(paper, todo, jobs=jobs)) as finished:
        line = bar.add_task(f"0/{len(todo)}", total=total)
        for number, outcome in enumerate(finished, start=1):
            store.save([outcome])
            outcomes[outcome.task] = outcome
            done += workers.cost(outcome.task)
            place = f"{number}/{len(todo)} {outcome.task}"
            bar.update(line, completed=done, description=place)
            if outcome.error:
                console.print(f"{place} failed: {outcome.error}")
            elif not console.is_terminal:
                left = (time.monotonic() - start) * (total - done) / done
                console.print(f"{place}, about {duration(left)} left")
    return {**outcomes, **store.load()[0]}  # what another command has stored meanwhile, too
