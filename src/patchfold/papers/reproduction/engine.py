"""Compute tasks in worker processes, and keep every finished one on disk at once.

A result is one file, written beside its place and moved there, so it is there whole or not at all;
a run that was killed goes on with the tasks that have no file. One worker computes one task on one
thread, so numbers do not depend on how many workers there are.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import multiprocessing
import os
import re
import signal
import threading
import warnings
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import connection
from typing import TYPE_CHECKING, Any, Protocol, cast

import patchfold
from patchfold._validation import check_choice, check_count
from patchfold.datasets.registry import registry
from patchfold.papers.reproduction import PAPERS
from patchfold.papers.reproduction.cells import Outcome, Result, Task, rows
from patchfold.tables.files import remove_unfinished, write_whole

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

    Wire = connection.Connection[Any, Any]

# What numbers depend on, beside this package.
PACKAGES = ("numpy", "scipy", "scikit-learn", "umap-learn", "openTSNE")

# Digits that keep two tasks apart whose names differ only in signs a file name cannot have.
KEY_DIGITS = 8

# Below some hundred points a task's time no longer falls with their square.
FIXED_COST = 300**2

# Read by BLAS, OpenMP and numba when they are loaded. A sum over several threads is rounded
# differently, and threads beside as many workers as cores only get in each other's way.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class Paper(Protocol):
    """The module of a paper; the package says what its parts are."""

    __name__: str
    PROTOCOL: int
    TABLES: tuple[str, ...]
    NOTE: str

    def tasks(
        self, table: str, datasets: Sequence[str] | None, accounts: Sequence[str], quick: bool
    ) -> list[Task]:
        """List what there is to compute."""

    def compute(self, task: Task) -> list[Result]:
        """Compute a task."""


def load_paper(name: str) -> Paper:
    """Import the module of a paper by the paper's name."""
    check_choice("paper", name, PAPERS)
    return cast("Paper", importlib.import_module(PAPERS[name], __package__))


# ---------------------------------------------------------------- storage


@dataclass(frozen=True)
class Stamp:
    """What a stored number depends on beside its task.

    Attributes
    ----------
    protocol : int
        The ``PROTOCOL`` of the paper's module.
    versions : dict
        Package to version.
    """

    protocol: int
    versions: dict[str, str]


def stamp(paper: Paper) -> Stamp:
    """Return the stamp of results that are computed now."""
    versions = {"patchfold": patchfold.__version__}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):  # what is not there computes nothing
            versions[package] = version(package)
    return Stamp(paper.PROTOCOL, versions)


class Store:
    """The finished tasks of one paper in a folder, one JSON file each.

    Parameters
    ----------
    folder : Path
        Where the files are; it is made when the first one is written.
    stamp : Stamp
        What is written into every file, and asked of every file that is read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> store = Store(Path(tempfile.mkdtemp()), Stamp(1, {"numpy": "2.0"}))
    >>> task = Task("isomap-kl", "I", "iris", "ISO-KL", "published")
    >>> store.save(Outcome(task, (Result("iris", 0.576, note="K=20"),)))
    >>> found, ignored = store.load()
    >>> found[task].results[0].value, ignored
    (0.576, {})
    """

    def __init__(self, folder: Path, stamp: Stamp) -> None:
        self.folder = folder
        self.stamp = stamp

    def save(self, outcome: Outcome) -> None:
        """Write the file of a finished task."""
        content = {**asdict(outcome), **asdict(self.stamp)}
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(self.folder / file_name(outcome.task), text)

    def load(self) -> tuple[dict[Task, Outcome], dict[str, str]]:
        """Return every usable file's outcome, and the names of all others with what is wrong.

        What a killed run left unfinished is removed.
        """
        found: dict[Task, Outcome] = {}
        ignored = {}
        remove_unfinished(self.folder)
        for path in sorted(self.folder.glob("*")):
            try:
                outcome = self._read(path)
            except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
                ignored[path.name] = _message(error)
            else:
                found[outcome.task] = outcome
        return found, ignored

    def _read(self, path: Path) -> Outcome:
        content = json.loads(path.read_text(encoding="utf-8"))
        task = Task(**content["task"])
        if file_name(task) != path.name:
            raise ValueError(f"the file of {task.paper} {task} has another name")
        if content["protocol"] != self.stamp.protocol:
            raise ValueError(
                f"protocol {content['protocol']}, and {self.stamp.protocol} is the current one"
            )
        for package, current in self.stamp.versions.items():
            if content["versions"].get(package) != current:
                raise ValueError(
                    f"computed with {package} {content['versions'].get(package)}, "
                    f"and {current} is installed"
                )
        results = [Result(**result) for result in content["results"]]
        return _check(Outcome(task, tuple(results), str(content["error"])))


