"""Given distances in place of points: ``divergence="precomputed"``, dense or a sparse graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from patchfold import graph
from patchfold._validation import is_sparse
from patchfold.neighborhoods import Neighborhoods

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.intp]


def at_zero(X: Any) -> Indices:
    """Return the first column with an entry of zero in every row, -1 where there is none."""
    if is_sparse(X):
        zero = csr_array(X)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(zero.indptr))[zero.data == 0]
        columns = zero.indices[zero.data == 0]
    else:
        rows, columns = np.nonzero(X == 0)
    same = np.full(X.shape[0], X.shape[1], dtype=np.intp)
    np.minimum.at(same, rows, columns)
    return np.where(same < X.shape[1], same, -1)


def given_neighbors(X: Any, k: int | None, radius: Any, *, own: bool) -> Neighborhoods:
    """Neighbours by given distances: the entries of a sparse graph, the k least, or a radius."""
    n = X.shape[0]
    if not is_sparse(X) and k is not None:
        return graph.nearest_by_value(X, k, own=own)
    if is_sparse(X):
        X = csr_array(X)
        rows, columns, values = np.repeat(np.arange(n), np.diff(X.indptr)), X.indices, X.data
    else:
        rows, columns = np.nonzero(radius >= X)
        values = X[rows, columns]
    keep = np.flatnonzero((columns != rows) | (not own))
    return Neighborhoods.from_edges(rows[keep], columns[keep].astype(np.intp), values[keep], n)


def check_distances(X: Any, *, square: bool) -> None:
    if square and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"divergence='precomputed' needs a square matrix of distances, X has shape {X.shape}."
        )
    values = X.data if is_sparse(X) else X
    if values.size and values.min() < 0:
        raise ValueError(
            f"divergence='precomputed' needs distances >= 0, X has {values.min():.3g}."
        )
