"""Geodesics: lengths of shortest paths through a graph.

Paths are exact: the length of a path is the sum of its edges in order, in float64, and a geodesic
is the least over all paths. That number does not depend on how it is found. So SciPy's way and the
compiled one of :mod:`patchfold.graph.shortest_path_kernel` agree to the last bit, for any number of
threads.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import is_torch_array
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, reverse_cuthill_mckee
from sklearn.utils import gen_batches

from patchfold.base.arrays import of_type
from patchfold.base.row_order import inverse
from patchfold.base.threads import map_slices
from patchfold.gpu.devices import graph_on, put

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.arrays import Array
    from patchfold.base.types import Floats, Indices
    from patchfold.neighbors.neighborhoods import Neighborhoods


# Sources times edges from which compiled code is used. SciPy visits as many in the time that the
# import of the compiler takes, which is less than half a second.
COMPILED_WORK = 4 * 10**7

# The same once the compiler is imported.
LOADED_WORK = 10**6

# Sources that go through the graph together. More share one walk; but the farther apart they are,
# the more often a point gets another turn. So many where at least one point in SPARSE is a source,
# FEW_LANES where sources are farther apart: 500 of 100 000 points of a roll take 1.8 s of one core,
# 4.4 s in lanes of 64, 6.5 s one after the other.
LANES, FEW_LANES, SPARSE = 64, 8, 8

# Sources from which it pays to reorder a graph, and to drop edges that no shortest path takes.
REORDERED = 8

# Points whose paths are turned at once.
TURNED_ROWS = 1024

# Numbers in given paths from which compiled code continues them.
COMPILED_PATHS = 10**6


def unit_of(longest: float, dtype: Any) -> float:
    """Return the longest geodesic as a unit, in which squares neither overflow nor vanish."""
    if np.isinf(longest):  # all points are connected
        raise ValueError(
            f"geodesics between the points overflow {dtype}; rescale X, or convert it to float64."
        )
    return longest or 1.0


def shortest_paths(
    graph: csr_array,
    sources: Indices | None = None,
    *,
    n_jobs: int | None = None,
    compiled_work: int | None = None,
    lanes: int | None = None,
    reorder: bool = True,
    by_point: bool = False,
    dtype: Any = None,
) -> Floats:
    """Return the lengths of the shortest paths from the sources (None: all points) to all points.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric, lengths finite and not negative; stored zeros are edges.
    sources : array of shape (n_sources,) or None
    n_jobs : int or None
        Number of threads, if there is enough work for them. Results do not depend on it.
    compiled_work : int or None
        Sources times edges from which compiled code is used; None: fewer once the compiler is
        imported.
    lanes : int or None
        Sources that go through the graph together; None: as many as suits them.
    reorder : bool, default=True
        Whether a graph with many sources is brought into another order first; False for one that
        :func:`reordered` has returned.
    by_point : bool, default=False
        Whether the lengths from a point, not those from a source, are neighbours in memory.
    dtype : dtype or None
        What sums in float64 are rounded to; None: float32 for a float32 graph, float64 otherwise.

    Returns
    -------
    array of shape (n_sources, n), infinite where there is no path

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]]))
    >>> shortest_paths(path)
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    dtype = dtype or (np.float32 if graph.dtype == np.float32 else np.float64)
    n_sources = graph.shape[0] if sources is None else len(sources)
    if compiled_work is None:
        compiled_work = LOADED_WORK if "numba" in sys.modules else COMPILED_WORK
    if n_sources * graph.nnz < max(compiled_work, 1):
        # The graph is stored both ways, so following the arrows follows every edge.
        with np.errstate(over="ignore"):  # beyond float32: infinite, as without a path
            found = dijkstra(graph, directed=True, indices=sources)
            return found.astype(dtype, order="F" if by_point else "C", copy=False)
    start = np.arange(n_sources) if sources is None else np.asarray(sources)
    compact, order = graph, np.arange(graph.shape[0])
    if reorder and len(start) >= REORDERED:
        compact, order = reordered(graph)
    if lanes is None:
        dense = len(start) * SPARSE >= graph.shape[0]
        lanes = LANES if dense else FEW_LANES if len(start) >= FEW_LANES else 1
    lengths = np.empty((len(start), graph.shape[0]), dtype, order="F" if by_point else "C")
    _relax(compact, order, start, lanes, lengths, n_jobs)
    return lengths


def paths_on(device: str, graph: csr_array, dtype: Any = None) -> Callable[[Indices], Array]:
    """Return what finds the lengths of the shortest paths from sources on a device of torch.

    The lengths (n_sources, n) are a tensor there, equal to those of :func:`shortest_paths` for this
    ``dtype``.
    """
    from patchfold.gpu import geodesics

    find = geodesics.Paths(*graph_on(graph, device))
    return lambda sources: of_type(find(put(sources, device)), dtype or graph.dtype)


