from __future__ import annotations

import numpy as np
import pytest
import sklearn
import sklearn.manifold
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_s_curve, make_swiss_roll

from patchfold import GaussianPatch, PatchIsomap, PatchLLE, metrics
from patchfold.graph.geodesics import shortest_paths

SIZES = st.integers(4, 25)
SEEDS = st.integers(0, 2**32 - 1)


def configuration(n, seed, m=4):
    return np.random.default_rng(seed).standard_normal((n, m))


def rotation(m, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((m, m)))[0]


def rank(D, i, j):
    """Count the points nearer to i than j, one by one; equal distances by index."""
    return 1 + sum((D[i, k], k) < (D[i, j], j) for k in range(len(D)) if k not in {i, j})


def coranking_matrix(D, E):
    n = len(D)
    Q = np.zeros((n, n), dtype=int)
    for i in range(n):
        for j in range(n):
            if i != j:
                Q[rank(D, i, j), rank(E, i, j)] += 1
    return Q[1:, 1:]


def slow_measures(D, E, K):
    """Evaluate all measures from the co-ranking matrix, region by region."""
    Q, n = coranking_matrix(D, E), len(D)
    # Neighbours and farthest points exchanged, as far as there are enough of both.
    worst = n * sum(max(0, n - 1 - step - K) for step in range(min(K, n - 1 - K)))
    ranks = range(1, n)
    intruded = sum((k - K) * Q[k - 1, m - 1] for k in ranks for m in ranks if m <= K < k)
    lost = sum((m - K) * Q[k - 1, m - 1] for k in ranks for m in ranks if k <= K < m)
    overlap = sum(Q[k - 1, m - 1] for k in ranks for m in ranks if max(k, m) <= K) / (K * n)
    rnx = ((n - 1) * overlap - K) / (n - 1 - K)
    return 1 - intruded / worst, 1 - lost / worst, overlap - K / (n - 1), rnx


@given(st.integers(3, 9), SEEDS, st.booleans())
def test_all_measures_are_sums_over_the_co_ranking_matrix(n, seed, ties):
    X, Y = configuration(n, seed), configuration(n, seed + 1, 2)
    if ties:
        X, Y = np.round(X), np.round(Y)
    D, E = cdist(X, X), cdist(Y, Y)
    expected = np.array([slow_measures(D, E, K) for K in range(1, n - 1)]).T
    found = metrics.coranking(X, Y)
    measures = found.trustworthiness, found.continuity, found.lcmc, found.rnx
    np.testing.assert_allclose(measures, expected, rtol=0, atol=1e-12)
    weights = [1 / K for K in range(1, n - 1)]
    area = sum(w * r for w, r in zip(weights, expected[3], strict=True)) / sum(weights)
    assert found.auc_log_rnx == pytest.approx(area, abs=1e-12)


@pytest.mark.parametrize("k", [1, 5, 15, 74])
def test_trustworthiness_is_that_of_scikit_learn_and_continuity_its_mirror_image(k):
    X, Y = configuration(150, 0), configuration(150, 1, 2)
    assert metrics.trustworthiness(X, Y, k) == pytest.approx(
        sklearn.manifold.trustworthiness(X, Y, n_neighbors=k), abs=1e-12
    )
    assert metrics.continuity(X, Y, k) == pytest.approx(
        sklearn.manifold.trustworthiness(Y, X, n_neighbors=k), abs=1e-12
    )


def test_single_measures_are_those_of_co_ranking():
    X, Y = configuration(40, 0), configuration(40, 1, 2)
    all_sizes = metrics.coranking(X, Y)
    for name in ("trustworthiness", "continuity", "lcmc"):
        assert getattr(metrics, name)(X, Y, 7) == getattr(all_sizes, name)[6]
    assert metrics.auc_log_rnx(X, Y) == all_sizes.auc_log_rnx


@given(SIZES, SEEDS, st.floats(1e-3, 1e3))
def test_an_embedding_that_keeps_all_distances_is_perfect(n, seed, scale):
    X = configuration(n, seed)
    Y = scale * X @ rotation(4) + 1
    found = metrics.coranking(X, Y)
    for measure in (found.trustworthiness, found.continuity, found.overlap, found.rnx):
        np.testing.assert_array_equal(measure, 1.0)
    assert found.auc_log_rnx == pytest.approx(1, abs=1e-12)
    assert metrics.residual_variance(cdist(X, X), Y) == pytest.approx(0, abs=1e-12)
    assert metrics.stress(cdist(X, X), Y) == pytest.approx(0, abs=1e-12)
    assert metrics.rank_correlation(pdist(X), pdist(Y)) == pytest.approx(1, abs=1e-12)


