"""Geodesics: lengths of shortest paths through a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.neighborhoods import Neighborhoods


def shortest_paths(
    graph: csr_array, sources: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Return the lengths of the shortest paths from the sources (None: all points) to all points.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric, lengths not negative; stored zeros are edges.
    sources : array of shape (n_sources,) or None

    Returns
    -------
    array of shape (n_sources, n), infinite where there is no path
    """
    # The graph is stored both ways, so following the arrows follows every edge.
    return np.asarray(dijkstra(graph, directed=True, indices=sources))


def paths_from_new(graph: csr_array, near: Neighborhoods) -> NDArray[np.float64]:
    """Return the lengths of the shortest paths from new points to all points of the graph.

    A new point has arrows to its neighbours ``near`` and none from them, so that new points lead
    nowhere for each other.

    Returns
    -------
    array of shape (n_new, n)
    """
    new, n = len(near), graph.shape[0]
    data = np.concatenate([near.distances, graph.data])
    columns = np.concatenate([near.indices, graph.indices]) + new
    starts = np.concatenate([near.indptr[:-1], near.indptr[-1] + graph.indptr])
    both = csr_array((data, columns, starts), (new + n, new + n))
    return shortest_paths(both, np.arange(new))[:, new:]
