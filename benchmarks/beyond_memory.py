"""A table twice as large as the memory that ``patchfold embed`` may use, on one machine.

Run ``python -m benchmarks.beyond_memory``. It writes Parquet files with numbers of twice
``--memory``, embeds them by the command, whose worker Dask ends if it uses more than ``--memory``,
and prints the most that each process of the command used. ``--divergence euclidean`` leaves patches
out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
from dask.utils import parse_bytes

# Rows lie on a manifold of this dimension, which bends a little into all features.
DIMENSION, BEND, NOISE = 3, 0.4, 0.01

# Bytes of a row group, which a worker reads at once.
GROUP_BYTES = 10**7

# Seconds between two looks at the memory of processes.
LOOK = 0.2


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


def embedded(words: list[str]) -> tuple[float, dict[int, float]]:
    """Run the command; return its seconds, and the peak memory of its processes in GB."""
    start, peaks = time.perf_counter(), dict[int, float]()
    program = str(Path(sys.executable).with_name("patchfold"))
    command = subprocess.Popen([program, *words])  # noqa: S603
    root = psutil.Process(command.pid)
    while command.poll() is None:
        for process in (root, *root.children(recursive=True)):
            try:
                used = process.memory_info().rss / 1e9
            except psutil.Error:
                continue
            peaks[process.pid] = max(used, peaks.get(process.pid, 0.0))
        time.sleep(LOOK)
    if command.returncode:
        sys.exit(command.returncode)
    return time.perf_counter() - start, peaks


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--columns", type=int, default=2000)
    parser.add_argument("--divergence", default="kl")
    asked = parser.parse_args([] if arguments is None else arguments)
    n = 2 * parse_bytes(asked.memory) // (8 * asked.columns)
    with tempfile.TemporaryDirectory() as name:
        rows, out = Path(name) / "rows", Path(name) / "out.parquet"
        rows.mkdir()
        write_rows(rows, n, asked.columns)
        how = ["--memory", asked.memory, "--divergence", asked.divergence]
        seconds, peaks = embedded(["embed", f"{rows}/*.parquet", *how, "-o", str(out)])
        found = len(pd.read_parquet(out))
    table = 8 * n * asked.columns / 1e9
    print(f"{n} x {asked.columns}, {table:.1f} GB of numbers, workers of {asked.memory} in all")
    print(f"{found} rows written after {seconds:.0f} s")
    print("GB of each process: " + ", ".join(f"{peak:.2f}" for peak in peaks.values()))


if __name__ == "__main__":
    main(sys.argv[1:])
