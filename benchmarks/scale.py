"""Large data: Fashion-MNIST beside UMAP, and how time grows up to a million points.

    python -m benchmarks.scale fashion [--repeats 3]
    python -m benchmarks.scale growth [--sizes 62500 250000 1000000] [--methods PatchIsomap]

Fashion-MNIST, 70 000 x 784, comes from the folder PATCHFOLD_DATA, as raw pixels in float32. The
growing data lie on a swiss roll, turned into 50 features, with noise, in float32. Each run has a
process of its own; compiled code is compiled before it is timed. The seconds of all processors
together tell more than those of the clock where others use the machine.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers import N_JOBS, roll

SIZES = (62_500, 250_000, 1_000_000)
FIRST = 6_000
N_FEATURES = 50


def fashion() -> Any:
    folder = os.environ.get("PATCHFOLD_DATA")
    if not folder:
        sys.exit("set PATCHFOLD_DATA to the folder that has scale/fashion-mnist.npz")
    with np.load(Path(folder) / "scale" / "fashion-mnist.npz") as file:
        X = file["X"]
    return X.reshape(len(X), -1).astype(np.float32)


def umap() -> Any:
    from umap import UMAP

    return UMAP()


def isomap() -> Any:
    from patchfold import PatchIsomap

    return PatchIsomap(landmarks="auto", n_jobs=N_JOBS)


def eigenmaps() -> Any:
    from patchfold import PatchEigenmaps

    return PatchEigenmaps(n_jobs=N_JOBS)


METHODS = {"UMAP": umap, "PatchIsomap": isomap, "PatchEigenmaps": eigenmaps}


class Measured(NamedTuple):
    """A fit: seconds, those of all processors together, peak memory in GB, seconds of stages."""

    seconds: float
    processors: float
    peak: float
    stages: dict[str, float]


def measure(name: str, n: int | None) -> Measured:
    """Measure a fit, in this process."""
    X = fashion() if n is None else roll(n, N_FEATURES)[0].astype(np.float32)
    make = METHODS[name]
    first = make()
    # What is used at full size only is compiled now, too.
    if name == "UMAP":
        first.set_params(force_approximation_algorithm=True)
    else:
        first.set_params(knn="approximate")
    if name == "PatchIsomap":
        first.set_params(landmarks=500)
    first.fit(X[:: len(X) // FIRST])
    start, processors = time.perf_counter(), time.process_time()
    fitted = make().fit(X)
    seconds, processors = time.perf_counter() - start, time.process_time() - processors
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
    return Measured(seconds, processors, peak, getattr(fitted, "fit_report_", {}))


def in_own_process(name: str, n: int | None) -> Measured:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(measure, name, n).result()


def compare(repeats: int) -> None:
    print("Fashion-MNIST, 70 000 x 784, medians")
    print(f"{'':16}{'seconds':>9}{'ratio':>8}{'processor':>11}{'peak GB':>9}  stages")
    reference = None
    for name in METHODS:
        runs = [in_own_process(name, None) for _ in range(repeats)]
        seconds, processors, peak, stages = sorted(runs, key=itemgetter(0))[repeats // 2]
        reference = reference or seconds
        listed = ", ".join(f"{stage} {time:.1f}" for stage, time in stages.items())
        ratio = seconds / reference
        print(
            f"{name:16}{seconds:9.1f}{ratio:8.2f}{processors:11.1f}{peak:9.2f}  {listed}",
            flush=True,
        )


def grow(sizes: list[int], methods: list[str]) -> None:
    for name in methods:
        print(f"{name}, points x {N_FEATURES}")
        columns = f"{'points':>9}{'seconds':>9}{'exponent':>10}{'processor':>11}{'peak GB':>9}"
        print(f"{columns}  stages")
        before: tuple[int, float] | None = None
        for n in sizes:
            seconds, processors, peak, stages = in_own_process(name, n)
            listed = ", ".join(f"{stage} {time:.1f}" for stage, time in stages.items())
            exponent = ""
            if before:
                exponent = f"{math.log(seconds / before[1]) / math.log(n / before[0]):.2f}"
            before = n, seconds
            print(
                f"{n:9}{seconds:9.1f}{exponent:>10}{processors:11.1f}{peak:9.2f}  {listed}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("study", choices=("fashion", "growth"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    growing = ("PatchIsomap", "PatchEigenmaps")
    parser.add_argument("--methods", nargs="+", choices=growing, default=growing)
    asked = parser.parse_args()
    if asked.study == "fashion":
        compare(asked.repeats)
    else:
        grow(sorted(asked.sizes), asked.methods)


if __name__ == "__main__":
    main()
