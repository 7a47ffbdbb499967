"""Patches and ``kl`` on all edges of a 15-neighbour graph, 10 000 x 784 in float32.

The peer is scikit-learn's neighbour graph on the same data, the first step of its ``Isomap``. Each
side runs in a process of its own, for its peak memory. Data: mnist of PATCHFOLD_DATA where there
is such a folder, otherwise points near a random 10-dimensional surface.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

N_SAMPLES, N_FEATURES, N_NEIGHBORS, REPEATS = 10_000, 784, 15, 3
N_JOBS = 2


def points() -> npt.NDArray[np.float32]:
    folder = os.environ.get("PATCHFOLD_DATA")
    if folder:
        with np.load(Path(folder) / "scale" / "mnist.npz") as stored:
            return stored["X"][:N_SAMPLES].reshape(N_SAMPLES, -1).astype(np.float32)
    rng = np.random.default_rng(0)
    inner = rng.standard_normal((N_SAMPLES, 10)) @ rng.standard_normal((10, N_FEATURES))
    return np.tanh(inner + 0.1 * rng.standard_normal(inner.shape)).astype(np.float32)


def scikit_learn_graph(X: npt.NDArray[np.float32]) -> dict[str, float]:
    from sklearn.neighbors import NearestNeighbors

    start = time.perf_counter()
    NearestNeighbors(n_neighbors=N_NEIGHBORS).fit(X).kneighbors_graph(mode="distance")
    return {"scikit-learn, neighbour graph": time.perf_counter() - start}


def patchfold_edges(X: npt.NDArray[np.float32]) -> dict[str, float]:
    from patchfold import GaussianPatch, divergences
    from patchfold.neighbors import find_neighbors

    times = {}
    start = time.perf_counter()
    near = find_neighbors(X, N_NEIGHBORS, knn="exact", n_jobs=N_JOBS)
    times["patchfold, neighbours"] = time.perf_counter() - start
    start = time.perf_counter()
    patches = GaussianPatch().fit(X, near, n_jobs=N_JOBS)
    times["patchfold, patches"] = time.perf_counter() - start
    ends = np.unique(np.sort(np.stack([near.sources, near.indices]), axis=0), axis=1)
    start = time.perf_counter()
    values = divergences.paired(patches, *ends, "kl", n_jobs=N_JOBS)
    times[f"patchfold, kl on {len(values)} edges"] = time.perf_counter() - start
    assert np.isfinite(values).all()
    assert values.dtype == np.float32
    return times


def measured(side: Callable[[npt.NDArray[np.float32]], dict[str, float]]) -> tuple[dict, float]:
    """Return the median times of a side and the peak memory of the process, in GB."""
    runs = [side(points()) for _ in range(REPEATS)]
    times = {name: median(run[name] for run in runs) for name in runs[0]}
    unit = 1 if sys.platform == "darwin" else 1024
    return times, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def main() -> None:
    context = multiprocessing.get_context("spawn")
    results = []
    for side in (scikit_learn_graph, patchfold_edges):
        with context.Pool(1) as pool:
            results.append(pool.apply(measured, (side,)))
    (peer,) = results[0][0].values()
    source = "mnist" if os.environ.get("PATCHFOLD_DATA") else "synthetic"
    print(f"{N_SAMPLES} x {N_FEATURES} float32 ({source}), k = {N_NEIGHBORS}; medians of {REPEATS}")
    print(f"{'':44}{'seconds':>9}{'ratio':>8}{'peak GB':>9}")
    for times, peak in results:
        for row, (name, seconds) in enumerate(times.items()):
            memory = f"{peak:9.2f}" if row == len(times) - 1 else ""
            print(f"{name:44}{seconds:9.2f}{seconds / peer:8.2f}{memory}")


if __name__ == "__main__":
    main()
