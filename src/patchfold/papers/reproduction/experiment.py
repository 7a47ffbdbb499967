"""The experiments that the papers of ELAP and PELLE share.

Data are standardised and embedded in the plane. A plane is scored by the silhouette of the classes,
or by the accuracy of four classifiers that learn one half of the points and are averaged. The
papers try every K in [2, 40] and print the best score, so the labels of the test points choose K.
The honest account chooses it within the training half.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, silhouette_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale
from sklearn.tree import DecisionTreeClassifier

from patchfold import datasets
from patchfold.evaluation.comparison import NEAREST
from patchfold.evaluation.sampling import halves, honest_scores
from patchfold.evaluation.significance import mean_interval
from patchfold.papers.reproduction import baselines
from patchfold.papers.reproduction.cells import Result, Task, rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from patchfold.base.types import Doubles

    Labels = NDArray[Any]

# The papers' interval of K, and the number of neighbours of the other methods in their programs.
SIZES = range(2, 41)
BASELINE_SIZE, UMAP_SIZE = 20, 15
# The seed of the papers' only split; the forests had none.
PUBLISHED_SPLIT = 42
FOREST_SEED = 0
# The honest account: enough halves for an interval, few K since each is fitted to all points.
HONEST_HALVES = 10
HONEST_SIZES = (5, 10, 15, 20, 30, 40)
HONEST_LEVEL = 0.95
HONEST_NOTE = (
    f"An honest number is the mean over {HONEST_HALVES} stratified halves, with its "
    f"{100 * HONEST_LEVEL:.0f} % interval in brackets. The interval is somewhat too narrow, "
    "because the halves overlap. K=5 to 40 means that different halves chose different K."
)
# These have no K, or too long a way to the plane for several; Hessian LLE in the plane needs six.
ONE_SIZE = {"PCA", "KPCA", "UMAP"}
LEAST_HESSIAN = 6
# Data sets that a quick run keeps: seconds each.
QUICK_ROWS = 200


@dataclass(frozen=True)
class Experiment:
    """A method on a data set."""

    X: Doubles  # the points
    y: Labels  # their classes
    embed: Callable[[Doubles, int], Doubles]  # maps X and K to the plane
    # Scores a plane: takes the places and classes of the training points, then of the test points.
    score: Callable[[Doubles, Labels, Doubles, Labels], float]

    def best(self, sizes: Sequence[int]) -> tuple[float, str]:
        """Return the best score over the given K, and the K that has it, the smallest of equals."""
        everyone = np.arange(len(self.y))
        ((train, test),) = halves(self.y, stratify=False, random_state=PUBLISHED_SPLIT)
        if self.score is silhouette:
            test = everyone
        scores = {k: self._score(self._plane(k), train, test) for k in sizes}
        k = max(scores, key=lambda size: scores[size])
        return scores[k], f"K={k}" if len(sizes) > 1 else ""

    def honest(
        self, sizes: Sequence[int], n_halves: int = HONEST_HALVES
    ) -> tuple[float, float, float, str]:
        """Return mean and interval over test halves; each training half chooses its own K.

        The interval is Student's for the mean. It takes halves for independent, which overlap, and
        so is rather too narrow.
        """
        splits = [self._nested(seed) for seed in range(n_halves)]
        planes = [self._plane(k) for k in sizes]
        scores, places = honest_scores(planes, splits, self._score)
        chosen = [sizes[place] for place in places]
        note = ""
        if len(sizes) > 1:
            least, most = min(chosen), max(chosen)
            note = f"K={least}" if least == most else f"K={least} to {most}"
        return *mean_interval(scores, level=HONEST_LEVEL), note

    def _nested(self, seed: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Split points into halves, and the training half again, whose halves choose K."""
        ((train, test),) = halves(self.y, random_state=seed)
        if self.score is silhouette:
            return (train, train), (train, test)
        (inner,) = halves(self.y, rows=train, random_state=seed)
        return inner, (train, test)

    def _plane(self, k: int) -> Doubles:
        with warnings.catch_warnings():
            # Disconnected graphs, vanishing weights, collinear columns: part of what is measured.
            warnings.simplefilter("ignore")
            return self.embed(self.X, k)

    def _score(self, plane: Doubles, train: Any, test: Any) -> float:
        return self.score(plane[train], self.y[train], plane[test], self.y[test])


