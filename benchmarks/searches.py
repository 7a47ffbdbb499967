"""Exact neighbours by a scan, by blocks of near points, and as chosen, beside faiss.

    PATCHFOLD_DATA=<folder> python -m benchmarks.searches [--large]

Processor seconds of one thread for 20 neighbours of every row, the best of two. ``--large`` takes
250 000 points of the roll, with faiss's inverted lists where faiss is installed. Run it with
``OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers import roll
from benchmarks.scale import N_FEATURES, fashion
from patchfold.neighbors.blocks import Blocks
from patchfold.neighbors.points import SearchedPoints, k_nearest

if TYPE_CHECKING:
    from collections.abc import Callable

WANTED, TRIES = 20, 2
# Lists of faiss, and how many of them are looked at.
LISTS, PROBED = 1000, (4, 8)


def seconds(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(TRIES):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def searched(X: Any, blocks: bool | None = None) -> Any:
    """Find neighbours by blocks or not; None: as is chosen."""
    space = SearchedPoints(X, 1, blocks_from=10**9 if blocks is False else 20_000)
    if blocks:
        vars(space)["_quick_finder"] = Blocks(space)
    return k_nearest(space, X, WANTED, own=True)


def by_faiss(X: Any, probed: int) -> Any:
    import faiss  # type: ignore[import-not-found]

    faiss.omp_set_num_threads(1)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], LISTS)
    index.train(X)
    index.add(X)
    index.nprobe = probed
    return index.search(X, WANTED + 1)[1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.searches", description=__doc__)
    parser.add_argument("--large", action="store_true")
    if parser.parse_args().large:
        X = roll(250_000, N_FEATURES)[0].astype(np.float32)
        searched(X[:20_000], blocks=True)  # compiles
        print(f"roll, 250 000 x 50: blocks {seconds(partial(searched, X, True)):.1f}", flush=True)
        rows = slice(0, None, 50)
        exact = searched(X, blocks=True).indices.reshape(len(X), WANTED)[rows]
        for probed in PROBED:
            found = by_faiss(X, probed)[rows]
            held = (exact[:, :, None] == found[:, None, :]).any(axis=2).mean()
            took = seconds(partial(by_faiss, X, probed))
            print(f"faiss, {probed} of {LISTS} lists: {took:.1f}, recall {held:.4f}", flush=True)
        return
    images, rng = fashion(), np.random.default_rng(0)
    data = {
        "roll": roll(20_000, N_FEATURES)[0],
        "Fashion-MNIST": images[:20_000],
        "random numbers": rng.normal(size=(30_000, N_FEATURES)),
    }
    searched(data["roll"], blocks=True)  # compiles
    print(f"{'':33}scan   blocks   chosen")
    for name, X in data.items():
        took = [seconds(partial(searched, X, way)) for way in (False, True, None)]
        listed = " ".join(f"{one:8.2f}" for one in took)
        print(f"{name:16}{len(X):8} x {X.shape[1]:3}{listed}", flush=True)


if __name__ == "__main__":
    main()
