"""SA-Isomap behind classifiers: kernel ridge against GRNN, and both against direct classification.

For every data set of the papers at hand with 100 to 600 points and at least 12 in each class: ten
stratified halves; data standardised by the training half; neighbours, dimension and classifier
chosen by three-fold cross-validation inside the training half, for each of the six methods
apart; ``alpha`` stays at its default. Finished halves are kept in ``studies/supervised-1/``, and a
run that was stopped goes on; raise the number when something here or in the methods changes.
"""

from __future__ import annotations

import itertools
import os
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import wilcoxon
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.kept import kept
from patchfold import datasets, papers
from patchfold.datasets.loading import at_hand
from patchfold.evaluation.sampling import folds, halves

REPETITIONS, FOLDS = 10, 3
MIN_SAMPLES, MAX_SAMPLES, MIN_CLASS = 100, 600, 12
NEIGHBORS, COMPONENTS = (5, 10, 20), (2, 5)
CLASSIFIERS = {
    "svm": [SVC(C=C) for C in (1, 10, 100, 1000)],
    "knn": [KNeighborsClassifier(k) for k in (1, 3, 7, 15)],
}
INPUTS = ("direct", "grnn", "krr")
FOLDER = Path("studies/supervised-1")


def inputs(name, X, y, X_new):
    """Yield what a classifier may be given: points and new points, for every setting."""
    if name == "direct":
        yield X, X_new
        return
    for k, d in itertools.product(NEIGHBORS, COMPONENTS):
        isomap = papers.supervised_isomap(k, min(d, X.shape[1]), out_of_sample=name)
        yield isomap.fit_transform(X, y), isomap.transform(X_new)


def accuracies(X, y, X_new, y_new):
    """Return the accuracy of every setting of every classifier on every input."""
    return {
        f"{name}-{kind}": np.array(
            [[np.mean(c.fit(Z, y).predict(Z_new) == y_new) for c in choices] for Z, Z_new in pairs]
        )
        for name in INPUTS
        for pairs in [list(inputs(name, X, y, X_new))]
        for kind, choices in CLASSIFIERS.items()
    }


def half(name, repetition):
    """Return the accuracy of the six methods on one half, tuned inside the other."""
    data = datasets.load(name)
    ((train, test),) = halves(data.y, random_state=repetition)
    y, y_new = data.y[train], data.y[test]
    scaler = StandardScaler().fit(data.X[train])
    X, X_new = scaler.transform(data.X[train]), scaler.transform(data.X[test])
    parts = folds(y, FOLDS, random_state=repetition)
    inner = [accuracies(X[a], y[a], X[b], y[b]) for a, b in parts]
    outer = accuracies(X, y, X_new, y_new)
    chosen = {}
    for method, scores in outer.items():
        mean = np.mean([fold[method] for fold in inner], axis=0)
        chosen[method] = float(scores.flat[int(np.argmax(mean))])
    return chosen


def kept_half(name, repetition):
    """Return a half from its file, computing and writing it first if it is not there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = FOLDER / f"{name}-{repetition}.json"
        return kept(path, lambda: half(name, repetition))


def names():
    for entry in at_hand().values():
        smallest = min(entry.classes.values(), default=0)
        if entry.papers and MIN_SAMPLES <= entry.shape[0] <= MAX_SAMPLES and smallest >= MIN_CLASS:
            yield entry.name


def compare(means, a, b):
    x, y = (np.array([row[method] for row in means.values()]) for method in (a, b))
    wins, losses = int(np.sum(x > y)), int(np.sum(x < y))
    p = wilcoxon(x, y).pvalue
    print(
        f"{a:10} against {b:11} wins {wins:2}, losses {losses:2}, mean difference "
        f"{np.mean(x - y):+.4f}, Wilcoxon p = {p:.2g}"
    )


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    chosen = list(names())
    tasks = [(name, repetition) for name in chosen for repetition in range(REPETITIONS)]
    done = Parallel(n_jobs=-1)(delayed(kept_half)(*task) for task in tasks)
    means = {name: {} for name in chosen}
    for method in done[0]:
        for name in chosen:
            values = [h[method] for (n, _), h in zip(tasks, done, strict=True) if n == name]
            means[name][method] = float(np.mean(values))
    methods = list(done[0])
    print(f"mean accuracy over {REPETITIONS} halves")
    print(f"{'':34}" + "".join(f"{method:>12}" for method in methods))
    for name, row in means.items():
        print(f"{name:34}" + "".join(f"{row[method]:12.3f}" for method in methods))
    overall = [np.mean([row[method] for row in means.values()]) for method in methods]
    print(f"{f'mean of {len(means)}':34}" + "".join(f"{value:12.3f}" for value in overall))
    for kind in CLASSIFIERS:
        compare(means, f"krr-{kind}", f"grnn-{kind}")
        compare(means, f"krr-{kind}", f"direct-{kind}")
        compare(means, f"grnn-{kind}", f"direct-{kind}")


if __name__ == "__main__":
    main()
