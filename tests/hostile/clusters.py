"""Hostile arrays and data frames of dask, on one cluster of threads for all cases of a process.

A case fits on the cluster and in this process. Both have to refuse, or to give the same places up
to rounding: for the fitted rows, and for new ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold import GaussianPatch, PatchEigenmaps, PatchIsomap, PatchLLE

from .data import NEW, ROWS, VALUES, sheet
from .relations import dask_client
from .representations import REFUSED, ROUNDED
from .soundness import SilentlyWrongError, numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    Random = np.random.Generator
    Array = np.ndarray[Any, Any]

# The share of the spread by which places may differ, or half of the digits of float32.
TOLERANCE = 1e-6

# Rows that are equally far, or that lie on a line: rounding decides about edges, or about places.
OPEN = ("lattice", "equidistant", "one-column")

DEGREE: dict[str, Any] = {"n_neighbors": 9, "random_state": 0}
SETTINGS: dict[str, Any] = {
    "isomap": lambda: PatchIsomap(landmarks=20, **DEGREE),
    "isomap-euclidean": lambda: PatchIsomap(
        landmarks=20, divergence="euclidean", scaling="classical", **DEGREE
    ),
    "isomap-plain": lambda: PatchIsomap(
        landmarks=20, patch=GaussianPatch(), lengths="divergence", scaling="classical", **DEGREE
    ),
    "eigenmaps": lambda: PatchEigenmaps(**DEGREE),
    "lle": lambda: PatchLLE(weights="entropic", **DEGREE),
}

# Those of the refused tables that a dask array can be made of.
NO_TABLES = (
    "text",
    "complex",
    "nan",
    "inf",
    "datetime",
    "one-dimensional",
    "three-dimensional",
    "no-rows",
    "one-row",
    "no-columns",
)


def _array(chunks: Any) -> Callable[[Array], Any]:
    def make(points: Array) -> Any:
        from dask import array

        return array.from_array(points, chunks=chunks(points))

    return make


def _chunks_of(rows: int) -> Callable[[Array], Any]:
    return _array(lambda points: (min(rows, max(len(points), 1)), *points.shape[1:]))


def _with_empty_chunks(points: Array) -> Any:
    from dask import array

    half = len(points) // 2
    parts = (points[:0], points[:half], points[half:half], points[half:])
    return array.concatenate([array.from_array(part, chunks=-1) for part in parts])


def _of_unknown_length(points: Array) -> Any:
    made = _chunks_of(20)(points)
    return made[made.sum(axis=1) > -np.inf]


def _frame(points: Array, names: Any = None) -> Any:
    import dask.dataframe as dd
    import pandas as pd

    names = names or [f"c{i}" for i in range(points.shape[1])]
    return dd.from_pandas(pd.DataFrame(points, columns=names), npartitions=3)


def _frame_with_dates(points: Array) -> Any:
    import pandas as pd

    return _frame(points).assign(day=pd.Timestamp("2020-01-01"))


FORMS: dict[str, Callable[[Array], Any]] = {
    "chunks-of-one": _chunks_of(1),
    "chunks-of-twenty": _chunks_of(20),
    "one-chunk": _chunks_of(10**6),
    "columns-apart": _array(lambda points: (25, 1)),
    "empty-chunks": _with_empty_chunks,
    "unknown-length": _of_unknown_length,
    "frame": _frame,
    "client": lambda points: points,  # a numpy array, and engine=client
}
BAD_FORMS: dict[str, Callable[[Array], Any]] = {
    "frame-with-dates": _frame_with_dates,
    "frame-with-text": lambda points: _frame(points).assign(word="a"),
}
# New rows that do not fit to the fitted ones.
BAD_NEW: dict[str, Callable[[Array], Any]] = {
    "new-fewer-columns": lambda new: new[:, 1:],
    "new-more-columns": lambda new: np.column_stack([new, new]),
    "new-nan": lambda new: np.where(np.arange(new.shape[1]) == 1, np.nan, new),
    "new-no-rows": lambda new: new[:0],
    "new-text": lambda new: new.astype(str),
}
ROUNDED_ARRAYS = tuple(name for name in ROUNDED if not name.startswith("pandas"))
VALUES_HERE = tuple(name for name in VALUES if name not in {"m-5000", "very-wide"})
NAMES = (*FORMS, *VALUES_HERE, *ROUNDED_ARRAYS, *NO_TABLES, *BAD_FORMS, *BAD_NEW)


def run(name: str, word: str, random: Random) -> None:
    """Run a case; raise SilentlyWrongError where the cluster gives what it should not."""
    client = dask_client()
    make = VALUES.get(name, sheet)
    points = make(random)
    X, new = points[:-NEW], points[-NEW:]
    model = SETTINGS[word]()
    if name in NO_TABLES or name in BAD_FORMS:
        bad = BAD_FORMS[name](X) if name in BAD_FORMS else _chunks_of(20)(REFUSED[name](X))
        model.fit(bad)
        raise SilentlyWrongError(f"fit accepts {name}, which it has to refuse")
    if name in BAD_NEW:
        model.fit(_chunks_of(20)(X))
        _numbers(model.transform(_chunks_of(3)(BAD_NEW[name](new))))
        raise SilentlyWrongError(f"transform accepts {name}, which it has to refuse")
    if name in ROUNDED:
        both = ROUNDED[name](points)
        X, new = both[:ROWS], both[ROWS:]
    wrap = FORMS.get(name, FORMS["chunks-of-twenty"])
    alone = _alone(SETTINGS[word](), X, new)
    if name == "client":
        model.set_params(engine=client)
    fitted = _numbers(model.fit(wrap(X)).embedding_)
    mapped = _numbers(model.transform(wrap(new)))
    if isinstance(alone, Exception):
        raise SilentlyWrongError(f"one process refuses it: {alone}")
    for step, one, other in zip(("fit", "transform"), alone, (fitted, mapped), strict=True):
        if one.shape != other.shape:
            raise SilentlyWrongError(
                f"{step}: the cluster has the shape {other.shape}, not {one.shape}"
            )
        gap = float(np.abs(one - other).max() / (np.ptp(alone[0]) or 1.0))
        if name not in OPEN and not gap <= max(TOLERANCE, np.finfo(one.dtype).eps ** 0.5):
            raise SilentlyWrongError(f"{step}: the cluster differs by {gap:.1e} of the spread")


def _alone(model: Any, X: Array, new: Array) -> Any:
    """Return the places of rows in this process, or why it refuses them."""
    try:
        return model.fit(X).embedding_, model.transform(new)
    except (ValueError, TypeError, MemoryError) as error:
        return error


def _numbers(places: Any) -> Array:
    """Return an embedding, computed."""
    computed = places.compute() if hasattr(places, "compute") else places
    return np.asarray(numbers(computed, "the cluster"))