@given(SIZES, SEEDS, st.floats(1e-3, 1e3))
def test_no_measure_depends_on_where_an_embedding_lies_how_it_is_turned_and_its_unit(
    n, seed, scale
):
    X, Y = configuration(n, seed), configuration(n, seed + 1, 3)
    moved = scale * Y @ rotation(3) + 1
    first, second = metrics.coranking(X, Y), metrics.coranking(X, moved)
    np.testing.assert_array_equal(first.trustworthiness, second.trustworthiness)
    np.testing.assert_array_equal(first.continuity, second.continuity)
    np.testing.assert_array_equal(first.overlap, second.overlap)
    D = cdist(X, X)
    for measure in (
        lambda Y: metrics.residual_variance(D, Y),
        lambda Y: metrics.stress(D, Y),
        lambda Y: metrics.rank_correlation(D, pdist(Y)),
    ):
        assert measure(Y) == pytest.approx(measure(moved), abs=1e-9)


@given(SIZES, SEEDS)
def test_measures_stay_within_their_bounds(n, seed):
    found = metrics.coranking(configuration(n, seed), configuration(n, seed + 1, 1))
    for measure in (found.trustworthiness, found.continuity, found.overlap):
        assert measure.min() >= 0
        assert measure.max() <= 1
    assert found.rnx.max() <= 1


@given(SIZES, SEEDS)
def test_ranks_in_reverse_order_are_the_worst_there_is(n, seed):
    Y = configuration(n, seed)
    E = cdist(Y, Y)
    found = metrics.coranking(E.max() - E, Y, metric="precomputed")
    np.testing.assert_array_equal(found.trustworthiness, 0)
    np.testing.assert_array_equal(found.continuity, 0)


def test_distances_can_be_given_in_place_of_points():
    X, Y = configuration(30, 0), configuration(30, 1, 2)
    D = cdist(X, X)
    before = D.copy()
    points, given_distances = metrics.coranking(X, Y), metrics.coranking(D, Y, metric="precomputed")
    np.testing.assert_array_equal(points.trustworthiness, given_distances.trustworthiness)
    np.testing.assert_array_equal(points.overlap, given_distances.overlap)
    np.testing.assert_array_equal(D, before)


def test_points_in_one_place_are_ranked_by_index():
    X, together = np.arange(6.0)[:, None], np.zeros((6, 2))
    found = metrics.coranking(X, together, n_jobs=2)
    for K in range(1, 5):
        expected = slow_measures(cdist(X, X), np.zeros((6, 6)), K)
        assert found.trustworthiness[K - 1] == pytest.approx(expected[0], abs=1e-12)
        assert found.continuity[K - 1] == pytest.approx(expected[1], abs=1e-12)


def test_results_depend_on_neither_threads_nor_blocks():
    X, Y = configuration(200, 0), configuration(200, 1, 2)
    D = cdist(X, X)
    whole = metrics.coranking(X, Y), metrics.residual_variance(D, Y), metrics.stress(D, Y)
    with sklearn.config_context(working_memory=0.05):
        parts = (
            metrics.coranking(X, Y, n_jobs=2),
            metrics.residual_variance(D, Y, n_jobs=2),
            metrics.stress(D, Y, n_jobs=2),
        )
    np.testing.assert_array_equal(whole[0].trustworthiness, parts[0].trustworthiness)
    np.testing.assert_array_equal(whole[0].continuity, parts[0].continuity)
    np.testing.assert_array_equal(whole[0].overlap, parts[0].overlap)
    assert whole[1:] == parts[1:]


# ---------------------------------------------------------------- residual variance


@given(SIZES, SEEDS, st.booleans())
def test_residual_variance_is_one_less_the_squared_correlation(n, seed, single):
    D, Y = squareform(pdist(configuration(n, seed))), configuration(n, seed + 1, 2)
    if single:
        D, Y = D.astype(np.float32), Y.astype(np.float32)
    upper = np.triu_indices(n, 1)
    R = np.corrcoef(D[upper], pdist(Y.astype(float)))[0, 1]
    assert metrics.residual_variance(D, Y) == pytest.approx(1 - R**2, abs=1e-12)


