"""Neighbours that others found: by a scikit-learn transformer, as arrays, distances or a graph."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from patchfold.base.threads import map_blocks
from patchfold.base.validation import check_count, check_points, is_sparse
from patchfold.neighbors.exact import ExactNeighbors
from patchfold.neighbors.neighborhoods import Neighborhoods, edge_starts
from patchfold.neighbors.points import check_features
from patchfold.neighbors.protocol import GraphTransformer, built, check_fewer_than_samples

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Floats, Indices
    from patchfold.neighbors.copies import Copies


class TransformerNeighbors:
    """The neighbours that a ``KNeighborsTransformer``-shaped object finds.

    Its distances are taken as they are, whatever its metric; only their order becomes
    (distance, index) and the point itself is left out.

    Parameters
    ----------
    transformer : object with ``fit`` and ``transform``
        ``transform`` gives a sparse matrix of distances. A clone is fitted.
    n_neighbors : int
        Neighbours of a point, itself not counted; the transformer has to find as many.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsTransformer
    >>> search = TransformerNeighbors(KNeighborsTransformer(n_neighbors=1), 1)
    >>> search.build([[0.0], [1.0], [3.0]]).query().indices
    array([1, 0, 1])
    """

    def __init__(self, transformer: GraphTransformer, n_neighbors: int) -> None:
        if getattr(transformer, "mode", "distance") == "connectivity":
            raise ValueError(
                f"knn={transformer!r} marks neighbours without distances; set its mode='distance'."
            )
        self.transformer = transformer
        self.n_neighbors = check_count("n_neighbors", n_neighbors)
        self._points: Any = None

    def build(self, X: Any) -> Self:
        """Fit a clone of the transformer on the rows of ``X`` and return the search."""
        X = check_points(X, accept_sparse=True)
        check_fewer_than_samples(self.n_neighbors, X.shape[0])
        self._fitted: GraphTransformer = clone(self.transformer, safe=False)
        self._found(self._fitted.fit, X)
        self._points = X
        return self

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the built points, or of new points ``X``."""
        points = built(self, self._points)
        queries = points
        if X is not None:
            queries = check_points(X, accept_sparse=True, min_samples=1)
            check_features(queries, points, type(self).__name__)
        graph = self._found(self._fitted.transform, queries)
        expected = (queries.shape[0], points.shape[0])
        if not is_sparse(graph) or graph.shape != expected:
            raise ValueError(
                f"knn={self.transformer!r} gave a {type(graph).__name__} of shape "
                f"{getattr(graph, 'shape', None)}, not a sparse matrix of shape {expected}; "
                "its transform has to return distances to the points it was fitted on."
            )
        graph = graph.tocsr()
        if not np.all((graph.data >= 0) & np.isfinite(graph.data)):
            raise ValueError(
                f"knn={self.transformer!r} gave negative or infinite distances or NaN; "
                "use a metric whose values are finite and not negative."
            )
        # Read from the arrays themselves: explicit zeros are neighbours at distance zero.
        rows = np.repeat(np.arange(expected[0]), np.diff(graph.indptr))
        keep = graph.indices != rows if X is None else np.ones(len(rows), dtype=bool)
        rows, cols = rows[keep], graph.indices[keep]
        fewest = int(np.bincount(rows, minlength=expected[0]).min())
        if fewest < self.n_neighbors:
            raise ValueError(
                f"knn={self.transformer!r} found only {fewest} neighbours of a point, "
                f"n_neighbors={self.n_neighbors} needs as many; raise the transformer's "
                f"own n_neighbors to {self.n_neighbors + 1}."
            )
        found = Neighborhoods.from_edges(rows, cols, graph.data[keep], expected[0])
        distances = found.distances.astype(points.dtype, copy=False)
        return Neighborhoods(found.indptr, found.indices, distances).nearest(self.n_neighbors)

    def _found(self, step: Callable[[Any], Any], X: Any) -> Any:
        """Return what a step of the transformer gives; its own errors do not name ``knn``."""
        try:
            return step(X)
        except ValueError as error:
            raise ValueError(
                f"knn={self.transformer!r} fails on points of shape {X.shape} ({error}); change "
                "it, e.g. lower its own n_neighbors, or use knn='auto'."
            ) from error


