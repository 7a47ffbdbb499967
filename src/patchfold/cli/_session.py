"""What the commands share: what is said where, exit codes, and files that are seen to beforehand.

Standard output has results only. Notes, progress and errors go to standard error: a terminal shows
a bar or a spinner, anything else gets a line every ten seconds.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from typer.core import TyperGroup

from patchfold.base.files import linked_to, to_bytes, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# Exit codes: something could not be computed; wrong arguments or input, as typer has it; the user
# stopped it, as a shell reports SIGINT.
FAILED = 1
WRONG = 2
STOPPED = 130

# As a file to write, this is standard output.
STDOUT = Path("-")

# Where there is no terminal, a line says so often how far it is.
SECONDS_PER_LINE = 10.0

# The words of the command that is running.
_arguments: ContextVar[tuple[str, ...]] = ContextVar("_arguments", default=())

PARAMETERS = {
    "n_neighbors": "--neighbors",
    "n_components": "--components",
    "columns={name: values} adds others": "--info NAME adds another",
}

EXIT_CODES = """\b
Exit codes:
  0    done
  1    something could not be computed
  2    wrong arguments, or input or output that cannot be used
  130  stopped by Ctrl-C"""


class Refused(Exception):  # noqa: N818 - no error of the program: the user is told what to change
    """Ends the command with a line on standard error, perhaps further ones, and an exit code."""

    def __init__(self, message: str, code: int = WRONG, more: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.more = list(more)


class Commands(TyperGroup):
    """The group of all commands, which ends each with a line and an exit code, never a traceback.

    Only an error in patchfold itself is no such line; ``--debug`` shows where it arose.
    """

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the arguments; help and version are printed on the way."""
        given = options.get("args", arguments[1] if len(arguments) > 1 else ())
        _arguments.set(tuple(given))
        try:
            return super().make_context(*arguments, **options)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            _end(_in_words(error), WRONG)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except Refused as error:
            _end(str(error), error.code, more=error.more)
        except KeyboardInterrupt:
            _end("Stopped.", STOPPED, kind="")
        except ImportError as error:
            _end(str(error), FAILED)
        except MemoryError as error:
            _end(
                f"not enough memory ({error or 'no figures'}); give fewer rows or columns.", FAILED
            )
        except Exception as error:
            known = isinstance(error, typer.Abort | typer.Exit) or hasattr(error, "exit_code")
            broken_pipe = isinstance(error, OSError) and error.errno == errno.EPIPE
            if known or broken_pipe or ctx.params.get("debug"):
                raise
            if isinstance(error, OSError):
                _end(_in_words(error), WRONG)
            _end(
                f"unexpected {type(error).__name__}: {_one_line(error)}. 'patchfold --debug ...' "
                "shows where; please report it.",
                FAILED,
            )


def stderr() -> Console:
    """Return the console of notes, progress and errors."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def to_paste(more: Iterable[str] = ()) -> str:
    """Return the command that is running, with further words, as a shell takes it."""
    return shlex.join(["patchfold", *_arguments.get(), *more])


def say(notes: Iterable[str]) -> None:
    """Print sentences on standard error, one per line."""
    console = stderr()
    for note in notes:
        console.print(_one_line(note))


@contextmanager
def about(source: str | Path) -> Iterator[None]:
    """Refuse what raises a ValueError, a TypeError or an error of the file system, by its name."""
    name = "standard input" if str(source) == "-" else str(source)
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        raise Refused(_in_words(error, name)) from error
    except (TypeError, ValueError) as error:
        raise Refused(f"{name}: {in_options(str(error))}") from error


@contextmanager
def noting() -> Iterator[list[str]]:
    """Collect warnings meant for users; they are in the yielded list at the end."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        yield notes
    notes.extend(dict.fromkeys(in_options(_one_line(warning.message)) for warning in caught))


@contextmanager
def working(words: str, every: float = SECONDS_PER_LINE) -> Iterator[list[str]]:
    """Show that something is going on; collect warnings as :func:`noting` does."""
    console = stderr()
    shown = console.status(words) if console.is_terminal else _lines(lambda: words, every)
    with noting() as notes, shown:
        yield notes


