"""Rows added by ``partial_fit`` beside one fit of all: time, places, drift.

    python -m benchmarks.growing [--picture FILE]

A swiss roll of 10 000 points in ten batches of 1000; digits, shuffled, of which half come first; a
roll that unrolls, whose inner third comes first. ``--picture`` draws the first and the last of ten
batches of a roll of 2000.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits

from patchfold import PatchIsomap
from patchfold.base.sampling import drawn_rows
from patchfold.datasets import make_manifold
from patchfold.metrics import rank_correlation

SETTING = {"landmarks": 200, "random_state": 0}
# Distances between COMPARED points are compared.
COMPARED = 1000


def grown(batches):
    """Add batches; return the estimator, its largest drift and the seconds of the last batch."""
    isomap, drifts, seconds = PatchIsomap(**SETTING), [], 0.0
    for batch in batches:
        start = time.perf_counter()
        isomap.partial_fit(batch)
        seconds = time.perf_counter() - start
        drifts.append(isomap.drift_)
    return isomap, max(drifts), seconds


def distances(places):
    from scipy.spatial.distance import pdist

    return pdist(places[drawn_rows(len(places), COMPARED, 0)])


def report(name, batches):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, drift, last = grown(batches)
        start = time.perf_counter()
        one = PatchIsomap(**SETTING).fit(np.concatenate(batches))
        whole = time.perf_counter() - start
    assert (found.graph_.indices == one.graph_.indices).all()
    assert (found.graph_.data == one.graph_.data).all()
    alike = rank_correlation(distances(found.embedding_), distances(one.embedding_))
    print(
        f"| {name} | {len(batches)} | {len(one.embedding_)} | {alike:.4f} | {drift:.3f} "
        f"| {last / whole:.2f} |",
        flush=True,
    )


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growing", description=__doc__)
    parser.add_argument("--picture")
    asked = parser.parse_args(arguments)
    if asked.picture:
        draw(asked.picture)
        return
    print("| data | batches | rows | rank correlation | largest drift | last batch / one fit |")
    print("|---|---|---|---|---|---|")
    roll = make_manifold("swiss-roll", 10_000, random_state=1)
    report("swiss roll", np.array_split(roll.X, 10))
    roll = make_manifold("swiss-roll", 3000, noise=0.5, random_state=1)
    report("swiss roll, noise 0.5", [roll.X[:1000], *np.array_split(roll.X[1000:], 9)])
    inside = roll.X[np.argsort(roll.coordinates[:, 0])]
    report("its inner third first", [inside[:1000], *np.array_split(inside[1000:], 9)])
    X = load_digits().data[np.random.default_rng(1).permutation(1797)]
    report("digits, half first", [X[:900], *np.array_split(X[900:], 9)])


def draw(path):
    """Draw a roll after the first and after the last of ten batches, and one fit beside it."""
    from matplotlib import pyplot as plt

    from patchfold.plotting import plot_embedding

    roll = make_manifold("swiss-roll", 2000, noise=0.3, random_state=1)
    along = roll.coordinates[:, 0]
    isomap = PatchIsomap(**SETTING).partial_fit(roll.X[:800])
    first = isomap.embedding_
    for batch in np.array_split(roll.X[800:], 9):
        isomap.partial_fit(batch)
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    plot_embedding(first, along[:800], ax=axes[0]).set_title("800 rows")
    plot_embedding(isomap.embedding_, along, ax=axes[1]).set_title(
        f"and 1200 more in nine batches: drift {isomap.drift_:.2f}"
    )
    figure.savefig(path, dpi=100)
    print(path)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
