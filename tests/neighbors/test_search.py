"""Neighbourhoods are those of a double loop under the order (distance, index)."""

import math
import sys
import types

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

from patchfold.neighbors import (
    ApproximateNeighbors,
    ExactNeighbors,
    Neighborhoods,
    NeighborSearch,
    RadiusNeighbors,
    TransformerNeighbors,
    approximate,
    candidates,
    find_neighbors,
    neighbor_search,
    points,
)
from patchfold.neighbors import (
    search as choice,
)


def double_loop(X, Y, keep, own):
    """Sort all pairs by (distance, index); ``keep`` cuts the sorted list of one row."""
    rows = []
    for i, x in enumerate(X.astype(np.float64)):
        pairs = [
            (math.sqrt(np.square(x - y).sum()), j)
            for j, y in enumerate(Y.astype(np.float64))
            if not (own and i == j)
        ]
        rows.append(keep(sorted(pairs)))
    return rows


def as_rows(found):
    """Turn neighbourhoods into one list of (distance, index) a row."""
    return [
        list(zip(found.distances[a:b].tolist(), found.indices[a:b].tolist(), strict=True))
        for a, b in zip(found.indptr[:-1], found.indptr[1:], strict=True)
    ]


def assert_nearest(X, k):
    assert as_rows(find_neighbors(X, k, knn="exact")) == double_loop(X, X, lambda r: r[:k], True)


RNG = np.random.default_rng(0)
SCAN = points.TREE_FEATURES + 3  # enough features that all pairs are scanned
DATA = {
    "gaussian in a tree": RNG.normal(size=(120, 4)),
    "gaussian scanned": RNG.normal(size=(120, SCAN)),
    "integers in a tree": RNG.integers(0, 3, size=(150, 3)).astype(float),
    "integers scanned": RNG.integers(0, 2, size=(150, SCAN)).astype(float),
    "all equal in a tree": np.full((60, 2), 0.1),
    "all equal scanned": np.full((60, SCAN), 0.1),
    "one-hot scanned": np.eye(SCAN)[RNG.integers(0, SCAN, size=80)],
    "one-hot in a tree": np.eye(5)[RNG.integers(0, 5, size=80)],
    "around 1e9 scanned": 1e9 + RNG.normal(size=(90, SCAN)),
    "around 1e9 in a tree": 1e9 + RNG.normal(size=(90, 3)),
    "around 1e-9 scanned": 1e-9 * RNG.normal(size=(90, SCAN)),
    "1e9 beside 1e-9 scanned": np.hstack(
        [1e9 * RNG.integers(0, 2, size=(90, 9)), 1e-9 * RNG.normal(size=(90, 9))]
    ),
    "1e9 beside 1e-9 in a tree": np.hstack(
        [1e9 * RNG.integers(0, 2, size=(90, 2)), 1e-9 * RNG.normal(size=(90, 2))]
    ),
    "tenths scanned": RNG.integers(0, 3, size=(120, SCAN)) * 0.1 + 1000,
    "one far outlier": np.vstack([RNG.normal(size=(80, SCAN)), np.full((1, SCAN), 1e12)]),
    "constant columns": np.hstack([np.full((60, 20), 7.0), RNG.normal(size=(60, 1))]),
    "squares overflow": 1e200 * RNG.normal(size=(60, 3)),
    "squares underflow": 1e-200 * RNG.normal(size=(60, SCAN)),
    "duplicates of tenths": np.repeat(RNG.normal(size=(20, SCAN)) + 1e6, 5, axis=0),
}


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


@pytest.mark.parametrize("name", ["squares overflow", "squares underflow"])
def test_scaling_by_a_power_of_two_changes_nothing_but_the_scale(name):
    X = DATA[name]
    factor = 2.0 ** (-math.frexp(np.abs(X).max())[1])
    found, plain = find_neighbors(X, 5), find_neighbors(X * factor, 5)
    assert found.indices.tolist() == plain.indices.tolist()
    assert (found.distances * factor).tolist() == plain.distances.tolist()
    assert np.all(found.distances > 0)


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=40, deadline=None)
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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_single_precision_cannot_tell_apart_is_looked_at_in_double(dtype):
    # Clusters a thousand times farther apart than wide: float32 products see a cluster as one.
    generator = np.random.default_rng(4)
    centres = np.repeat(1000 * generator.normal(size=(4, SCAN)), candidates.CROWD + 40, axis=0)
    X = (centres + generator.normal(size=centres.shape)).astype(dtype)
    quick, sharp = points.SearchedPoints(X, None).finders()
    assert quick.nearest(X, 8)[0].max() == 0
    assert sharp.nearest(X, 8)[0].min() >= 8
    expected = double_loop(X, X, lambda row: row[:7], True)
    found = find_neighbors(X, 7).indices.tolist()
    assert found == [j for row in expected for _, j in row]


