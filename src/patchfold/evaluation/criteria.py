"""Criteria for the choice of parameters: how good a fitted embedding is, with or without labels.

Every criterion is a function of a fitted estimator, the data X and a :class:`Setting`. It returns a
number; greater is better. Ranks and geodesics are taken from at most ``SOURCES`` sampled points.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_random_state

from patchfold.evaluation.coranking import coranking, local_quality
from patchfold.evaluation.correlations import residual_variance
from patchfold.evaluation.correlations import stress as stress_of
from patchfold.evaluation.legibility import visible_share
from patchfold.evaluation.sampling import draw, folds
from patchfold.graph.components import n_components
from patchfold.graph.edges import laplacian
from patchfold.graph.geodesics import shortest_paths
from patchfold.solvers.eigenvectors import bottom_eigenvectors
from patchfold.supervision import encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Floats, Indices


# Points from which ranks and geodesics are taken.
SOURCES = 500

# Neighbours that local criteria look at. Fixed, so that graphs of all degrees are compared alike.
LOCAL_SIZE = 10

# Stability: RESAMPLES samples, each of RESAMPLED_SHARE of the points, are embedded again.
RESAMPLES, RESAMPLED_SHARE = 3, 0.8

# Cross-validation: the classifier of the ranking in docs/reproduction.
VOTERS = 7


@dataclass(frozen=True, eq=False)
class Setting:
    """What criteria need beside the estimator and its data."""

    y: Any = None  # classes; -1, NaN or None for points without a label
    cv: Any = 5  # number of folds or splitter of the cross-validation
    random_state: Any = None  # seed of samples and folds; None gives the same ones every time

    def sample(self, n: int, count: int) -> Indices:
        """Choose ``count`` of ``n`` points."""
        return draw(n, count, self.random())

    def random(self) -> Any:
        """Return the generator of random numbers."""
        return check_random_state(0 if self.random_state is None else self.random_state)


def energy(estimator: Any, X: Any, setting: Setting) -> float:
    """Sum the leading eigenvalues of the affinity matrix (X-space, section 4.2).

    Affinities are ``w = exp(-d / s)`` on the edges, ``s`` their median length, and the matrix is
    ``D^(-1/2) W D^(-1/2)``: otherwise the sum would grow with the degree. The largest eigenvalue is
    1; the sum has one eigenvalue more than the embedding has components.
    """
    W = csr_array(estimator.graph_, dtype=np.float64, copy=True)
    typical = float(np.median(W.data)) or float(W.data.mean()) or 1.0
    W.data = np.exp(-W.data / typical)
    L, degrees = laplacian(W)
    root = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    L = csr_array(L.multiply(1 / root[:, None]).multiply(1 / root[None, :]))
    count = min(estimator.embedding_.shape[1] + 1, L.shape[0])
    values, _ = bottom_eigenvectors(L, count, skip=0)
    return float(count - values.sum())


def unexplained(estimator: Any, X: Any, setting: Setting) -> float:
    """Return minus the residual variance of the geodesics in the estimator's own graph.

    See :func:`patchfold.metrics.residual_variance`. It is -1, nothing explained, if the graph has
    several parts and some geodesics are infinite.
    """
    if n_components(estimator.graph_)[0] > 1:
        return -1.0
    geodesics, how = _geodesics(estimator, setting)
    return -residual_variance(geodesics, estimator.embedding_, **how)


def stress(estimator: Any, X: Any, setting: Setting) -> float:
    """Return minus the stress of the geodesics in the estimator's own graph.

    See :func:`patchfold.metrics.stress`. Pairs in different parts of the graph do not count.
    """
    geodesics, how = _geodesics(estimator, setting)
    return -stress_of(geodesics, estimator.embedding_, **how)


def area(estimator: Any, X: Any, setting: Setting) -> float:
    """Return the area under ``R_NX`` over the logarithm of the size of neighbourhoods."""
    data, how = _data(estimator, X, setting)
    return coranking(data, estimator.embedding_, **how).auc_log_rnx


def stability(estimator: Any, X: Any, setting: Setting) -> float:
    """Return how similar embeddings of samples are to the embedding of all points.

    Three samples of 80 % of the points are embedded. The area under ``R_NX`` compares each with the
    places of its points in the embedding of all.
    """
    n = estimator.embedding_.shape[0]
    random = setting.random()
    alike = []
    for _ in range(RESAMPLES):
        rows = draw(n, int(np.ceil(RESAMPLED_SHARE * n)), random)
        y = None if setting.y is None else np.asarray(setting.y)[rows]
        again = _fitted_on(estimator, X, rows, y)
        alike.append(_likeness(estimator.embedding_[rows], again.embedding_, setting))
    return float(np.mean(alike))


def cross_validation(estimator: Any, X: Any, setting: Setting) -> float:
    """Return the accuracy of seven nearest neighbours in the embedding, cross-validated.

    Without supervision an embedding knows no labels, and one embedding of all points serves all
    folds. With supervision, each fold is left out of the fit and mapped by ``transform``. Points
    without a label take part in fits and are not scored.
    """
    codes = encode(setting.y, estimator.embedding_.shape[0], "criterion='cross-validation'")
    supervised = getattr(estimator, "supervision", None) is not None
    scores = []
    for train, test in _folds(codes, setting):
        fit = np.setdiff1d(np.arange(len(codes)), test)
        if supervised:
            fitted = _fitted_on(estimator, X, fit, np.asarray(setting.y)[fit])
            places = np.empty((len(codes), fitted.embedding_.shape[1]))
            places[fit] = fitted.embedding_
            places[test] = fitted.transform(_part(estimator, X, test, fit))
        else:
            places = estimator.embedding_
        classifier = KNeighborsClassifier(min(VOTERS, len(train)))
        scores.append(classifier.fit(places[train], codes[train]).score(places[test], codes[test]))
    return float(np.mean(scores))


# Criteria of one fitted estimator; agreement compares several.
CRITERIA: dict[str, Callable[[Any, Any, Setting], float]] = {
    "energy": energy,
    "residual-variance": unexplained,
    "stress": stress,
    # How far the 10 nearest in the embedding are near in the data as well; the other way round; and
    # the share of the 10 nearest that are kept, minus what chance would keep.
    "trustworthiness": lambda estimator, X, setting: _local(estimator, X, setting)[0],
    "continuity": lambda estimator, X, setting: _local(estimator, X, setting)[1],
    "lcmc": lambda estimator, X, setting: _local(estimator, X, setting, ranks=False)[2],
    "area": area,
    "visible-share": lambda estimator, *_: visible_share(estimator.embedding_),
    "stability": stability,
    "cross-validation": cross_validation,
}


def agreement(embeddings: list[Floats | None], setting: Setting) -> list[float]:
    """Return the mean similarity of each embedding to the ones before and after it.

    The similarity is the area under ``R_NX``. None, a missing embedding, agrees with none.
    """
    between = [
        -np.inf if a is None or b is None else _likeness(a, b, setting)
        for a, b in pairwise(embeddings)
    ]
    beside = [between[max(0, place - 1) : place + 1] for place in range(len(embeddings))]
    return [
        float(np.mean(alike)) if alike and embedding is not None else -np.inf
        for alike, embedding in zip(beside, embeddings, strict=True)
    ]


def _local(
    estimator: Any, X: Any, setting: Setting, *, ranks: bool = True
) -> tuple[float, float, float]:
    """Return trustworthiness, continuity and LCMC; without ``ranks`` only LCMC."""
    data, how = _data(estimator, X, setting)
    size = min(LOCAL_SIZE, len(estimator.embedding_) - 2)
    return local_quality(data, estimator.embedding_, size, ranks=ranks, **how)


def _data(estimator: Any, X: Any, setting: Setting) -> tuple[Any, dict[str, Any]]:
    """Return the points or distances to compare an embedding with, and how to compare them."""
    sources = setting.sample(len(estimator.embedding_), SOURCES)
    how = {"sources": sources, "n_jobs": estimator.n_jobs}
    if estimator.divergence == "precomputed":
        return X[sources], {**how, "metric": "precomputed"}
    return X, how


def _geodesics(estimator: Any, setting: Setting) -> tuple[Floats, dict[str, Any]]:
    """Return geodesics in the estimator's graph, and the points that they start from."""
    sources = setting.sample(len(estimator.embedding_), SOURCES)
    paths = shortest_paths(estimator.graph_, sources, n_jobs=estimator.n_jobs)
    return paths, {"sources": sources, "n_jobs": estimator.n_jobs}


def _likeness(a: Floats, b: Floats, setting: Setting) -> float:
    return coranking(a, b, sources=setting.sample(len(a), SOURCES)).auc_log_rnx


def _fitted_on(estimator: Any, X: Any, rows: Indices, y: Any) -> Any:
    with warnings.catch_warnings():
        # The fit to all points has given these warnings already.
        warnings.simplefilter("ignore")
        return clone(estimator).fit(_part(estimator, X, rows, rows), y)


def _part(estimator: Any, X: Any, rows: Indices, columns: Indices) -> Any:
    return X[np.ix_(rows, columns)] if estimator.divergence == "precomputed" else X[rows]


def _folds(codes: Indices, setting: Setting) -> list[tuple[Indices, Indices]]:
    """Split the labelled points, keeping the shares of classes."""
    known = np.flatnonzero(codes >= 0)
    if not hasattr(setting.cv, "split"):
        return folds(codes, int(setting.cv), rows=known, random_state=setting.random())
    with warnings.catch_warnings():
        # A class with fewer points than folds is missing in some of them.
        warnings.filterwarnings("ignore", message="The least populated class")
        found = list(setting.cv.split(known, codes[known]))
    return [(known[train], known[test]) for train, test in found]
