"""Which of equally near points are the neighbours: the k-d tree of scikit-learn before 1.0.

Columns of whole numbers are full of equal distances, and then the order in which a tree meets the
points decides. Tables of ELAP (2021) come out to the last digit with the order of that time and
not with today's: releases since 1.0 divide the nodes of the tree differently. Only rows whose k-th
and next distance are equal are searched here; for all others there is no choice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

if TYPE_CHECKING:
    from patchfold.base.types import Doubles, Indices


# The tree's own constants: points in a leaf, and the most columns that get a tree at all.
LEAF_SIZE = 30
MOST_COLUMNS = 15
# Distances as equal as this may be equal squares; the search below then compares the squares.
EQUAL = 1e-9


def neighbors(X: Doubles, k: int) -> Indices:
    """Return the ``k`` neighbours of every row, as ``kneighbors_graph`` of that time chose them.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    k : int
        Number of neighbours, at most two less than there are points.

    Returns
    -------
    ndarray of shape (n_samples, k)
        Indices, rising in every row.

    Examples
    --------
    >>> import numpy as np
    >>> neighbors(np.array([[0.0], [1.0], [3.0], [6.0], [10.0]]), 2)
    array([[1, 2],
           [0, 2],
           [0, 1],
           [2, 4],
           [2, 3]])
    """
    search = NearestNeighbors(n_neighbors=k + 1).fit(X)
    distances, indices = search.kneighbors()
    found = np.sort(indices[:, :k], axis=1)
    if X.shape[1] <= MOST_COLUMNS and k < len(X) // 2:  # else all distances were sorted
        tied = distances[:, k] - distances[:, k - 1] <= EQUAL * distances[:, k]
        if tied.any():
            tree = _Tree(X)
            for row in np.flatnonzero(tied):
                found[row] = np.sort(tree.others(int(row), k))
    return found.astype(np.intp)


class _Tree:
    """A tree of nodes 0, 1, 2 ...; the halves of node i are 2 i + 1 and 2 i + 2."""

    def __init__(self, X: Doubles) -> None:
        n = len(X)
        levels = int(np.log2(max(1, (n - 1) / LEAF_SIZE))) + 1
        self.order = np.arange(n)
        self.slices = [slice(0, n)]
        while len(self.slices) < 2**levels - 1:
            part = self.slices[(len(self.slices) - 1) // 2]
            middle = part.start + (part.stop - part.start) // 2
            self._divide(X, part, middle)
            self.slices += [slice(part.start, middle), slice(middle, part.stop)]
        self.X = X[self.order]
        self.low = np.array([self.X[part].min(axis=0) for part in self.slices])
        self.high = np.array([self.X[part].max(axis=0) for part in self.slices])
        self.place = np.argsort(self.order)

    def _divide(self, X: Doubles, part: slice, middle: int) -> None:
        """Quickselect along the widest column, the last value as the pivot."""
        order = self.order
        values = X[order[part]]
        column = X[:, np.argmax(values.max(axis=0) - values.min(axis=0))]
        left, right = part.start, part.stop - 1
        while True:
            pivot, last = left, column[order[right]]
            for i in range(left, right):
                if column[order[i]] < last:
                    order[i], order[pivot] = order[pivot], order[i]
                    pivot += 1
            order[pivot], order[right] = order[right], order[pivot]
            if pivot == middle:
                return
            left, right = (pivot + 1, right) if pivot < middle else (left, pivot - 1)

    def others(self, row: int, k: int) -> Indices:
        """Return the k nearest of the other points: k + 1 nearest, without the point itself."""
        x = self.X[self.place[row]]
        squares = _sum_of_squares(x - self.X)
        outside = np.maximum(self.low - x, 0) + np.maximum(x - self.high, 0)
        bounds = _sum_of_squares(outside)
        heap = [(np.inf, -1)] * (k + 1)
        stack = [0]
        while stack:
            node = stack.pop()
            if bounds[node] > heap[0][0]:
                continue
            halves = [2 * node + 1, 2 * node + 2]
            if halves[0] < len(self.slices):
                # The nearer half is on top of the stack, the first one of two as near.
                stack += halves[::-1] if bounds[halves[0]] <= bounds[halves[1]] else halves
                continue
            part = self.slices[node]
            for i in part.start + np.flatnonzero(squares[part] < heap[0][0]):
                if squares[i] < heap[0][0]:
                    _replace_largest(heap, (squares[i], i))
        found = np.array([i for _, i in heap])
        own = np.flatnonzero(found == self.place[row])
        # The point itself is missing only where all k + 1 are duplicates of it. Then the first one
        # was left out after sorting, and sorting more than three equals put the last one first.
        away = own[0] if len(own) else (k if k >= 3 else 0)
        return np.asarray(self.order[np.delete(found, away)])


def _replace_largest(heap: list[tuple[Any, Any]], entry: tuple[Any, Any]) -> None:
    """Put an entry in place of the heap's largest one, which stands first."""
    i, size = 0, len(heap)
    while (child := 2 * i + 1) < size:
        if child + 1 < size and heap[child + 1][0] > heap[child][0]:
            child += 1
        if heap[child][0] <= entry[0]:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = entry


def _sum_of_squares(differences: Doubles) -> Doubles:
    """Add column after column: another order would round differently and undo equalities."""
    total = np.zeros(len(differences))
    for column in differences.T:
        total += column * column
    return total
