"""Who is near whom: exact, radius and approximate neighbourhoods behind one small protocol.

A search is built on points and then answers for those points, or for new ones. Neighbours are
sorted by (distance, index).
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from patchfold import ordering
from patchfold._space import (
    TREE_FEATURES,
    Space,
    all_within,
    check_features,
    k_nearest,
    sorted_edges,
)
from patchfold._validation import check_choice, check_count, check_points, check_positive, is_sparse
from patchfold.blocks import map_blocks, n_threads
from patchfold.neighborhoods import Floats, Neighborhoods, edge_starts

__all__ = [
    "ApproximateNeighbors",
    "ExactNeighbors",
    "GraphTransformer",
    "NeighborSearch",
    "Neighborhoods",
    "RadiusNeighbors",
    "SharedNeighbors",
    "TransformerNeighbors",
    "find_neighbors",
    "neighbor_search",
]

if TYPE_CHECKING:
    from collections.abc import Callable

State = TypeVar("State")
T = TypeVar("T")

DEFAULT_NEIGHBORS = 15
KNN_NAMES = ("auto", "exact", "approximate")

# "auto" searches exactly up to these sizes. A scan is quadratic (on 20 000 x 784 it takes
# several times as long as the approximate search: benchmarks/recall.py), a tree is not; and
# pynndescent compiles for about 25 s in every process, which only a larger search repays.
AUTO_EXACT_SAMPLES = 30_000
AUTO_TREE_SAMPLES = 300_000


@runtime_checkable
class NeighborSearch(Protocol):
    """A neighbour search: built on points once, then queried."""

    def build(self, X: Any) -> Self:
        """Prepare the search on the rows of ``X`` and return it."""
        ...

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the built points, or of new points ``X`` among them.

        Without ``X`` no point is its own neighbour; with it, copies at distance zero count.
        """
        ...


@runtime_checkable
class GraphTransformer(Protocol):
    """Anything shaped like ``sklearn.neighbors.KNeighborsTransformer``."""

    def fit(self, X: Any) -> Any:
        """Prepare the search on the rows of ``X``."""
        ...

    def transform(self, X: Any) -> Any:
        """Return a sparse (rows of ``X``, fitted rows) matrix of distances to neighbours."""
        ...


class ExactNeighbors:
    """The ``n_neighbors`` nearest points, exactly, under the order (distance, index).

    A k-d tree finds the candidates of dense data with at most 6 features, a scan over all
    pairs those of other data. The order is that of the distances in double precision, also for
    float32 data, whose distances are rounded to float32 only when they are returned.

    Parameters
    ----------
    n_neighbors : int
        Neighbours of a point, itself not counted.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on it.

    Examples
    --------
    >>> search = ExactNeighbors(1).build([[0.0], [1.0], [3.0]])
    >>> search.query().indices
    array([1, 0, 1])
    >>> search.query([[2.9]]).indices
    array([2])
    """

    def __init__(self, n_neighbors: int, *, n_jobs: int | None = None) -> None:
        self.n_neighbors = check_count("n_neighbors", n_neighbors)
        self.n_jobs = n_jobs
        self._space: Space | None = None

    def build(self, X: Any) -> Self:
        """Prepare the search on the rows of ``X``, dense or sparse, and return it."""
        X = check_points(X, accept_sparse=True)
        _check_fewer_than_samples(self.n_neighbors, X.shape[0])
        self._space = Space(X, self.n_jobs)
        return self

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the built points, or of new points ``X``."""
        space = _built(self, self._space)
        queries = space.check_queries(X, type(self).__name__)
        return k_nearest(space, queries, self.n_neighbors, own=X is None)


class RadiusNeighbors:
    """All points within ``radius``: every row may have another number of neighbours, or none.

    Parameters
    ----------
    radius : float
        Largest distance of a neighbour; a point at exactly this distance is one.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on it.

    Examples
    --------
    >>> RadiusNeighbors(1.0).build([[0.0], [1.0], [3.0]]).query().degrees
    array([1, 1, 0])
    """

    def __init__(self, radius: float, *, n_jobs: int | None = None) -> None:
        self.radius = check_positive("radius", radius)
        self.n_jobs = n_jobs
        self._space: Space | None = None

    def build(self, X: Any) -> Self:
        """Prepare the search on the rows of ``X``, dense or sparse, and return it."""
        self._space = Space(check_points(X, accept_sparse=True), self.n_jobs)
        return self

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the built points, or of new points ``X``."""
        space = _built(self, self._space)
        queries = space.check_queries(X, type(self).__name__)
        # In the type of the data: 0.1 apart in float32 is within a radius of 0.1.
        radius = float(space.points.dtype.type(self.radius))
        return all_within(space, queries, radius, own=X is None)