@pytest.mark.parametrize(("n", "k"), [(1000, 15), (1000, 40), (2000, 90)])
def test_single_precision_settles_nearly_all_rows_whatever_k_is(n, k):
    X = np.random.default_rng(5).standard_normal((n, 20))
    degrees, _, _ = points.SearchedPoints(X, None)._quick_finder.nearest(X, k)
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
    X = RNG.normal(size=(70, n_features)) + 100
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
    X = RNG.integers(0, 2, size=(60, 30)).astype(float)
    dense = find_neighbors(X, radius=3.5)
    assert as_rows(find_neighbors(sparse.csr_matrix(X), radius=3.5)) == as_rows(dense)


def test_queries_may_be_dense_or_sparse_whatever_the_search_was_built_on():
    X = RNG.integers(0, 3, size=(40, SCAN)).astype(float)
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


def test_neighborhoods_know_their_rows_and_degrees():
    found = Neighborhoods(np.array([0, 2, 2, 5]), np.array([1, 2, 0, 1, 2]), np.arange(5.0))
    assert len(found) == 3
    assert found.degrees.tolist() == [2, 0, 3]
    assert found.sources.tolist() == [0, 0, 2, 2, 2]
    cut = found.nearest(1)
    assert cut.indptr.tolist() == [0, 1, 1, 2]
    assert cut.indices.tolist() == [1, 0]
    assert cut.distances.tolist() == [0.0, 2.0]
    assert found.nearest(3) is found


def test_nearest_of_many_is_a_search_for_few():
    X = DATA["integers in a tree"]
    assert as_rows(find_neighbors(X, 20).nearest(6)) == as_rows(find_neighbors(X, 6))


# Numba compiles the descent for half a minute, so one worker runs all tests that need it.
descends = pytest.mark.xdist_group("pynndescent")


@pytest.fixture(scope="module")
def descent_data():
    pytest.importorskip("pynndescent", reason="the approximate search is an optional extra")
    X = np.random.default_rng(3).normal(size=(1500, 12)) * 0.01 + 1000
    return X, ExactNeighbors(10).build(X)


@descends
def test_the_approximate_search_finds_nearly_all_neighbours(descent_data):
    X, exact = descent_data
    search = ApproximateNeighbors(10, random_state=0).build(X)
    for queries in (None, X[:200] + 1e-3):
        found, truth = search.query(queries), exact.query(queries)
        pairs = set(zip(found.sources.tolist(), found.indices.tolist(), strict=True))
        true = set(zip(truth.sources.tolist(), truth.indices.tolist(), strict=True))
        assert len(pairs & true) >= 0.95 * len(true)


@descends
def test_approximate_distances_are_exact_and_sorted(descent_data):
    X, _ = descent_data
    found = find_neighbors(X, 10, knn="approximate", random_state=0)
    full = ExactNeighbors(len(X) - 1).build(X).query()
    exact = np.zeros((len(X), len(X)))
    exact[full.sources, full.indices] = full.distances
    assert np.array_equal(found.distances, exact[found.sources, found.indices])
    assert np.all(found.sources != found.indices)
    for row in as_rows(found):
        assert row == sorted(row)


@descends
def test_the_approximate_search_is_a_function_of_its_seed(descent_data):
    X, _ = descent_data
    first = find_neighbors(X, 10, knn="approximate", random_state=7)
    for n_jobs in (1, 2):
        again = find_neighbors(X, 10, knn="approximate", random_state=7, n_jobs=n_jobs)
        assert as_rows(again) == as_rows(first)


def test_the_approximate_search_of_few_points_is_exact():
    pytest.importorskip("pynndescent", reason="the approximate search is an optional extra")
    X = DATA["integers in a tree"]
    found = find_neighbors(X, 5, knn="approximate", random_state=0)
    assert as_rows(found) == as_rows(find_neighbors(X, 5, knn="exact"))


class Descent:
    """Stands in for ``pynndescent.NNDescent`` and compares all pairs of what it is given."""

    def __init__(self, data, n_neighbors, random_state, n_jobs):
        assert data.dtype == np.float32
        self.data = data
        self.neighbor_graph = self.query(data, n_neighbors, epsilon=0.0)

    def query(self, data, k, epsilon):
        assert sparse.issparse(data) == sparse.issparse(self.data)
        assert data.dtype == np.float32
        distances = sklearn.metrics.pairwise_distances(data, self.data)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return nearest, np.take_along_axis(distances, nearest, axis=1)


