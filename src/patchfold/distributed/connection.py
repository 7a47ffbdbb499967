"""The connection to a Dask cluster: tasks, their results, and what can be wrong with workers."""

from __future__ import annotations

import itertools
import sys
import time
from asyncio import CancelledError, run_coroutine_threadsafe
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from operator import getitem
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from patchfold.base.engine import is_client
from patchfold.base.threads import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Seconds without any worker after which a fit is given up.
WITHOUT_WORKERS = 30.0

# Seconds between two looks at the cluster while tasks run.
LOOK = 2.0

# Packages whose versions decide bits, or whether workers understand their tasks at all.
DECISIVE = ("patchfold", "numpy", "scipy", "sklearn", "numba", "dask", "distributed")


def connected(engine: Any, X: Any) -> Any:
    """Return the client that ``engine`` means: itself, or the one of this process for "auto"."""
    if is_client(engine):
        return engine
    if engine != "auto":
        raise TypeError(
            f"X is a {type(X).__name__} of dask, and engine={engine!r} does not work on a cluster; "
            "use engine='auto' or a distributed.Client, or pass X.compute()."
        )
    try:
        return import_module("distributed").get_client()
    except ValueError as error:
        raise ValueError(
            f"there is no cluster to work on a {type(X).__name__}; start one with "
            "distributed.Client(), or connect to one with distributed.Client('tcp://...')."
        ) from error


def check_installed() -> None:
    """Say what to install where dask is missing."""
    missing = [name for name in ("dask", "distributed") if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"work on a cluster needs {' and '.join(missing)}; pip install 'patchfold[dask]'."
        )


class Cluster:
    """Runs functions as tasks, and waits for results without waiting for ever.

    After ``patience`` seconds without any worker a fit is given up.
    """

    _numbers = itertools.count()

    def __init__(self, client: Any, *, patience: float = WITHOUT_WORKERS) -> None:
        self.client = client
        self.patience = patience
        # Others may work on the same cluster, and results are known by the names of their tasks.
        self._name = uuid4().hex

    def run(self, function: Callable[..., Any], *arguments: Any, **common: Any) -> Any:
        """Return the future of one call; futures among the arguments stand for their results."""
        name = f"{function.__name__.strip('_')}-{next(self._numbers)}-{self._name}"
        return self.client.submit(function, *arguments, key=name, **common)

    def each(
        self, function: Callable[..., Any], *columns: Iterable[Any], **common: Any
    ) -> list[Any]:
        """Return the futures of one call for every row of the columns."""
        rows = zip(*columns, strict=True)
        return [self.run(function, *arguments, **common) for arguments in rows]

    def items(self, future: Any, keys: Iterable[Any]) -> list[Any]:
        """Return the futures of some entries of a result."""
        return [self.run(getitem, future, key) for key in keys]

    def fields(self, futures: list[Any], name: str) -> list[Any]:
        """Return the futures of an attribute of each result."""
        return [self.run(getattr, future, name) for future in futures]

    def send(self, value: Any) -> Any:
        """Return the future of a value that many tasks need, which is sent once, not with each."""
        return self.run(_sent, value)

    def wait(self, futures: list[Any]) -> None:
        """Wait until tasks are done: for what is small, the types of their results."""
        self.get(self.each(type, futures))

    def get(self, futures: Any) -> Any:
        """Wait for the results of futures, and return them; look after the workers meanwhile.

        An error is that of a task, or one that says that no worker is left.
        """
        futures = list(futures)
        if not futures:
            return []
        distributed = import_module("distributed")
        coroutine = self.client.gather(futures, asynchronous=True)
        waiting = run_coroutine_threadsafe(coroutine, self.client.loop.asyncio_loop)
        last_seen = time.monotonic()
        while True:
            try:
                return waiting.result(LOOK)
            except distributed.scheduler.KilledWorker as error:
                raise RuntimeError(
                    "workers died again and again while they ran the same task, most likely for "
                    "want of memory; give workers more memory, or X in smaller chunks."
                ) from error
            except (distributed.CancelledError, CancelledError) as error:
                raise RuntimeError(
                    f"the cluster at {self.address} has lost its scheduler; connect again and fit "
                    "again."
                ) from error
            except TimeoutError as error:
                if waiting.done() and waiting.exception() is error:  # that of a task
                    raise
                progress(sum(future.done() for future in futures), len(futures))
            if self.client.status == "running" and self._looked_after():
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > self.patience:
                waiting.cancel()
                raise RuntimeError(
                    f"the cluster at {self.address} has had no worker for {self.patience:g} "
                    "seconds; start workers (dask worker ADDRESS) and fit again."
                )

    def _looked_after(self) -> bool:
        """Tell whether there are workers; free memory on those that Dask has paused."""
        workers = self.client.scheduler_info(-1)["workers"]
        paused = [address for address, worker in workers.items() if worker["status"] == "paused"]
        if paused:
            with suppress(OSError):  # a lost scheduler shows when results are waited for
                self.client.run(_manage_memory, workers=paused, on_error="ignore")
        return bool(workers)

    @property
    def address(self) -> str:
        """Where the scheduler is."""
        return str(getattr(self.client.scheduler, "address", "an address that is not known"))

    # ---------------------------------------------------------------- checks

    def check(self) -> None:
        """Refuse workers unlike this process, and prepare the others."""
        self.workers()
        self.client.run(_manage_memory)
        here = versions()
        for address, there in self.client.run(versions).items():
            unlike = [name for name in here if here[name] != there.get(name)]
            if unlike:
                listed = ", ".join(f"{name} {there.get(name)} not {here[name]}" for name in unlike)
                raise RuntimeError(
                    f"the worker at {address} has other versions than this process ({listed}); "
                    "results would differ. Install the same versions everywhere."
                )

    def workers(self) -> list[tuple[int, int]]:
        """Return the threads and the memory of every worker; wait until there is one."""
        started = time.monotonic()
        while True:
            if self.client.status == "running":
                workers = self.client.scheduler_info(-1)["workers"].values()
                if workers:
                    return [(worker["nthreads"], worker["memory_limit"]) for worker in workers]
            if time.monotonic() - started > self.patience:
                raise RuntimeError(
                    f"the cluster at {self.address} has no worker; start some with "
                    "'dask worker ADDRESS' and fit again."
                )
            time.sleep(0.1)


def _sent(value: Any) -> Any:
    return value


def _manage_memory() -> None:
    """Let glibc use freed memory again, and give most of it back to the system now.

    Dask lets workers return every array at once; to get the pages of the next one took more than
    half of the time of a fit. So glibc gets the limits back that it comes to by itself: arrays of
    32 MB are returned, and free memory of 64 MB at the end. What lies between small arrays that
    are still in use counts as used, and a worker that is paused for that would wait for ever.
    """
    from ctypes import CDLL

    if sys.platform == "linux" and hasattr(library := CDLL(None), "mallopt"):  # glibc's
        library.mallopt(-3, 2**25)  # M_MMAP_THRESHOLD
        library.mallopt(-1, 2**26)  # M_TRIM_THRESHOLD
        library.malloc_trim(0)


def versions() -> dict[str, str]:
    """Return the versions of the packages that decide bits, in this process."""
    import platform

    found = {"python": platform.python_version()}
    for name in DECISIVE:
        found[name] = str(getattr(import_module(name), "__version__", "unknown"))
    return found
