"""Components of a graph in parts, joined by their closest pairs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from patchfold.distributed.graph import ClusterGraph
from patchfold.distributed.joining import joined
from patchfold.graph.components import FEW
from patchfold.graph.edges import symmetric


def closest_pairs(X, labels):
    """Return the minimum spanning tree between components, by Kruskal's algorithm on all pairs."""
    i, j = np.triu_indices(len(X), 1)
    gaps = cdist(X, X)[i, j]
    groups, chosen = labels.copy(), []
    for at in np.lexsort((j, i, gaps)):
        one, other = groups[i[at]], groups[j[at]]
        if one != other:
            groups[groups == one] = other
            chosen.append((int(i[at]), int(j[at]), float(gaps[at])))
    return sorted(chosen)


@pytest.mark.parametrize("sizes", [(60, 50, 8, 1), (80, 70, 30), (2 * FEW, FEW + 1), (5,) * 12])
def test_parts_join_components_by_the_closest_pairs_of_all_rows(parted, sizes):
    rng = np.random.default_rng(0)
    n = sum(sizes)
    X = rng.integers(12, size=(n, 2)).astype(float)  # a grid: many pairs are equally far
    graph, labels = parted(X, 4), rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    lengths = np.linalg.norm(X[graph.i] - X[graph.j], axis=1)
    lengths[labels[graph.i] != labels[graph.j]] = np.inf  # removed edges; some come back
    fitted = SimpleNamespace(
        cluster=graph.cluster,
        ids=graph.ids,
        points=graph.points,
        shared=SimpleNamespace(n=n, chunks=SimpleNamespace(dtype=X.dtype)),
    )
    setting = SimpleNamespace(degree=4)
    known = graph.found, None, graph.links, graph.of_edges(lengths), None, None
    apart = ClusterGraph(setting, fitted, *known)

    whole = joined(apart, graph.shared(labels), np.array(sizes))

    pairs = closest_pairs(X, labels)
    assert list(whole.bridges) == pairs
    i, j, gaps = map(np.array, zip(*pairs, strict=True))
    kept = np.isfinite(lengths)
    ends = np.concatenate([graph.i[kept], i]), np.concatenate([graph.j[kept], j])
    expected = symmetric(*ends, np.concatenate([lengths[kept], gaps]), n)
    np.testing.assert_array_equal(whole.matrix.toarray(), expected.toarray())
    for own, links, values in zip(graph.ids, whole.links, whole.edge_lengths, strict=True):
        ids = links.table.nodes.ids
        here = [(int(ids[a]), int(ids[b])) for a, b in zip(links.i, links.j, strict=True)]
        assert len(set(here)) == len(here) == len(values)  # no edge is there twice
        # Both parts of a pair know the edge.
        assert {(a, b) for a, b, _ in pairs if a in own or b in own} <= set(here)