@pytest.fixture
def descent_stand_in(monkeypatch):
    monkeypatch.setattr(approximate, "_import_descent", lambda: Descent)
    monkeypatch.setattr(ApproximateNeighbors, "SMALLEST_DESCENT", 0)


@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e60])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_descent_gets_single_precision_near_one(descent_stand_in, container, scale):
    X = container(scale * np.random.default_rng(2).normal(size=(60, SCAN)))
    search = ApproximateNeighbors(5, random_state=0).build(X)
    values = np.abs(search._descent.data.data if sparse.issparse(X) else search._descent.data)
    assert 0.1 < values.max() < 10
    exact = ExactNeighbors(5).build(X)
    for queries in (None, X[:7]):
        assert as_rows(search.query(queries)) == as_rows(exact.query(queries))


def test_the_approximate_search_takes_sparse_points_and_duplicates(descent_stand_in):
    X = sparse.csr_array(np.repeat(np.eye(12), 10, axis=0))
    found = find_neighbors(X, 5, knn="approximate", random_state=0)
    assert np.all(found.sources != found.indices)
    assert found.degrees.tolist() == [5] * 120
    assert np.all(found.distances == 0)


def test_places_that_the_descent_left_empty_are_dropped(descent_stand_in, monkeypatch):
    def leave_empty(self, data, k, epsilon):
        graph = np.full((len(data), k), -1)
        graph[:, 0] = np.arange(len(data))
        graph[1:, 1] = 0
        return graph, None

    monkeypatch.setattr(Descent, "query", leave_empty)
    found = find_neighbors(np.arange(4.0)[:, None], 2, knn="approximate")
    assert as_rows(found) == [[], [(1.0, 0)], [(2.0, 0)], [(3.0, 0)]]


def test_a_missing_pynndescent_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[ann\]'"):
        find_neighbors(np.ones((5, 2)), 2, knn="approximate")


def test_a_transformer_gives_the_exact_neighbours_and_stays_unfitted():
    X = DATA["integers in a tree"]
    transformer = KNeighborsTransformer(n_neighbors=len(X) - 1)
    found = find_neighbors(X, 6, knn=transformer)
    assert as_rows(found) == as_rows(find_neighbors(X, 6))
    assert not hasattr(transformer, "n_samples_fit_")
    search = TransformerNeighbors(transformer, 4).build(X)
    assert as_rows(search.query(X[:3])) == as_rows(ExactNeighbors(4).build(X).query(X[:3]))


def test_a_transformer_keeps_the_type_of_the_points():
    X = DATA["gaussian in a tree"].astype(np.float32)
    assert find_neighbors(X, 3, knn=KNeighborsTransformer(n_neighbors=3)).distances.dtype == X.dtype


def test_a_transformer_that_finds_too_few_is_refused():
    with pytest.raises(ValueError, match=r"found only 5 neigh.*n_neighbors=6 needs.*raise the tra"):
        find_neighbors(DATA["gaussian in a tree"], 6, knn=KNeighborsTransformer(n_neighbors=5))
    with pytest.raises(ValueError, match="found only 0 neighbours"):
        find_neighbors(DATA["gaussian in a tree"], 6, knn=RadiusNeighborsTransformer(radius=1e-9))


class Shaped:
    """A transformer that answers with a given matrix."""

    def __init__(self, answer):
        self.answer = answer

    def fit(self, X):
        return self

    def transform(self, X):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (sparse.csr_array((4, 5)), r"gave a csr_array of shape \(4, 5\), not a sparse.*\(4, 4\)"),
        (np.ones((4, 4)), "gave a ndarray of shape"),
        (sparse.csr_array(-np.ones((4, 4))), "negative or infinite distances"),
        (sparse.csr_array(np.full((4, 4), np.nan)), "NaN"),
    ],
)
def test_a_transformer_with_a_wrong_answer_is_refused(answer, message):
    with pytest.raises(ValueError, match=message):
        find_neighbors(np.arange(8.0).reshape(4, 2), 2, knn=Shaped(answer))


def test_a_transformer_without_distances_is_refused():
    with pytest.raises(ValueError, match="set its mode='distance'"):
        find_neighbors(np.eye(4), 2, knn=KNeighborsTransformer(mode="connectivity"))


def test_auto_is_exact_up_to_the_documented_sizes(monkeypatch):
    def kind(n_samples, n_features):
        return type(neighbor_search(n_samples=n_samples, n_features=n_features))

    monkeypatch.setattr(choice, "find_spec", lambda name: types.SimpleNamespace(name=name))
    assert kind(choice.AUTO_EXACT_SAMPLES, 100) is ExactNeighbors
    assert kind(choice.AUTO_EXACT_SAMPLES + 1, 100) is ApproximateNeighbors
    assert kind(choice.AUTO_TREE_SAMPLES, points.TREE_FEATURES) is ExactNeighbors
    assert kind(choice.AUTO_TREE_SAMPLES + 1, points.TREE_FEATURES) is ApproximateNeighbors
    monkeypatch.setattr(choice, "find_spec", lambda name: None)
    assert kind(10**9, 100) is ExactNeighbors


