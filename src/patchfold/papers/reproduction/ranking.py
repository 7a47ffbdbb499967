"""All methods on all data sets at hand, honestly: no paper prints this table.

As in the papers, standardised data are embedded in the plane, all points together, and a
classifier, here seven nearest neighbours, learns one half and is scored on the other. Unlike there,
K is chosen within the training half, from the same candidates for every method that has one. The
estimators of this library have their default settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patchfold.datasets.loading import at_hand
from patchfold.embedding import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE
from patchfold.evaluation.comparison import NEAREST, accuracy
from patchfold.papers.reproduction import baselines, experiment
from patchfold.papers.reproduction.cells import Result, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from patchfold.base.types import Doubles


PROTOCOL = 3
TABLES = ("accuracy",)
NOTE = (
    f"Accuracy of {NEAREST} nearest neighbours on a map of two dimensions. "
    f"{experiment.HONEST_NOTE} K is chosen by labels inside the training half. The candidates are "
    f"{', '.join(map(str, experiment.HONEST_SIZES))} for every method that has a K, as far as they "
    "are below half the number of points; HLLE cannot use 5. The last row is the mean over all "
    "data sets. No paper prints this table."
)

# The estimators for K neighbours.
ESTIMATORS: dict[str, Callable[[int], PatchIsomap | PatchLLE | PatchEigenmaps | PatchTSNE]] = {
    "PatchIsomap": lambda k: PatchIsomap(n_neighbors=k),
    "PatchLLE": lambda k: PatchLLE(n_neighbors=k),
    "PatchEigenmaps": lambda k: PatchEigenmaps(n_neighbors=k),
    "PatchTSNE": lambda k: PatchTSNE(n_neighbors=k, random_state=0),
}
METHODS = ("PCA", "KPCA", "ISO", "LLE", "HLLE", "LTSA", "LAP", "UMAP", *ESTIMATORS)
OWN = tuple(ESTIMATORS)
# Enough points, in all and of each class, for halves of halves; few enough for minutes in all.
LEAST_ROWS, LEAST_CLASS, MOST_ROWS = 60, 4, 720


def tasks(
    table: str, datasets: Sequence[str] | None, accounts: Sequence[str], quick: bool
) -> list[Task]:
    """List every method on every data set of the papers at hand; a quick run takes small ones."""
    return [
        Task("ranking", table, name, method, "honest")
        for name in data_sets(datasets, experiment.QUICK_ROWS if quick else MOST_ROWS)
        for method in METHODS
        if "honest" in accounts
    ]


def data_sets(names: Sequence[str] | None = None, most: int = MOST_ROWS) -> list[str]:
    """Return the papers' data sets at hand with enough points, and at most ``most``."""
    return [
        entry.name
        for entry in at_hand(names).values()
        if entry.papers
        and LEAST_ROWS <= entry.shape[0] <= most
        and min(entry.classes.values(), default=0) >= LEAST_CLASS
    ]


def compute(task: Task) -> list[Result]:
    """Return the mean accuracy of a method over test halves, with its interval."""
    X, y = experiment.standardised(task.dataset)
    trial = experiment.Experiment(X, y, _embedding(task.method), accuracy)
    # UMAP and t-SNE are given what all others are; the papers' programs leave them one K.
    like = "ISO" if task.method in {"UMAP", "PatchTSNE"} else task.method
    value, low, high, note = trial.honest(experiment.honest_sizes(like, len(y)))
    return [Result(task.dataset, value, low, high, note)]


def _embedding(method: str) -> Callable[[Doubles, int], Doubles]:
    if method == "UMAP":
        return lambda X, k: baselines.embed(method, X, n_neighbors=k)
    if method not in ESTIMATORS:
        return lambda X, k: experiment.baseline(method, X, k)
    return lambda X, k: np.asarray(ESTIMATORS[method](k).fit_transform(X))
