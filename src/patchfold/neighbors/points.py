"""The points of a search, the definition of their distances, and exact search.

A tree, blocks or a scan only propose candidates, with a proof that no neighbour is missing.
Distances are recomputed from differences: so data far from the origin lose no digits, and equal
distances stay equal.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy import sparse

from patchfold.base.arrays import unit_and_scale
from patchfold.base.threads import block_slices, map_blocks, n_threads
from patchfold.base.types import Floats, Indices
from patchfold.base.validation import check_points, is_sparse
from patchfold.neighbors.blocks import Blocks
from patchfold.neighbors.candidates import Scan, Tree
from patchfold.neighbors.neighborhoods import Neighborhoods, edge_starts, nearest_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


Edges = tuple[Indices, Indices, Floats]

T = TypeVar("T")

# A k-d tree beats a scan of all pairs only in few dimensions. For 20 000 Gaussian points it took
# 0.8 s with 6 features, 1.6 s with 8 and 6.5 s with 15; a scan took 0.7 to 0.8 s.
TREE_FEATURES = 6

# From so many points on, blocks of near points are looked at instead of all. For 30 000 points of a
# roll in 50 features this takes a fifth of the time of a scan, for 20 000 images of 784 pixels 0.7
# of it. For 10 000 it takes as long, and needs a compiler. Where blocks leave out too few points, a
# scan it is.
BLOCKS_FROM = 20_000

# A scan of BLAS_FEATURES features in one thread lets BLAS use all cores, as scikit-learn does;
# smaller products gain nothing. No bit of a result depends on it.
BLAS_FEATURES = 100

# Larger differences would overflow, even rescaled, when squared and summed.
LARGEST_SPREAD = 1e150

# Larger values overflow in a sum or a difference.
LARGEST_VALUE = 1e300

# Differences are taken in parts of DIFFERENCE_BYTES, which stay in the cache until they are summed.
DIFFERENCE_BYTES = 2**18

# Attributes made for searching, which are not pickled.
CACHED = ("finder", "_quick_finder", "_centre")


class SearchedPoints:
    """The points of a search: their scale, their distances and the finders of candidates."""

    def __init__(self, X: Any, n_jobs: int | None, *, blocks_from: int = BLOCKS_FROM) -> None:
        self.points = X
        self._blocks_from = blocks_from
        self.n_samples, self.n_features = X.shape
        self.n_jobs = n_jobs
        self._in_tree = not is_sparse(X) and self.n_features <= TREE_FEATURES
        self._low, self._high = _column_range(X)
        # Halves, because the range of the largest values would overflow before it is refused.
        half = float(np.max(self._high / 2 - self._low / 2))
        self.unit, self.scale = unit_and_scale(half)
        self._check_magnitude(self._low, self._high)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out trees and copies for searching, which are made again on demand."""
        return {name: value for name, value in vars(self).items() if name not in CACHED}

    def forget(self) -> None:
        """Free the copies for searching of many points; new points make them again."""
        if self.n_samples >= BLOCKS_FROM:
            for name in CACHED:
                vars(self).pop(name, None)

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

        The order in which squared differences are summed depends only on the number of features.
        So a pair has the same bits from both ends and in any block.
        """
        squared = np.empty(len(rows))
        if is_sparse(self.points):
            ones = np.ones(self.n_features)
            longest = max(np.diff(matrix.indptr).max() for matrix in (queries, self.points))
            for block in block_slices(len(rows), 6 * 16 * int(longest)):
                difference = queries[rows[block]].astype(np.float64) - self.points[cols[block]]
                difference.data = np.square(difference.data * self.scale)
                # A product with ones sums the entries of a row in order.
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
        """Return ``X`` rescaled to about 1, and centred if dense, so that float32 loses little."""
        if is_sparse(X):
            near_one = sparse.csr_array(X.astype(np.float64) * self.unit)
            return near_one.astype(dtype, copy=False)
        result = np.empty(X.shape, dtype=dtype)
        with np.errstate(over="ignore"):  # a query far outside: infinity excludes no one
            for block in block_slices(X.shape[0], 2 * 8 * self.n_features):
                result[block] = (X[block] - self._centre) * self.unit
        return result

    def finders(self) -> Iterator[Tree | Scan | Blocks]:
        """Yield the finders of candidates, single precision first if that saves time."""
        if not self._in_tree and not is_sparse(self.points):
            yield self._quick_finder
        yield self.finder

    @cached_property
    def finder(self) -> Tree | Scan:
        """The finder of candidates in double precision."""
        return Tree(self) if self._in_tree else Scan(self, np.float64)

    @property
    def cost(self) -> float:
        """What a search of all points costs by blocks of near points; infinity without blocks."""
        blocks = None if self._in_tree or is_sparse(self.points) else self._quick_finder
        return blocks.cost * self.n_samples**2 if isinstance(blocks, Blocks) else math.inf

    @cached_property
    def _quick_finder(self) -> Scan | Blocks:
        blocks = Blocks(self) if self.n_samples >= self._blocks_from else None
        return blocks if blocks is not None and blocks.pay() else Scan(self, np.float32)

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


def k_nearest(space: SearchedPoints, queries: Any, k: int, *, own: bool) -> Neighborhoods:
    """Return the exact ``k`` nearest points of every query, without itself if ``own``."""
    n_rows = queries.shape[0]
    indices = np.empty((n_rows, k), dtype=np.intp)
    distances = np.empty((n_rows, k))
    pending, reach = np.arange(n_rows), np.empty(n_rows)

    def keep(sources: Indices, cols: Indices, exact: Floats) -> None:
        starts = np.flatnonzero(np.diff(sources, prepend=-1))
        place = np.arange(len(sources)) - np.repeat(starts, np.diff(starts, append=len(sources)))
        first = place < k
        indices[sources[first], place[first]] = cols[first]
        distances[sources[first], place[first]] = exact[first]

    for finder in space.finders():
        if isinstance(finder, Blocks):
            pending = finder.walk(queries)

        def settle(block: slice, finder: Any = finder, pending: Indices = pending) -> Indices:
            rows = pending[block]
            degrees, cols, reach[rows] = finder.nearest(queries[rows], k + own)
            keep(*_edges(space, queries, rows, degrees, cols, own))
            return np.asarray(rows[degrees == 0])

        row_bytes = finder.row_bytes(k)
        if space.n_features >= BLAS_FEATURES and n_threads(space.n_jobs) == 1:
            left = [settle(block) for block in block_slices(len(pending), row_bytes)]
        else:
            left = map_blocks(settle, len(pending), row_bytes, space.n_jobs)
        pending = np.sort(np.concatenate(left))
        if len(pending) == 0:
            break
    _within(space, queries, pending, reach[pending], own, keep)
    rows = np.repeat(np.arange(n_rows), k)
    return space.neighborhoods(rows, indices.ravel(), distances.ravel(), n_rows)


def all_within(space: SearchedPoints, queries: Any, radius: float, *, own: bool) -> Neighborhoods:
    """Return all points up to ``radius`` from every query, without itself if ``own``."""
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
    space: SearchedPoints,
    queries: Any,
    rows: Indices,
    reach: Floats,
    own: bool,
    keep: Callable[[Indices, Indices, Floats], T],
) -> list[T]:
    """Call ``keep`` on all edges up to ``reach``, a block of ``rows`` at a time."""
    if len(rows) == 0:
        return []

    def look(block: slice) -> T:
        degrees, cols = space.finder.within(queries[rows[block]], reach[block])
        return keep(*_edges(space, queries, rows[block], degrees, cols, own))

    return map_blocks(look, len(rows), space.finder.reach_bytes(queries, rows, reach), space.n_jobs)


def _edges(
    space: SearchedPoints, queries: Any, rows: Indices, degrees: Indices, cols: Indices, own: bool
) -> Edges:
    """Return the edges from some queries to their candidates, sorted, in the order of ``rows``."""
    places = np.repeat(np.arange(len(rows)), degrees)
    if own:
        other = cols != rows[places]
        places, cols = places[other], cols[other]
    distances = space.distances(queries, rows[places], cols)
    places, cols, distances = sorted_edges(places, cols, distances)
    return rows[places], cols, distances


def _column_range(X: Any) -> tuple[Floats, Floats]:
    low, high = X.min(axis=0), X.max(axis=0)
    if is_sparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return low.astype(np.float64), high.astype(np.float64)


def check_features(X: Any, points: Any, searcher: str) -> None:
    """Raise an error if queries have other columns than the points."""
    if X.shape[1] != points.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, but {searcher} is expecting {points.shape[1]} features "
            "as input; give new points the columns of those it was built on."
        )
