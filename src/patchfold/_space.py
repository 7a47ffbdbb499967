"""The points a search is built on, the one definition of their distances, and exact search.

A tree or a scan only proposes candidates, with a proof that no neighbour is missing; distances
are recomputed from differences, which neither cancels on uncentred data nor breaks ties.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.neighbors import KDTree

from patchfold._validation import check_points, is_sparse
from patchfold.blocks import block_slices, map_blocks, n_threads
from patchfold.neighborhoods import Floats, Indices, Neighborhoods, edge_starts, nearest_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Edges = tuple[Indices, Indices, Floats]
T = TypeVar("T")

# A k-d tree beats comparing all pairs in few dimensions only: 20 000 Gaussian points took it
# 0.8 s with 6 features, 1.6 s with 8 and 6.5 s with 15, a scan of all pairs 0.7 to 0.8 s.
TREE_FEATURES = 6
# What a tree is asked for beyond k: the few that show that the k-th place is decided.
TREE_SPARE = 8
# A row with more candidates than this beyond k is left to a sharper or less hasty look.
CROWD = 64
# Smallest values of so many interleaved groups of columns bound the k-th smallest of a row.
GROUP = 32

# Without threads of its own a scan of so many features leaves BLAS the cores, as scikit-learn's
# does; smaller products gain nothing. No bit of a result depends on them.
BLAS_FEATURES = 100

# Rounding of a searched squared distance, in units of (terms + 8) eps (|x| + |y|)^2: the bound
# is 1/2 for centring, |y|^2 - 2 x.y + |x|^2 and their sums together; the rest is a margin.
ROUNDING_UNITS = 1.0
# Data whose spread leaves this range is rescaled by a power of two, which changes no digit,
# before anything is squared.
PLAIN_SPREAD = (1e-100, 1e100)
# After scaling, differences above this would overflow when squared and summed.
LARGEST_SPREAD = 1e150
# Input above this overflows in a sum or difference already.
LARGEST_VALUE = 1e300

# A thread takes about a thousand rows through the tree at a time, so that all have work.
TREE_ROW_BYTES = 2**15
# Differences of so many bytes stay in the cache of one core until they are summed.
DIFFERENCE_BYTES = 2**18

# What a space makes of its points for searching, and does not take into a file.
CACHED = ("finder", "_quick_finder", "_centre")


class Space:
    """The points of a search: their scale, their distances and who proposes candidates."""

    def __init__(self, X: Any, n_jobs: int | None) -> None:
        self.points = X
        self.n_samples, self.n_features = X.shape
        self.n_jobs = n_jobs
        self._in_tree = not is_sparse(X) and self.n_features <= TREE_FEATURES
        self._low, self._high = _column_range(X)
        # Halves, because the range of the largest values would overflow before it is refused.
        half = float(np.max(self._high / 2 - self._low / 2))
        # The power of two that brings the spread near 1, itself finite.
        self.unit = float(np.ldexp(1.0, min(-int(np.frexp(half)[1]), 1000))) if half else 1.0
        plain = half == 0 or PLAIN_SPREAD[0] <= 2 * half <= PLAIN_SPREAD[1]
        self.scale = 1.0 if plain else self.unit / 2
        self._check_magnitude(self._low, self._high)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again when it is asked for: trees and copies for searching."""
        return {name: value for name, value in vars(self).items() if name not in CACHED}

    def check_queries(self, X: Any, searcher: str) -> Any:
        """Return the query points in the format of the built ones."""
        if X is None:
            return self.points
        X = check_points(X, accept_sparse=True, min_samples=1)
        check_features(X, self.points, searcher)
        if is_sparse(self.points):
            X = sparse.csr_array(X)
        elif is_sparse(X):
            X = X.toarray()
        low, high = _column_range(X)
        self._check_magnitude(np.minimum(low, self._low), np.maximum(high, self._high))
        return X

    def distances(self, queries: Any, rows: Indices, cols: Indices) -> Floats:
        """Return the scaled float64 distance of ``queries[rows]`` and ``points[cols]``, paired.

        Squared differences are summed in an order that depends on nothing but the number of
        features, so a pair has the same bits from both ends and in any block.
        """
        squared = np.empty(len(rows))
        if is_sparse(self.points):
            ones = np.ones(self.n_features)
            longest = max(np.diff(matrix.indptr).max() for matrix in (queries, self.points))
            for block in block_slices(len(rows), 6 * 16 * int(longest)):
                difference = queries[rows[block]].astype(np.float64) - self.points[cols[block]]
                difference.data = np.square(difference.data * self.scale)
                # A product with ones adds the entries of a row one after the other.
                squared[block] = difference @ ones
            return np.sqrt(squared)
        step = max(1, DIFFERENCE_BYTES // (8 * self.n_features))
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            x, y = queries[rows[block]], self.points[cols[block]]
            difference = np.subtract(x, y, dtype=np.float64)
            if self.scale != 1.0:
                difference *= self.scale
            np.square(difference, out=difference)
            difference.sum(axis=1, out=squared[block])
        return np.sqrt(squared)

    def neighborhoods(
        self, rows: Indices, cols: Indices, distances: Floats, n_rows: int
    ) -> Neighborhoods:
        """Return sorted edges, their distances in the scale and type of the points."""
        with np.errstate(over="ignore"):
            unscaled = (distances / self.scale).astype(self.points.dtype, copy=False)
        if not np.isfinite(unscaled).all():
            raise ValueError(
                f"Distances between the rows of X overflow {self.points.dtype}; "
                "rescale X or convert it to float64."
            )
        return Neighborhoods(edge_starts(np.bincount(rows, minlength=n_rows)), cols, unscaled)

    def placed(self, X: Any, dtype: Any) -> Any:
        """Return ``X`` brought near 1, and centred if dense, so that few digits say much."""
        if is_sparse(X):
            near_one = sparse.csr_array(X.astype(np.float64) * self.unit)
            return near_one.astype(dtype, copy=False)
        result = np.empty(X.shape, dtype=dtype)
        with np.errstate(over="ignore"):  # a query far outside: infinity decides nothing
            for block in block_slices(X.shape[0], 2 * 8 * self.n_features):
                result[block] = (X[block] - self._centre) * self.unit
        return result

    def finders(self) -> Iterator[Tree | Scan]:
        """Yield what proposes candidates: single precision first where it saves time."""
        if not self._in_tree and not is_sparse(self.points):
            yield self._quick_finder
        yield self.finder

    @cached_property
    def finder(self) -> Tree | Scan:
        """What proposes candidates in double precision."""
        return Tree(self) if self._in_tree else Scan(self, np.float64)

    @cached_property
    def _quick_finder(self) -> Scan:
        return Scan(self, np.float32)

    @cached_property
    def _centre(self) -> Floats:
        return np.asarray(self.points.mean(axis=0, dtype=np.float64))

    def _check_magnitude(self, low: Floats, high: Floats) -> None:
        largest = float(max(np.max(high), -np.min(low)))
        if largest * max(self.scale, 1.0) > LARGEST_VALUE or (
            float(np.max(high / 2 - low / 2)) * self.scale > LARGEST_SPREAD / 2
        ):
            raise ValueError(
                f"X has values up to {largest:.3g}, whose distances overflow or cannot be told "
                "apart beside the other columns; rescale X, e.g. with "
                "sklearn.preprocessing.RobustScaler."
            )


def k_nearest(space: Space, queries: Any, k: int, *, own: bool) -> Neighborhoods:
    """Return the exact ``k`` nearest points of every query, itself left out if ``own``."""
    n_rows = queries.shape[0]
    indices = np.empty((n_rows, k), dtype=np.intp)
    distances = np.empty((n_rows, k))
    pending, reach = np.arange(n_rows), np.empty(n_rows)

    def keep(sources: Indices, cols: Indices, exact: Floats) -> None:
        place = np.arange(len(sources)) - np.searchsorted(sources, sources)
        first = place < k
        indices[sources[first], place[first]] = cols[first]
        distances[sources[first], place[first]] = exact[first]

    for finder in space.finders():

        def settle(block: slice, finder: Any = finder, pending: Indices = pending) -> Indices:
            rows = pending[block]
            degrees, cols, reach[rows] = finder.nearest(queries[rows], k + own)
            keep(*_edges(space, queries, np.repeat(rows, degrees), cols, own))
            return np.asarray(rows[degrees == 0])

        row_bytes = finder.row_bytes(k)
        if space.n_features >= BLAS_FEATURES and n_threads(space.n_jobs) == 1:
            left = [settle(block) for block in block_slices(len(pending), row_bytes)]
        else:
            left = map_blocks(settle, len(pending), row_bytes, space.n_jobs)
        pending = np.concatenate(left)
        if len(pending) == 0:
            break
    _within(space, queries, pending, reach[pending], own, keep)
    rows = np.repeat(np.arange(n_rows), k)
    return space.neighborhoods(rows, indices.ravel(), distances.ravel(), n_rows)


def all_within(space: Space, queries: Any, radius: float, *, own: bool) -> Neighborhoods:
    """Return all points up to ``radius`` from every query, itself left out if ``own``."""
    n_rows = queries.shape[0]
    # No distance exceeds the root of n_features times the largest spread.
    radius = min(radius * space.scale, 1e3 * LARGEST_SPREAD)

    def keep(rows: Indices, cols: Indices, exact: Floats) -> Edges:
        near = exact <= radius
        return rows[near], cols[near], exact[near]

    parts = _within(space, queries, np.arange(n_rows), np.full(n_rows, radius), own, keep)
    rows, cols, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
    return space.neighborhoods(rows, cols, distances, n_rows)


def sorted_edges(rows: Indices, cols: Indices, distances: Floats) -> Edges:
    """Return edges sorted by row, then by (distance, index)."""
    order = nearest_first(rows, cols, distances)
    return rows[order], cols[order], distances[order]


def _within(
    space: Space,
    queries: Any,
    rows: Indices,
    reach: Floats,
    own: bool,
    keep: Callable[[Indices, Indices, Floats], T],
) -> list[T]:
    """Return, by blocks of ``rows``, what ``keep`` makes of all edges up to ``reach``."""
    if len(rows) == 0:
        return []

    def look(block: slice) -> T:
        degrees, cols = space.finder.within(queries[rows[block]], reach[block])
        return keep(*_edges(space, queries, np.repeat(rows[block], degrees), cols, own))

    return map_blocks(look, len(rows), space.finder.reach_bytes(queries, rows, reach), space.n_jobs)


def _edges(space: Space, queries: Any, rows: Indices, cols: Indices, own: bool) -> Edges:
    if own:
        other = cols != rows
        rows, cols = rows[other], cols[other]
    return sorted_edges(rows, cols, space.distances(queries, rows, cols))


class Tree:
    """Candidates from a k-d tree, which works by differences: any offset is harmless.

    ``nearest`` gives the degree of every row, the candidates and a bound of the ``count``-th
    distance; all points up to the bound are among the candidates, or the degree is zero.
    ``within`` gives degrees and candidates, with all points up to ``reach`` among them. The
    bytes are what a row of either needs at most.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._tree = KDTree(self._placed(space.points))
        self._rounding, self._underflow = _rounding(space.n_features, np.float64)

    def row_bytes(self, k: int) -> int:
        return max(TREE_ROW_BYTES, 64 * (k + TREE_SPARE))

    def nearest(self, queries: Any, count: int) -> tuple[Indices, Indices, Floats]:
        wanted = min(count + TREE_SPARE, self._space.n_samples)
        searched, cols = self._tree.query(self._placed(queries), wanted)
        reach = self._limit(searched[:, count - 1])
        near = searched <= self._limit(reach)[:, None]
        if wanted < self._space.n_samples:
            # Where the last one asked for is near, others may be.
            near[near[:, -1]] = False
        return near.sum(axis=1), cols[near].astype(np.intp, copy=False), reach

    def reach_bytes(self, queries: Any, rows: Indices, reach: Floats) -> int:
        def most(block: slice) -> int:
            placed, limit = self._placed(queries[rows[block]]), self._limit(reach[block])
            return int(self._tree.query_radius(placed, limit, count_only=True).max())

        counts = map_blocks(most, len(rows), TREE_ROW_BYTES, self._space.n_jobs)
        return max(TREE_ROW_BYTES, 64 * max(counts))

    def within(self, queries: Any, reach: Floats) -> tuple[Indices, Indices]:
        found = self._tree.query_radius(self._placed(queries), self._limit(reach))
        return np.array([len(one) for one in found], dtype=np.intp), np.concatenate(found)

    def _placed(self, queries: Any) -> Floats:
        return np.asarray(queries * self._space.scale, dtype=np.float64)

    def _limit(self, reach: Floats) -> Floats:
        """Return the largest distance the search may see for ``reach``, and the reverse."""
        return np.asarray(np.sqrt(np.square(reach) * (1 + self._rounding) + self._underflow))


class Scan:
    """Candidates from all pairs by |y|^2 - 2 x.y (+ |x|^2), quick but noisy; centred if dense.

    Methods as in :class:`Tree`.
    """

    def __init__(self, space: Space, dtype: Any) -> None:
        self._space, self._dtype = space, dtype
        n = space.n_samples
        self._columns: Any = None
        if is_sparse(space.points):
            placed = space.placed(space.points, dtype)
            self._squares = _squared_norms(placed)
            self._columns, self._parts = placed.T.tocsr(), [slice(0, n)]
        else:
            self._parts = block_slices(n, np.dtype(dtype).itemsize * space.n_features)
            # In single precision the points are kept, in double precision placed when asked for:
            # few queries come to that, and the points may be all that there is memory for.
            if dtype == np.float32:
                self._columns = space.placed(space.points, dtype).T
            parts = [_squared_norms(self._column_part(part).T) for part in self._parts]
            self._squares = np.concatenate(parts)
        self._rounding, self._underflow = _rounding(space.n_features, dtype)
        self._unit = space.unit / space.scale

    def row_bytes(self, k: int) -> int:
        item = 4 * 8 if is_sparse(self._space.points) else np.dtype(self._dtype).itemsize + 2
        return int(item * self._space.n_samples + 64 * (k + CROWD)) + self._query_bytes()

    def nearest(self, queries: Any, count: int) -> tuple[Indices, Indices, Floats]:
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
        return int(64 * self._space.n_samples) + self._query_bytes()

    def _query_bytes(self) -> int:
        """Bytes of a query: itself, brought near 1, and doubled."""
        sparse_points = is_sparse(self._space.points)
        item = 0 if sparse_points else np.dtype(self._dtype).itemsize
        return int(3 * item * self._space.n_features)

    def within(self, queries: Any, reach: Floats) -> tuple[Indices, Indices]:
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
            # |y| <= |x| + reach for such a point, so far outliers spoil no bound but their own.
            size = 2 * np.sqrt(norms) + reach
            limit = np.square(reach) + self._rounding * np.square(size) + self._underflow - norms
            # Rounded up, and so that what overflowed counts as near.
            limit = np.nextafter(limit.astype(self._dtype), self._dtype(np.inf))
        return ~(searched > limit[:, None])


def _places(near: Any) -> tuple[Indices, Indices]:
    """Return how many entries of every row are true, and their columns."""
    n_rows, n_cols = near.shape
    places = np.flatnonzero(near)
    return np.diff(np.searchsorted(places, n_cols * np.arange(n_rows + 1))), places % n_cols


def _at_least_smallest(values: Any, count: int) -> Floats:
    """Return a close upper bound of the ``count``-th smallest value of every row.

    So many of the smallest values of disjoint groups are so many values of the row.
    """
    n = values.shape[1]
    # With hardly more groups than are counted, the largest of all minima would be the bound.
    n_groups = min(n, max(2 * count, -(-n // GROUP)))
    lowest = values[:, :n_groups].copy()
    for start in range(n_groups, values.shape[1], n_groups):
        group = values[:, start : start + n_groups]
        np.minimum(lowest[:, : group.shape[1]], group, out=lowest[:, : group.shape[1]])
    lowest.partition(count - 1, axis=1)
    return np.asarray(lowest[:, count - 1], dtype=np.float64)


def _rounding(n_features: int, dtype: Any) -> tuple[float, float]:
    """Return the relative and absolute rounding of a squared distance; smaller ones underflow."""
    info = np.finfo(dtype)
    eps = float(info.eps)
    return ROUNDING_UNITS * (n_features + 8) * eps, float(info.tiny) / eps**2


def _squared_norms(X: Any) -> Floats:
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _column_range(X: Any) -> tuple[Floats, Floats]:
    low, high = X.min(axis=0), X.max(axis=0)
    if is_sparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return low.astype(np.float64), high.astype(np.float64)


def check_features(X: Any, points: Any, searcher: str) -> None:
    """Refuse queries whose columns are not those of the points."""
    if X.shape[1] != points.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, but {searcher} is expecting {points.shape[1]} features "
            "as input; give new points the columns of those it was built on."
        )
