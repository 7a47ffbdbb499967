"""Neighbourhoods are those of a double loop under the order (distance, index)."""

import gc
import math
import weakref

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from neighbor_rows import DATA, SCAN, as_rows, assert_nearest, double_loop
from patchfold.neighbors import ExactNeighbors, RadiusNeighbors, candidates, find_neighbors, points


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [name for name in DATA if not name.startswith("squares")])
def test_exact_neighbours_are_those_of_a_double_loop(name, dtype):
    X = DATA[name].astype(dtype)
    for k in (1, 7):
        found = find_neighbors(X, k, knn="exact")
        expected = double_loop(X, X, lambda row, k=k: row[:k], True)
        assert [[j for _, j in row] for row in as_rows(found)] == [
            [j for _, j in row] for row in expected
        ]
        assert found.distances.dtype == dtype
        assert found.distances.tolist() == [dtype(d) for row in expected for d, _ in row]


@pytest.mark.parametrize("n_features", [3, 20])
def test_searched_points_go_with_their_last_reference(n_features):
    X = np.random.default_rng(0).normal(size=(50, n_features))
    space = points.SearchedPoints(X, 1)
    points.k_nearest(space, X, 4, own=True)
    last = weakref.ref(space)
    gc.disable()  # large arrays should not wait for it
    try:
        del space
        assert last() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["squares overflow", "squares underflow"])
def test_scaling_by_a_power_of_two_changes_nothing_but_the_scale(name):
    X = DATA[name]
    factor = 2.0 ** (-math.frexp(np.abs(X).max())[1])
    found, plain = find_neighbors(X, 5), find_neighbors(X * factor, 5)
    assert found.indices.tolist() == plain.indices.tolist()
    assert (found.distances * factor).tolist() == plain.distances.tolist()
    assert np.all(found.distances > 0)


@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 40), st.sampled_from([1, 2, SCAN])),
        elements=st.sampled_from([0.0, 1.0, 2.0, 0.1]),
    ),
    data=st.data(),
)
def test_ties_and_duplicates_are_broken_by_index(X, data):
    assert_nearest(X, data.draw(st.integers(1, len(X) - 1)))


@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 30), st.sampled_from([2, SCAN])),
        elements=st.sampled_from([0.0, 1.0, 3.0]),
    ),
    radius=st.sampled_from([1.0, math.sqrt(2), 3.0, 0.5]),
)
def test_a_radius_keeps_everything_at_most_that_far(X, radius):
    expected = double_loop(X, X, lambda row: [p for p in row if p[0] <= radius], True)
    assert as_rows(find_neighbors(X, radius=radius)) == expected


@pytest.mark.parametrize("name", list(DATA))
def test_radius_neighbours_are_those_of_a_double_loop(name):
    X = DATA[name]
    # The distance of one pair is the radius, so that the boundary itself is asked for.
    radius = find_neighbors(X, 4).distances.max()
    if radius == 0 or name.startswith("squares"):
        radius = max(radius, 1e-300)
        assert np.all(find_neighbors(X, radius=radius).degrees >= 4)
        return
    expected = double_loop(X, X, lambda row: [p for p in row if p[0] <= radius], True)
    assert as_rows(find_neighbors(X, radius=radius)) == expected


def test_a_radius_below_every_distance_leaves_no_neighbours():
    found = find_neighbors(np.arange(5.0)[:, None], radius=0.5)
    assert found.degrees.tolist() == [0] * 5
    assert len(found) == 5
    assert len(found.nearest(3).indices) == 0


