"""The graph of all rows from that of the distinct points: copies of a point are one point."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.sparse import csr_array

from patchfold.neighbors.copies import DistinctNeighbors

if TYPE_CHECKING:
    from patchfold.graph.patch_graph import PatchGraph
    from patchfold.neighbors.copies import Copies
    from patchfold.neighbors.fitted_rows import RowTable
    from patchfold.neighbors.protocol import NeighborSearch
    from patchfold.supervision import Codes


def expanded(
    graph: PatchGraph, copies: Copies, X: Any, rows: RowTable, codes: Codes | None = None
) -> PatchGraph:
    """Return the graph of all rows, given that of the distinct points.

    A copy has the patch and the neighbours of its point, and one edge of the matrix: of length
    zero, to the first row of the point. So geodesics are those between the points, and what the
    copies need grows with their number, not its square. Patches and what they were made of, the
    largest part of a graph, are not copied. New points find the first rows only.

    Parameters
    ----------
    graph : PatchGraph
        That of the distinct points, ``X[copies.first]``.
    copies : Copies
    X : array or sparse matrix of shape (n, m)
    rows : RowTable
        That of ``X``.
    codes : array of shape (n,) or None
        The class of every row.
    """
    lengths, points = graph.lengths, X
    if graph.span is not None and lengths.patches is not None:
        points = lengths.points[copies.point]
    lengths = replace(
        lengths,
        points=points,
        codes=codes,
        known_mean=None if lengths.rule is None else lengths.mean,
        patch_of=None if lengths.patches is None else copies.point,
    )
    return replace(
        graph,
        neighborhoods=copies.of_rows(graph.neighborhoods),
        matrix=_with_copies(graph.matrix, copies),
        lengths=lengths,
        search=DistinctNeighbors(cast("NeighborSearch", graph.search), copies),
        rows=rows,
        copies=copies,
        removed=None if graph.removed is None else copies.first[graph.removed],
    )


def _with_copies(matrix: csr_array, copies: Copies) -> csr_array:
    """Return the matrix of all rows: copies have one edge, of length zero, to the first."""
    n, extra = len(copies.point), copies.to_first(matrix.dtype)
    sources = np.repeat(copies.first, np.diff(matrix.indptr))
    i = np.concatenate([sources, extra.sources, extra.indices])
    j = np.concatenate([copies.first[matrix.indices], extra.indices, extra.sources])
    lengths = np.concatenate([matrix.data, extra.distances, extra.distances])
    return csr_array((lengths, (i, j)), shape=(n, n))
