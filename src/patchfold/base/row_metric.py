"""Cosine and correlation: the Euclidean distance of rows that are normalised, or centred, first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from patchfold.base.threads import map_blocks
from patchfold.base.types import RowMetricName
from patchfold.base.validation import check_choice, is_sparse

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices, Mask


NAMES = get_args(RowMetricName)


def check_row_metric(metric: Any) -> None:
    """Refuse a metric that has no name here, and say how to use others."""
    if isinstance(metric, str) and metric in NAMES:
        return
    if isinstance(metric, str) and metric == "precomputed":
        raise ValueError("metric='precomputed' is not known; use divergence='precomputed'.")
    try:
        check_choice("metric", metric, NAMES)
    except ValueError as error:
        raise ValueError(
            f"{error} Patches need one of these. For Isomap without patches by another metric, use "
            "divergence='euclidean' with knn=KNeighborsTransformer(metric=...), or give all "
            "distances with divergence='precomputed'."
        ) from None


def in_metric(X: Any, metric: RowMetricName, n_jobs: int | None = None) -> Any:
    """Return the rows whose Euclidean distance is ``sqrt(2 d)`` for the distance ``d`` of a metric.

    For ``"cosine"``, one minus the cosine, these are rows of length one. For ``"correlation"``, one
    minus Pearson's correlation, rows lose their mean before. Rows that are exact multiples of each
    other become equal.

    Examples
    --------
    >>> in_metric(np.array([[3.0, 4.0], [6.0, 8.0]]), "cosine")
    array([[0.6, 0.8],
           [0.6, 0.8]])
    """
    if metric == "euclidean":
        return X
    if is_sparse(X):
        return _sparse_directions(X, metric)

    def directions(block: slice) -> tuple[Floats, Mask]:
        rows = X[block].astype(np.float64)
        lost = (rows == (rows[:, :1] if metric == "correlation" else 0.0)).all(axis=1)
        # By powers of two, which change no digit: sums and squares then do not overflow.
        rows = np.ldexp(rows, -np.frexp(np.abs(rows).max(axis=1))[1][:, None])
        if metric == "correlation":
            # Differences are exact between near values, of which a sum would lose what differs.
            rows -= rows[:, :1]
            # m times the row without its mean: exact for whole numbers, as a mean is not.
            rows = rows.shape[1] * rows - rows.sum(axis=1, keepdims=True)
        rows[lost] = 1.0
        # The quotient of a multiple is the same number; its length would be rounded differently.
        rows /= np.abs(rows).max(axis=1, keepdims=True)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows.astype(X.dtype), lost

    parts = map_blocks(directions, len(X), 4 * 8 * X.shape[1], n_jobs)
    _refuse_lost(np.flatnonzero(np.concatenate([part[1] for part in parts])), metric)
    return np.concatenate([part[0] for part in parts])


def _sparse_directions(X: Any, metric: RowMetricName) -> Any:
    """Do the same for a sparse matrix in CSR without stored zeros, which stays sparse."""
    if metric == "correlation":
        raise ValueError(
            "metric='correlation' takes the mean off every row, which would fill a sparse X; use "
            "metric='cosine', or X.toarray() if it fits into memory."
        )
    counts = np.diff(X.indptr)
    _refuse_lost(np.flatnonzero(counts == 0), metric)
    rows = np.repeat(np.arange(X.shape[0]), counts)
    values = X.data.astype(np.float64)
    values /= np.maximum.reduceat(np.abs(values), X.indptr[:-1])[rows]
    values /= np.sqrt(np.bincount(rows, values * values))[rows]
    changed = X.copy()
    changed.data = values.astype(X.dtype)
    return changed


def _refuse_lost(lost: Indices, metric: RowMetricName) -> None:
    """Refuse rows without a direction under the metric."""
    if len(lost):
        which = "only zeros" if metric == "cosine" else "one value only"
        more = f", as {len(lost) - 1} other rows do" if len(lost) > 1 else ""
        raise ValueError(
            f"row {lost[0]} of X has {which}{more}, and so no direction, which "
            f"metric={metric!r} compares; drop such rows, or use metric='euclidean'."
        )
