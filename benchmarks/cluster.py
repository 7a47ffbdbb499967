"""Landmark Isomap of Parquet files on a Dask cluster of two workers, beside one process.

Run ``python benchmarks/cluster.py --rows 50000``. A scheduler and two workers, each limited to
``--memory``, are started by Dask's own commands. Reported are the seconds of every stage, the peak
memory of this process (the client) and of the workers, the time of one process with all memory, and
what this predicts for 10 and 100 million rows on ``--threads`` threads: but for compiling, work is
proportional to rows. Beside the time that has passed, the seconds of processors are given,
which other work on the machine changes little.

With ``--fit cluster`` or ``--fit alone`` only one of the two is fitted. Rows are written in float32
to ``--folder`` and stay there, if it is given.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from patchfold import PatchIsomap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FEATURES = 50
# The dimension of the manifold, which bends into all features.
DIMENSION = 3
GROUP = 102_400
PREDICTED = (10_000_000, 100_000_000)

# Seconds of processors that two workers take to compile an approximate search, whatever the rows.
COMPILING = 50


def write_rows(folder: Path, n: int) -> None:
    """Write a bent manifold with noise to Parquet files, one group of rows after the other."""
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(DIMENSION, FEATURES))
    for part, start in enumerate(range(0, n, GROUP)):
        places = rng.uniform(-2, 2, size=(min(GROUP, n - start), DIMENSION))
        X = np.sin(places @ ways) + 0.02 * rng.normal(size=(len(places), FEATURES))
        frame = pd.DataFrame(X, columns=[f"x{column}" for column in range(FEATURES)])
        frame = frame.astype(np.float32)
        frame.to_parquet(folder / f"{part:05}.parquet", index=False)


def started(folder: Path, memory: str, workers: int) -> tuple[str, list[subprocess.Popen[bytes]]]:
    """Start a scheduler and workers; return its address and all processes."""
    file = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    where = ["--scheduler-file", str(file), "--dashboard-address", ":0"]
    found = [subprocess.Popen([*dask, "scheduler", "--port", "0", *where], **quiet)]  # noqa: S603
    limits = ["--nthreads", "1", "--memory-limit", memory, "--local-directory", str(folder)]
    worker = [*dask, "worker", *where, *limits]
    found += [subprocess.Popen(worker, **quiet) for _ in range(workers)]  # noqa: S603
    while not file.exists() or not file.read_text():
        time.sleep(0.1)
    return json.loads(file.read_text())["address"], found


def spent() -> tuple[float, float]:
    """Return the seconds of processors that this process has used, and its peak memory in GB."""
    return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


class WatchedIsomap(PatchIsomap):
    """Counts the seconds of processors of every stage, by a clock that tells those used so far."""

    clock: Callable[[], float]

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        start = self.clock()
        with super()._stage(name):
            yield
        self.work_ = {**getattr(self, "work_", {}), name: self.clock() - start}


def on_cluster(folder: Path, memory: str, setting: dict[str, Any]) -> dict[str, Any]:
    """Fit from Parquet on two workers; return the seconds of the stages and the peak memory."""
    import dask.dataframe as dd

    from distributed import Client

    with tempfile.TemporaryDirectory() as name:
        address, processes = started(Path(name), memory, 2)
        try:
            with Client(address, timeout=120) as client:
                client.wait_for_workers(2, 120)

                def used_everywhere() -> float:
                    workers = sum(cpu for cpu, _ in client.run(spent).values())
                    return workers + client.run_on_scheduler(spent)[0] + spent()[0]

                start, before = time.perf_counter(), used_everywhere()
                isomap = WatchedIsomap(engine=client, **setting)
                isomap.clock = used_everywhere
                isomap.fit(dd.read_parquet(folder))
                seconds = time.perf_counter() - start
                cpu, graph = used_everywhere() - before, isomap.patch_graph_
                peaks = [peak for _, peak in client.run(spent).values()]
        finally:
            for process in reversed(processes):
                process.terminate()
    return {
        "seconds": seconds,
        "cpu": cpu,
        "stages": isomap.fit_report_,
        "work": isomap.work_,
        "client_gb": spent()[1],
        "worker_gb": max(peaks),
        "parts": len(graph.shared.ids),
        "recall": graph.recall,
        "compiling": 0 if graph.row_search.exact else COMPILING,
    }


def alone(folder: Path, setting: dict[str, Any]) -> dict[str, Any]:
    """Fit in one process with two threads; return its seconds, and the peak memory."""
    X = pd.read_parquet(folder)
    start, before = time.perf_counter(), spent()[0]
    isomap = WatchedIsomap(n_jobs=2, **setting)
    isomap.clock = time.process_time
    isomap.fit(X)
    used, peak = spent()
    return {
        "seconds": time.perf_counter() - start,
        "cpu": used - before,
        "stages": isomap.fit_report_,
        "work": isomap.work_,
        "gb": peak,
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--memory", default="3GB")
    parser.add_argument("--landmarks", type=int, default=500)
    parser.add_argument("--knn", default="auto")
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--fit", choices=("both", "cluster", "alone"), default="both")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args([] if arguments is None else arguments)
    setting = {"landmarks": asked.landmarks, "random_state": 0, "knn": asked.knn}
    with tempfile.TemporaryDirectory() as name:
        folder = (asked.folder or Path(name)) / f"rows{asked.rows}"
        if not folder.exists():
            folder.mkdir(parents=True)
            write_rows(folder, asked.rows)
        found = None
        if asked.fit != "alone":
            found = on_cluster(folder, asked.memory, setting)
            report(asked, found)
        if asked.fit != "cluster":
            one = alone(folder, setting)
            print(f"one process of two threads, {one['gb']:.2f} GB")
            report_stages(one)
            if found is not None:
                times = found["seconds"] / one["seconds"], found["cpu"] / one["cpu"]
                print(f"the cluster takes {times[0]:.2f} times as long, {times[1]:.2f} in work")


def report_stages(found: dict[str, Any]) -> None:
    """Print the seconds of every stage, and of processors."""
    for stage, seconds in found["stages"].items():
        print(f"  {stage:24}{seconds:9.1f} s{found['work'][stage]:9.1f} s of processors")
    print(f"  {'all':24}{found['seconds']:9.1f} s{found['cpu']:9.1f} s of processors")


def report(asked: argparse.Namespace, found: dict[str, Any]) -> None:
    """Print what a fit on a cluster took."""
    print(f"{asked.rows} x {FEATURES}, {found['parts']} parts, 2 workers of {asked.memory}")
    report_stages(found)
    print(f"  client {found['client_gb']:.2f} GB, workers {found['worker_gb']:.2f} GB at most")
    print(f"  recall of the search {found['recall']:.3f}")
    per_row = (found["cpu"] - found["compiling"]) / asked.rows
    for rows in PREDICTED:
        hours = (COMPILING + per_row * rows) / asked.threads / 3600
        print(
            f"  {rows:,} rows on {asked.threads} threads: {hours:.2f} hours predicted", flush=True
        )


if __name__ == "__main__":
    main(sys.argv[1:])