class ApproximateNeighbors:
    """About the ``n_neighbors`` nearest points, by nearest neighbour descent (pynndescent).

    Distances are exact, some of the nearest points may be missing, and rarely a row has fewer
    than ``n_neighbors``. The same ``random_state`` gives the same result. Up to
    ``SMALLEST_DESCENT`` points, where a descent has little to save, the search is exact.

    Parameters
    ----------
    n_neighbors : int
        Neighbours of a point, itself not counted.
    n_jobs : int, optional
        Threads, as in scikit-learn. With a ``random_state`` the descent has one thread,
        because its outcome depends on how many share the work.
    random_state : int, RandomState or None
        Seed of the descent.

    Examples
    --------
    >>> search = ApproximateNeighbors(1, random_state=0).build([[0.0], [1.0], [3.0]])
    >>> search.query().indices
    array([1, 0, 1])
    """

    SMALLEST_DESCENT = 1000
    # Recall at 15 on 20 000 rows of mnist is 0.991 without spare candidates, 0.997 with 5 and
    # 0.998 with 10, which takes longer (benchmarks/recall.py).
    SPARE_CANDIDATES = 5
    # How far beyond the current k-th distance a query for new points looks: on the same data
    # recall is 0.984 at pynndescent's own 0.1 and 0.998 at 0.2.
    QUERY_EPSILON = 0.2

    def __init__(
        self, n_neighbors: int, *, n_jobs: int | None = None, random_state: Any = None
    ) -> None:
        self.n_neighbors = check_count("n_neighbors", n_neighbors)
        self.n_jobs = n_jobs
        self.random_state = random_state
        self._space: Space | None = None
        self._descent: Any = None
        self._order: Any = None

    def build(self, X: Any) -> Self:
        """Run the descent on the rows of ``X``, dense or sparse, and return the search."""
        descent = _import_descent()
        X = check_points(X, accept_sparse=True)
        n_samples = X.shape[0]
        _check_fewer_than_samples(self.n_neighbors, n_samples)
        self._space = Space(X, self.n_jobs)
        self._descent = None
        if n_samples > self.SMALLEST_DESCENT:
            with warnings.catch_warnings():
                # Points the descent found too few neighbours for; the class says so.
                warnings.filterwarnings("ignore", message="Failed to correctly find")
                placed = self._space.placed(X, np.float32)
                self._order = ordering.walk(placed)
                self._descent = descent(
                    placed[self._order],
                    n_neighbors=min(self.n_neighbors + 1 + self.SPARE_CANDIDATES, n_samples),
                    random_state=self.random_state,
                    n_jobs=1 if self.random_state is not None else _numba_threads(self.n_jobs),
                )
        return self

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the built points, or of new points ``X``."""
        space = _built(self, self._space)
        queries = space.check_queries(X, type(self).__name__)
        own = X is None
        if self._descent is None:
            return k_nearest(space, queries, self.n_neighbors, own=own)
        if own:
            candidates = self._descent.neighbor_graph[0][ordering.places(self._order)]
        else:
            wanted = min(self.n_neighbors + self.SPARE_CANDIDATES, space.n_samples)
            candidates, _ = self._descent.query(
                space.placed(queries, np.float32), k=wanted, epsilon=self.QUERY_EPSILON
            )
        rows = np.repeat(np.arange(len(candidates)), candidates.shape[1])
        # The descent marks the places it could not fill by -1.
        found = candidates.ravel()
        cols = np.where(found >= 0, self._order[found], -1)
        keep = (cols >= 0) & (cols != rows) if own else cols >= 0
        rows, cols = rows[keep], cols[keep]

        def measure(block: slice) -> Floats:
            return space.distances(queries, rows[block], cols[block])

        parts = map_blocks(measure, len(rows), 8 * space.n_features, self.n_jobs)
        edges = sorted_edges(rows, cols, np.concatenate([*parts, np.empty(0)]))
        return space.neighborhoods(*edges, queries.shape[0]).nearest(self.n_neighbors)


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
        _check_fewer_than_samples(self.n_neighbors, X.shape[0])
        self._fitted: GraphTransformer = clone(self.transformer, safe=False)
        self._fitted.fit(X)
        self._points = X
        return self

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the built points, or of new points ``X``."""
        points = _built(self, self._points)
        queries = points
        if X is not None:
            queries = check_points(X, accept_sparse=True, min_samples=1)
            check_features(queries, points, type(self).__name__)
        graph = self._fitted.transform(queries)
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
        rows, cols = rows[keep], graph.indices[keep].astype(np.intp)
        fewest = int(np.bincount(rows, minlength=expected[0]).min())
        if fewest < self.n_neighbors:
            raise ValueError(
                f"knn={self.transformer!r} found only {fewest} neighbours of a point, "
                f"n_neighbors={self.n_neighbors} needs as many; raise the transformer's "
                f"own n_neighbors to {self.n_neighbors + 1}."
            )
        rows, cols, distances = sorted_edges(rows, cols, graph.data[keep])
        indptr = edge_starts(np.bincount(rows, minlength=expected[0]))
        found = Neighborhoods(indptr, cols, distances.astype(points.dtype, copy=False))
        return found.nearest(self.n_neighbors)


