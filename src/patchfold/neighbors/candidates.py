"""Candidates for neighbours, from a k-d tree or a scan of all pairs.

Both come with a proof that no neighbour is missing. The points module computes exact distances.

The searched points hold both, and both refer to them weakly. So large arrays go with the last
reference, and do not wait for the garbage collector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np
from sklearn.neighbors import KDTree

from patchfold.base.threads import block_slices, map_blocks
from patchfold.base.validation import is_sparse

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.neighbors.points import SearchedPoints


# Candidates beyond k that a tree is asked for: they prove that no neighbour is missing.
TREE_SPARE = 8

# Rows with more than k + CROWD candidates are searched again in float64, or without a limit.
CROWD = 64

# Columns a group: the least values of interleaved groups bound the k-th least of a row.
GROUP = 32

# Rounding of a squared distance in a search, in units of (terms + 8) eps (|x| + |y|)^2. The bound
# is 1/2 for centring, |y|^2 - 2 x.y + |x|^2 and their sums together; the rest is a margin.
ROUNDING_UNITS = 1.0

# A thread takes about a thousand rows through the tree at a time, so that all have work.
TREE_ROW_BYTES = 2**15


class Tree:
    """Candidates from a k-d tree. It takes differences, so an offset of the data is harmless.

    ``nearest`` gives the degree of every row, its candidates and a bound of the ``count``-th
    distance. All points up to the bound are among the candidates, or the degree is zero.
    ``within`` gives degrees and candidates, with all points up to ``reach`` among them.
    ``row_bytes`` and ``reach_bytes`` are the bytes that a row of either needs at most.
    """

    def __init__(self, space: SearchedPoints) -> None:
        self._space = proxy(space)
        self._tree = KDTree(self._placed(space.points))
        self._rounding, self._underflow = _rounding(space.n_features, np.float64)

    def row_bytes(self, k: int) -> int:
        """Return the bytes that a row of :meth:`nearest` needs."""
        return max(TREE_ROW_BYTES, 64 * (k + TREE_SPARE))

    def nearest(self, queries: Any, count: int) -> tuple[Indices, Indices, Floats]:
        """Return degrees, candidates and a bound of the ``count``-th distance."""
        wanted = min(count + TREE_SPARE, self._space.n_samples)
        searched, cols = self._tree.query(self._placed(queries), wanted)
        reach = self._limit(searched[:, count - 1])
        near = searched <= self._limit(reach)[:, None]
        if wanted < self._space.n_samples:
            # If even the last candidate is near, some may be missing.
            near[near[:, -1]] = False
        return near.sum(axis=1), cols[near].astype(np.intp, copy=False), reach

    def reach_bytes(self, queries: Any, rows: Indices, reach: Floats) -> int:
        """Return the bytes that a row of :meth:`within` needs."""

        def most(block: slice) -> int:
            placed, limit = self._placed(queries[rows[block]]), self._limit(reach[block])
            return int(self._tree.query_radius(placed, limit, count_only=True).max())

        counts = map_blocks(most, len(rows), TREE_ROW_BYTES, self._space.n_jobs)
        return max(TREE_ROW_BYTES, 64 * max(counts))

    def within(self, queries: Any, reach: Floats) -> tuple[Indices, Indices]:
        """Return degrees and candidates, all points up to ``reach`` among them."""
        found = self._tree.query_radius(self._placed(queries), self._limit(reach))
        return np.array([len(one) for one in found], dtype=np.intp), np.concatenate(found)

    def _placed(self, queries: Any) -> Floats:
        return np.asarray(queries * self._space.scale, dtype=np.float64)

    def _limit(self, reach: Floats) -> Floats:
        """Return ``reach`` enlarged by the rounding of the search, or of the exact distances."""
        return np.asarray(np.sqrt(np.square(reach) * (1 + self._rounding) + self._underflow))


class Scan:
    """Candidates from all pairs by |y|^2 - 2 x.y (+ |x|^2): quick, with rounding errors.

    Dense points are centred. Methods are those of :class:`Tree`.
    """

    def __init__(self, space: SearchedPoints, dtype: Any) -> None:
        self._space, self._dtype = proxy(space), dtype
        n = space.n_samples
        self._columns: Any = None
        if is_sparse(space.points):
            placed = space.placed(space.points, dtype)
            self._squares = _squared_norms(placed)
            self._columns, self._parts = placed.T.tocsr(), [slice(0, n)]
        else:
            self._parts = block_slices(n, np.dtype(dtype).itemsize * space.n_features)
            # A copy in single precision is kept. One in double precision is made part by part: few
            # queries need it, and there may be no memory for another copy.
            if dtype == np.float32:
                self._columns = space.placed(space.points, dtype).T
            parts = [_squared_norms(self._column_part(part).T) for part in self._parts]
            self._squares = np.concatenate(parts)
        self._rounding, self._underflow = _rounding(space.n_features, dtype)
        self._unit = space.unit / space.scale

    def row_bytes(self, k: int) -> int:
        """Return the bytes that a row of :meth:`nearest` needs."""
        item = 4 * 8 if is_sparse(self._space.points) else np.dtype(self._dtype).itemsize + 2
        return int(item * self._space.n_samples + 64 * (k + CROWD)) + self._query_bytes()

    def nearest(self, queries: Any, count: int) -> tuple[Indices, Indices, Floats]:
        """Return degrees, candidates and a bound of the ``count``-th distance."""
        searched, norms = self._searched(queries)
        kth = _at_least_smallest(searched, count) + norms
        # The largest d with d^2 <= kth + rounding (2 |x| + d)^2.
        r, size = self._rounding, np.sqrt(norms)
        constant = np.maximum(kth + 4 * r * norms + self._underflow, 0.0)
        reach = (2 * r * size + np.sqrt(4 * r * r * norms + (1 - r) * constant)) / (1 - r)
        near = self._near(searched, norms, reach)
        if np.count_nonzero(near) > len(near) * (count + CROWD) / 2:  # some rows may have too many
            near[np.count_nonzero(near, axis=1) > count + CROWD] = False
        return *_places(near), reach / self._unit

    def reach_bytes(self, queries: Any, rows: Indices, reach: Floats) -> int:
        """Return the bytes that a row of :meth:`within` needs."""
        return int(64 * self._space.n_samples) + self._query_bytes()

    def _query_bytes(self) -> int:
        """Bytes of a query: itself, rescaled, and doubled."""
        sparse_points = is_sparse(self._space.points)
        item = 0 if sparse_points else np.dtype(self._dtype).itemsize
        return int(3 * item * self._space.n_features)

    def within(self, queries: Any, reach: Floats) -> tuple[Indices, Indices]:
        """Return degrees and candidates, all points up to ``reach`` among them."""
        return _places(self._near(*self._searched(queries), reach * self._unit))

    def _searched(self, queries: Any) -> tuple[Any, Floats]:
        """Return |y|^2 - 2 x.y of all pairs and |x|^2 of the queries."""
        placed = self._space.placed(queries, self._dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            doubled = placed * -2
            if is_sparse(doubled):
                searched = (doubled @ self._columns).toarray()
            elif self._columns is not None:
                searched = doubled @ self._columns
            else:
                searched = np.empty((len(placed), self._space.n_samples), dtype=self._dtype)
                for part in self._parts:
                    searched[:, part] = doubled @ self._column_part(part)
            searched += self._squares
            return searched, _squared_norms(placed).astype(np.float64)

    def _column_part(self, part: slice) -> Any:
        if self._columns is not None:
            return self._columns[:, part]
        return self._space.placed(self._space.points[part], self._dtype).T

    def _near(self, searched: Any, norms: Floats, reach: Floats) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            # A near point has |y| <= |x| + reach, so outliers spoil no bound but their own.
            size = 2 * np.sqrt(norms) + reach
            limit = np.square(reach) + self._rounding * np.square(size) + self._underflow - norms
            # Rounded up; what overflowed counts as near.
            limit = np.nextafter(limit.astype(self._dtype), self._dtype(np.inf))
        return ~(searched > limit[:, None])


def _places(near: Any) -> tuple[Indices, Indices]:
    """Return the number of true entries of every row, and their columns."""
    n_rows, n_cols = near.shape
    places = np.flatnonzero(near)
    return np.diff(np.searchsorted(places, n_cols * np.arange(n_rows + 1))), places % n_cols


def _at_least_smallest(values: Any, count: int) -> Floats:
    """Return a close upper bound of the ``count``-th smallest value of every row.

    It is the ``count``-th smallest of the minima of disjoint groups, which are values of the row.
    """
    n = values.shape[1]
    # With hardly more groups than ``count``, the bound would be the largest minimum.
    n_groups = min(n, max(2 * count, -(-n // GROUP)))
    lowest = values[:, :n_groups].copy()
    for start in range(n_groups, values.shape[1], n_groups):
        group = values[:, start : start + n_groups]
        np.minimum(lowest[:, : group.shape[1]], group, out=lowest[:, : group.shape[1]])
    lowest.partition(count - 1, axis=1)
    return np.asarray(lowest[:, count - 1], dtype=np.float64)


def _rounding(n_features: int, dtype: Any) -> tuple[float, float]:
    """Return the relative rounding of a squared distance, and the absolute one by underflow."""
    info = np.finfo(dtype)
    eps = float(info.eps)
    return ROUNDING_UNITS * (n_features + 8) * eps, float(info.tiny) / eps**2


def _squared_norms(X: Any) -> Floats:
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))
