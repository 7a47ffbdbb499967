"""Which edges of new points are trusted: one point after the other, and what always holds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.utils import gen_even_slices

from patchfold.graph.edges import symmetric, undirected
from patchfold.graph.lengths import trusted_of_new
from patchfold.neighbors import find_neighbors
from patchfold.neighbors.neighborhoods import Neighborhoods

SEEDS = st.integers(0, 2**32 - 1)


def new_points(seed, n_new=12, k=6, spread=2.0):
    rng = np.random.default_rng(seed)
    X, Y = rng.uniform(size=(80, 2)), rng.uniform(size=(n_new, 2))
    i, j, _ = undirected(find_neighbors(X, 5))
    graph = symmetric(i, j, np.linalg.norm(X[i] - X[j], axis=1), 80)
    apart = np.linalg.norm(Y[:, None] - X, axis=2)
    columns = np.argsort(apart, axis=1)[:, :k]
    rows = np.repeat(np.arange(n_new), k)
    near = Neighborhoods.from_edges(rows, columns.ravel(), apart[rows, columns.ravel()], n_new)
    disagreement = 0.8 * np.exp(spread * rng.normal(size=len(rows)))
    return near, disagreement, near.distances, graph


@given(SEEDS, st.sampled_from([0.5, 2.0]))
def test_trusted_edges_of_new_points_are_those_of_a_loop(seed, spread):
    near, disagreement, distances, graph = new_points(seed, spread=spread)
    ways = graph.toarray()
    ways[ways == 0] = np.inf
    found = trusted_of_new(near, disagreement, distances, graph)
    for row in range(len(near)):
        own = np.flatnonzero(near.sources == row)
        trusted = {e for e in own if disagreement[e] <= 1.5}
        trusted.add(own[np.argmin(disagreement[own])])
        for _ in own:
            for e in set(own) - trusted:
                around = [
                    t
                    for t in own
                    if distances[t] + ways[near.indices[t], near.indices[e]] <= 1.5 * distances[e]
                ]
                good = len(trusted.intersection(around))
                if good and good >= 2 / 3 * len(around):
                    trusted = trusted | {e}
        assert set(own[found[own]]) == trusted


@given(SEEDS)
def test_the_least_disagreeing_edge_of_a_new_point_is_trusted(seed):
    near, disagreement, distances, graph = new_points(seed)
    disagreement = disagreement + 2  # none agrees
    found = trusted_of_new(near, disagreement, distances, graph)
    for row in np.split(np.arange(len(disagreement)), near.indptr[1:-1]):
        assert found[row[np.argmin(disagreement[row])]]


@given(SEEDS)
def test_without_ways_only_agreement_and_the_least_disagreement_are_trusted(seed):
    near, disagreement, distances, graph = new_points(seed)
    found = trusted_of_new(near, disagreement, distances, csr_array(graph.shape))
    rows = near.sources
    least = np.array([disagreement[rows == row].min() for row in rows])
    np.testing.assert_array_equal(found, (disagreement <= 1.5) | (disagreement == least))


@given(SEEDS)
def test_new_points_do_not_influence_each_other(seed):
    near, disagreement, distances, graph = new_points(seed)
    together = trusted_of_new(near, disagreement, distances, graph)
    for rows in gen_even_slices(len(near), len(near)):
        edges = slice(near.indptr[rows.start], near.indptr[rows.stop])
        alone = near[np.arange(len(near))[rows]], disagreement[edges], distances[edges]
        found = trusted_of_new(*alone, graph)
        np.testing.assert_array_equal(found, together[edges])
