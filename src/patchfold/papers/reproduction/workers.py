"""Compute tasks in worker processes.

One worker computes one task on one thread, so numbers do not depend on how many workers there are.
A worker that dies takes its own task along, and no other.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from contextlib import contextmanager, suppress
from multiprocessing import connection
from typing import TYPE_CHECKING, Any

from patchfold.base.validation import check_count
from patchfold.datasets.registry import registry
from patchfold.papers.reproduction.cells import Outcome, Task, check_outcome
from patchfold.papers.reproduction.storage import in_words

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from patchfold.papers.reproduction import Paper

    Wire = connection.Connection[Any, Any]

# Below some hundred points a task's time no longer falls with their square.
FIXED_COST = 300**2

# Read by BLAS, OpenMP, numba and joblib when they are loaded. A sum over several threads is rounded
# differently, and threads beside as many workers as cores only get in each other's way.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


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
        return check_outcome(Outcome(task, tuple(paper.compute(task))))
    except Exception as error:  # noqa: BLE001 - whatever a method raises is told with its task
        return Outcome(task, error=in_words(error))


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