class SharedNeighbors:
    """A way to search that several estimators share as their ``knn``: points are searched once.

    What the first one that is fitted finds is given to each later one that needs no more
    neighbours of the same points, and takes the nearest of them; equal patches made of them are
    shared, too. So with an exact search every estimator is the same, to the last bit, as with a
    search of its own. Other points are searched apart.

    Parameters
    ----------
    knn : {"auto", "exact", "approximate"} or object, default="auto"
        How to search, as in :func:`neighbor_search`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold import PatchIsomap
    >>> X, knn = load_iris().data, SharedNeighbors()
    >>> planes = [PatchIsomap(n_neighbors=k, knn=knn).fit_transform(X) for k in (40, 35, 30)]
    """

    def __init__(self, knn: Any = "auto") -> None:
        self.knn = knn
        self._first: _FoundNeighbors | None = None
        self._made: tuple[Any, Any] | None = None

    def search(self, n_neighbors: int, **setting: Any) -> NeighborSearch:
        """Return a search of so many neighbours; ``setting`` is as in :func:`neighbor_search`."""
        own = neighbor_search(self.knn, n_neighbors=n_neighbors, **setting)
        return _FoundNeighbors(own, n_neighbors, self)

    def found(self, X: Any, search: _FoundNeighbors) -> _FoundNeighbors:
        """Return what was found for the rows of ``X`` if that is enough, else let it search."""
        first, same = self._first, self._has(X)
        if first is not None and same and first.n_neighbors >= search.n_neighbors:
            return first
        search.find(X)
        if first is None or same:
            self._first = search
        return search

    def once(self, X: Any, key: Any, make: Callable[[], T]) -> T:
        """Return what ``make()`` gave the last time, if that was this of the same points."""
        if not self._has(X):
            return make()
        if self._made is None or self._made[0] != key:
            self._made = key, make()
        made: T = self._made[1]
        return made

    def _has(self, X: Any) -> bool:
        """Tell whether these are the points that neighbours were found of."""
        points = None if self._first is None else self._first.points
        return points is not None and points.dtype == X.dtype and np.array_equal(points, X)


