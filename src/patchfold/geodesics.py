"""Geodesics: lengths of shortest paths through a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.csgraph import dijkstra

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array


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