def test_every_search_satisfies_the_protocol_and_a_copy_of_a_given_one_is_used():
    searches = [
        ExactNeighbors(2),
        RadiusNeighbors(1.0),
        ApproximateNeighbors(2),
        TransformerNeighbors(KNeighborsTransformer(), 2),
    ]
    for search in searches:
        assert isinstance(search, NeighborSearch)
        used = neighbor_search(search, n_samples=10, n_features=2)
        assert used is not search
        assert vars(used) == vars(search)


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"n_neighbors": 12}, ValueError, "needs more than 12 samples, got 10; lower .* most 9"),
        ({"n_neighbors": 10}, ValueError, "n_neighbors=10 needs more than 10 samples"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors=0 is too small; give at least 1"),
        ({"n_neighbors": 2.5}, TypeError, "n_neighbors=2.5 is not an integer"),
        ({"n_neighbors": True}, TypeError, "n_neighbors=True is not an integer"),
        ({"n_neighbors": None}, ValueError, "set n_neighbors or radius"),
        ({"radius": 0}, ValueError, "radius=0 is not positive"),
        ({"radius": -1.0}, ValueError, "radius=-1.0 is not positive"),
        ({"radius": np.nan}, ValueError, "radius=nan is not positive"),
        ({"radius": "1"}, TypeError, "radius='1' is not a number"),
        ({"radius": 1.0, "n_neighbors": 3}, ValueError, "exclude each other; leave n_neighbors"),
        ({"radius": 1.0, "knn": "approximate"}, ValueError, "radius is searched exactly"),
        ({"radius": 1.0, "knn": KNeighborsTransformer()}, ValueError, "exclude each other"),
        ({"radius": 1.0, "knn": ExactNeighbors(3)}, ValueError, "exclude each other"),
        ({"knn": "exakt"}, ValueError, "knn='exakt' is not known; did you mean 'exact'"),
        ({"knn": 3}, TypeError, "knn=3 is neither"),
        ({"knn": KNeighborsTransformer}, TypeError, "is neither"),
        ({"knn": ExactNeighbors}, TypeError, "is neither"),
    ],
)
def test_bad_parameters_are_named_with_value_and_remedy(kwargs, error, message):
    with pytest.raises(error, match=message):
        find_neighbors(np.arange(20.0).reshape(10, 2), **kwargs)


@pytest.mark.parametrize(
    "search",
    [
        ExactNeighbors(2),
        RadiusNeighbors(1.0),
        ApproximateNeighbors(2),
        TransformerNeighbors(KNeighborsTransformer(), 2),
    ],
)
def test_a_query_before_build_is_refused(search):
    with pytest.raises(sklearn.exceptions.NotFittedError, match=r"call build\(X\) before query"):
        search.query()


@pytest.mark.parametrize(
    "search", [ExactNeighbors(2), TransformerNeighbors(KNeighborsTransformer(), 2)]
)
def test_a_query_with_other_features_is_refused(search):
    search.build(np.arange(24.0).reshape(8, 3))
    with pytest.raises(ValueError, match=r"X has 2 features, but \w+ is expecting 3 features as"):
        search.query(np.ones((1, 2)))


def test_bad_points_are_refused_by_every_search():
    X = np.ones((6, 2))
    X[3, 1] = np.nan
    for search in (ExactNeighbors(2), RadiusNeighbors(1.0)):
        with pytest.raises(ValueError, match="row 3, column 1"):
            search.build(X)
        search.build(np.eye(6, 2))
        with pytest.raises(ValueError, match="NaN"):
            search.query(X)


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


def test_a_given_search_is_cut_to_the_neighbours_asked_for():
    X = np.random.default_rng(0).normal(size=(20, 2))
    found = find_neighbors(X, 4, knn=ExactNeighbors(7))
    assert (found.degrees == 4).all()


def test_edge_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="2 indices, 1 distances and an indptr that ends at 2"):
        Neighborhoods(np.array([0, 2]), np.array([1, 2]), np.array([0.5]))


def test_masked_values_are_missing_values():
    masked = np.ma.masked_array(np.ones((4, 2)), mask=np.eye(4, 2, dtype=bool))
    with pytest.raises(ValueError, match="NaN"):
        find_neighbors(masked, 1)
