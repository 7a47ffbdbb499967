"""Hostile distances, for ``divergence="precomputed"``, and hostile labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from .data import ROWS, Table, classes, sheet

if TYPE_CHECKING:
    from collections.abc import Callable

    Random = np.random.Generator
    Points = np.ndarray[Any, Any]


def _changed(row: int, column: int, value: float) -> Callable[[Points], Points]:
    def change(D: Points) -> Points:
        D = D.copy()
        D[row, column] = value
        return D

    return change


def _halves(D: Points) -> Any:
    """Return a sparse graph of two parts without an edge between them."""
    side = np.arange(len(D)) % 2
    return sparse.csr_array(np.where(side[:, None] == side, D, 0))


def _nearest(D: Points, k: int = 8) -> Any:
    limit = np.sort(D, axis=1)[:, [k]]
    return sparse.csr_array(np.where(limit >= D, D, 0))


def _explicit_zeros(D: Points) -> Any:
    graph = _nearest(D).tocsr()
    graph.data[::5] = 0.0
    return graph


def _doubled_entries(D: Points) -> Any:
    graph = _nearest(D).tocoo()
    twice = [np.concatenate([part, part]) for part in graph.coords]
    return sparse.coo_array((np.concatenate([graph.data] * 2), twice), shape=graph.shape)


# What becomes of distances: a result, or, where True stands, a refusal.
DISTANCES: dict[str, tuple[Callable[[Points], Any], bool]] = {
    "as-they-are": (lambda D: D, False),
    "float32": (lambda D: D.astype(np.float32), False),
    "integers": (lambda D: np.rint(100 * D).astype(np.int64), False),
    "asymmetric": (lambda D: D * np.linspace(0.5, 2, len(D))[:, None], False),
    "no-triangles": (lambda D: D**3, False),
    "many-zeros": (lambda D: np.where(np.median(D) > D, 0.0, D), False),
    "all-zero": (np.zeros_like, False),
    "all-equal": (lambda D: 1.0 - np.eye(len(D)), False),
    "positive-diagonal": (lambda D: D + np.eye(len(D)), False),
    "tiny": (lambda D: D * 1e-300, False),
    "huge": (lambda D: D * 1e300, False),
    "negative": (_changed(2, 3, -1.0), True),
    "nan": (_changed(2, 3, np.nan), True),
    "inf": (_changed(2, 3, np.inf), True),
    "not-square": (lambda D: D[:, :-1], True),
    "one": (lambda D: D[:1, :1], True),
    "two": (lambda D: D[:2, :2], False),
    "sparse": (_nearest, False),
    "sparse-float32": (lambda D: _nearest(D).astype(np.float32), False),
    "sparse-coo": (lambda D: _nearest(D).tocoo(), False),
    "sparse-matrix": (lambda D: sparse.csr_matrix(_nearest(D)), False),
    "sparse-explicit-zeros": (_explicit_zeros, False),
    "sparse-doubled-entries": (_doubled_entries, False),
    "sparse-unconnected": (_halves, False),
    "sparse-empty": (lambda D: sparse.csr_array(D.shape), False),
    "sparse-star": (lambda D: sparse.csr_array(np.where(np.arange(len(D)) == 0, D, 0)), False),
    "sparse-negative": (lambda D: _nearest(D) * -1.0, True),
    "sparse-nan": (lambda D: _nearest(D) * np.nan, True),
    "sparse-inf": (lambda D: _nearest(D) * np.inf, True),
    "sparse-not-square": (lambda D: _nearest(D)[:, :-1], True),
}


def distances(name: str, random: Random) -> Table:
    """Return given distances, and those of new points in the form they have."""
    change, refused = DISTANCES[name]
    points = sheet(random)
    X, new = points[:ROWS], points[ROWS:]
    D = change(cdist(X, X))
    to_fitted = cdist(new, X)[:, : D.shape[1]]
    return Table(D, classes(D.shape[0]), to_fitted, refused=refused)


def _mixed(y: Points) -> Any:
    return [f"c{label}" if i % 2 else int(label) for i, label in enumerate(y)]


def _as_objects(y: Points, missing: Any) -> Any:
    labels = np.array([f"c{label}" for label in y], dtype=object)
    labels[::7] = missing
    return labels


def _categorical(y: Points) -> Any:
    import pandas as pd

    return pd.Series([f"c{label}" for label in y], dtype="category")


def _nullable(y: Points) -> Any:
    import pandas as pd

    labels = pd.Series(y, dtype="Int64")
    labels[::7] = pd.NA
    return labels


def _missing(y: Points) -> Points:
    return np.where(np.arange(len(y)) % 7 == 0, -1, y)


def _masked(y: Points) -> Any:
    return np.ma.MaskedArray(y, np.arange(len(y)) % 7 == 0)


# Labels that mean the classes, or the classes with every seventh missing: bit for bit the same.
KNOWN: dict[str, Callable[[Points], Any]] = {
    "strings": lambda y: np.array([f"c{label}" for label in y]),
    "list": lambda y: y.tolist(),
    "floats": lambda y: y.astype(float),
    "int8": lambda y: y.astype(np.int8),
    "huge-integers": lambda y: [10**30 + int(label) for label in y],
    "column": lambda y: y[:, None],
    "categorical": _categorical,
}
PARTLY: dict[str, Callable[[Points], Any]] = {
    "minus-one": lambda y: y,
    "nan": lambda y: np.where(y < 0, np.nan, y.astype(float)),
    "none": lambda y: _as_objects(y, None),
    "nan-in-text": lambda y: _as_objects(y, np.nan),
    "masked": _masked,
    "nullable": _nullable,
}
NO_LABELS: dict[str, Callable[[Points], Any]] = {
    "no-y": lambda y: None,
    "mixed": _mixed,
    "one-class": np.zeros_like,
    "all-missing": lambda y: np.full(len(y), -1),
    "identifiers": lambda y: np.arange(len(y)),
    "infinite": lambda y: np.where(y == 1, np.inf, y.astype(float)),
    "too-short": lambda y: y[:-1],
    "too-long": lambda y: np.append(y, 0),
    "empty": lambda y: y[:0],
    "two-columns": lambda y: np.column_stack([y, y]),
    "lists": lambda y: [[int(label)] * (1 + i % 2) for i, label in enumerate(y)],
    "a-number": lambda y: 3,
    "a-set": lambda y: {1, 2, 3},
    "complex": lambda y: y + 1j,
}
# A result that is sound by itself.
ODD: dict[str, Callable[[Points], Any]] = {
    "a-class-of-one": lambda y: np.where(np.arange(len(y)) == 5, 9, y),
    "two-known": lambda y: np.where(np.arange(len(y)) < 2, y, -1),
    "pairs": lambda y: np.arange(len(y)) // 2,
    "booleans": lambda y: y > 0,
    "continuous": lambda y: y + np.linspace(0.1, 0.9, len(y)),
    "empty-strings": lambda y: np.where(y == 0, "", "a"),
    "dates": lambda y: y.astype("datetime64[D]"),
}
LABELS = (*KNOWN, *(f"partly-{name}" for name in PARTLY), *NO_LABELS, *ODD)


def labelled(name: str, random: Random) -> tuple[Table, Any]:
    """Return a table with hostile labels, and the plain labels they have to be equal to."""
    points, y = sheet(random), classes(ROWS)
    X, new = points[:ROWS], points[ROWS:]
    if name in KNOWN:
        return Table(X, KNOWN[name](y), new), y
    if name in NO_LABELS:
        return Table(X, NO_LABELS[name](y), new, refused=True), None
    if name in ODD:
        return Table(X, ODD[name](y), new), None
    return Table(X, PARTLY[name.removeprefix("partly-")](_missing(y)), new), _missing(y)
