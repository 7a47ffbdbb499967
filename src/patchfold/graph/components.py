"""Connected components of a graph, and the edges that join them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from patchfold.engines.pools import block_slices
from patchfold.graph.edges import symmetric

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]


def n_components(graph: csr_array) -> tuple[int, Indices]:
    """Return the number of connected components and that of every point; zeros are edges."""
    pattern = csr_array((np.ones(len(graph.indices)), graph.indices, graph.indptr), graph.shape)
    count, labels = connected_components(pattern, directed=False)
    return int(count), labels.astype(np.intp)


def longest_needed(graph: csr_array) -> float:
    """Return the longest edge of a minimum spanning tree: without it the graph falls apart."""
    # The tree of the ranks, from one on: so a length of zero is an edge, and none is rounded.
    values, ranks = np.unique(graph.data, return_inverse=True)
    ranked = csr_array((ranks + 1.0, graph.indices, graph.indptr), graph.shape)
    tree = minimum_spanning_tree(ranked).data
    return float(values[int(tree.max()) - 1]) if len(tree) else 0.0


def bridges(
    labels: Indices, gaps: Callable[[slice], tuple[Floats, Floats]]
) -> tuple[Indices, Indices]:
    """Join components one closest pair at a time until one remains (SA-Isomap, section 2.1).

    The pairs are the minimum spanning tree between components under the order
    ``(gap, tie, i, j)``. In each round, every component chooses its closest pair.

    Parameters
    ----------
    labels : array of shape (n,)
        The component of every point.
    gaps : callable
        ``gaps(block)`` gives the gaps between a block of points and all points, and the ties that
        decide between equal gaps.

    Returns
    -------
    i, j : arrays with one entry fewer than there are components, ``i < j``
    """
    n = len(labels)
    chosen: set[tuple[int, int]] = set()
    while labels.max(initial=0) > 0:
        best: dict[int, tuple[float, float, int, int]] = {}
        for block in block_slices(n, 6 * 8 * n):
            values, ties = gaps(block)
            values = np.where(labels[block, None] == labels, np.inf, values)
            nearest = values.min(axis=1)
            ties = np.where(values == nearest[:, None], ties, np.inf)
            columns = np.argmin(ties, axis=1)
            least = np.take_along_axis(ties, columns[:, None], axis=1)[:, 0]
            rows = np.arange(block.start, block.stop)
            low, high = np.minimum(rows, columns), np.maximum(rows, columns)
            edges = zip(*(part.tolist() for part in (nearest, least, low, high)), strict=True)
            for edge in edges:
                for end in edge[2:]:
                    label = int(labels[end])
                    best[label] = min(best.get(label, edge), edge)
        chosen |= {edge[2:] for edge in best.values()}
        low, high = np.array(sorted(chosen), dtype=np.intp).T
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        joined = symmetric(
            np.concatenate([np.arange(n), low]),
            np.concatenate([first[inverse], high]),
            np.ones(n + len(low)),
            n,
        )
        labels = n_components(joined)[1]
    ends = np.array(sorted(chosen), dtype=np.intp).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]
