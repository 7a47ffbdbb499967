"""Measures of distances agree with loops over all pairs, in any unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import spearmanr

from configurations import configuration, rotation
from patchfold import metrics

SIZES = st.integers(4, 25)
SEEDS = st.integers(0, 2**32 - 1)


POINTS = np.random.default_rng(0).standard_normal((6, 2))


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


# ---------------------------------------------------------------- rank correlation


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


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
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
        (
            lambda: metrics.rank_correlation(np.ones((2, 3)), [1]),
            r"a has shape \(2, 3\); give sq",
        ),
        (lambda: metrics.rank_correlation([1, 2, 3], [1]), r"3 and 1 pairs of points; give dist"),
    ],
)
def test_bad_arguments_are_named_with_a_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