@contextmanager
def _lines(words: Callable[[], str], every: float) -> Iterator[None]:
    """Meanwhile, print words and the time so far, every ``every`` seconds."""
    start, over = time.monotonic(), threading.Event()

    def tell() -> None:
        while not over.wait(every):
            say([f"{words()} {duration(time.monotonic() - start)}"])

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def progress(console: Console, every: float = SECONDS_PER_LINE) -> Iterator[Progress]:
    """Show a bar with the time that is left; without a terminal, print lines."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        # Over the whole run: tasks may come in the order of their length.
        speed_estimate_period=float("inf"),
    )

    def words() -> str:
        shares = [
            f" ({task.completed / task.total:.0%} done)" if task.total else "" for task in bar.tasks
        ]
        names = [task.description.strip() for task in bar.tasks]
        return "; ".join(map("".join, zip(names, shares, strict=True)))

    if console.is_terminal:
        with bar:
            yield bar
    else:
        with _lines(words, every):
            yield bar


def duration(seconds: float) -> str:
    """Round a time to what is worth reading.

    Examples
    --------
    >>> duration(7.2), duration(200), duration(8000)
    ('7 s', '3 min', '2.2 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


# ---------------------------------------------------------------- files


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[str | Path] = ()) -> None:
    """See that files can be written, before anything is computed."""
    read = {os.path.realpath(source) for source in inputs if str(source) != "-"}
    places: dict[Path, Path] = {}
    for path in (path for path in outputs if path not in {None, STDOUT}):
        with about(path):
            place = linked_to(path)
        if path.is_dir():
            raise Refused(f"{path}: this is a folder; name a file in it.")
        if str(place) in read:
            raise Refused(f"{path}: this is the input; name another file for the output.")
        if place in places:
            both = (
                "two outputs have this name"
                if path == places[place]
                else (f"{places[place]} is the same file, through a link")
            )
            raise Refused(f"{path}: {both}; give each output its own.")
        places[place] = path
        folder = place.parent
        while not folder.exists():
            folder = folder.parent
        if not folder.is_dir():
            raise Refused(f"{path}: {folder} is a file and no folder; choose another place.")
        if path.exists() and not os.access(path, os.W_OK):
            raise Refused(f"{path}: this file cannot be written to; name another.")
        ordinary = path.is_file() or not path.exists()
        if ordinary and not os.access(folder, os.W_OK):
            raise Refused(f"{path}: {folder} cannot be written to; name another place.")


def write_outputs(contents: Mapping[Path, bytes | str]) -> None:
    """Write files, each whole or not at all; STDOUT is printed."""
    for path, content in contents.items():
        if path == STDOUT:
            print_result(content)
            continue
        try:
            write_whole(path, content)
        except OSError as error:
            raise Refused(f"{path}: cannot be written ({error.strerror or error}).") from error


def print_result(content: bytes | str) -> None:
    """Write to standard output, and see that it arrives."""
    if sys.stdout is None:
        raise Refused("standard output is closed; name a file with -o.")
    data = to_bytes(content)
    with about("standard output"):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def print_table(header: Sequence[str], lines: Sequence[Sequence[str]], left: Sequence[str]) -> None:
    """Print a table: in columns on a terminal, those called ``left`` from the left, else by tabs.

    On 80 columns there is room for all numbers if names of two words take two lines.
    """
    if not sys.stdout.isatty():
        print_result("".join("\t".join(line) + "\n" for line in (header, *lines)))
        return
    grid = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for word in header:
        justify: Any = "left" if word in left else "right"
        grid.add_column(word, justify=justify, no_wrap=word != header[0], overflow="fold")
    for line in lines:
        grid.add_row(*line)
    Console(highlight=False, markup=False).print(grid)


def print_json(value: Any) -> None:
    """Write what ``--json`` asks for to standard output."""
    print_result(json.dumps(value, ensure_ascii=False) + "\n")


# ---------------------------------------------------------------- words


def in_options(message: str) -> str:
    """Call parameters of the library by the options that set them.

    Examples
    --------
    >>> in_options("n_neighbors=15 needs more than 15 samples; lower n_neighbors.")
    '--neighbors=15 needs more than 15 samples; lower --neighbors.'
    """
    for parameter, option in PARAMETERS.items():
        message = message.replace(parameter, option)
    return message


def _end(message: str, code: int, kind: str = "Error: ", more: Iterable[str] = ()) -> None:
    console = stderr()
    console.print(kind + _one_line(message))
    for line in more:
        console.print(_one_line(line))
    raise typer.Exit(code)


def _in_words(error: OSError, name: str | None = None) -> str:
    if error.errno is None:  # no error of the system, but words of our own
        return str(error)
    # Files are written with their names: what is full without one is the other end of a pipe.
    nameless = "standard output" if error.errno == errno.ENOSPC else "the file system"
    where = name or error.filename or nameless
    if isinstance(error, FileNotFoundError):
        return f"{where}: there is no such file."
    if isinstance(error, IsADirectoryError):
        return f"{where}: this is a folder; name a file in it."
    if isinstance(error, PermissionError):
        return f"{where}: permission denied."
    return f"{where}: {error.strerror or error}."


def _one_line(words: object) -> str:
    """Return text on one line, without signs that a terminal would obey."""
    line = " ".join(str(words).split())
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in line)
