"""A table twice as large as the memory that ``patchfold embed`` may use, on one machine.

Run ``python -m benchmarks.beyond_memory``. It writes Parquet files with numbers of twice
``--memory``, or of ``--rows``, and embeds them by the command, whose worker Dask ends if it uses
more than ``--memory``. It prints the most memory that each process of the command used, their
seconds of processors, and the most that they wrote to the disk at a time. ``--divergence
euclidean`` leaves patches out.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import psutil
from dask.utils import parse_bytes

# Rows lie on a manifold of this dimension, which bends a little into all features.
DIMENSION, BEND, NOISE = 3, 0.4, 0.01

# Bytes of a row group, which a worker reads at once.
GROUP_BYTES = 10**7

# Seconds between two looks at the memory of processes, and looks between two at the disk.
LOOK, LOOKS = 0.2, 25


def write_rows(folder: Path, n: int, m: int) -> None:
    """Write rows to Parquet files of one group each."""
    rng = np.random.default_rng(0)
    ways = BEND * rng.normal(size=(DIMENSION, m))
    step = max(1, GROUP_BYTES // (8 * m))
    for part, start in enumerate(range(0, n, step)):
        places = rng.uniform(-2, 2, size=(min(step, n - start), DIMENSION))
        X = np.sin(places @ ways) + NOISE * rng.normal(size=(len(places), m))
        columns = [f"x{column}" for column in range(m)]
        pd.DataFrame(X, columns=columns).to_parquet(folder / f"{part:05}.parquet", index=False)


class Used(NamedTuple):
    """What the command has used: seconds, seconds of processors, and at most so many GB."""

    seconds: float
    work: float
    peaks: list[float]  # memory of each process
    disk: float


def embedded(words: list[str], folder: Path) -> Used:
    """Run the command, which writes what does not fit into memory to a folder."""
    start, disk = time.perf_counter(), 0.0
    peaks, work = dict[int, float](), dict[int, float]()
    program = str(Path(sys.executable).with_name("patchfold"))
    environment = {**os.environ, "DASK_TEMPORARY_DIRECTORY": str(folder)}
    command = subprocess.Popen([program, *words], env=environment)  # noqa: S603
    root = psutil.Process(command.pid)
    for look in itertools.count():
        if command.poll() is not None:
            break
        for process in (root, *root.children(recursive=True)):
            try:
                used, times = process.memory_info().rss / 1e9, process.cpu_times()
            except psutil.Error:
                continue
            peaks[process.pid] = max(used, peaks.get(process.pid, 0.0))
            work[process.pid] = times.user + times.system
        if look % LOOKS == 0:
            disk = max(disk, written(folder))
        time.sleep(LOOK)
    if command.returncode:
        sys.exit(command.returncode)
    return Used(time.perf_counter() - start, sum(work.values()), list(peaks.values()), disk)


def written(folder: Path) -> float:
    """Return the GB of the files in a folder, which may vanish meanwhile."""
    total = 0
    for path, _, names in os.walk(folder):  # which passes over a folder that has vanished
        for name in names:
            with suppress(OSError):
                total += (Path(path) / name).stat().st_size
    return total / 1e9


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--columns", type=int, default=2000)
    parser.add_argument("--rows", type=int, help="[as many as have twice the memory]")
    parser.add_argument("--divergence", default="kl")
    asked = parser.parse_args([] if arguments is None else arguments)
    n = asked.rows or 2 * parse_bytes(asked.memory) // (8 * asked.columns)
    with tempfile.TemporaryDirectory() as name:
        rows, out, disk = (Path(name) / each for each in ("rows", "out.parquet", "disk"))
        rows.mkdir()
        disk.mkdir()
        write_rows(rows, n, asked.columns)
        how = ["--memory", asked.memory, "--divergence", asked.divergence]
        used = embedded(["embed", f"{rows}/*.parquet", *how, "-o", str(out)], disk)
        found = len(pd.read_parquet(out))
    table = 8 * n * asked.columns / 1e9
    print(f"{n} x {asked.columns}, {table:.1f} GB of numbers, workers of {asked.memory} in all")
    print(f"{found} rows written after {used.seconds:.0f} s, {used.work:.0f} s of processors")
    print("GB of each process: " + ", ".join(f"{peak:.2f}" for peak in used.peaks))
    print(f"GB on the disk: {used.disk:.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
