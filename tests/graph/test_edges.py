"""The steps from edges to a graph agree with brute force, and a length of zero stays an edge."""

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import slow_reference as slow
from gaussians import full_patches
from graphs import as_graph, as_neighborhoods, as_rows, ragged, random_edges
from patchfold import divergences
from patchfold.graph import edges as joined
from patchfold.neighbors.given import nearest_by_value


@pytest.mark.parametrize("seed", range(5))
def test_undirected_lists_every_pair_once_in_order(seed):
    rows = ragged(np.random.default_rng(seed), 12, 5)
    pairs = {(min(i, j), max(i, j)) for i, row in enumerate(rows) for _, j in row}
    i, j, _ = joined.undirected(as_neighborhoods(rows))
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == sorted(pairs)


@pytest.mark.parametrize("seed", range(5))
def test_symmetric_holds_every_edge_both_ways_zeros_too(seed):
    edges = random_edges(np.random.default_rng(seed), 9, 0.5)
    G = as_graph(edges, 9)
    assert G.nnz == 2 * len(edges)
    stored = {(i, j): v for i, j, v in zip(*G.tocoo().coords, G.data, strict=True)}
    assert stored == edges | {(j, i): length for (i, j), length in edges.items()}


@pytest.mark.parametrize("seed", range(5))
def test_undirected_tells_which_pair_each_edge_is(seed):
    near = as_neighborhoods(ragged(np.random.default_rng(seed), 12, 5))
    i, j, pairs = joined.undirected(near)
    np.testing.assert_array_equal(i[pairs], np.minimum(near.sources, near.indices))
    np.testing.assert_array_equal(j[pairs], np.maximum(near.sources, near.indices))


@pytest.mark.parametrize("seed", range(5))
def test_with_edges_adds_to_both_ends_nearest_first(seed):
    rng = np.random.default_rng(seed)
    rows = ragged(rng, 12, 5)
    extra = [(0, 5, 1.0), (2, 3, 0.0), (5, 11, 2.0)]
    a, b, lengths = (np.array(part) for part in zip(*extra, strict=True))
    found = joined.with_edges(as_neighborhoods(rows), a, b, lengths)
    for i, j, length in extra:
        rows[i].append((length, j))
        rows[j].append((length, i))
    assert as_rows(found) == [sorted(row) for row in rows]


@pytest.mark.parametrize("seed", range(5))
def test_stacked_rows_come_one_after_the_other_and_side_by_side_in_one(seed):
    rng = np.random.default_rng(seed)
    first, second = ragged(rng, 8, 4), ragged(rng, 8, 4)
    near = as_neighborhoods(first), as_neighborhoods(second)
    assert as_rows(joined.stacked(list(near))) == first + second
    expected = [a + b for a, b in zip(first, second, strict=True)]
    assert as_rows(joined.side_by_side(*near)) == expected


def all_others(n):
    """List every other point as a candidate, in an order that says nothing."""
    return as_neighborhoods([[(0.0, j) for j in range(n) if j != i] for i in range(n)])


def nearest_patches(patches, name, k, candidates, n_jobs=None):
    if candidates is None:
        return nearest_by_value(divergences.pairwise(patches, name, n_jobs=n_jobs), k, own=True)

    def lengths(i, j):
        return divergences.paired(patches, i, j, name, n_jobs=n_jobs)

    return joined.nearest_among(candidates, k, lengths, lambda lengths, i, j: lengths)


@pytest.mark.parametrize("name", ["kl", "hellinger", "wasserstein", "bhattacharyya-riemann"])
def test_nearest_patches_are_the_least_of_all_divergences(name):
    patches = full_patches(np.random.default_rng(0), 30, 3)
    expected = slow.nearest(divergences.pairwise(patches, name), 4)
    for candidates in (None, all_others(30)):
        found = nearest_patches(patches, name, 4, candidates)
        assert [[j for _, j in row] for row in as_rows(found)] == [
            [j for _, j in row] for row in expected
        ]
        np.testing.assert_allclose(
            found.distances, [length for row in expected for length, _ in row], rtol=1e-12
        )


def test_nearest_patches_are_chosen_among_candidates_only():
    patches = full_patches(np.random.default_rng(0), 30, 3)
    matrix = divergences.pairwise(patches, "kl")
    pool = slow.nearest(cdist(patches.means, patches.means), 8)
    found = nearest_patches(patches, "kl", 4, as_neighborhoods(pool))
    expected = [
        [j for _, j in sorted((matrix[i, j], j) for _, j in row)[:4]] for i, row in enumerate(pool)
    ]
    assert [[j for _, j in row] for row in as_rows(found)] == expected


def test_nearest_patches_do_not_depend_on_threads_or_block_size():
    patches = full_patches(np.random.default_rng(0), 40, 3)
    expected = nearest_patches(patches, "kl", 5, None)
    for candidates in (None, all_others(40)):
        with sklearn.config_context(working_memory=1e-6):
            found = nearest_patches(patches, "kl", 5, candidates, n_jobs=2)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.distances, expected.distances)


def test_a_laplacian_has_row_sums_zero_and_the_degrees_on_its_diagonal():
    rng = np.random.default_rng(0)
    W = np.triu(rng.uniform(size=(9, 9)) * (rng.uniform(size=(9, 9)) < 0.5), 1)
    W += W.T
    L, degrees = joined.laplacian(csr_array(W))
    np.testing.assert_allclose(L.toarray(), np.diag(W.sum(axis=1)) - W)
    np.testing.assert_allclose(degrees, W.sum(axis=1))
    np.testing.assert_allclose(L.sum(axis=1), 0, atol=1e-14)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.floats(0, 4))
def test_the_graph_of_some_edges_is_the_one_built_of_them(seed, n, degree):
    rng = np.random.default_rng(seed)
    code = np.unique(rng.integers(0, n * n, int(n * degree)))
    i, j = code // n, code % n
    i, j = i[i < j], j[i < j]
    lengths, kept = rng.integers(0, 3, len(i)).astype(float), rng.uniform(size=len(i)) < 0.5
    found = joined.EdgeList(i, j, lengths, n).graph(kept)
    expected = joined.symmetric(i[kept], j[kept], lengths[kept], n)
    for part in ("data", "indices", "indptr"):  # zeros are edges
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


def test_renumbered_edges_are_the_same_edges_of_renamed_points():
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(30, 1)
    some = rng.random(len(i)) < 0.2
    i, j = i[some], j[some]
    edges = joined.EdgeList(i, j, rng.random(len(i)), 30)
    renumbered = edges.renumbered()
    np.testing.assert_array_equal(np.sort(renumbered.names), np.arange(30))
    np.testing.assert_array_equal(renumbered.names[renumbered.i], i)
    np.testing.assert_array_equal(renumbered.names[renumbered.j], j)
    every = np.ones(len(i), dtype=bool)
    named = renumbered.graph(every).toarray()[np.ix_(*2 * [np.argsort(renumbered.names)])]
    np.testing.assert_array_equal(named, edges.graph(every).toarray())