def test_residual_variance_needs_rows_of_some_sources_only():
    X, Y = configuration(50, 0), configuration(50, 1, 2)
    sources = np.array([3, 40, 7])
    others = np.array([[j for j in range(50) if j != i] for i in sources])
    D, E = cdist(X[sources], X), cdist(Y[sources], Y)
    R = np.corrcoef(*(np.take_along_axis(M, others, axis=1).ravel() for M in (D, E)))[0, 1]
    assert metrics.residual_variance(D, Y, sources=sources) == pytest.approx(1 - R**2, abs=1e-12)


def test_residual_variance_of_constant_distances_is_zero_only_if_both_are_constant():
    equal = 1.0 - np.eye(4)
    corners = np.eye(4) @ rotation(4)
    assert metrics.residual_variance(equal, corners) == 0
    assert metrics.residual_variance(equal, corners[:, :1]) == 1
    assert metrics.residual_variance(equal, np.zeros((4, 1))) == 0
    assert metrics.residual_variance(cdist(*[configuration(4, 0)] * 2), np.zeros((4, 1))) == 1


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_residual_variance_knows_no_unit(unit):
    X, Y = configuration(20, 0), configuration(20, 1, 2)
    D = cdist(X, X)
    assert metrics.residual_variance(D * unit, Y) == pytest.approx(
        metrics.residual_variance(D, Y), rel=1e-12
    )


# ---------------------------------------------------------------- stress


def slow_stress(D, E, pairs):
    """Return Kruskal's stress-1 of the best of many scales, and of the best there is."""
    d, e = (np.array([M[i, j] for i, j in pairs], dtype=float) for M in (D, E))
    best = np.linalg.lstsq(e[:, None], d, rcond=None)[0][0]
    tried = [np.sqrt(np.sum((d - a * e) ** 2) / np.sum(d**2)) for a in (best, *np.linspace(0, 3))]
    assert min(tried) == tried[0]
    return tried[0]


@given(SIZES, SEEDS, st.booleans())
def test_stress_is_that_of_all_pairs_with_the_best_scale(n, seed, single):
    D, Y = squareform(pdist(configuration(n, seed))), configuration(n, seed + 1, 2)
    if single:
        D, Y = D.astype(np.float32), Y.astype(np.float32)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    E = cdist(Y, Y)
    assert metrics.stress(D, Y) == pytest.approx(slow_stress(D, E, pairs), abs=1e-12)
    assert 0 <= metrics.stress(D, Y) <= 1


@given(SIZES, SEEDS, st.data())
def test_stress_leaves_out_pairs_without_a_finite_distance(n, seed, data):
    X, Y = configuration(n, seed), configuration(n, seed + 1, 2)
    sources = data.draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True))
    D = cdist(X[sources], X)
    unknown = np.random.default_rng(seed).uniform(size=D.shape) < 0.3
    known = [
        (a, j) for a, i in enumerate(sources) for j in range(n) if i != j and not unknown[a, j]
    ]
    D[unknown] = np.random.default_rng(seed).choice([np.inf, np.nan], size=unknown.sum())
    if known:
        expected = slow_stress(D, cdist(Y[sources], Y), known)
        assert metrics.stress(D, Y, sources=sources) == pytest.approx(expected, abs=1e-12)
    else:
        with pytest.raises(ValueError, match="no finite value between two points"):
            metrics.stress(D, Y, sources=sources)


def test_stress_sees_a_point_placed_too_far_out_that_ranks_do_not():
    X = np.arange(50.0)[:, None]
    Y = X.copy()
    Y[-1] = 1e6
    D = cdist(X, X)
    assert metrics.rank_correlation(D, cdist(Y, Y)) > 0.9
    assert metrics.stress(D, Y) > 0.7
    assert metrics.stress(D, X) == 0


def test_stress_of_points_in_one_place_is_zero_only_where_they_should_be():
    D, Y = cdist(*[configuration(5, 0)] * 2), configuration(5, 1)
    assert metrics.stress(D, np.zeros((5, 2))) == 1
    assert metrics.stress(np.zeros((5, 5)), Y) == 1
    assert metrics.stress(np.zeros((5, 5)), np.zeros((5, 2))) == 0


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_stress_knows_no_unit(unit):
    X, Y = configuration(20, 0), configuration(20, 1, 2)
    D = cdist(X, X)
    expected = metrics.stress(D, Y)
    assert metrics.stress(D * unit, Y) == pytest.approx(expected, rel=1e-12)


# ---------------------------------------------------------------- dimension


