"""A page of Fashion-MNIST beside one fit: time of the processors, peak memory, size of the file.

    python -m benchmarks.pages [--sizes 5000 70000]

Each run has a process of its own. The time of the processors hardly depends on what else the
machine is doing. Beyond about 21 000 images the page is of 100 principal components, and says so.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from benchmarks.peers import N_JOBS
from benchmarks.scale import fashion

SIZES = (5_000, 70_000)
FIRST = 300


def measure(name: str, n: int) -> tuple[float, float, float]:
    """Return the seconds of the processors, the peak memory in GB, and the size of a page in MB."""
    from patchfold import PatchIsomap, explore

    X = fashion()
    X = X[np.random.default_rng(0).permutation(len(X))[:n]]  # the file is sorted in part
    PatchIsomap(n_jobs=N_JOBS).fit(X[:FIRST])  # compiles
    start = time.process_time()
    size = 0.0
    if name == "fit":
        PatchIsomap(n_jobs=N_JOBS, random_state=0).fit(X)
    else:
        size = len(explore(X, n_jobs=N_JOBS).html) / 1e6
    seconds = time.process_time() - start
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9, size


def main(sizes: tuple[int, ...] = SIZES) -> None:
    print("Fashion-MNIST; a page has two divergences, and three k beyond 20 000 images, else five")
    print(f"{'images':>8}  {'':6}{'seconds':>9}{'fits':>7}{'peak GB':>9}{'MB':>7}")
    for n in sizes:
        reference = None
        for name in ("fit", "page"):
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
                seconds, peak, size = process.submit(measure, name, n).result()
            reference = reference or seconds
            words = (
                f"{n:>8}  {name:6}{seconds:9.1f}{seconds / reference:7.2f}{peak:9.2f}{size:7.1f}"
            )
            print(words, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    main(tuple(parser.parse_args().sizes))