def reordered(graph: csr_array) -> tuple[csr_array, Indices]:
    """Return a graph in which paths are found quickly, and which point each of its points is.

    Neighbours in the graph become neighbours in memory, and edges that no shortest path takes are
    dropped.
    """
    order = np.ascontiguousarray(reverse_cuthill_mckee(graph, symmetric_mode=True), np.intp)
    return _without_detours(graph[order][:, order]), order


def continued_paths(
    paths: Floats, near: Neighborhoods, *, compiled_numbers: int = COMPILED_PATHS
) -> Floats:
    """Return the geodesics of new points: first to a neighbour, from there along a known path.

    Parameters
    ----------
    paths : array of shape (n, n_targets)
        Geodesics from all points of a graph to some.
    near : Neighborhoods
        One or more neighbours in the graph of every new point, and its lengths to them.
    compiled_numbers : int
        Numbers in ``paths`` from which compiled code is used.

    Returns
    -------
    array of shape (n_new, n_targets)

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold.neighbors.neighborhoods import Neighborhoods
    >>> paths = np.array([[0.0, 3.0], [1.0, 2.0], [3.0, 0.0]])
    >>> near = Neighborhoods(np.array([0, 2]), np.array([1, 0]), np.array([0.25, 0.5]))
    >>> continued_paths(paths, near)
    array([[0.5 , 2.25]])
    """
    lengths = near.distances.astype(np.float64, copy=False)
    if paths.size < compiled_numbers:
        through = paths[near.indices] + lengths[:, None]
        return np.asarray(np.minimum.reduceat(through, near.indptr[:-1]))
    from patchfold.graph import shortest_path_kernel

    result = np.full((len(near), paths.shape[1]), np.inf)
    shortest_path_kernel.continue_paths(paths, near.indptr, near.indices, lengths, result)
    return result


def by_point(paths: Floats, dtype: Any, n_jobs: int | None = None) -> Floats:
    """Return paths (n_sources, n) as an array (n, n_sources); nothing is copied if they lie so.

    Examples
    --------
    >>> by_point(np.array([[0.0, 1.0, 3.0]]), np.float32).ravel()
    array([0., 1., 3.], dtype=float32)
    """
    if is_torch_array(paths):
        turned: Floats = of_type(paths.T, dtype).contiguous()
        return turned
    if paths.T.flags.c_contiguous and paths.dtype == dtype:
        return paths.T
    turned = np.empty(paths.shape[::-1], dtype)

    def turn(rows: slice) -> None:
        turned[rows] = paths[:, rows].T

    map_slices(turn, list(gen_batches(len(turned), TURNED_ROWS)), n_jobs)
    return turned


def _without_detours(graph: csr_array) -> csr_array:
    """Drop edges that no shortest path takes, because a path over one other point is shorter.

    Graphs of divergences have many; graphs of distances have none.
    """
    from patchfold.graph import shortest_path_kernel

    # More than rounding can change: no path is longer than all edges together.
    slack = 8 * float(np.finfo(np.float64).eps) * float(graph.data.sum(dtype=np.float64))
    edges: tuple[Any, Any, Any] = graph.indptr, graph.indices, graph.data
    kept = ~shortest_path_kernel.has_shortcut(*edges, slack)
    before = np.concatenate(([0], np.cumsum(kept))).astype(graph.indptr.dtype)
    return csr_array((graph.data[kept], graph.indices[kept], before[graph.indptr]), graph.shape)


def _relax(
    compact: csr_array,
    order: Indices,
    sources: Indices,
    lanes: int,
    lengths: Floats,
    n_jobs: int | None,
) -> None:
    """Write the shortest paths from the sources into ``lengths``, by compiled code.

    ``order`` tells which point each of the points of the graph is.
    """
    # Here and not above: small data should not wait for the compiler to be imported.
    from patchfold.graph import shortest_path_kernel

    # As they are: half as large as in double precision, and sums are in double precision anyway.
    edges: tuple[Any, Any, Any] = compact.indptr, compact.indices, compact.data
    dial = shortest_path_kernel.dial(compact.data, len(order))
    starts = inverse(order)[sources]
    groups = np.arange(len(sources))
    if lanes > 1:
        ranks = shortest_path_kernel.rank_by_groups(*edges[:2], starts, lanes)
        groups = np.argsort(ranks[starts], kind="stable")
    # Blocks reuse memory: to allocate it takes longer than to fill it.
    spare: list[Floats] = []

    def solve(block: slice) -> None:
        rows = groups[block]
        try:
            far = spare.pop()
        except IndexError:
            far = np.empty((len(order), lanes))
        shortest_path_kernel.relax(*edges, *dial, starts[rows], far, (0,) * lanes)
        shortest_path_kernel.write(far, order, rows, lengths)
        spare.append(far)

    map_slices(solve, list(gen_batches(len(sources), lanes)), n_jobs)
