"""Approximate search by pynndescent, with exact distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from patchfold.base import row_order
from patchfold.base.threads import map_blocks, n_threads
from patchfold.base.validation import check_count, check_points, ignored_warnings
from patchfold.neighbors.points import SearchedPoints, k_nearest, sorted_edges
from patchfold.neighbors.protocol import built, check_fewer_than_samples

if TYPE_CHECKING:
    from patchfold.base.types import Floats
    from patchfold.neighbors.neighborhoods import Neighborhoods


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
        self._space: SearchedPoints | None = None
        self._descent: Any = None
        self._order: Any = None

    def build(self, X: Any) -> Self:
        """Run the descent on the rows of ``X``, dense or sparse, and return the search."""
        X = check_points(X, accept_sparse=True)
        check_fewer_than_samples(self.n_neighbors, X.shape[0])
        self._space = SearchedPoints(X, self.n_jobs)
        self._descent = self._descended(self._space)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the index, which is built again when it is asked for."""
        return {**vars(self), "_descent": None}

    def _descended(self, space: SearchedPoints) -> Any:
        """Build the index; None for few points, which are searched exactly."""
        try:
            from numba import get_num_threads
            from pynndescent import NNDescent
        except ImportError as error:
            raise ImportError(
                "knn='approximate' needs pynndescent; pip install 'patchfold[ann]' or use "
                "knn='exact'."
            ) from error
        n_samples = space.n_samples
        if n_samples <= self.SMALLEST_DESCENT:
            return None
        n_jobs = min(n_threads(self.n_jobs), int(get_num_threads()))
        with ignored_warnings():  # of points with too few neighbours found; the class says so
            placed = space.placed(space.points, np.float32)
            self._order = row_order.walk(placed)
            return NNDescent(
                placed[self._order],
                n_neighbors=min(self.n_neighbors + 1 + self.SPARE_CANDIDATES, n_samples),
                random_state=self.random_state,
                n_jobs=1 if self.random_state is not None else n_jobs,
            )

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the built points, or of new points ``X``."""
        space = built(self, self._space)
        queries = space.check_queries(X, type(self).__name__)
        own = X is None
        if self._descent is None:  # few points, or taken from a file
            self._descent = self._descended(space)
        if self._descent is None:
            return k_nearest(space, queries, self.n_neighbors, own=own)
        if own:
            candidates = self._descent.neighbor_graph[0][row_order.inverse(self._order)]
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
