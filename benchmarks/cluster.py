"""Landmark Isomap of Parquet files on a Dask cluster of two workers, beside one process.

Run ``python benchmarks/cluster.py --rows 50000``. A scheduler and two workers, each limited to
``--memory``, are started by Dask's own commands. Reported are the seconds of every stage, the peak
memory of this process (the client) and of the workers, the time of one process with all memory, and
what this predicts for 10 and 100 million rows on ``--threads`` threads: but for compiling, work is
proportional to rows. Beside the time that has passed, the seconds of processors are given,
which other work on the machine does not change.

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
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from patchfold import PatchIsomap

FEATURES = 50
# The dimension of the manifold, which bends into all features.
DIMENSION = 3
GROUP = 102_400
PREDICTED = (10_000_000, 100_000_000)

# Seconds of processors that two workers take to compile, whatever the rows.
COMPILING = 60


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


def on_cluster(folder: Path, memory: str, setting: dict[str, Any]) -> dict[str, Any]:
    """Fit from Parquet on two workers; return the seconds of the stages and the peak memory."""
    import dask.dataframe as dd
    from distributed import Client

    with tempfile.TemporaryDirectory() as name:
        address, processes = started(Path(name), memory, 2)
        try:
            with Client(address, timeout=120) as client:
                client.wait_for_workers(2, 120)
                start, before = time.perf_counter(), spent()[0]
                isomap = PatchIsomap(engine=client, **setting).fit(dd.read_parquet(folder))
                seconds = time.perf_counter() - start
                graph = isomap.patch_graph_
                cpu, peaks = zip(*client.run(spent).values(), strict=True)
                scheduler = client.run_on_scheduler(spent)[0]
        finally:
            for process in reversed(processes):
                process.terminate()
    used, peak = spent()
    return {
        "seconds": seconds,
        "cpu": sum(cpu) + scheduler + used - before,
        "stages": isomap.fit_report_,
        "client_gb": peak,
        "worker_gb": max(peaks),
        "parts": len(graph.links),
        "recall": graph.recall,
    }


def alone(folder: Path, setting: dict[str, Any]) -> tuple[float, float, float, dict[str, float]]:
    """Return the seconds of one process with two threads, of processors, and the peak memory."""
    X = pd.read_parquet(folder)
    start, before = time.perf_counter(), spent()[0]
    isomap = PatchIsomap(n_jobs=2, **setting).fit(X)
    used, peak = spent()
    return time.perf_counter() - start, used - before, peak, isomap.fit_report_


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
            seconds, cpu, peak, stages = alone(folder, setting)
            print(f"one process: {seconds:.1f} s, {cpu:.1f} s of processors, {peak:.2f} GB")
            print(", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in stages.items()))
            if found is not None:
                times = found["seconds"] / seconds, found["cpu"] / cpu
                print(f"the cluster takes {times[0]:.2f} times as long, {times[1]:.2f} in work")


def report(asked: argparse.Namespace, found: dict[str, Any]) -> None:
    """Print what a fit on a cluster took."""
    print(f"{asked.rows} x {FEATURES}, {found['parts']} parts, 2 workers of {asked.memory}")
    for stage, seconds in found["stages"].items():
        print(f"  {stage:24}{seconds:9.1f} s{1e6 * seconds * 2 / asked.rows:12.0f} us a row")
    print(f"  {'all':24}{found['seconds']:9.1f} s, {found['cpu']:.1f} s of processors")
    print(f"  client {found['client_gb']:.2f} GB, workers {found['worker_gb']:.2f} GB at most")
    print(f"  recall of the search {found['recall']:.3f}")
    per_row = (found["cpu"] - COMPILING) / asked.rows
    for rows in PREDICTED:
        hours = (COMPILING + per_row * rows) / asked.threads / 3600
        print(
            f"  {rows:,} rows on {asked.threads} threads: {hours:.2f} hours predicted", flush=True
        )


if __name__ == "__main__":
    main(sys.argv[1:])
