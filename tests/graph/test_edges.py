"""The steps of the graph agree with brute force, and an edge of length zero stays an edge."""

import math

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import slow_reference as slow
from gaussians import full_patches
from patchfold import divergences
from patchfold.engines import pools
from patchfold.graph import components
from patchfold.graph import edges as joined
from patchfold.graph.geodesics import shortest_paths
from patchfold.graph.lengths import Lengths
from patchfold.neighbors.given import nearest_by_value
from patchfold.neighbors.neighborhoods import Neighborhoods, nearest_first


def as_rows(near):
    """Turn neighbourhoods into one list of (length, index) a row."""
    return [
        list(zip(near.distances[a:b].tolist(), near.indices[a:b].tolist(), strict=True))
        for a, b in zip(near.indptr[:-1], near.indptr[1:], strict=True)
    ]


def as_neighborhoods(rows):
    edges = [(i, j, length) for i, row in enumerate(rows) for length, j in row]
    i, j, lengths = zip(*edges, strict=True) if edges else ((), (), ())
    return Neighborhoods.from_edges(
        np.array(i, dtype=np.intp), np.array(j, dtype=np.intp), np.array(lengths), len(rows)
    )


def ragged(rng, n, most):
    """Draw neighbourhoods of any degree from 0 to ``most``, some lengths equal, some zero."""
    return [
        sorted((float(rng.integers(0, 4)), int(j)) for j in rng.permutation(others)[:degree])
        for i, degree in enumerate(rng.integers(0, most + 1, n))
        for others in [[j for j in range(n) if j != i]]
    ]


def random_edges(rng, n, share):
    """Draw a graph as a dictionary of pairs, a third of its lengths zero."""
    return {
        (i, j): float(rng.choice([0.0, rng.uniform(0, 1), rng.uniform(0, 1)]))
        for i in range(n)
        for j in range(i + 1, n)
        if rng.uniform() < share
    }


def as_graph(edges, n):
    i, j = np.array(list(edges), dtype=np.intp).reshape(-1, 2).T
    return joined.symmetric(i, j, np.array(list(edges.values())), n)


# ------------------------------------------------------------------- bridges


def rows_of_distances(X):
    return lambda block: 2 * (cdist(X[block], X),)


def assert_bridges_by_merging(X, labels):
    """Compare with merging the closest two components, ties by (distance, i, j), in a loop."""
    labels = np.unique(labels, return_inverse=True)[1].astype(np.intp)
    within = [(int(np.argmax(labels == label)), i) for i, label in enumerate(labels)]
    expected = slow.join(within, len(X), *2 * [cdist(X, X)])
    a, b = components.bridges(labels, rows_of_distances(X))
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == sorted(expected)


@st.composite
def labelled(draw, coordinates):
    n = draw(st.integers(1, 14))
    X = draw(hnp.arrays(np.float64, (n, draw(st.integers(1, 3))), elements=coordinates))
    labels = draw(hnp.arrays(np.int64, n, elements=st.integers(0, draw(st.integers(0, 6)))))
    return X, labels


@given(labelled(st.integers(0, 2).map(float)))
def test_bridges_are_those_of_merging_closest_components_on_a_grid_with_ties(case):
    assert_bridges_by_merging(*case)


@given(labelled(st.floats(-100, 100, width=32)))
def test_bridges_are_those_of_merging_closest_components_anywhere(case):
    assert_bridges_by_merging(*case)


def test_bridges_of_all_equal_points_are_the_lexicographically_first_pairs():
    a, b = components.bridges(np.arange(5), rows_of_distances(np.ones((5, 2))))
    np.testing.assert_array_equal(a, [0, 0, 0, 0])
    np.testing.assert_array_equal(b, [1, 2, 3, 4])


def test_bridges_do_not_depend_on_the_block_size(monkeypatch):
    rng = np.random.default_rng(0)
    X, labels = rng.integers(0, 5, (80, 2)).astype(float), np.arange(80) % 9
    expected = components.bridges(labels, rows_of_distances(X))
    monkeypatch.setattr(pools, "CACHE_BYTES", 1)
    np.testing.assert_array_equal(components.bridges(labels, rows_of_distances(X)), expected)


