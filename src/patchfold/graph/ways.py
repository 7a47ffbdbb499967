"""How long ways through a graph are at least, and which pairs of points a short way joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import dijkstra
from sklearn.utils import gen_batches
from sklearn.utils.extmath import randomized_range_finder

from patchfold.engines.threads import map_blocks, map_slices, one_blas_thread
from patchfold.graph.geodesics import LOADED_WORK, shortest_paths

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]
    Mask = NDArray[np.bool_]

# Ways are bounded from below by the geodesics of so many points spread over the graph.
LANDMARKS = 16

# An outline has so many dimensions, found from so many points. More dimensions leave out more
# points of a search, and each takes longer to look at: 15 000 images of Fashion-MNIST take as long
# with 32, and a twentieth longer with 8.
OUTLINED, OUTLINED_FROM = 16, 2000

# Lengths of edges are rounded, in float32 too: a way may be shorter by this part of it. Places in
# an outline are rounded to float32, by less than this part of the extent of the points.
EDGE_ROUNDING, PLACE_ROUNDING = 1e-5, 1e-6

# Squares of lengths in this range neither overflow nor vanish in float32.
SQUARED = 1e-15, 1e15

# Pairs that one thread takes at a time.
PAIRS = 4096


class Outline(NamedTuple):
    """Points in few dimensions, never farther apart than they are, but for an error."""

    places: Floats
    error: float


def outline_of(points: Floats, n_jobs: int | None = None) -> Outline:
    """Project points on the few directions in which they vary most, as far as a sample shows.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(size=(100, 40))
    >>> places, error = outline_of(points)
    >>> places.shape, bool(np.linalg.norm(places[0] - places[1]) < 10)
    ((100, 16), True)
    """
    sample = points[:: -(-len(points) // OUTLINED_FROM)].astype(np.float64)
    middle = sample.mean(axis=0)

    def moved(block: slice) -> Floats:
        return np.asarray(points[block].astype(np.float64) - middle)

    directions = np.eye(points.shape[1])
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        size = 2 * points.shape[1] * directions.itemsize
        extent = np.max(map_blocks(lambda b: _extent(moved(b)), len(points), size, n_jobs))
        if not SQUARED[0] < extent < SQUARED[1]:
            return Outline(np.empty((len(points), 0), dtype=np.float32), 0.0)
        if points.shape[1] > OUTLINED:
            directions = randomized_range_finder(
                (sample - middle).T, size=OUTLINED, n_iter=2, random_state=0
            )
        places = map_blocks(lambda b: moved(b) @ directions, len(points), size, n_jobs)
    return Outline(np.concatenate(places).astype(np.float32), PLACE_ROUNDING * float(extent))


def joined_within(
    graph: csr_array,
    i: Indices,
    j: Indices,
    bounds: Floats,
    outline: Outline | None = None,
    *,
    n_jobs: int | None = None,
    compiled_work: int | None = None,
    n_pairs: int = PAIRS,
) -> Mask:
    """Tell which pairs a path joins that is no longer than their bound.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Lengths finite and not negative; stored zeros are edges.
    i, j : arrays of shape (n_pairs,)
        Where paths start and end, sorted by ``i``.
    bounds : array of shape (n_pairs,)
    outline : Outline or None
        Of points that no path joins by less than their distance. The search is quicker with it; the
        result is the same.
    n_jobs : int or None
    compiled_work : int or None
        Sources times edges from which compiled code is used; None: a million.
    n_pairs : int
        Pairs that one thread takes at a time.

    Returns
    -------
    array of bool of shape (n_pairs,)

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]]))
    >>> joined_within(path, np.array([0, 0]), np.array([1, 2]), np.array([2.0, 2.0]))
    array([ True, False])
    """
    starts = np.flatnonzero(np.diff(i, prepend=-1))  # the first pair of every source
    bounds = np.asarray(bounds, dtype=np.float64)
    if len(starts) * graph.nnz < (LOADED_WORK if compiled_work is None else compiled_work):
        paths = dijkstra(graph, directed=True, indices=i[starts], limit=bounds.max(initial=0.0))
        which = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(i)))
        return np.asarray(paths[which, j] <= bounds)
    from patchfold.graph import seeking

    if outline is None:
        outline = Outline(np.empty((graph.shape[0], 0), dtype=np.float32), 0.0)
    edges = (
        graph.indptr.astype(np.intp, copy=False),
        graph.indices.astype(np.intp, copy=False),
        graph.data.astype(np.float64, copy=False),
    )
    most = bounds * (1.0 + EDGE_ROUNDING) + outline.error
    found = np.empty(len(i), dtype=bool)

    def solve(block: slice) -> None:
        ends, limits = (i[block], j[block]), (bounds[block], most[block])
        seeking.joined(*edges, *ends, *limits, outline.places, found[block])

    map_slices(solve, list(gen_batches(len(i), n_pairs)), n_jobs)
    return found


def landmark_ways(
    graph: csr_array,
    i: Indices,
    j: Indices,
    n_jobs: int | None = None,
    *,
    compiled_work: int | None = None,
) -> Floats:
    """Return lower bounds of the geodesics between pairs, by those from landmarks.

    ``|g(l, i) - g(l, j)| <= g(i, j)`` for every landmark ``l``. Landmarks are spread over the
    graph: the first is the point whose edges are the longest in sum, each of the others the point
    farthest from those before it, so that the order of points does not matter. ``compiled_work`` is
    that of :func:`~patchfold.graph.geodesics.shortest_paths`.
    """
    sums = np.asarray(graph.sum(axis=1))
    nearest = np.full(graph.shape[0], np.inf)
    bounds: Floats = np.zeros(len(i))
    for _ in range(min(LANDMARKS, graph.shape[0])):
        farthest = np.flatnonzero(nearest == nearest.max())
        landmark = farthest[sums[farthest] == sums[farthest].max()][-1:]
        paths = shortest_paths(graph, landmark, n_jobs=n_jobs, compiled_work=compiled_work)[0]
        nearest = np.minimum(nearest, paths)
        bounds = least_ways(bounds, paths[i], paths[j])
    return bounds


def least_ways(bounds: Floats, to_i: Floats, to_j: Floats) -> Floats:
    """Return lower bounds of geodesics, improved by those of both ends from one more landmark."""
    with np.errstate(invalid="ignore"):  # of points in another component nothing is learned
        differences = np.abs(to_i - to_j)
    return np.where(np.isfinite(differences), np.maximum(bounds, differences), bounds)


def _extent(rows: Floats) -> float:
    """Return the length of the longest row."""
    return float(np.linalg.norm(rows, axis=1).max(initial=0.0))
