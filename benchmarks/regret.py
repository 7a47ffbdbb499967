"""What a choice of ``n_neighbors`` without labels loses against one with labels.

For every data set of the papers at hand that the ranking has (60 to 720 points) and each of the
four estimators: standardised data are embedded in the plane, all points together, with each
candidate. Seven nearest neighbours learn one stratified half of the points and are scored on the
other. Labels choose by five-fold cross-validation within the training half, from six candidates; a
criterion without labels chooses once, from the points alone, among the few that are usual, and, for
comparison, among the six. The regret is the accuracy of the former less that of the latter, both on
the test half.

Finished cells are kept in ``studies/regret-4/``, and a run that was stopped goes on; raise the
number when something here or in the methods changes. ``python -m benchmarks.regret --most 200
--halves 3`` takes small data sets and few halves, ``--jobs 2`` two processes.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from benchmarks.kept import kept
from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE
from patchfold.datasets.registry import registry
from patchfold.evaluation.comparison import accuracy
from patchfold.evaluation.sampling import folds, halves
from patchfold.evaluation.significance import standard_error
from patchfold.papers.reproduction import experiment, ranking
from patchfold.selection import CANDIDATES, NAMES, select_n_neighbors

FOLDER = Path("studies/regret-4")
HALVES, FOLDS = 10, 5
FIXED = 15
DEGREES = (5, 10, 15, 20, 30, 40)
ESTIMATORS = {
    "PatchIsomap": PatchIsomap(n_neighbors=FIXED),
    "PatchLLE": PatchLLE(n_neighbors=FIXED),
    "PatchEigenmaps": PatchEigenmaps(n_neighbors=FIXED),
    "PatchTSNE": PatchTSNE(n_neighbors=FIXED, random_state=0),
}
CRITERIA = tuple(name for name in NAMES if name != "cross-validation")


def data_sets(most):
    """Return the data sets of the ranking with at most ``most`` points, the smallest first."""
    names = ranking.data_sets(most=min(most, ranking.MOST_ROWS))
    return sorted(names, key=lambda name: (registry()[name].shape[0], name))


def cell(name, method, n_halves):
    """Return scores, chosen degrees and accuracies of one estimator on one data set."""
    X, y = experiment.standardised(name)
    estimator = ESTIMATORS[method]
    ks = [k for k in DEGREES if 2 * k < len(y)]
    found = select_n_neighbors(estimator, X, criterion=CRITERIA, candidates=ks)
    auto = clone(estimator).set_params(n_neighbors="auto").fit(X)
    planes = {k: found.embeddings[k].astype(float) for k in ks}
    planes["auto"] = auto.embedding_.astype(float)
    return {
        "candidates": ks,
        "auto": auto.n_neighbors_,
        "scores": {
            criterion: list(map(float, column)) for criterion, column in found.scores.items()
        },
        "halves": [half(planes, y, seed) for seed in range(n_halves)],
    }


def half(planes, y, seed):
    """Return the accuracy in every plane on a test half, and by folds of the training half."""
    ((train, test),) = halves(y, random_state=seed)
    fewest = int(np.unique(y[train], return_counts=True)[1].min())
    parts = folds(y, min(FOLDS, fewest), rows=train, random_state=seed)

    def score(plane, train, test):
        return accuracy(plane[train], y[train], plane[test], y[test])

    return {
        str(k): {
            "test": score(plane, train, test),
            "folds": float(np.mean([score(plane, a, b) for a, b in parts])),
        }
        for k, plane in planes.items()
    }


def kept_cell(name, method, n_halves):
    """Return a cell from its file, computing and writing it first if it is not there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = FOLDER / f"{name}-{method}-{n_halves}.json"
        return kept(path, lambda: cell(name, method, n_halves))


def rows(one):
    """Return the mean accuracy on test halves by every way to choose, for one cell."""
    ks = one["candidates"]
    test = {k: np.array([h[str(k)]["test"] for h in one["halves"]]) for k in [*ks, "auto"]}
    folds = {k: np.array([h[str(k)]["folds"] for h in one["halves"]]) for k in ks}
    few = [k for k in ks if k in CANDIDATES]
    chosen = {}
    for label, among in (("labels", ks), ("labels, few candidates", few)):
        best = [max(among, key=lambda k, h=h: folds[k][h]) for h in range(len(one["halves"]))]
        chosen[label] = float(np.mean([test[k][h] for h, k in enumerate(best)]))
    for criterion, column in one["scores"].items():
        score = dict(zip(ks, column, strict=True))
        chosen[criterion] = float(test[max(few, key=score.get)].mean())
        chosen[f"{criterion}, six candidates"] = float(test[max(ks, key=score.get)].mean())
    chosen[f"always {FIXED}"] = float(test[FIXED].mean())
    chosen["auto"] = float(test["auto"].mean())
    return chosen


def regrets(table):
    """Return label-free ways to their mean regret by estimator; ``table`` is (set, way) by it."""
    return {
        way: {m: np.mean([row["labels"] - row[way] for row in cells]) for m, cells in table.items()}
        for way in next(iter(table.values()))[0]
        if way != "labels"
    }


def winner(table):
    """Return the criterion whose largest regret over estimators is the least."""
    found = regrets(table)
    return min(CRITERIA, key=lambda way: max(found[way].values()))


def main(arguments=()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regret", description=__doc__)
    parser.add_argument("--most", type=int, default=ranking.MOST_ROWS, help="points of a data set")
    parser.add_argument("--halves", type=int, default=HALVES)
    parser.add_argument("--jobs", type=int, default=-1)
    asked = parser.parse_args(list(arguments))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    names, methods = data_sets(asked.most), list(ESTIMATORS)
    tasks = [(name, method, asked.halves) for name in names for method in methods]
    cells = Parallel(n_jobs=asked.jobs)(delayed(kept_cell)(*task) for task in tasks)
    table = {method: [] for method in methods}
    for (_, method, _), one in zip(tasks, cells, strict=True):
        table[method].append(rows(one))
    report(table)


def report(table) -> None:
    """Print mean accuracies and regrets, and what a winner of some data sets is on others."""
    methods = list(table)
    count = len(table[methods[0]])
    print(f"{count} data sets; mean accuracy, and regret with its standard error over data sets")
    print("| choice | " + " | ".join(methods) + " | largest regret |")
    print("|---|" + "---|" * (len(methods) + 1))
    for way in table[methods[0]][0]:
        parts, largest = [], []
        for method in methods:
            values = np.array([row[way] for row in table[method]])
            lost = np.array([row["labels"] for row in table[method]]) - values
            error = standard_error(lost)
            parts.append(f"{values.mean():.3f}, {lost.mean():+.4f} ± {error:.4f}")
            largest.append(lost.mean())
        print(f"| {way} | " + " | ".join(parts) + f" | {max(largest):+.4f} |")
    print(f"least largest regret: {winner(table)}")
    for start in (0, 1):
        some = {method: cells[start::2] for method, cells in table.items()}
        others = {method: cells[1 - start :: 2] for method, cells in table.items()}
        first = winner(some)
        lost = max(regrets(others)[first].values())
        print(f"{first} wins on one half of the data sets, and loses {lost:+.4f} on the other")


if __name__ == "__main__":
    main(sys.argv[1:])
