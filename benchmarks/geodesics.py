"""PatchIsomap beside scikit-learn's Isomap, and its geodesics beside SciPy's Dijkstra.

10 000 points near a random 10-dimensional surface in 50 dimensions, k = 15, two threads. Each side
runs in a process of its own, for its peak memory; compiled code is compiled before it is timed.
SciPy's time is that of every tenth source times ten; these paths must be equal to the last bit.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

N_SAMPLES, N_FEATURES, N_NEIGHBORS = 10_000, 50, 15
N_JOBS = 2
SHARE = 10


def points() -> npt.NDArray[np.float64]:
    rng = np.random.default_rng(0)
    inner = rng.standard_normal((N_SAMPLES, 10)) @ rng.standard_normal((10, N_FEATURES)) / 10**0.5
    return np.tanh(inner + 0.1 * rng.standard_normal(inner.shape))


class Clock:
    """Seconds of each named step."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self.start = time.perf_counter()

    def stop(self, name: str) -> None:
        """End a step; the next one begins."""
        self.times[name] = time.perf_counter() - self.start
        self.start = time.perf_counter()


def isomap() -> dict[str, float]:
    from sklearn.manifold import Isomap

    X, clock = points(), Clock()
    Isomap(n_neighbors=N_NEIGHBORS, n_jobs=N_JOBS).fit(X)
    clock.stop("scikit-learn, Isomap")
    return clock.times


def patch_isomap() -> dict[str, float]:
    from patchfold import PatchIsomap

    compile_kernels()
    X, clock = points(), Clock()
    PatchIsomap(n_neighbors=N_NEIGHBORS, n_jobs=N_JOBS).fit(X)
    clock.stop("patchfold, PatchIsomap")
    return clock.times


def steps() -> dict[str, float]:
    from scipy.sparse.csgraph import dijkstra

    from patchfold import GaussianPatch, divergences
    from patchfold.graph.edges import symmetric, undirected
    from patchfold.graph.geodesics import shortest_paths
    from patchfold.neighbors import find_neighbors
    from patchfold.solvers.scaling import classical_mds

    compile_kernels()
    X, clock = points(), Clock()
    near = find_neighbors(X, N_NEIGHBORS, n_jobs=N_JOBS)
    clock.stop("  neighbours")
    patches = GaussianPatch().fit(X, near, n_jobs=N_JOBS)
    clock.stop("  patches")
    i, j, _ = undirected(near)
    graph = symmetric(i, j, divergences.paired(patches, i, j, n_jobs=N_JOBS), N_SAMPLES)
    clock.stop("  divergences")
    paths = shortest_paths(graph, n_jobs=N_JOBS)
    clock.stop("  geodesics")
    some = np.arange(0, N_SAMPLES, SHARE)
    clock.start = time.perf_counter()
    expected = dijkstra(graph, indices=some)
    clock.stop("  (geodesics by SciPy's Dijkstra)")
    clock.times["  (geodesics by SciPy's Dijkstra)"] *= SHARE
    np.testing.assert_array_equal(paths[some], expected)
    assert np.isfinite(expected).all()
    clock.start = time.perf_counter()
    classical_mds(paths, 2, n_jobs=N_JOBS)
    clock.stop("  classical scaling")
    return clock.times


def compile_kernels() -> None:
    """Solve a small graph with compiled code."""
    from scipy.sparse import csr_array

    from patchfold.graph.geodesics import shortest_paths

    shortest_paths(csr_array(1.0 - np.eye(5)), compiled_work=1)


def measured(side: Callable[[], dict[str, float]]) -> tuple[dict[str, float], float]:
    """Return the times of a side and the peak memory of the process, in GB."""
    times = side()
    unit = 1 if sys.platform == "darwin" else 1024
    return times, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def main() -> None:
    context = multiprocessing.get_context("spawn")
    results = []
    for side in (isomap, patch_isomap, steps):
        with ProcessPoolExecutor(1, context) as process:
            results.append(process.submit(measured, side).result())
    (peer,) = results[0][0].values()
    print(f"{N_SAMPLES} x {N_FEATURES}, k = {N_NEIGHBORS}, {N_JOBS} threads")
    print(f"{'':36}{'seconds':>9}{'ratio':>8}{'peak GB':>9}")
    for times, peak in results:
        for name, seconds in times.items():
            memory = f"{peak:9.2f}" if len(times) == 1 else ""
            print(f"{name:36}{seconds:9.2f}{seconds / peer:8.2f}{memory}")


if __name__ == "__main__":
    main()
