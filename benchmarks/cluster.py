"""Landmark Isomap of Parquet files on a Dask cluster of two workers, beside one process.

Run ``python benchmarks/cluster.py --rows 50000``. A scheduler and two workers, each limited to
``--memory``, are started by Dask's own commands. Reported are the seconds of every stage, the peak
memory of this process (the client), the time of one process with all memory, and what the stages
predict for 10 and 100 million rows on ``--threads`` threads: stages are proportional to rows a
thread.
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
GROUP = 25_000
PREDICTED = (10_000_000, 100_000_000)


def write_rows(folder: Path, n: int) -> None:
    """Write a bent manifold with noise to Parquet files, one group of rows after the other."""
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(DIMENSION, FEATURES))
    for part, start in enumerate(range(0, n, GROUP)):
        places = rng.uniform(-2, 2, size=(min(GROUP, n - start), DIMENSION))
        X = np.sin(places @ ways) + 0.02 * rng.normal(size=(len(places), FEATURES))
        frame = pd.DataFrame(X, columns=[f"x{column}" for column in range(FEATURES)])
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


def on_cluster(folder: Path, memory: str, setting: dict[str, Any]) -> dict[str, Any]:
    """Fit from Parquet on two workers; return the seconds of the stages and the peak memory."""
    import dask.dataframe as dd
    from distributed import Client

    address, processes = started(folder.parent, memory, 2)
    try:
        with Client(address, timeout=120) as client:
            client.wait_for_workers(2, 120)
            start = time.perf_counter()
            isomap = PatchIsomap(engine=client, **setting).fit(dd.read_parquet(folder))
            seconds = time.perf_counter() - start
            parts = len(isomap.patch_graph_.links)
    finally:
        for process in reversed(processes):
            process.terminate()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": seconds, "stages": isomap.fit_report_, "client_gb": peak, "parts": parts}


def alone(folder: Path, setting: dict[str, Any]) -> float:
    """Return the seconds of one process with two threads and all memory."""
    start = time.perf_counter()
    PatchIsomap(n_jobs=2, **setting).fit(pd.read_parquet(folder))
    return time.perf_counter() - start


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--memory", default="3GB")
    parser.add_argument("--landmarks", type=int, default=500)
    parser.add_argument("--knn", default="auto")
    parser.add_argument("--threads", type=int, default=64)
    asked = parser.parse_args([] if arguments is None else arguments)
    setting = {"landmarks": asked.landmarks, "random_state": 0, "knn": asked.knn}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "rows"
        folder.mkdir()
        write_rows(folder, asked.rows)
        found = on_cluster(folder, asked.memory, setting)
        single = alone(folder, setting)
    print(f"{asked.rows} x {FEATURES}, {found['parts']} parts, 2 workers of {asked.memory}")
    for stage, seconds in found["stages"].items():
        print(f"  {stage:24}{seconds:9.1f} s{1e6 * seconds * 2 / asked.rows:12.0f} us a row")
    print(f"  {'all':24}{found['seconds']:9.1f} s; client {found['client_gb']:.2f} GB at most")
    ratio = found["seconds"] / single
    print(f"  {'one process':24}{single:9.1f} s; the cluster takes {ratio:.2f} times as long")
    for rows in PREDICTED:
        hours = found["seconds"] * 2 / asked.rows * rows / asked.threads / 3600
        print(f"  {rows:,} rows on {asked.threads} threads: {hours:.1f} hours predicted")


if __name__ == "__main__":
    main(sys.argv[1:])
