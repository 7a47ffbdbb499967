"""Recall and time of the approximate neighbour search beside the exact one and scikit-learn's.

Run ``PATCHFOLD_DATA=<folder> python benchmarks/recall.py``; the folder holds ``scale/*.npz``.
Recall counts a neighbour as found if it is no farther than the exact k-th, so that the choice
among equal distances is no error.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from patchfold.neighbors import ApproximateNeighbors, ExactNeighbors, Neighborhoods

NAMES = ("mnist", "fashion-mnist", "optdigits", "pendigits")
N_NEIGHBORS = 15
# New points to ask for: rows that the searches were not built on.
N_QUERIES = 1000


def run(n_samples: int = 20_000, n_jobs: int | None = None) -> list[dict[str, Any]]:
    """Measure every data set, cut to ``n_samples`` random rows; nothing without the data."""
    folder = os.environ.get("PATCHFOLD_DATA")
    if not folder:
        print("PATCHFOLD_DATA is not set: no data to measure recall on.")
        return []
    warm_up(n_jobs)
    return [measure(name, Path(folder), n_samples, n_jobs) for name in NAMES]


def measure(name: str, folder: Path, n_samples: int, n_jobs: int | None) -> dict[str, Any]:
    """Return recall of both kinds of query and the times of building and querying."""
    with np.load(folder / "scale" / f"{name}.npz") as stored:
        X = stored["X"].astype(np.float32)
    order = np.random.default_rng(0).permutation(len(X))
    n_built = min(n_samples, len(X) - N_QUERIES)
    built, new = X[order[:n_built]], X[order[n_built : n_built + N_QUERIES]]
    times, own, other = {}, {}, {}
    searches = {
        "exact": ExactNeighbors(N_NEIGHBORS, n_jobs=n_jobs),
        "approximate": ApproximateNeighbors(N_NEIGHBORS, n_jobs=n_jobs, random_state=0),
    }
    for kind, search in searches.items():
        start = time.perf_counter()
        own[kind] = search.build(built).query()
        times[kind] = time.perf_counter() - start
        other[kind] = search.query(new)
    start = time.perf_counter()
    NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(built).kneighbors(built, N_NEIGHBORS + 1)
    times["brute"] = time.perf_counter() - start
    return {
        "data": name,
        "n_samples": n_built,
        "n_features": X.shape[1],
        "recall": recall(own["approximate"], own["exact"]),
        "recall_new": recall(other["approximate"], other["exact"]),
        "exact_s": times["exact"],
        "approximate_s": times["approximate"],
        "brute_s": times["brute"],
        "time_ratio": times["approximate"] / times["exact"],
    }


def recall(found: Neighborhoods, exact: Neighborhoods) -> float:
    """Return the share of the exact neighbours that were found."""
    kth = exact.distances[exact.indptr[1:] - 1]
    return float(np.sum(found.distances <= kth[found.sources]) / len(exact.indices))


def warm_up(n_jobs: int | None) -> None:
    """Let numba compile what both searches use, so that no time includes it."""
    X = np.random.default_rng(0).normal(size=(3000, 20)).astype(np.float32)
    for search in (
        ExactNeighbors(N_NEIGHBORS, n_jobs=n_jobs),
        ApproximateNeighbors(N_NEIGHBORS, n_jobs=n_jobs, random_state=0),
    ):
        search.build(X).query(X[:5])


def main() -> None:
    """Print one line a data set."""
    rows = run()
    if rows:
        print(
            f"{'data':<14}{'n':>8}{'m':>6}{'recall':>9}{'new':>9}"
            f"{'exact s':>10}{'approx s':>10}{'ratio':>8}{'sklearn s':>11}"
        )
    for row in rows:
        print(
            f"{row['data']:<14}{row['n_samples']:>8}{row['n_features']:>6}{row['recall']:>9.4f}"
            f"{row['recall_new']:>9.4f}{row['exact_s']:>10.2f}{row['approximate_s']:>10.2f}"
            f"{row['time_ratio']:>8.2f}{row['brute_s']:>11.2f}"
        )


if __name__ == "__main__":
    main()