def noisy(U, seed=0):
    """Put points into ten dimensions, turned and with a little noise."""
    noise = 0.01 * np.random.default_rng(seed).standard_normal((len(U), 10))
    return U @ rotation(10)[: U.shape[1]] + noise


def uniform(d):
    return np.random.default_rng(0).uniform(size=(400, d))


def sphere():
    X = configuration(400, 0, 3)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def helix():
    t = 9 * uniform(1)[:, 0]
    return np.column_stack([np.cos(t), np.sin(t), t / 3])


@pytest.mark.parametrize("divergence", ["euclidean", "kl"])
@pytest.mark.parametrize(
    ("X", "dimension"),
    [
        (noisy(uniform(1)), 1),
        (helix(), 1),
        (make_s_curve(400, random_state=0)[0], 2),
        *((noisy(uniform(d)), d) for d in (2, 3, 4, 5)),
        (sphere(), 3),
    ],
    ids=["line", "helix", "s-curve", "2-cube", "3-cube", "4-cube", "5-cube", "sphere"],
)
def test_the_intrinsic_dimension_is_found(X, dimension, divergence):
    found = metrics.intrinsic_dimension(
        X, PatchIsomap(divergence=divergence, patch=GaussianPatch())
    )
    assert found.dimension == dimension
    assert found.residual_variances.shape == (10,)


def test_a_swiss_roll_has_two_dimensions_by_default():
    X, _ = make_swiss_roll(1000, noise=0.3, random_state=0)
    assert metrics.intrinsic_dimension(X).dimension == 2


def test_the_curve_is_that_of_separate_embeddings_and_the_estimator_is_left_alone():
    X = load_iris().data
    estimator = PatchIsomap(n_components=3, n_neighbors=30)
    found = metrics.intrinsic_dimension(X, estimator, max_components=4)
    for d in range(1, 5):
        isomap = PatchIsomap(n_components=d, n_neighbors=30).fit(X)
        alone = metrics.residual_variance(shortest_paths(isomap.graph_), isomap.embedding_)
        assert found.residual_variances[d - 1] == pytest.approx(alone, abs=1e-9)
    assert estimator.n_components == 3
    assert not hasattr(estimator, "embedding_")


def test_many_points_are_looked_at_from_some_of_them_and_give_the_same_every_time():
    X = noisy(np.random.default_rng(0).uniform(size=(metrics.MOST_SOURCES + 100, 2)))
    estimator = PatchIsomap(n_neighbors=8, divergence="euclidean")
    first, second = (metrics.intrinsic_dimension(X, estimator, max_components=3) for _ in range(2))
    isomap = PatchIsomap(n_components=3, n_neighbors=8, divergence="euclidean").fit(X)
    every = metrics.residual_variance(shortest_paths(isomap.graph_), isomap.embedding_)
    assert first.residual_variances[-1] == pytest.approx(every, rel=0.05)
    np.testing.assert_array_equal(first.residual_variances, second.residual_variances)


def test_components_without_variance_add_nothing():
    # The matrix of a line has one positive eigenvalue; the others are zero up to rounding.
    X = np.arange(12.0)[:, None]
    found = metrics.intrinsic_dimension(X, PatchIsomap(n_neighbors=2, divergence="euclidean"))
    assert found.dimension == 1
    np.testing.assert_allclose(found.residual_variances, 0, atol=1e-12)


def test_few_points_limit_the_components():
    X = configuration(6, 0, 2)
    found = metrics.intrinsic_dimension(X, PatchIsomap(n_neighbors=5, divergence="euclidean"))
    assert found.residual_variances.shape == (5,)
    assert found.dimension == 2


def test_points_in_one_place_have_one_dimension():
    X = np.ones((20, 3))
    found = metrics.intrinsic_dimension(X, PatchIsomap(n_neighbors=5), max_components=3)
    assert found.dimension == 1
    np.testing.assert_array_equal(found.residual_variances, 0)


@pytest.mark.parametrize("d", [5, 20])
def test_a_curve_that_does_not_flatten_is_reported(d):
    X = np.random.default_rng(0).uniform(size=(300, d))
    with pytest.warns(UserWarning, match=r"does not flatten within max_components=3 .* raise"):
        found = metrics.intrinsic_dimension(
            X, PatchIsomap(divergence="euclidean"), max_components=3
        )
    assert found.dimension == 3


# ---------------------------------------------------------------- rank correlation, purity


