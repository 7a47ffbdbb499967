"""Components of a graph in parts: those of the whole graph."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from patchfold.distributed.components import components


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
def test_rows_of_all_parts_have_the_components_of_the_whole_graph(parted, share):
    rng = np.random.default_rng(2)
    graph = parted(rng.normal(size=(120, 2)), 3, n_parts=4)
    kept = rng.uniform(size=len(graph.i)) < share
    n = len(graph.X)
    joined = csr_array((np.ones(kept.sum()), (graph.i[kept], graph.j[kept])), shape=(n, n))
    count, expected = connected_components(joined, directed=False)

    labels, sizes = components(graph.exchange, graph.links, graph.of_edges(kept))

    assert len(sizes) == count
    known = np.empty(n, dtype=int)
    for table, found in zip(graph.exchange.tables, labels, strict=True):
        known[table.nodes.ids] = found
    for table, found in zip(graph.exchange.tables, labels, strict=True):
        np.testing.assert_array_equal(found, known[table.nodes.ids])  # halos agree
    names, first = np.unique(expected, return_index=True)
    np.testing.assert_array_equal(known, known[first][expected])
    np.testing.assert_array_equal(sizes[known[first]], np.bincount(expected)[names])
