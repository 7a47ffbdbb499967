"""Methods side by side on one table: whose plane tells the target best.

The rows are split into halves, again and again. Everything is fitted to one half, the coding of
columns included. The other half is mapped into the plane, where the nearest neighbours among the
first predict its targets. A method that cannot map new rows is given all rows at once, without
their targets, and marked: it saw the features of the rows it is tested on.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline

from patchfold.base.validation import require
from patchfold.evaluation.coranking import trustworthiness
from patchfold.evaluation.correlations import stress
from patchfold.evaluation.legibility import visible_share
from patchfold.evaluation.sampling import draw
from patchfold.evaluation.significance import HALVES_OVERLAP, mean_interval
from patchfold.graph.geodesics import shortest_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchfold.base.types import Doubles, Indices

# The estimator of a method that has none: the columns themselves, what a plane may lose.
PASSTHROUGH = "passthrough"
# As many as the papers' classifier has.
NEAREST = 7
# Neighbourhoods whose trustworthiness is measured, at most; they must be less than half the rows.
TRUST_NEIGHBORS = 15
# Rows that geodesics start from, at most.
MOST_SOURCES = 500


@dataclass(frozen=True, eq=False)
class Geodesics:
    """Lengths of shortest paths that all planes of a table are held against."""

    sources: Indices  # the rows that paths start from
    lengths: Doubles  # (n_sources, n_samples)

    def stress(self, plane: Doubles, rows: Indices) -> float:
        """Return the stress of a plane of some rows, see :func:`patchfold.metrics.stress`.

        The plane has the places of these rows of the table.
        """
        places = np.full(self.lengths.shape[1], -1)
        places[rows] = np.arange(len(rows))
        here = np.flatnonzero(places[self.sources] >= 0)
        lengths = self.lengths[np.ix_(here, rows)]
        return stress(lengths, plane, sources=places[self.sources[here]])


@dataclass(frozen=True)
class Method:
    """A way to the plane."""

    name: str  # the estimator
    divergence: str  # the divergence; empty for others' methods
    estimator: Any  # unfitted; PASSTHROUGH for the columns as they are
    supervised: bool = False  # whether it is fitted with the targets of the training half

    @property
    def maps(self) -> bool:
        """Whether new rows can be mapped."""
        return self.estimator == PASSTHROUGH or hasattr(self.estimator, "transform")


@dataclass(frozen=True)
class Score:
    """How a method did."""

    name: str
    divergence: str
    maps: bool
    supervised: bool
    # Mean of the accuracy, or of R squared, over test halves, and its 95 % interval.
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    trust: float | None = None  # trustworthiness of the plane
    # Share of points that a plot of the plane tells apart; None where there is no plane.
    visible: float | None = None
    stress: float | None = None  # stress of the geodesics in the plane
    seconds: float = 0.0  # of one fit, without what is compiled once
    error: str = ""  # why there are no numbers; empty where there are


def geodesics(graph: Any, *, random_state: int = 0) -> Geodesics:
    """Find the shortest paths through a connected graph that all planes are held against.

    They start from at most MOST_SOURCES rows, drawn at random.
    """
    sources = draw(graph.shape[0], MOST_SOURCES, random_state)
    return Geodesics(sources, np.asarray(shortest_paths(graph, sources), dtype=np.float64))


def evaluate(
    method: Method,
    prepare: Any,
    features: Any,
    y: Any,
    splits: Sequence[Any],
    *,
    classes: bool,
    paths: Geodesics,
) -> Iterator[Score | None]:
    """Score a method: yield None after each half, and its score at the end.

    ``prepare``, unfitted, makes points of features, which are a data frame. ``y`` are classes,
    scored by accuracy, or values, scored by R squared. ``splits`` are pairs (train, test) of rows,
    as :func:`patchfold.evaluation.sampling.halves` returns them; ``paths`` are those of the same
    rows.
    """
    score = accuracy if classes else r_squared
    told = method.name, method.divergence, method.maps, method.supervised
    scores, trusts, shares, stresses, times = [], [], [], [], []
    whole: tuple[Doubles, Doubles] | None = None
    try:
        for train, test in splits:
            start = time.perf_counter()
            with warnings.catch_warnings():
                # Disconnected graphs, collinear columns: part of what is compared.
                warnings.simplefilter("ignore")
                if method.maps:
                    plane, new, points = _mapped(method, prepare, features, y, train, test)
                else:
                    if whole is None:
                        all_points = clone(prepare).fit_transform(features)
                        found = clone(method.estimator).fit_transform(all_points)
                        whole = np.asarray(found), all_points
                    plane, new, points = whole[0][train], whole[0][test], whole[1][train]
            times.append(time.perf_counter() - start)
            scores.append(score(plane, y[train], new, y[test]))
            k = min(TRUST_NEIGHBORS, (len(points) - 1) // 2 - 1)
            trusts.append(trustworthiness(points, plane, max(k, 1)))
            shares.append(visible_share(plane))
            stresses.append(paths.stress(plane, train))
            yield None
    except Exception as error:  # noqa: BLE001 - one method that fails is told, the others go on
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        yield Score(*told, error=reason)
        return
    mean, low, high = mean_interval(scores, overlap=HALVES_OVERLAP)
    yield Score(
        *told,
        mean,
        max(low, 0.0) if classes else low,
        min(high, 1.0),  # of an accuracy as of R squared
        float(np.mean(trusts)),
        None if method.estimator == PASSTHROUGH else float(np.mean(shares)),
        float(np.mean(stresses)),
        seconds_of_a_fit(times) if method.maps else float(np.sum(times)),
    )


def seconds_of_a_fit(times: Sequence[float]) -> float:
    """Return how long a fit takes, once its library is imported and compiled.

    UMAP compiles its loops in the first fit of a process, for ten seconds and more.

    Examples
    --------
    >>> seconds_of_a_fit([19.8, 0.3, 0.2])
    0.3
    """
    return float(median_low(times))


def _mapped(
    method: Method, prepare: Any, features: Any, y: Any, train: Any, test: Any
) -> tuple[Doubles, Doubles, Doubles]:
    """Fit one half and map the other; return both, and the points of the first."""
    fresh = clone(method.estimator, safe=False)  # PASSTHROUGH stays what it is
    model = Pipeline([("columns", clone(prepare)), ("embedding", fresh)])
    plane = model.fit_transform(features.iloc[train], y[train] if method.supervised else None)
    new = model.transform(features.iloc[test])
    return np.asarray(plane), np.asarray(new), model[:1].transform(features.iloc[train])


# ---------------------------------------------------------------- nearest neighbours, and peers


def accuracy(points: Any, y: Any, new: Any, truth: Any) -> float:
    """Return the share of new points whose class their nearest neighbours tell.

    Neighbours are sought among ``points`` of classes ``y``; ``truth`` are the classes of ``new``.

    Examples
    --------
    >>> accuracy([[0.0]] * 7 + [[1.0]] * 7, [0] * 7 + [1] * 7, [[0.1], [0.8]], [0, 0])
    0.5
    """
    return float(KNeighborsClassifier(n_neighbors=NEAREST).fit(points, y).score(new, truth))


def r_squared(points: Any, y: Any, new: Any, truth: Any) -> float:
    """Return R squared of the mean value of the nearest neighbours, for new points.

    Parameters are those of :func:`accuracy`, with values instead of classes.
    """
    return float(KNeighborsRegressor(n_neighbors=NEAREST).fit(points, y).score(new, truth))


def umap(n_components: int, n_neighbors: int, random_state: int | None) -> Any:
    """Return an unfitted UMAP, or say how to install it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)  # of a part that wants TensorFlow
        module = require("umap", "method='UMAP'", extra="papers")
    return module.UMAP(
        n_components=n_components, n_neighbors=n_neighbors, random_state=random_state, n_jobs=1
    )
