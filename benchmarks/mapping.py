"""Mapping 10 000 new points into an embedding of 10 000 x 50, as a share of the time of the fit."""

from __future__ import annotations

import time

import numpy as np

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE

N_SAMPLES, N_FEATURES, N_NEIGHBORS = 10_000, 50, 15
MAPS = ("nystrom", "krr", "grnn")
N_JOBS = 2
ESTIMATORS = {
    PatchIsomap: {},
    PatchLLE: {},
    PatchEigenmaps: {},
    PatchTSNE: {"random_state": 0},
}


def points(n, seed):
    """Points near a curved surface of three dimensions."""
    rng = np.random.default_rng(seed)
    shape = np.random.default_rng(0)
    inner = rng.uniform(-1, 1, (n, 3)) @ shape.normal(size=(3, N_FEATURES))
    return np.tanh(inner) + 0.02 * rng.normal(size=(n, N_FEATURES))


def main() -> None:
    X, X_new = points(N_SAMPLES, 1), points(N_SAMPLES, 2)
    print(f"{N_SAMPLES} x {N_FEATURES}, k = {N_NEIGHBORS}, {N_SAMPLES} new points")
    print(f"{'':28}{'fit':>9}{'transform':>11}{'share':>8}")
    for estimator, own in ESTIMATORS.items():
        for name in MAPS:
            method = estimator(n_neighbors=N_NEIGHBORS, out_of_sample=name, n_jobs=N_JOBS, **own)
            start = time.perf_counter()
            method.fit(X)
            fitted = time.perf_counter()
            method.transform(X_new)
            end = time.perf_counter()
            share = (end - fitted) / (fitted - start)
            title = f"{estimator.__name__}, {name}"
            times = f"{fitted - start:8.1f}s{end - fitted:10.1f}s"
            print(f"{title:28}{times}{share:8.2f}", flush=True)


if __name__ == "__main__":
    main()
