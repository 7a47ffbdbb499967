"""The neighbours of every row as one compressed list of edges.

Rows may have different numbers of neighbours. Every later step reads neighbours from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from patchfold.base.validation import check_count

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices, Mask


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """The neighbours of every row, nearest first, equal distances by index.

    Parameters
    ----------
    indptr : ndarray of shape (n_rows + 1,)
        Row i has the neighbours ``indices[indptr[i]:indptr[i + 1]]``.
    indices : ndarray of shape (n_edges,)
        The neighbours.
    distances : ndarray of shape (n_edges,)
        Their distances, in the floating point type of the data.

    Examples
    --------
    >>> from patchfold.neighbors import find_neighbors
    >>> found = find_neighbors([[0.0], [1.0], [3.0]], n_neighbors=2)
    >>> found.indices
    array([1, 2, 0, 2, 1, 0])
    >>> found.nearest(1).distances
    array([1., 1., 2.])
    """

    indptr: Indices
    indices: Indices
    distances: Floats

    def __post_init__(self) -> None:
        if not len(self.indices) == len(self.distances) == self.indptr[-1]:
            raise ValueError(
                f"Neighborhoods have {len(self.indices)} indices, {len(self.distances)} distances "
                f"and an indptr that ends at {self.indptr[-1]}; all three must agree."
            )

    @classmethod
    def from_edges(
        cls, rows: Indices, columns: Indices, distances: Floats, n_rows: int
    ) -> Neighborhoods:
        """Sort edges into neighbourhoods: by row, then nearest first, then by index."""
        order = nearest_first(rows, columns, distances)
        starts = edge_starts(np.bincount(rows, minlength=n_rows))
        return cls(starts, columns[order].astype(np.intp, copy=False), distances[order])

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def degrees(self) -> Indices:
        """How many neighbours each row has, shape (n_rows,)."""
        return np.diff(self.indptr)

    @property
    def sources(self) -> Indices:
        """The row each edge starts from, shape (n_edges,); as large as the rest, and not kept."""
        return np.repeat(np.arange(len(self), dtype=np.intp), self.degrees)

    def __getitem__(self, rows: Indices) -> Neighborhoods:
        """Return the neighbourhoods of some rows, given by their indices."""
        degrees = self.degrees[rows]
        starts = edge_starts(degrees)
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], degrees)
        edges = np.repeat(self.indptr[rows], degrees) + within
        return Neighborhoods(starts, self.indices[edges], self.distances[edges])

    def matrix(self, n_columns: int) -> csr_array:
        """Return the distances as a sparse matrix of shape (n_rows, n_columns)."""
        return csr_array((self.distances, self.indices, self.indptr), (len(self), n_columns))

    def nearest(self, k: int | Indices) -> Neighborhoods:
        """Keep at most the ``k`` nearest neighbours of each row; ``k`` may differ between rows."""
        if not isinstance(k, np.ndarray):
            k = check_count("k", k)
        if len(self) == 0 or (self.degrees <= k).all():
            return self
        keep = self.among_nearest(k)
        kept = edge_starts(np.minimum(self.degrees, k))
        return Neighborhoods(kept, self.indices[keep], self.distances[keep])

    def among_nearest(self, k: int | Indices) -> Mask:
        """Tell which edges lead to one of the ``k`` nearest neighbours of a row."""
        stops = np.repeat(self.indptr[:-1] + k, self.degrees)
        return np.asarray(np.arange(len(self.indices)) < stops)


def edge_starts(degrees: Indices) -> Indices:
    """Return the ``indptr`` of rows with these numbers of neighbours.

    Examples
    --------
    >>> edge_starts([2, 0, 1])
    array([0, 2, 2, 3])
    """
    return np.concatenate(([0], np.cumsum(degrees))).astype(np.intp)


def nearest_first(rows: Indices, columns: Indices, distances: Floats) -> Indices:
    """Return the order of edges by row, then by distance, then by column.

    Examples
    --------
    >>> nearest_first(np.array([0, 0, 1]), np.array([2, 1, 0]), np.array([5.0, 5.0, 1.0]))
    array([1, 0, 2])
    """
    degrees = np.bincount(rows)
    shape = len(degrees), int(degrees.max(initial=0))
    if shape[0] * shape[1] > 2 * len(rows) or (rows[1:] < rows[:-1]).any():
        return np.lexsort((columns, distances, rows))
    # Rows of nearly equal length, already in order: many small sorts are much quicker.
    filled = np.arange(shape[1]) < degrees[:, None]
    by_distance = np.full(shape, np.inf, dtype=np.result_type(distances, np.float32))
    by_column = np.full(shape, np.iinfo(np.intp).max, dtype=np.intp)
    by_distance[filled], by_column[filled] = distances, columns
    order = np.lexsort((by_column, by_distance), axis=1) + edge_starts(degrees)[:-1, None]
    return np.asarray(order[filled], dtype=np.intp)