class GivenNeighbors:
    """Neighbours as arrays; those of new points are searched among the built ones, exactly.

    Parameters
    ----------
    indices : array of shape (n, k)
        The neighbours of every row, in any order. The row itself does not count. -1 stands for no
        neighbour.
    distances : array of shape (n, k)
        How far they are. They are taken as they are, whatever their metric.

    Examples
    --------
    >>> search = GivenNeighbors([[0, 1], [1, 0], [2, 1]], [[0, 1], [0, 1], [0, 2]])
    >>> search.build([[0.0], [1.0], [3.0]]).query().indices
    array([1, 0, 1])
    """

    def __init__(self, indices: Any, distances: Any) -> None:
        self.near = _read(indices, distances)
        self._points: Any = None

    def __repr__(self) -> str:
        return f"GivenNeighbors(<of {len(self.near)} rows>)"

    def build(self, X: Any) -> Self:
        """Check that these are the neighbours of as many rows, and return the search."""
        X = check_points(X, accept_sparse=True)
        if X.shape[0] != len(self.near):
            raise ValueError(
                f"knn=(indices, distances) has neighbours of {len(self.near)} rows, and X has "
                f"{X.shape[0]}; give those of the rows of X."
            )
        self._points = X
        return self

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the built points, or of new points ``X``."""
        points, near = built(self, self._points), self.near
        if X is None:
            distances = near.distances.astype(points.dtype, copy=False)
            return Neighborhoods(near.indptr, near.indices, distances)
        return ExactNeighbors(max(1, int(near.degrees.max()))).build(points).query(X)

    def of_distinct(self, copies: Copies) -> GivenNeighbors:
        """Return the neighbours of the first row of every point, copies of a row counted once."""
        near = copies.numbered(self.near[copies.first])
        distinct = copy(self)
        distinct.near = _each_once(near.sources, near.indices, near.distances, len(near))
        return distinct


def _read(indices: Any, distances: Any) -> Neighborhoods:
    """Return given arrays as neighbourhoods, or say what is wrong with them."""
    i, d = np.asarray(indices), np.asarray(distances)
    if i.dtype.kind not in "iu" or d.dtype.kind not in "iuf" or i.ndim != 2 or i.shape != d.shape:
        raise ValueError(
            f"knn=(indices, distances) has arrays of {i.dtype} {i.shape} and {d.dtype} {d.shape}; "
            "give integers and distances of one shape, (n_samples, k). "
            "(scikit-learn's kneighbors returns them the other way round.)"
        )
    n = len(i)
    if i.size and (i.max() >= n or i.min() < -1):
        raise ValueError(
            f"knn=(indices, distances) has indices from {i.min()} to {i.max()} for {n} rows; give "
            f"rows from 0 to {n - 1}, and -1 for no neighbour."
        )
    rows, columns = np.repeat(np.arange(n), i.shape[1]), i.ravel().astype(np.intp)
    keep = np.flatnonzero((columns >= 0) & (columns != rows))
    values = d.ravel()[keep].astype(d.dtype if d.dtype.kind == "f" else np.float64)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(
            "knn=(indices, distances) has distances that are negative or no finite numbers; give "
            "the index -1 where there is no neighbour."
        )
    return _each_once(rows[keep], columns[keep], values, n)


def _each_once(rows: Indices, columns: Indices, distances: Floats, n: int) -> Neighborhoods:
    """Return neighbourhoods without a row itself, and without repetitions of a neighbour."""
    other = columns != rows
    near = Neighborhoods.from_edges(rows[other], columns[other], distances[other], n)
    _, first = np.unique(near.sources * n + near.indices, return_index=True)
    first.sort()
    starts = edge_starts(np.bincount(near.sources[first], minlength=n))
    return Neighborhoods(starts, near.indices[first], near.distances[first])


def are_given(knn: Any) -> bool:
    """Tell whether the parameter ``knn`` are the neighbours of some rows, and no way to search."""
    return isinstance(knn, tuple | GivenNeighbors)


def as_search(knn: Any, copies: Copies | None = None) -> Any:
    """Return a pair of arrays as a search of the distinct points, and anything else as it is."""
    if isinstance(knn, tuple):
        if len(knn) < 2:
            raise ValueError("knn is a tuple of fewer than two arrays; give (indices, distances).")
        knn = GivenNeighbors(*knn[:2])  # umap-learn's has an index as a third
    if isinstance(knn, GivenNeighbors) and copies is not None:
        return knn.of_distinct(copies)
    return knn


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
    """Neighbours by given distances: the entries of a sparse graph, the k least, or a radius.

    A radius leaves out longer entries of a sparse graph, too.
    """
    n = X.shape[0]
    if not is_sparse(X) and k is not None:
        return nearest_by_value(X, k, own=own)
    if is_sparse(X):
        X = csr_array(X)
        rows, columns, values = np.repeat(np.arange(n), np.diff(X.indptr)), X.indices, X.data
        near = values <= (np.inf if radius is None else radius)
        rows, columns, values = rows[near], columns[near], values[near]
    else:
        rows, columns = np.nonzero(radius >= X)
        values = X[rows, columns]
    keep = np.flatnonzero((columns != rows) | (not own))
    return Neighborhoods.from_edges(rows[keep], columns[keep], values[keep], n)


def check_distances(X: Any, *, square: bool) -> None:
    """Refuse given distances that are negative, or not square where they have to be."""
    if square and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"divergence='precomputed' needs a square matrix of distances, X has shape {X.shape}; "
            "give those between all points, or name a divergence where X holds points."
        )
    values = X.data if is_sparse(X) else X
    if values.size and values.min() < 0:
        raise ValueError(
            f"divergence='precomputed' needs distances >= 0, X has {values.min():.3g}; give "
            "distances, e.g. 1 - X where X holds similarities up to 1."
        )


def nearest_by_value(
    values: Floats,
    k: int,
    *,
    own: bool,
    order: Callable[[Floats, slice], Floats] | None = None,
) -> Neighborhoods:
    """Return the ``k`` columns with the least value in every row, equal values by index.

    With ``own`` the columns are the rows themselves, and no row is its own neighbour. ``order``
    gives what a block of rows is ordered by before its values.
    """
    n = values.shape[0]

    def choose(block: slice) -> Indices:
        part = np.array(values[block])
        first = np.array(order(part, block)) if order is not None else part
        if own:
            itself = np.arange(len(part)), np.arange(block.start, block.stop)
            part[itself] = first[itself] = np.inf
        if order is None:
            return np.argsort(part, axis=1, kind="stable")[:, :k]
        return np.lexsort((part, first), axis=1)[:, :k]

    chosen = map_blocks(choose, n, 8 * 8 * values.shape[1])
    columns = np.concatenate(chosen) if chosen else np.empty((0, k), dtype=np.intp)
    rows = np.repeat(np.arange(n, dtype=np.intp), columns.shape[1])
    lengths = np.take_along_axis(values, columns, 1)
    return Neighborhoods.from_edges(rows, columns.ravel(), lengths.ravel(), n)