@given(labelled(st.integers(0, 2).map(float)), st.randoms(use_true_random=False))
def test_equal_gaps_are_told_apart_by_what_is_given_for_it(case, random):
    X, labels = case
    labels = np.unique(labels, return_inverse=True)[1].astype(np.intp)
    within = [(int(np.argmax(labels == label)), i) for i, label in enumerate(labels)]
    gaps, ties = cdist(X, X), np.array([[random.randrange(3) for _ in X] for _ in X], dtype=float)
    ties = ties + ties.T
    a, b = components.bridges(labels, lambda block: (gaps[block], ties[block]))
    expected = slow.join(within, len(X), gaps, ties)
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == sorted(expected)


def test_one_component_needs_no_bridge():
    a, b = components.bridges(np.zeros(4, dtype=np.intp), rows_of_distances(np.ones((4, 1))))
    assert len(a) == len(b) == 0


def test_bridges_are_shorter_by_either_end_of_an_asymmetric_matrix():
    D = np.array([[0.0, 9.0, 9.0], [1.0, 0.0, 9.0], [9.0, 2.0, 0.0]])
    a, b = components.bridges(np.arange(3), lambda block: (D[block], D[block]))
    assert list(zip(a, b, strict=True)) == [(0, 1), (1, 2)]


# ------------------------------------------------------------------- edges


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


# ------------------------------------------------------------------- neighbours by value


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(2, 9), st.just(9)), elements=st.integers(0, 3)),
    st.integers(1, 8),
)
def test_nearest_by_value_sorts_columns_by_value_then_index(values, k):
    found = nearest_by_value(values, k, own=False)
    assert as_rows(found) == slow.nearest(values, k, own=False)


@given(hnp.arrays(np.float64, (9, 9), elements=st.integers(0, 3)), st.integers(1, 8))
def test_nearest_by_value_never_names_a_row_its_own_neighbour(values, k):
    before = values.copy()
    assert as_rows(nearest_by_value(values, k, own=True)) == slow.nearest(values, k)
    np.testing.assert_array_equal(values, before)


def test_nearest_by_value_does_not_depend_on_the_block_size(monkeypatch):
    values = np.random.default_rng(0).integers(0, 5, (40, 40)).astype(float)
    expected = as_rows(nearest_by_value(values, 6, own=True))
    monkeypatch.setattr(pools, "CACHE_BYTES", 1)
    assert as_rows(nearest_by_value(values, 6, own=True)) == expected


def all_others(n):
    """List every other point as a candidate, in an order that says nothing."""
    return as_neighborhoods([[(0.0, j) for j in range(n) if j != i] for i in range(n)])


def lengths_of_pairs(patches, name, n_jobs=None):
    return Lengths(patches.points, patches, name, n_jobs=n_jobs)


def nearest_patches(lengths, k, candidates):
    if candidates is None:
        return nearest_by_value(lengths.matrix(), k, own=True)
    return joined.nearest_among(candidates, k, lengths.plain, lengths.order)


@pytest.mark.parametrize("name", ["kl", "hellinger", "wasserstein", "bhattacharyya-riemann"])
def test_nearest_patches_are_the_least_of_all_divergences(name):
    patches = full_patches(np.random.default_rng(0), 30, 3)
    expected = slow.nearest(divergences.pairwise(patches, name), 4)
    for candidates in (None, all_others(30)):
        found = nearest_patches(lengths_of_pairs(patches, name), 4, candidates)
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
    found = nearest_patches(lengths_of_pairs(patches, "kl"), 4, as_neighborhoods(pool))
    expected = [
        [j for _, j in sorted((matrix[i, j], j) for _, j in row)[:4]] for i, row in enumerate(pool)
    ]
    assert [[j for _, j in row] for row in as_rows(found)] == expected


def test_nearest_patches_do_not_depend_on_threads_or_block_size(monkeypatch):
    patches = full_patches(np.random.default_rng(0), 40, 3)
    expected = nearest_patches(lengths_of_pairs(patches, "kl"), 5, None)
    monkeypatch.setattr(pools, "CACHE_BYTES", 1)
    for candidates in (None, all_others(40)):
        with sklearn.config_context(working_memory=0.01):
            found = nearest_patches(lengths_of_pairs(patches, "kl", n_jobs=2), 5, candidates)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.distances, expected.distances)


