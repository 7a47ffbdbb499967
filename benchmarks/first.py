"""The first fit on a machine, the first in a later process, and the fits after: processor time.

    python -m benchmarks.first [--samples 10000] [--methods PatchIsomap UMAP]

The points are those of benchmarks.peers. A first fit has the imports in it. Compiled code is kept
in a folder that is empty at first.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

from benchmarks.peers import PEERS, roll

FEATURES, NEIGHBORS, FITS = 50, 15, 3


def fits(name: str, n: int) -> list[float]:
    """Return the seconds of the processors that each of FITS fits takes in this process."""
    X, _ = roll(n, FEATURES)
    seconds = []
    for _ in range(FITS):
        start = time.process_time()
        PEERS[name].embed(X, NEIGHBORS)
        seconds.append(time.process_time() - start)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first", description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--methods", nargs="+", choices=PEERS, default=["PatchIsomap", "UMAP"])
    asked = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    for name in asked.methods:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["NUMBA_CACHE_DIR"] = folder  # processes inherit it
            for which in ("first process", "later process"):
                with ProcessPoolExecutor(1, context) as process:
                    first, *others = process.submit(fits, name, asked.samples).result()
                words = f"first fit {first:6.1f} s, then {min(others):6.1f} s"
                print(f"{name:14}{which:15}{words}, ratio {first / min(others):5.2f}", flush=True)


if __name__ == "__main__":
    main()
