"""A Dask cluster on this machine, started by Dask's own commands; and what stands for one."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from patchfold.distributed.connection import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from distributed import Client

# Seconds that a process may take to start on a busy machine.
START = 120


class DaskCluster:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "scheduler.json"
        self._scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", self._file)
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        """Where the scheduler is, once it has started."""
        end = time.monotonic() + START
        while not self._file.exists() or not self._file.read_text():
            if time.monotonic() > end or self._scheduler.poll() is not None:
                raise RuntimeError((self.folder / "scheduler.log").read_text())
            time.sleep(0.05)
        return str(json.loads(self._file.read_text())["address"])

    def _start(self, command: str, *options: object) -> subprocess.Popen[bytes]:
        run = [
            sys.executable,
            "-m",
            "dask",
            command,
            "--dashboard-address",
            ":0",
            *map(str, options),
        ]
        with (self.folder / f"{command}.log").open("ab") as log:
            return subprocess.Popen(  # noqa: S603
                run, stdout=log, stderr=log, cwd=self.folder
            )

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker of one thread; it waits for the scheduler by itself."""
        options = ("--nthreads", 1, "--no-nanny", "--memory-limit", "2GB")
        folder = "--local-directory", self.folder
        worker = self._start("worker", "--scheduler-file", self._file, *options, *folder)
        self.workers.append(worker)
        return worker

    def kill_worker(self) -> None:
        """Kill a worker, which has no time to say goodbye, and start another."""
        worker = self.workers.pop(0)
        worker.kill()
        worker.wait()
        self.add_worker()

    @contextmanager
    def client(self) -> Iterator[Client]:
        """Connect to all workers."""
        from distributed import Client

        with Client(self.address, timeout=START) as client:
            client.wait_for_workers(sum(worker.poll() is None for worker in self.workers), START)
            yield client

    def stop(self) -> None:
        """Stop all processes."""
        for process in (*self.workers, self._scheduler):
            process.kill()
            process.wait()


@contextmanager
def dask_cluster(folder: Path, n_workers: int = 2) -> Iterator[DaskCluster]:
    """Start a scheduler and workers, and stop them in the end."""
    cluster = DaskCluster(folder)
    try:
        for _ in range(n_workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.stop()


class InOnePlace(Cluster):
    """A Cluster that runs a task at once, in this process, and gives its result.

    Results are pickled and read again, as on their way between workers.
    """

    def __init__(self, client: object = None) -> None:
        self.client = NoClient() if client is None else client

    def run(self, function, *arguments, **common):
        return pickle.loads(pickle.dumps(function(*arguments, **common)))

    def get(self, results):
        return list(results)

    def check(self):
        pass

    def workers(self):
        """Return the threads and the memory of two workers: rows become up to four parts."""
        return [(2, 2 * 10**9)] * 2


class NoClient:
    """Stands for a client of a cluster, and like one cannot be copied."""

    # An estimator tells a client by the module that its class is from.
    __module__ = "distributed.client"

    def compute(self, blocks):
        import dask

        return list(dask.compute(*blocks, scheduler="synchronous"))

    def scheduler_info(self, _):
        return {"workers": {"here": {}}}

    def __reduce__(self):
        raise TypeError("a client cannot be copied")


def without_workers(monkeypatch):
    """Let estimators fit as on a cluster, but in this process; return their engine."""
    from patchfold.distributed import estimators

    monkeypatch.setattr(estimators, "Cluster", InOnePlace)
    return NoClient()
