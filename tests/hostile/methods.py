"""What else a fitted estimator can do, on hostile tables, with hostile arguments, in two ways.

A case is called ``method:what``. What is a table to fit (``VALUES``), an argument for a method of a
plain fit (the forms of ``representations.py``, points far away, other columns), or one of
``RELATIONS`` between two calls.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold import PatchOutliers

from .data import NEW, ROWS, VALUES, sheet
from .representations import COLUMNS, FAR, REFUSED, SAME
from .settings import build
from .soundness import length, must, numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    Random = np.random.Generator
    Array = np.ndarray[Any, Any]

ARGUMENTS = (*SAME, *REFUSED, *FAR, *COLUMNS)
TABLES = (*VALUES, "float32")
RELATIONS = ("batches", "n-jobs", "permuted-rows", "pickled", "called-twice")

# Shares of the largest number by which sums of rows in another order may differ, and by which a
# regression of scikit-learn's may, which rounds by the number of rows.
REORDERED, ROUNDING = 1e-3, 1e-9

# Features that come back may leave the range of the fitted ones by BEYOND times its width, and by
# SHARE of the largest number.
BEYOND, SHARE = 3.0, 1e-4


# Of wider tables, loadings are asked for at fitted points only: at new ones they take two maps per
# feature, as is documented, which is minutes.
MANY_FEATURES = 1000

# Ask for the fitted points themselves.
OWN: Any = object()


def _numbers(result: Any, shape: tuple[int, ...], method: str) -> Array:
    values = numbers(result, method)
    must(values.shape == shape, f"{method} gives the shape {values.shape}, not {shape}")
    return np.asarray(values)


# ------------------------------------------------------------------- a method, and what it promises


def _inverse(model: Any, X: Array, places: Any = OWN) -> Array:
    given = model.embedding_ if places is OWN else places
    back = model.inverse_transform(given)
    back = _numbers(back, (length(given), X.shape[1]), "inverse_transform").astype(np.float64)
    low, high = (f(X.astype(np.float64), axis=0) for f in (np.min, np.max))
    with np.errstate(over="ignore"):
        slack = BEYOND * (high / 2 - low / 2) + SHARE * np.maximum(np.abs(low), np.abs(high))
        inside = (back / 2 >= low / 2 - slack) & (back / 2 <= high / 2 + slack)
    must(inside.all(), "inverse_transform leaves the range of the features")
    return back


def _loadings(model: Any, X: Array, points: Any = OWN) -> Array:
    found = model.local_loadings() if points is OWN else model.local_loadings(points)
    n = len(X) if points is OWN or points is None else length(points)
    return _numbers(found, (n, model.n_components, X.shape[1]), "local_loadings")


def _scores(model: Any, X: Array, points: Any = OWN) -> Array:
    points = X if points is OWN else points
    scores = model.score_samples(points)
    scores = _numbers(scores, (length(points),), "score_samples")
    shares = _numbers(model.off_manifold(points), scores.shape, "off_manifold")
    must((scores <= 0).all(), "score_samples gives the logarithm of more than 1")
    must(((shares > 0) & (shares <= 1)).all(), "off_manifold gives no p-values")
    return scores


def _outliers(model: Any, X: Array, points: Any = OWN) -> Array:
    points = X if points is OWN else points
    scores = model.score_samples(points)
    scores = _numbers(scores, (length(points),), "score_samples")
    found = model.predict(points)
    must(set(found.tolist()) <= {-1, 1}, "predict gives something else than 1 and -1")
    must(((scores < model.offset_) == (found == -1)).all(), "predict contradicts score_samples")
    return scores


def _grown(model: Any, X: Array, points: Any = OWN) -> Array:
    points = X[len(X) // 2 :] if points is OWN else points
    before = model.embedding_.copy()
    model.partial_fit(points)
    shape = (len(before) + length(points), before.shape[1])
    places = _numbers(model.embedding_, shape, "partial_fit")
    must(np.array_equal(places[: len(before)], before), "partial_fit moves fitted points")
    must(np.isfinite(model.drift_) and model.drift_ >= 0, f"drift_ is {model.drift_}")
    return places


def _trust(model: Any, X: Array, points: Any = OWN) -> Array:
    trust = _numbers(model.trust(min(15, max(1, len(X) - 2))), (len(X),), "trust")
    must(((trust >= 0) & (trust <= 1)).all(), "trust is not between 0 and 1")
    return trust


def _bridges(model: Any, X: Array, points: Any = OWN) -> Array:
    edges = model.bridges(0.0)
    must((edges.source < edges.target).all(), "bridges are not from a lower to a higher point")
    must((edges.target < len(X)).all(), "bridges lead to points that are not there")
    for name in ("score", "divergence"):
        _numbers(getattr(edges, name), (len(edges),), name)
    must(((edges.shared >= 0) & (edges.shared <= 10)).all(), "shared is not between 0 and 10")
    must((np.diff(edges.score) <= 0).all(), "bridges are not in order")
    must(not np.isnan(edges.detour).any() and (edges.detour >= 0).all(), "detour is no length")
    must(len(edges.to_frame()) == len(edges), "to_frame leaves bridges out")
    return np.sort(edges.score)


METHODS: dict[str, Callable[..., Array]] = {
    "inverse_transform": _inverse,
    "local_loadings": _loadings,
    "score_samples": _scores,
    "outliers": _outliers,
    "partial_fit": _grown,
    "trust": _trust,
    "bridges": _bridges,
}
# Those that take points, or places of the embedding.
ASKED = ("inverse_transform", "local_loadings", "score_samples", "outliers", "partial_fit")
NAMES = (
    *(f"{method}:{table}" for table in TABLES for method in METHODS),
    *(f"{method}:{argument}" for argument in ARGUMENTS for method in ASKED),
    *(f"{method}:{relation}" for relation in RELATIONS for method in METHODS),
)


def suited(name: str, word: str) -> str:
    """Return a setting that has the method, the given one where it has."""
    method, what = name.split(":")
    parts = word.split(".")
    parts[4] = "none"
    if method == "bridges":
        parts[0] = "space"
        parts[1] = parts[1].replace("euclidean", "kl")
    elif method == "partial_fit":
        parts[0] = "isomap"
    elif parts[0] == "space":
        parts[0] = "eigenmaps"
    if parts[0] == "tsne" and what == "permuted-rows":
        parts[0] = "isomap"  # its optimiser takes rounding errors to other places
    if what == "permuted-rows":
        parts[6] = "exact"  # an approximate search depends on the order
        parts[3] = "pruned"
    parts[2] = parts[2] if parts[1] != "euclidean" else "-"
    parts[2] = "recommended" if parts[1] != "euclidean" and parts[2] == "-" else parts[2]
    parts[5] = "-" if parts[0] == "space" else "nystrom" if parts[5] == "-" else parts[5]
    return ".".join(parts)


def run(name: str, word: str, random: Random) -> None:
    """Run a case; raise SilentlyWrongError where a result is not sound."""
    method, what = name.split(":")
    if what in TABLES:
        make = VALUES.get(what, lambda random: sheet(random).astype(np.float32))
        points = make(random)
        X, new = points[:-NEW], points[-NEW:]
        model = fitted(method, word, X)
        METHODS[method](model, X)
        many = method == "local_loadings" and X.shape[1] > MANY_FEATURES
        if method in ASKED and not many:
            asked = model.transform(new) if method == "inverse_transform" else new
            METHODS[method](model, X, asked)
        return
    points = sheet(random, ROWS + 20)
    X, new = points[:ROWS], points[ROWS:]
    if what in RELATIONS:
        _compare(what, method, word, X, new)
    else:
        _ask(what, method, fitted(method, word, X), X, new)


def fitted(method: str, word: str, X: Array) -> Any:
    """Return an estimator with the method, fitted; for ``partial_fit`` to the half of the rows."""
    if method == "outliers":
        search = word.split(".")[6]
        return PatchOutliers(n_neighbors=9, knn="auto" if search == "given" else search).fit(X)
    if method == "partial_fit":
        return build(word, X[: len(X) // 2]).partial_fit(X[: len(X) // 2])
    return build(word, X).fit(X)


def _ask(what: str, method: str, model: Any, X: Array, new: Array) -> None:
    """Ask for hostile points, or hostile places."""
    if method == "inverse_transform":
        new = model.transform(new)
    if what in FAR:
        far = new[:5] + FAR[what] * np.eye(5, new.shape[1])
        METHODS[method](model, X, far)
        return
    if what in SAME:
        again = pickle.loads(pickle.dumps(model))
        as_given = METHODS[method](model, X, SAME[what](new))
        must(
            np.array_equal(METHODS[method](again, X, new), as_given),
            f"{method} of {what} is not that of a plain array",
        )
        return
    given = COLUMNS[what](new) if what in COLUMNS else REFUSED[what](new)
    METHODS[method](model, X, given)
    fine = what == "one-row" or (method, what) == ("local_loadings", "none")
    must(fine, f"{method} accepts what it has to refuse")


def _compare(what: str, method: str, word: str, X: Array, new: Array) -> None:
    model = fitted(method, word, X)
    asked = model.transform(new) if method == "inverse_transform" else new
    allowed = 0.0
    if what == "permuted-rows":
        order = np.random.default_rng(0).permutation(len(X))
        if method == "partial_fit":
            order = np.arange(len(X))
            asked = asked[::-1]
        other = fitted(method, word, X[order])
        first, second = METHODS[method](model, X), METHODS[method](other, X[order])
        if method == "partial_fit":
            first, second = first[:0], second[:0]
        elif method == "local_loadings":  # signs of components are free
            first, second = np.abs(first[order]), np.abs(second)
        elif method != "bridges":
            first = first[order]
        allowed = REORDERED
    elif what == "n-jobs":
        other = fitted(method, word, X)
        other.set_params(n_jobs=2)
        first, second = METHODS[method](model, X, asked), METHODS[method](other, X, asked)
    elif what == "batches" and method in ASKED and method != "partial_fit":
        first = METHODS[method](model, X, asked)
        second = np.concatenate([METHODS[method](model, X, part) for part in np.split(asked, 4)])
        allowed = ROUNDING if word.split(".")[5] in {"krr", "linear"} else 0.0
    else:
        other = pickle.loads(pickle.dumps(model)) if what == "pickled" else fitted(method, word, X)
        first, second = METHODS[method](model, X, asked), METHODS[method](other, X, asked)
    gap = float(np.abs(first - second).max(initial=0.0)) / (
        float(np.abs(first).max(initial=0.0)) or 1.0
    )
    must(gap <= allowed, f"{what} changes {method} by {gap:.1e} of the largest number")
