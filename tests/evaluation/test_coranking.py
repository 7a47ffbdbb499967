"""Measures of ranks are sums over the co-ranking matrix."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
import sklearn.manifold
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from configurations import configuration
from patchfold import metrics
from patchfold.evaluation.coranking import local_quality

SIZES = st.integers(4, 25)
SEEDS = st.integers(0, 2**32 - 1)


POINTS = np.random.default_rng(0).standard_normal((6, 2))


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


@given(st.integers(3, 30), SEEDS, st.booleans(), st.data())
def test_local_quality_is_co_ranking_at_one_size_with_and_without_ties(n, seed, ties, data):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, 3)), rng.standard_normal((n, 2))
    if ties:
        X, Y = np.rint(X), np.rint(Y)
    k = data.draw(st.integers(1, n - 2))
    sources = data.draw(st.none() | st.lists(st.integers(0, n - 1), min_size=1, unique=True))
    full = metrics.coranking(X, Y, sources=sources)
    expected = full.trustworthiness[k - 1], full.continuity[k - 1], full.lcmc[k - 1]
    np.testing.assert_allclose(local_quality(X, Y, k, sources=sources), expected, atol=1e-12)
    D = cdist(X, X) if sources is None else cdist(X[sources], X)
    alone = local_quality(X, Y, k, sources=sources, ranks=False)
    np.testing.assert_array_equal(alone[:2], np.nan)
    assert alone[2] == local_quality(X, Y, k, sources=sources)[2]
    given = local_quality(D, Y, k, sources=sources, metric="precomputed")
    np.testing.assert_allclose(given, expected, atol=1e-12)


@given(st.integers(4, 25), SEEDS)
def test_measures_from_all_points_are_means_of_those_from_each(n, seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, 3)), rng.standard_normal((n, 2))
    parts = [metrics.coranking(X, Y, sources=[i]) for i in range(n)]
    whole = metrics.coranking(X, Y)
    for name in ("trustworthiness", "continuity", "overlap"):
        mean = np.mean([getattr(part, name) for part in parts], axis=0)
        np.testing.assert_allclose(getattr(whole, name), mean, atol=1e-12)


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
    ],
)
def test_bad_arguments_are_named_with_a_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