def compute(
    task: Task,
    own: str,
    published: Callable[..., Doubles],
    equations: Callable[[int], Any],
    *,
    n_halves: int = HONEST_HALVES,
) -> list[Result]:
    """Compute a task of a paper whose own method is given as published and by the equations."""
    X, y = standardised(task.dataset)
    sizes: Sequence[int] = [k for k in SIZES if k < len(y) - 1]
    if task.method != own:

        def embed(X: Doubles, k: int) -> Doubles:
            return baseline(task.method, X, k)

        sizes = [BASELINE_SIZE]
    elif task.account == "published":
        embed = published
    else:

        def embed(X: Doubles, k: int) -> Doubles:
            return np.asarray(equations(k).fit_transform(X))

    score = silhouette if (task.paper, task.table) == ("elap", "I") else accuracy
    experiment = Experiment(X, y, embed, score)
    (row,) = rows(task.paper, task.table, task.dataset)
    if task.account != "honest":
        value, note = experiment.best(sizes)
        return [Result(row, value, note=note)]
    value, low, high, note = experiment.honest(honest_sizes(task.method, len(y)), n_halves)
    return [Result(row, value, low, high, note)]


def honest_sizes(method: str, n: int) -> list[int]:
    """Return the K that the honest account chooses from, for ``n`` points."""
    most = n // 2
    if method in ONE_SIZE:
        return [min(UMAP_SIZE, most - 1)]
    least = LEAST_HESSIAN if method in {"HLLE", "HLAP"} else 1
    return [k for k in HONEST_SIZES if least <= k < most]


def standardised(name: str) -> tuple[Doubles, Labels]:
    """Load a data set as the papers' programs did: codes in declared order, columns scaled.

    Their arrays came from data frames, column by column; a mean along a column is rounded
    differently in an array that lies row by row, and equal distances then stop being equal.
    """
    data = datasets.load(name)
    return scale(np.asfortranarray(data.X)), np.array(data.labels)[data.y]


def silhouette(_: Doubles, __: Labels, plane: Doubles, y: Labels) -> float:
    """Return the silhouette of the classes; nothing is learned from training points."""
    return float(silhouette_score(plane, y))


def accuracy(plane: Doubles, y: Labels, new: Doubles, truth: Labels) -> float:
    """Return the mean accuracy of nearest neighbours, a tree, quadratic discriminant and forest."""
    guesses = [
        model.fit(plane, y).predict(new)
        for model in (
            KNeighborsClassifier(n_neighbors=NEAREST),
            DecisionTreeClassifier(random_state=0),
            RandomForestClassifier(random_state=FOREST_SEED),
        )
    ]
    guesses.append(quadratic_discriminant(plane, y, new))
    return float(np.mean([accuracy_score(truth, guess) for guess in guesses]))


def quadratic_discriminant(plane: Doubles, y: Labels, new: Doubles) -> Labels:
    """Classify by one Gaussian per class.

    Written out because scikit-learn refuses small variances since 1.8, and planes of eigenvectors
    have nothing else. A class without any variance gave no number then, and won.
    """
    classes, counts = np.unique(y, return_counts=True)
    log_posteriors = []
    with np.errstate(all="ignore"):
        for label, count in zip(classes, counts, strict=True):
            mean = plane[y == label].mean(axis=0)
            _, spread, axes = np.linalg.svd(plane[y == label] - mean, full_matrices=False)
            variances = spread**2 / (count - 1)
            whitened = (new - mean) @ (axes.T / np.sqrt(variances))
            terms = (whitened**2).sum(axis=1) + np.log(variances).sum()
            log_posteriors.append(np.log(count / len(y)) - terms / 2)
    return np.asarray(classes[np.argmax(log_posteriors, axis=0)])


def baseline(method: str, X: Doubles, n_neighbors: int) -> Doubles:
    """Embed in the plane by one of the methods that the papers compare with."""
    # UMAP has its own default; their own PCA puts the weaker axis first, and trees try columns in
    # a seeded order.
    if method == "UMAP":
        return baselines.embed(method, X, n_neighbors=UMAP_SIZE)
    plane = baselines.embed(method, X, n_neighbors=n_neighbors)
    return plane[:, ::-1] if method == "PCA" else plane