@pytest.mark.parametrize("n_features", [3, SCAN])
def test_more_duplicates_than_a_crowd_are_resolved_by_index(n_features):
    n_copies = 2 * candidates.CROWD + 100
    X = np.vstack([np.zeros((n_copies, n_features)), np.ones((4, n_features))])
    found = find_neighbors(X, 5)
    expected = [[j for j in range(6) if j != i][:5] for i in range(n_copies)]
    assert found.indices.reshape(-1, 5)[:n_copies].tolist() == expected
    assert found.indices.reshape(-1, 5)[-1].tolist() == [n_copies + j for j in range(3)] + [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_single_precision_cannot_tell_apart_is_looked_at_in_double(dtype):
    # Clusters a thousand times farther apart than wide: float32 products see a cluster as one.
    generator = np.random.default_rng(4)
    centres = np.repeat(1000 * generator.normal(size=(4, SCAN)), candidates.CROWD + 40, axis=0)
    X = (centres + generator.normal(size=centres.shape)).astype(dtype)
    space = points.SearchedPoints(X, None)
    quick, sharp = space.finders()
    assert quick.nearest(X, 8)[0].max() == 0
    assert sharp.nearest(X, 8)[0].min() >= 8
    expected = double_loop(X, X, lambda row: row[:7], True)
    found = find_neighbors(X, 7).indices.tolist()
    assert found == [j for row in expected for _, j in row]


@pytest.mark.parametrize(("n", "k"), [(1000, 15), (1000, 40), (2000, 90)])
def test_single_precision_settles_nearly_all_rows_whatever_k_is(n, k):
    X = np.random.default_rng(5).standard_normal((n, 20))
    space = points.SearchedPoints(X, None)
    degrees, _, _ = space._quick_finder.nearest(X, k)
    assert np.mean(degrees == 0) < 0.02


def test_a_query_beyond_single_precision_finds_its_neighbours():
    X = DATA["gaussian scanned"]
    search = ExactNeighbors(4).build(X)
    for factor in (1e25, 1e60, 1e148):
        queries = factor * X[:3]
        expected = double_loop(queries, X, lambda row: row[:4], False)
        assert as_rows(search.query(queries)) == expected


@pytest.mark.parametrize("search", [ExactNeighbors(6), RadiusNeighbors(4.5)])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_features", [4, SCAN])
def test_new_points_get_the_bits_of_the_training_points(search, container, n_features):
    X = np.random.default_rng(0).normal(size=(70, n_features)) + 100
    search.build(container(X))
    own, new = search.query(), search.query(container(X))
    for i, (inside, outside) in enumerate(zip(as_rows(own), as_rows(new), strict=True)):
        assert outside[0] == (0.0, i)
        shared = outside[1:]
        assert inside[: len(shared)] == shared
    single = search.query(container(X[[5]]))
    assert as_rows(single)[0] == as_rows(new)[5]


def test_new_points_keep_all_their_copies():
    search = ExactNeighbors(3).build([[0.0], [1.0], [1.0], [2.0]])
    assert as_rows(search.query([[1.0]])) == [[(0.0, 1), (0.0, 2), (1.0, 0)]]


@pytest.mark.parametrize("name", list(DATA))
def test_a_pair_has_the_same_distance_from_both_ends(name):
    found = find_neighbors(DATA[name], len(DATA[name]) - 1)
    full = np.zeros((len(found), len(found)))
    full[found.sources, found.indices] = found.distances
    assert np.array_equal(full, full.T)


@pytest.mark.parametrize("name", [n for n in DATA if not n.startswith("squares")])
def test_sparse_points_have_the_neighbours_of_a_double_loop(name):
    X = DATA[name]
    found = find_neighbors(sparse.csr_array(X), 5)
    rows = as_rows(found)
    # A sparse row is summed entry by entry, so the loop has to do the same.
    for i, row in enumerate(rows):
        pairs = []
        for j, y in enumerate(X):
            total = 0.0
            for difference in (X[i] - y).tolist():
                total += difference * difference
            if i != j:
                pairs.append((math.sqrt(total), j))
        assert row == sorted(pairs)[:5]


def test_sparse_and_dense_points_agree_on_a_radius():
    X = np.random.default_rng(0).integers(0, 2, size=(60, 30)).astype(float)
    dense = find_neighbors(X, radius=3.5)
    assert as_rows(find_neighbors(sparse.csr_matrix(X), radius=3.5)) == as_rows(dense)


def test_queries_may_be_dense_or_sparse_whatever_the_search_was_built_on():
    X = np.random.default_rng(0).integers(0, 3, size=(40, SCAN)).astype(float)
    dense, thin = ExactNeighbors(4).build(X), ExactNeighbors(4).build(sparse.csr_array(X))
    expected = as_rows(dense.query(X))
    assert as_rows(dense.query(sparse.csr_array(X))) == expected
    assert as_rows(thin.query(X)) == expected


@pytest.mark.parametrize("name", ["integers scanned", "integers in a tree", "tenths scanned"])
@pytest.mark.parametrize("kwargs", [{"n_neighbors": 6}, {"radius": 1.5}])
def test_results_do_not_depend_on_threads_or_block_size(name, kwargs):
    X = DATA[name][:50]
    reference = as_rows(find_neighbors(X, **kwargs))
    assert as_rows(find_neighbors(X, n_jobs=2, **kwargs)) == reference
    with sklearn.config_context(working_memory=0.01):
        assert as_rows(find_neighbors(X, n_jobs=2, **kwargs)) == reference
        in_small_blocks = as_rows(find_neighbors(sparse.csr_array(X), **kwargs))
    assert in_small_blocks == as_rows(find_neighbors(sparse.csr_array(X), **kwargs))


def test_row_order_matters_only_through_the_index_rule():
    X = DATA["gaussian scanned"]
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = find_neighbors(X[order], 5)
    found = find_neighbors(X, 5)
    assert np.array_equal(
        order[shuffled.indices.reshape(-1, 5)], found.indices.reshape(-1, 5)[order]
    )


def test_distances_that_overflow_are_refused():
    with pytest.raises(ValueError, match=r"values up to 1e\+308.*rescale X"):
        find_neighbors(np.array([[1e308], [-1e308], [0.0]]), 1)
    with pytest.raises(ValueError, match="overflow float32; rescale X or convert it to float64"):
        find_neighbors(np.array([[3e38], [-3e38]], dtype=np.float32), 1)
    with pytest.raises(ValueError, match=r"values up to 1e\+200.*rescale X"):
        ExactNeighbors(1).build([[0.0], [1.0]]).query([[1e200]])


def test_a_radius_is_taken_in_the_precision_of_the_data():
    X = np.array([[0.0], [0.1], [0.2]], dtype=np.float32)
    assert RadiusNeighbors(0.1).build(X).query().degrees.tolist() == [1, 2, 1]