# ------------------------------------------------------------------- components and paths


@pytest.mark.parametrize("seed", range(8))
def test_components_are_those_of_the_edges_zero_lengths_too(seed):
    n = 14
    edges = random_edges(np.random.default_rng(seed), n, 0.08)
    count, labels = components.n_components(as_graph(edges, n))
    expected = slow.components(edges, n)
    assert count == len(set(expected))
    same = np.array(expected)[:, None] == np.array(expected)
    np.testing.assert_array_equal(labels[:, None] == labels, same)


def test_points_joined_by_zero_lengths_alone_are_one_component():
    path = {(i, i + 1): 0.0 for i in range(6)}
    assert components.n_components(as_graph(path, 7))[0] == 1


@pytest.mark.parametrize("share", [0.05, 0.1, 0.4])
@pytest.mark.parametrize("seed", range(4))
def test_shortest_paths_are_those_of_a_triple_loop(seed, share):
    n = 20
    edges = random_edges(np.random.default_rng(seed), n, share)
    expected = slow.geodesics(edges, n)
    assert np.isinf(expected).any() == (len(set(slow.components(edges, n))) > 1)
    G = as_graph(edges, n)
    np.testing.assert_allclose(shortest_paths(G), expected, rtol=1e-14)
    some = np.array([3, 0, 17])
    np.testing.assert_allclose(shortest_paths(G, some), expected[some], rtol=1e-14)


def test_a_detour_over_zero_edges_is_shorter_than_a_direct_edge():
    G = as_graph({(0, 1): 0.0, (1, 2): 0.0, (0, 2): 1.0, (2, 3): 0.5}, 5)
    expected = [[0, 0, 0, 0.5, math.inf]]
    np.testing.assert_array_equal(shortest_paths(G, np.array([0])), expected)


def threshold_by_trial(edges, n):
    """Find the least length such that the edges up to it connect everything."""
    for longest in sorted(set(edges.values())):
        kept = [pair for pair, length in edges.items() if length <= longest]
        if len(set(slow.components(kept, n))) == 1:
            return longest
    return None


@pytest.mark.parametrize("seed", range(6))
def test_longest_needed_is_the_least_threshold_that_keeps_the_graph_whole(seed):
    n = 12
    edges = random_edges(np.random.default_rng(seed), n, 0.6)
    expected = threshold_by_trial(edges, n)
    assert expected is not None
    assert components.longest_needed(as_graph(edges, n)) == pytest.approx(expected, abs=1e-15)


def test_longest_needed_of_zero_lengths_is_zero():
    assert components.longest_needed(as_graph({(0, 1): 0.0, (1, 2): 0.0}, 3)) == 0
    assert components.longest_needed(csr_array((1, 1))) == 0


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_the_longest_needed_edge_keeps_its_digits_at_any_scale(scale):
    lengths = scale * np.array([0.0, 3.0, 7.0, 9.0])
    i, j = np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3])
    path = joined.symmetric(i, j, lengths, 4)
    assert components.longest_needed(path) == lengths[2]


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 6), st.booleans())
def test_edges_are_ordered_by_row_distance_and_column(seed, n, most, together):
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), rng.integers(0, most + 1, n))
    rows = rows if together else rng.permutation(rows)
    columns = rng.permutation(len(rows))
    distances = rng.choice([0.0, 1.0, 2.0, np.inf], len(rows))
    if not np.isinf(distances).any():
        distances = distances.astype(int)
    expected = sorted(range(len(rows)), key=lambda e: (rows[e], distances[e], columns[e]))
    np.testing.assert_array_equal(nearest_first(rows, columns, distances), expected)


def test_a_laplacian_has_row_sums_zero_and_the_degrees_on_its_diagonal():
    rng = np.random.default_rng(0)
    W = np.triu(rng.uniform(size=(9, 9)) * (rng.uniform(size=(9, 9)) < 0.5), 1)
    W += W.T
    L, degrees = joined.laplacian(csr_array(W))
    np.testing.assert_allclose(L.toarray(), np.diag(W.sum(axis=1)) - W)
    np.testing.assert_allclose(degrees, W.sum(axis=1))
    np.testing.assert_allclose(L.sum(axis=1), 0, atol=1e-14)
