"""Duplicate rows: find them, keep one of each, and map results back to all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from patchfold.base.validation import is_sparse
from patchfold.neighbors.neighborhoods import Neighborhoods, edge_starts
from patchfold.neighbors.protocol import moved

if TYPE_CHECKING:
    from patchfold.base.types import Indices
    from patchfold.neighbors.fitted_rows import RowTable
    from patchfold.neighbors.protocol import NeighborSearch


# Columns of at most FEW_VALUES different values are answers, categories or indicators. So many
# distances between their rows are equal that the order of rows would decide who is near whom.
FEW_VALUES = 10

# Rows that mostly show that a column has more.
LOOKED_AT = 200


def has_few_values(X: Any) -> bool:
    """Tell whether no column has more than FEW_VALUES values, nor a sparse table as a whole.

    Tables of FEW_VALUES rows or less do not count: they cannot have more.

    Examples
    --------
    >>> has_few_values(np.eye(30)), has_few_values(np.arange(30.0)[:, None])
    (True, False)
    """
    if X.shape[0] <= FEW_VALUES:
        return False
    if is_sparse(X):
        return len(np.unique(X.data)) <= FEW_VALUES
    return all(
        (np.count_nonzero(np.diff(np.sort(part, axis=0), axis=0), axis=0) < FEW_VALUES).all()
        for part in (X[:LOOKED_AT], X)
    )


@dataclass(frozen=True, eq=False)
class Copies:
    """Which rows are copies of which."""

    first: Indices  # the first row of every distinct point; rising, or in an order of values
    point: Indices  # the distinct point that every row is

    @classmethod
    def of(cls, rows: RowTable, codes: Any = None, *, by_value: bool = False) -> Copies:
        """Find the copies among the rows of a table, and of equal labels where there are some.

        ``by_value`` puts the points in an order that depends on their values and labels alone, so
        that the order of rows does not count.

        Examples
        --------
        >>> from patchfold.neighbors.fitted_rows import RowTable
        >>> rows = RowTable(np.array([[0.0], [1.0], [0.0], [0.0]]))
        >>> Copies.of(rows).point
        array([0, 1, 0, 0])
        >>> Copies.of(rows, np.array([0, 0, 0, 1])).first
        array([0, 1, 3])
        """
        same = rows.first()
        if codes is not None:
            _, labels = np.unique(codes, return_inverse=True)
            same = same * (labels.max(initial=0) + 1) + labels
        _, first, point = np.unique(same, return_index=True, return_inverse=True)
        order = np.argsort(first)
        if by_value:
            of_label = np.zeros_like(first) if codes is None else np.asarray(codes)[first]
            order = np.lexsort((of_label, rows.keys()[first]))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(first[order], rank[point])

    def of_rows(self, near: Neighborhoods) -> Neighborhoods:
        """Return the neighbours of every row, by their first rows, from those of the points."""
        return self.named(near)[self.point]

    def named(self, near: Neighborhoods) -> Neighborhoods:
        """Return the same neighbours by their first rows."""
        return Neighborhoods(near.indptr, self.first[near.indices], near.distances)

    def numbered(self, near: Neighborhoods) -> Neighborhoods:
        """Return the same neighbours by the numbers of the points."""
        return Neighborhoods(near.indptr, self.point[near.indices], near.distances)

    def to_first(self, dtype: Any) -> Neighborhoods:
        """Return an edge of length zero from every copy to the first row of its point."""
        later = self.first[self.point] != np.arange(len(self.point))
        zeros = np.zeros(int(later.sum()), dtype=dtype)
        return Neighborhoods(edge_starts(later), self.first[self.point[later]], zeros)


class DistinctNeighbors:
    """A search, built on the distinct points, that names each by the first of its rows.

    Examples
    --------
    >>> from patchfold.neighbors import ExactNeighbors
    >>> from patchfold.neighbors.fitted_rows import RowTable
    >>> X = np.array([[0.0], [0.0], [1.0], [3.0]])
    >>> copies = Copies.of(RowTable(X))
    >>> search = DistinctNeighbors(ExactNeighbors(2).build(X[copies.first]), copies)
    >>> search.query(np.array([[0.2]])).indices
    array([0, 2])
    """

    def __init__(self, search: NeighborSearch, copies: Copies) -> None:
        self.search = search
        self.copies = copies

    def build(self, X: Any) -> Self:
        """Prepare the search on other places of the same rows and return it."""
        return type(self)(self.search.build(X[self.copies.first]), self.copies)

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the rows, or of new points ``X``."""
        near = self.search.query(X)
        return self.copies.of_rows(near) if X is None else self.copies.named(near)

    def on(self, device: str | None) -> Self:
        """Return the same search on a device of torch, or in threads."""
        return type(self)(moved(self.search, device), self.copies)
