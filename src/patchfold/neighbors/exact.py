"""Exact search: the k nearest points, or all within a radius."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from patchfold.base.arrays import to_numpy
from patchfold.base.validation import check_count, check_points, check_radius, warn_user
from patchfold.gpu.devices import on_host, put
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.neighbors.points import SearchedPoints, all_within, k_nearest
from patchfold.neighbors.protocol import built, check_fewer_than_samples

# Points up to which a search on a GPU is exact: it looks at so many around every point.
ALL_SEEN = 2 * 10**6


class ExactNeighbors:
    """The ``n_neighbors`` nearest points, exactly, under the order (distance, index).

    A k-d tree finds the candidates of dense data with at most 6 features, blocks of near points
    those of other dense data of 20 000 points or more, where they leave out enough of these, and a
    scan over all pairs those of the rest. The order is that of the distances in double precision,
    also for float32 data, whose distances are rounded to float32 only when they are returned.

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

    # Where the search runs: a device of torch, or None for threads.
    device: str | None = None

    def __init__(self, n_neighbors: int, *, n_jobs: int | None = None) -> None:
        self.n_neighbors = check_count("n_neighbors", n_neighbors)
        self.n_jobs = n_jobs
        self._space: SearchedPoints | None = None

    def build(self, X: Any) -> Self:
        """Prepare the search on the rows of ``X``, dense or sparse, and return it."""
        X = check_points(on_host(X), accept_sparse=True)
        check_fewer_than_samples(self.n_neighbors, X.shape[0])
        self._space = SearchedPoints(X, self.n_jobs)
        return self

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the built points, or of new points ``X``."""
        space = built(self, self._space)
        queries = space.check_queries(on_host(X), type(self).__name__)
        if self.device is None:
            near = k_nearest(space, queries, self.n_neighbors, own=X is None)
            if X is None:
                space.forget()
            return near
        from patchfold.gpu.neighbors import nearest, recall

        points = put(space.points, self.device)
        found = nearest(points, self.n_neighbors, None if X is None else put(queries, self.device))
        if X is None and len(points) > ALL_SEEN:
            warn_user(
                f"of more than {ALL_SEEN} points, a GPU sees those that are near in a rough order; "
                f"it found {recall(points, found[0]):.1%} of the neighbours of a sample."
            )
        indices, distances = (to_numpy(part).ravel() for part in found)
        starts = np.arange(len(queries) + 1, dtype=np.intp) * self.n_neighbors
        return Neighborhoods(starts, indices.astype(np.intp, copy=False), distances)

    @property
    def cost(self) -> float:
        """What a search of the points costs, about, in the unit of ``blocks.CHOOSING``."""
        return built(self, self._space).cost

    def on(self, device: str | None) -> Self:
        """Return the same search on a device of torch, or in threads."""
        moved = copy(self)
        moved.device = device
        return moved


class RadiusNeighbors:
    """All points within ``radius``: rows may have different numbers of neighbours, or none.

    Parameters
    ----------
    radius : float
        Largest distance of a neighbour; a point at exactly this distance is one. With infinity all
        points are neighbours.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on it.

    Examples
    --------
    >>> RadiusNeighbors(1.0).build([[0.0], [1.0], [3.0]]).query().degrees
    array([1, 1, 0])
    """

    def __init__(self, radius: float, *, n_jobs: int | None = None) -> None:
        self.radius = check_radius(radius)
        self.n_jobs = n_jobs
        self._space: SearchedPoints | None = None

    def build(self, X: Any) -> Self:
        """Prepare the search on the rows of ``X``, dense or sparse, and return it."""
        self._space = SearchedPoints(check_points(X, accept_sparse=True), self.n_jobs)
        return self

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the built points, or of new points ``X``."""
        space = built(self, self._space)
        queries = space.check_queries(X, type(self).__name__)
        # In the type of the data: 0.1 apart in float32 is within a radius of 0.1.
        radius = float(space.points.dtype.type(self.radius))
        return all_within(space, queries, radius, own=X is None)