def file_name(task: Task) -> str:
    """Name the file of a task.

    Examples
    --------
    >>> file_name(Task("isomap-kl", "I", "iris", "ISO-KL", "published"))
    'I-iris-ISO_KL-published-...json'
    """
    parts = (task.paper, task.table, task.dataset, task.method, task.account)
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:KEY_DIGITS]
    return "-".join([*(re.sub(r"[^A-Za-z0-9.]+", "_", part) for part in parts[1:]), f"{key}.json"])


# ---------------------------------------------------------------- work


def cost(task: Task) -> int:
    """Estimate how long a task takes, up to a factor, from the number of points.

    Examples
    --------
    >>> small = Task("isomap-kl", "I", "iris", "ISO-KL", "published")
    >>> large = Task("isomap-kl", "I", "satimage", "ISO-KL", "published")
    >>> cost(small) < cost(large)
    True
    """
    entry = registry().get(task.dataset)
    return FIXED_COST + (entry.shape[0] ** 2 if entry else 0)


def run(paper: Paper, tasks: Sequence[Task], *, jobs: int = 1) -> Generator[Outcome, None, None]:
    """Compute tasks, the longest first, and yield each as soon as it is finished.

    Parameters
    ----------
    paper : module
        What :func:`load_paper` returns.
    tasks : sequence of Task
        What to compute.
    jobs : int, default=1
        Number of worker processes.

    Yields
    ------
    Outcome
        A task that raised, or whose process died, comes with the error; the others go on.
    """
    check_count("jobs", jobs)
    waiting = deque(sorted(tasks, key=cost, reverse=True))
    idle: list[_Worker] = []
    busy: list[_Worker] = []
    try:
        with _one_thread():
            while waiting or busy:
                while waiting and len(busy) < jobs:
                    worker = idle.pop() if idle else _Worker(paper.__name__)
                    worker.give(waiting.popleft())
                    busy.append(worker)
                ready = connection.wait([worker.wire for worker in busy])
                for worker in [worker for worker in busy if worker.wire in ready]:
                    outcome = worker.take()
                    busy.remove(worker)
                    if worker.alive:
                        idle.append(worker)
                    yield outcome
    finally:
        for worker in idle + busy:
            worker.end()


class _Worker:
    """A process that computes one task after the other, and the wire to it.

    A pool of the standard library breaks as a whole when one of its processes dies; here the task
    that it died of is known, and the others go on.
    """

    def __init__(self, module: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.wire, far = context.Pipe()
        self.process = context.Process(target=_work, args=(far, module), daemon=True)
        self.process.start()
        far.close()  # so that the end of the process is the end of the wire
        self.alive = True

    def give(self, task: Task) -> None:
        self.task = task
        with suppress(BrokenPipeError):  # it died while it had nothing to do; take() tells
            self.wire.send(task)

    def take(self) -> Outcome:
        try:
            outcome: Outcome = self.wire.recv()
        except (EOFError, OSError):
            self.process.join()
            self.alive = False
            return Outcome(
                self.task,
                error=f"the process died (exit code {self.process.exitcode}), perhaps for want of "
                "memory; try fewer jobs",
            )
        return outcome

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.wire.close()


def _work(wire: Wire, module: str) -> None:
    """Compute what comes in until the wire or the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers itself
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warnings.simplefilter("ignore")  # what a method warns of would tear the progress apart
    paper: Any = importlib.import_module(module)
    while True:
        try:
            task = wire.recv()
        except EOFError:
            return
        wire.send(_attempt(paper, task))


def _end_with_parent() -> None:
    """End a worker whose parent was killed, also in the middle of a long task."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _attempt(paper: Paper, task: Task) -> Outcome:
    try:
        results = tuple(_plain(result) for result in paper.compute(task))
        return _check(Outcome(task, results))
    except Exception as error:  # noqa: BLE001 - whatever a method raises is told with its task
        return Outcome(task, error=_message(error))


def _plain(result: Result) -> Result:
    """Turn NumPy's numbers into Python's, which are stored to the last digit."""
    low, high = (None if end is None else float(end) for end in (result.low, result.high))
    return Result(str(result.row), float(result.value), low, high, str(result.note))


def _check(outcome: Outcome) -> Outcome:
    """Return an outcome if its rows are those of the printed table and its numbers finite."""
    task = outcome.task
    known = rows(task.paper, task.table, task.dataset)
    for result in outcome.results:
        if known:
            check_choice("row", result.row, known)
        numbers = [x for x in (result.value, result.low, result.high) if x is not None]
        if not all(math.isfinite(number) for number in numbers):
            raise ValueError(f"row {result.row!r} has the values {numbers}; leave it out instead")
    return outcome


def _message(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let processes that start meanwhile compute on one thread each."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