@given(SIZES, SEEDS, st.booleans())
def test_rank_correlation_is_spearmans_of_pairs_square_or_condensed(n, seed, ties):
    a, b = pdist(configuration(n, seed)), pdist(configuration(n, seed + 1))
    if ties:
        a, b = np.round(a), np.round(b)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return
    expected = spearmanr(a, b).statistic
    for first in (a, squareform(a)):
        for second in (b, squareform(b)):
            assert metrics.rank_correlation(first, second) == pytest.approx(expected, abs=1e-12)


def test_rank_correlation_of_constant_distances_is_one_only_if_both_are_constant():
    assert metrics.rank_correlation([1, 1, 1], [5, 5, 5]) == 1
    assert metrics.rank_correlation([1, 1, 1], [5, 6, 5]) == 0
    assert metrics.rank_correlation([1, 2, 3], [3, 2, 1]) == -1


def test_purity_counts_the_commonest_class_of_each_cluster():
    X, y = load_iris(return_X_y=True)
    clusters = KMeans(5, n_init=1, random_state=0).fit_predict(X)
    expected = sum(max(np.sum(y[clusters == c] == k) for k in range(3)) for c in range(5)) / 150
    assert metrics.purity(y, clusters) == pytest.approx(expected, abs=1e-15)
    assert metrics.purity(np.array(["a", "b", "c"])[y], clusters + 7) == metrics.purity(y, clusters)
    assert metrics.purity(y, np.arange(150)) == 1
    assert metrics.purity(y, np.zeros(150)) == pytest.approx(1 / 3)


# ---------------------------------------------------------------- errors


POINTS = np.random.default_rng(0).standard_normal((6, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.trustworthiness(POINTS, POINTS, 5), r"n_neighbors=5 needs at least 7 sam"),
        (lambda: metrics.continuity(POINTS, POINTS, 0), r"n_neighbors=0 is too small"),
        (lambda: metrics.lcmc(POINTS, POINTS[:5], 2), r"X has 6 rows and embedding has 5; give"),
        (lambda: metrics.coranking(POINTS[:2], POINTS[:2]), r"2 sample\(s\).*a minimum of 3"),
        (lambda: metrics.coranking(POINTS, POINTS, metric="pre"), r"metric='pre' is not known"),
        (
            lambda: metrics.auc_log_rnx(POINTS, POINTS, metric="precomputed"),
            r"needs X of shape \(6, 6\), got \(6, 2\); give the distances",
        ),
        (
            lambda: metrics.residual_variance(np.ones((3, 6)), POINTS),
            r"distances has shape \(3, 6\) for 6 source\(s\) and 6 points; .*name the sources",
        ),
        (
            lambda: metrics.residual_variance(np.ones((1, 6)), POINTS, sources=[6]),
            r"sources has values from 6 to 6 for 6 points; give integers from 0 to 5",
        ),
        (
            lambda: metrics.residual_variance(np.ones((1, 6)), POINTS, sources=[0.5]),
            r"sources has shape \(1,\) and dtype float64; give a list of the indices",
        ),
        (lambda: metrics.residual_variance(-np.ones((6, 6)), POINTS), r"the negative value -1.0"),
        (lambda: metrics.residual_variance(np.full((6, 6), np.inf), POINTS), r"contains infinity"),
        (
            lambda: metrics.stress(np.ones((6, 5)), POINTS),
            r"shape \(6, 5\) for 6 source\(s\) and 6",
        ),
        (lambda: metrics.stress(-np.ones((6, 6)), POINTS), r"the negative value -1.0"),
        (
            lambda: metrics.stress(np.full((6, 6), np.nan), POINTS),
            r"no finite value between two points; give distances of a graph",
        ),
        (lambda: metrics.intrinsic_dimension(POINTS, max_components=0), r"max_components=0 is too"),
        (
            lambda: metrics.rank_correlation(np.ones((2, 3)), [1]),
            r"a has shape \(2, 3\); give sq",
        ),
        (lambda: metrics.rank_correlation([1, 2, 3], [1]), r"3 and 1 pairs of points; give dist"),
        (lambda: metrics.purity([0, 1], [0]), r"shapes \(2,\) and \(1,\); give one label a point"),
        (lambda: metrics.purity([], []), r"shapes \(0,\) and \(0,\)"),
    ],
)
def test_bad_arguments_are_named_with_a_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_only_isomap_has_nested_components():
    with pytest.raises(TypeError, match=r"is not a PatchIsomap.*give one, or None"):
        metrics.intrinsic_dimension(POINTS, PatchLLE())
