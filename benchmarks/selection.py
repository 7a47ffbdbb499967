"""What ``n_neighbors="auto"`` costs: its fit beside a single one with the largest candidate.

Two kinds of data, a noisy swiss roll and the same in 30 dimensions, ten of them noise. Times are
those of the process, the least of some runs.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchSpace, PatchTSNE
from patchfold.selection import CANDIDATES

ESTIMATORS = (
    PatchSpace(),
    PatchIsomap(),
    PatchLLE(),
    PatchEigenmaps(),
    PatchTSNE(random_state=0),
)
SIZES = (300, 1000, 5000)
RUNS = 3


def data(n):
    """Return the swiss roll by name, as it is and in 30 dimensions."""
    roll = make_swiss_roll(n, noise=0.3, random_state=0)[0]
    rng = np.random.default_rng(0)
    wide = np.concatenate([roll @ rng.normal(size=(3, 20)), rng.normal(size=(n, 10))], axis=1)
    return {"roll": roll, "30 features": wide}


def seconds(estimator, X, n_neighbors):
    """Return the time of a fit, and the fit."""
    fitted = clone(estimator).set_params(n_neighbors=n_neighbors)
    start = time.process_time()
    fitted.fit(X)
    return time.process_time() - start, fitted


def measure(estimator, X, runs):
    """Return the least times of a single fit and of "auto", and what it chose."""
    seconds(estimator, X[:200], max(CANDIDATES))  # compiles
    single = min(seconds(estimator, X, max(CANDIDATES))[0] for _ in range(runs))
    times = [seconds(estimator, X, "auto") for _ in range(runs)]
    return single, min(t for t, _ in times), times[0][1].n_neighbors_


def main(arguments=()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--runs", type=int, default=RUNS)
    asked = parser.parse_args(list(arguments))
    print(f"{'n':>6} {'data':<12}{'estimator':<16}{'single s':>9}{'auto s':>9}{'ratio':>7}{'k':>5}")
    for n in asked.sizes:
        for name, X in data(n).items():
            for estimator in ESTIMATORS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    single, auto, k = measure(estimator, X, asked.runs)
                print(
                    f"{n:>6} {name:<12}{type(estimator).__name__:<16}{single:>9.2f}{auto:>9.2f}"
                    f"{auto / single:>7.2f}{k:>5}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
