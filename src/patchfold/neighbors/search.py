"""The search that suits the data, and one that several estimators share."""

from __future__ import annotations

from copy import copy
from importlib.util import find_spec
from reprlib import repr as short
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args

import numpy as np

from patchfold.base.types import KnnName
from patchfold.base.validation import check_choice, check_count, check_points
from patchfold.neighbors.approximate import ApproximateNeighbors
from patchfold.neighbors.blocks import CHOOSING as OF_A_PAIR
from patchfold.neighbors.exact import ExactNeighbors, RadiusNeighbors
from patchfold.neighbors.given import TransformerNeighbors, as_search
from patchfold.neighbors.points import TREE_FEATURES
from patchfold.neighbors.protocol import (
    GraphTransformer,
    NeighborSearch,
    built,
    check_fewer_than_samples,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.neighbors.neighborhoods import Neighborhoods


T = TypeVar("T")

DEFAULT_NEIGHBORS = 15

KNN_NAMES = get_args(KnnName)

# "auto" searches exactly up to these sizes. A scan is quadratic (on 20 000 x 784 it takes
# several times as long as the approximate search: benchmarks/recall.py), a tree is not; and
# pynndescent compiles for 25 to 50 s in every process, which only a larger search repays.
AUTO_EXACT_SAMPLES = 30_000

# More samples than that are scanned, too, if they have so few features that it takes no longer than
# AUTO_EXACT_SAMPLES of 784: to choose the nearest takes about as long as 200 features do. On two
# cores, 54 000 x 22 take 8 s, 54 000 x 100 12 s, and 30 000 x 784 15 s.
CHOOSING = 200
AUTO_SCAN = AUTO_EXACT_SAMPLES**2 * (CHOOSING + 784)

AUTO_TREE_SAMPLES = 300_000

# Still more samples are searched exactly where blocks of near points leave out so many that it
# takes at most twice as long as a scan of AUTO_EXACT_SAMPLES of 784: about as long as pynndescent
# compiles. Chosen by looking at rolls and Fashion-MNIST: of 50 columns, a roll of a million samples
# takes 0.96 of it, 70 000 x 784 of Fashion-MNIST 0.97, and 100 000 x 50 random numbers 1.6.
AUTO_BLOCKS = 2 * AUTO_EXACT_SAMPLES**2 * (OF_A_PAIR + 2 * 784)


class SharedNeighbors:
    """A way to search that several estimators share as their ``knn``: points are searched once.

    What the first one that is fitted finds is given to each later one that needs no more
    neighbours of the same points, and takes the nearest of them. Equal patches made of them are
    shared, too, and the divergences of their pairs. So with an exact search every estimator is the
    same, to the last bit, as with a search of its own. Other points are searched apart.

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
        self._made: dict[Any, tuple[Any, Any]] = {}
        self._making = RLock()

    def search(self, n_neighbors: int, **setting: Any) -> NeighborSearch:
        """Return a search of ``n_neighbors``; ``setting`` is as in :func:`neighbor_search`."""
        own = neighbor_search(self.knn, n_neighbors=n_neighbors, **setting)
        return _FoundNeighbors(own, n_neighbors, self)

    def found(self, X: Any, search: _FoundNeighbors) -> _FoundNeighbors:
        """Return what was found for the rows of ``X`` if that is enough, else let it search."""
        with self._making:  # two estimators at once
            first, same = self._first, self.has(X)
            if first is not None and same and first.n_neighbors >= search.n_neighbors:
                return first
            search.find(X)
            if first is None or same:
                self._first = search
            return search

    def once(self, kind: Any, key: Any, make: Callable[[], T]) -> T:
        """Return what ``make()`` gave the last time of this ``kind``, if that was for this key."""
        with self._making:  # two estimators at once
            if kind not in self._made or self._made[kind][0] != key:
                self._made[kind] = key, make()
            made: T = self._made[kind][1]
            return made

    def has(self, X: Any) -> bool:
        """Tell whether these are the points that neighbours were found of."""
        points = None if self._first is None else self._first.points
        return points is not None and points.dtype == X.dtype and np.array_equal(points, X)


# What the parameter ``knn`` may be.
Knn: TypeAlias = KnnName | NeighborSearch | GraphTransformer | SharedNeighbors | tuple[Any, ...]


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
        self.origin = self.origin.build(X)
        self._found = self.origin.query()
        self.points = X

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the built points, or of new points ``X``."""
        found = built(self, self._found)
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
    knn : {"auto", "exact", "approximate"}, object or (indices, distances), default="auto"
        ``"auto"`` is exact up to 30 000 samples; up to 47 000 with 200 features, 54 000 with 100
        and 59 000 with 50; up to 300 000 with at most 6, where a tree keeps exact search quick;
        and beyond where blocks of near points do, as on a noisy surface in 50 features. Else it is
        approximate if pynndescent is installed. An object shaped like
        ``KNeighborsTransformer`` is cloned and used, a copy of a :class:`NeighborSearch` is
        used, and has to find enough neighbours. A pair of arrays is :class:`GivenNeighbors`.
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
    knn = as_search(knn)
    if isinstance(knn, str):
        check_choice("knn", knn, KNN_NAMES)
    elif isinstance(knn, type) or not isinstance(
        knn, NeighborSearch | GraphTransformer | SharedNeighbors
    ):
        raise TypeError(
            f"knn={short(knn)} is neither one of {', '.join(map(repr, KNN_NAMES))} nor an object "
            "with fit and transform, such as sklearn.neighbors.KNeighborsTransformer(), nor a "
            "tuple of arrays (indices, distances)."
        )
    if radius is not None:
        return _radius_search(knn, n_neighbors, radius, n_jobs)
    if isinstance(knn, NeighborSearch):
        return copy(knn)  # building it must not change what the user gave
    if n_neighbors is None:
        raise ValueError("n_neighbors=None needs a radius; set n_neighbors or radius.")
    n_neighbors = check_count("n_neighbors", n_neighbors)
    check_fewer_than_samples(n_neighbors, n_samples)
    if isinstance(knn, SharedNeighbors):
        size = {"n_samples": n_samples, "n_features": n_features}
        return knn.search(n_neighbors, **size, n_jobs=n_jobs, random_state=random_state)
    if not isinstance(knn, str):
        return TransformerNeighbors(knn, n_neighbors)
    if exact_suits(knn, n_samples, n_features):
        return ExactNeighbors(n_neighbors, n_jobs=n_jobs)
    approximate = ApproximateNeighbors(n_neighbors, n_jobs=n_jobs, random_state=random_state)
    return AutoNeighbors(approximate) if knn == "auto" else approximate


class AutoNeighbors:
    """A search that is exact where blocks of near points make it quick, and else approximate.

    Parameters
    ----------
    approximate : ApproximateNeighbors
        The search of data that are not searched exactly.
    """

    def __init__(self, approximate: ApproximateNeighbors) -> None:
        self._approximate = approximate

    def build(self, X: Any, *, most: float = AUTO_BLOCKS) -> ExactNeighbors | ApproximateNeighbors:
        """Return the search that suits the points, built on them."""
        n_neighbors, n_jobs = self._approximate.n_neighbors, self._approximate.n_jobs
        exact = ExactNeighbors(n_neighbors, n_jobs=n_jobs).build(X)
        return exact if exact.cost <= most else self._approximate.build(X)

    def query(self, X: Any = None) -> Neighborhoods:
        """Say that only a search that is built has neighbours."""
        return built(self, None)


def exact_suits(knn: Any, n_samples: int, n_features: int) -> bool:
    """Tell whether a search of this name is exact for data of a given size."""
    if knn != "auto":
        return bool(knn == "exact")
    limit = AUTO_TREE_SAMPLES if n_features <= TREE_FEATURES else AUTO_EXACT_SAMPLES
    quick = n_samples <= limit or n_samples**2 * (CHOOSING + n_features) <= AUTO_SCAN
    return quick or find_spec("pynndescent") is None


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