class _FoundNeighbors:
    """A search that keeps the neighbours of its own points."""

    def __init__(self, search: NeighborSearch, n_neighbors: int, shared: SharedNeighbors) -> None:
        self.n_neighbors = n_neighbors
        self.points: Any = None
        self.origin = search  # what has found them
        self._shared: SharedNeighbors | None = shared
        self._found: Neighborhoods | None = None

    def build(self, X: Any) -> _FoundNeighbors:
        """Return the search of these points, perhaps that of another estimator."""
        shared, self._shared = self._shared, None  # so that estimators do not keep one another
        return self if shared is None else shared.found(X, self)

    def find(self, X: Any) -> None:
        self._found = self.origin.build(X).query()
        self.points = X

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the built points, or of new points ``X``."""
        found = _built(self, self._found)
        return found if X is None else self.origin.query(X)


def neighbor_search(
    knn: Any = "auto",
    *,
    n_neighbors: int | None = DEFAULT_NEIGHBORS,
    radius: float | None = None,
    n_samples: int,
    n_features: int,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> NeighborSearch:
    """Choose the search for data of a given size.

    Parameters
    ----------
    knn : {"auto", "exact", "approximate"} or object, default="auto"
        ``"auto"`` is exact up to 30 000 samples, and up to 300 000 with at most 6
        features, where a tree keeps exact search quick; beyond that it is approximate if
        pynndescent is installed. An object shaped like ``KNeighborsTransformer`` is cloned
        and used, a :class:`NeighborSearch` is used as it is, and has to find enough neighbours.
    n_neighbors : int, default=15
        Neighbours of a point, itself not counted.
    radius : float, optional
        Take all points within this distance instead of the ``n_neighbors`` nearest.
    n_samples, n_features : int
        The size of the data.
    n_jobs : int, optional
        Threads, as in scikit-learn.
    random_state : int, RandomState or None
        Seed of the approximate search.

    Returns
    -------
    NeighborSearch
        Not yet built.

    Examples
    --------
    >>> type(neighbor_search(n_samples=500, n_features=4)).__name__
    'ExactNeighbors'
    """
    if isinstance(knn, str):
        check_choice("knn", knn, KNN_NAMES)
    elif isinstance(knn, type) or not isinstance(
        knn, NeighborSearch | GraphTransformer | SharedNeighbors
    ):
        raise TypeError(
            f"knn={knn!r} is neither one of {', '.join(map(repr, KNN_NAMES))} nor an object with "
            "fit and transform, such as sklearn.neighbors.KNeighborsTransformer()."
        )
    if radius is not None:
        return _radius_search(knn, n_neighbors, radius, n_jobs)
    if isinstance(knn, NeighborSearch):
        return knn
    if n_neighbors is None:
        raise ValueError("n_neighbors=None needs a radius; set n_neighbors or radius.")
    n_neighbors = check_count("n_neighbors", n_neighbors)
    _check_fewer_than_samples(n_neighbors, n_samples)
    if isinstance(knn, SharedNeighbors):
        size = {"n_samples": n_samples, "n_features": n_features}
        return knn.search(n_neighbors, **size, n_jobs=n_jobs, random_state=random_state)
    if not isinstance(knn, str):
        return TransformerNeighbors(knn, n_neighbors)
    if knn == "auto":
        limit = AUTO_TREE_SAMPLES if n_features <= TREE_FEATURES else AUTO_EXACT_SAMPLES
        many = n_samples > limit and find_spec("pynndescent") is not None
        knn = "approximate" if many else "exact"
    if knn == "approximate":
        return ApproximateNeighbors(n_neighbors, n_jobs=n_jobs, random_state=random_state)
    return ExactNeighbors(n_neighbors, n_jobs=n_jobs)


def find_neighbors(
    X: Any,
    n_neighbors: int | None = DEFAULT_NEIGHBORS,
    *,
    radius: float | None = None,
    knn: Any = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Neighborhoods:
    """Return the neighbours of every row of ``X`` among the other rows.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The points.
    n_neighbors, radius, knn, n_jobs, random_state
        As in :func:`neighbor_search`.

    Returns
    -------
    Neighborhoods
        Nearest first.

    Examples
    --------
    >>> find_neighbors([[0.0], [1.0], [3.0]], n_neighbors=1).indices
    array([1, 0, 1])
    """
    X = check_points(X, accept_sparse=True)
    search = neighbor_search(
        knn,
        n_neighbors=n_neighbors,
        radius=radius,
        n_samples=X.shape[0],
        n_features=X.shape[1],
        n_jobs=n_jobs,
        random_state=random_state,
    )
    found = search.build(X).query()
    return found if radius is not None or n_neighbors is None else found.nearest(n_neighbors)


def _built(search: Any, state: State | None) -> State:
    if state is None:
        raise NotFittedError(f"{type(search).__name__} is not built; call build(X) before query.")
    return state


def _check_fewer_than_samples(n_neighbors: int, n_samples: int) -> None:
    if n_neighbors >= n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors} needs more than {n_neighbors} samples, got {n_samples}; "
            f"lower n_neighbors to at most {n_samples - 1}."
        )


def _radius_search(
    knn: Any, n_neighbors: int | None, radius: float, n_jobs: int | None
) -> NeighborSearch:
    if knn not in ("auto", "exact"):
        raise ValueError(
            f"radius={radius} and knn={knn!r} exclude each other, a radius is searched exactly; "
            "use knn='exact', or radius=None."
        )
    if n_neighbors not in (None, DEFAULT_NEIGHBORS):
        raise ValueError(
            f"n_neighbors={n_neighbors} and radius={radius} exclude each other; "
            "leave n_neighbors at its default, or use radius=None."
        )
    return RadiusNeighbors(radius, n_jobs=n_jobs)


def _import_descent() -> Any:
    try:
        from pynndescent import NNDescent
    except ImportError as error:
        raise ImportError(
            "knn='approximate' needs pynndescent; pip install 'patchfold[ann]' or use knn='exact'."
        ) from error
    return NNDescent


def _numba_threads(n_jobs: int | None) -> int:
    from numba import get_num_threads

    return min(n_threads(n_jobs), int(get_num_threads()))
