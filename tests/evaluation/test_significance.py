"""Ranks and tests agree with Demšar's tables, slow evaluations and the papers' own p-values."""

from __future__ import annotations

import math
from itertools import combinations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from patchfold import significance
from patchfold.evaluation.significance import (
    _beyond_range,
    average_ranks,
    bonferroni_dunn,
    compare,
    critical_difference,
    friedman,
    groups,
    nemenyi,
)
from patchfold.papers import tables

# Small whole numbers, so that ties are common.
SCORES = st.tuples(st.integers(2, 8), st.integers(3, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 5).map(float))
)


def printed(paper, *names, score=""):
    cells = [cell for table in names for cell in tables.read(paper, table) if cell.data_set]
    cells = [cell for cell in cells if score in {"", cell.score}]
    columns = list(dict.fromkeys(cell.column for cell in cells))
    return columns, np.reshape([cell.value for cell in cells], (-1, len(columns)))


# Demšar 2006, table 5: critical values for 2 to 10 methods. 2.724 for nine methods at 0.05 by
# Bonferroni and Dunn is a misprint for 2.734, the normal quantile of 1 - 0.05 / 16.
@pytest.mark.parametrize(
    ("test", "alpha", "values"),
    [
        ("nemenyi", 0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        ("nemenyi", 0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
        ("bonferroni-dunn", 0.05, [1.960, 2.241, 2.394, 2.498, 2.576, 2.638, 2.690, 2.734, 2.773]),
        ("bonferroni-dunn", 0.10, [1.645, 1.960, 2.128, 2.241, 2.326, 2.394, 2.450, 2.498, 2.539]),
    ],
)
def test_critical_values_are_those_of_demsar(test, alpha, values):
    for k, value in enumerate(values, start=2):
        # So many data sets make the standard error of a difference of ranks one.
        n = k * (k + 1) / 6
        assert critical_difference(k, n, alpha=alpha, test=test) == pytest.approx(value, abs=1.2e-3)


def test_an_unknown_test_is_refused():
    with pytest.raises(ValueError, match=r"test='tukey' is not known.*'nemenyi'"):
        critical_difference(3, 5, test="tukey")


# What the papers say of their own tables.
@pytest.mark.parametrize(
    ("paper", "names", "method", "p", "pairs"),
    [
        ("pelle", ["1"], "PELLE", 1.36e-11, {"ISOMAP": 0.002}),
        ("elap", ["I"], "ELAP", 5.71e-13, {"PCA": 0.00166}),
        ("elap", ["II"], "ELAP", 1.91e-12, {}),
    ],
)
def test_the_papers_p_values_follow_from_their_tables(paper, names, method, p, pairs):
    comparison = compare(*printed(paper, *names))
    assert comparison.friedman.p_value == pytest.approx(p, rel=0.005)
    others = {pair: p for pair, p in comparison.p_values.items() if method in pair}
    for other, expected in pairs.items():
        assert others.pop((method, other)) == pytest.approx(expected, rel=0.1)
    assert all(p < 1e-3 for p in others.values())


# The paper says the same, but for X-ISM by NMI; with the four columns of its table p is 0.017.
def test_the_x_space_is_better_by_every_score_and_learner():
    for score in ("ARI", "NMI", "PUR"):
        columns, values = printed("xspace", "2", score=score)
        for learner in ("ISM", "LEM", "LLE", "tSNE"):
            some = ["Euc", "PCA", learner, f"X-{learner}"]
            chosen = values[:, [columns.index(column) for column in some]]
            comparison = compare(some, chosen, control=f"X-{learner}")
            assert comparison.friedman.p_value < 0.05
            assert comparison.p_values[f"X-{learner}", learner] < 0.05


def slow_ranks(scores):
    """Rank 1 + (number of better) + (number of equal others) / 2, one by one."""
    n, k = scores.shape
    total = np.zeros(k)
    for row in scores:
        for j in range(k):
            better = sum(other > row[j] for other in row)
            equal = sum(other == row[j] for other in row) - 1
            total[j] += 1 + better + equal / 2
    return total / n


@given(SCORES)
def test_mean_ranks_are_counts_of_better_and_equal_scores(scores):
    ranks = average_ranks(scores)
    np.testing.assert_allclose(ranks, slow_ranks(scores), rtol=1e-12)
    k = len(ranks)
    assert ranks.sum() == pytest.approx(k * (k + 1) / 2)


@given(SCORES)
def test_friedmans_statistic_is_the_spread_of_ranks_over_its_expectation(scores):
    n, k = scores.shape
    rows = np.array([slow_ranks(row[None]) for row in scores])
    within = ((rows - (k + 1) / 2) ** 2).sum() / (n * (k - 1))
    test = friedman(scores)
    if within == 0:
        assert (test.statistic, test.p_value, test.f_p_value) == (0.0, 1.0, 1.0)
        return
    expected = n * ((rows.mean(axis=0) - (k + 1) / 2) ** 2).sum() / within
    assert test.statistic == pytest.approx(expected, abs=1e-9)
    assert 0 <= test.p_value <= 1
    assert 0 <= test.f_p_value <= 1


def test_iman_and_davenports_f_is_that_of_demsars_example():
    # Section 3.2.4 there: 4 methods on 14 data sets, mean ranks 3.143, 2.000, 2.893, 1.964.
    n, chi2, f = 14, 9.28, 3.69
    assert (n - 1) * chi2 / (n * 3 - chi2) == pytest.approx(f, abs=0.01)
    # The same relation holds for what is computed.
    test = friedman(printed("pelle", "1")[1])
    assert test.f_statistic == pytest.approx(24 * test.statistic / (25 * 6 - test.statistic))


def test_methods_in_the_same_order_everywhere_have_an_infinite_f():
    test = friedman([[3, 2, 1]] * 4)
    assert test.statistic == pytest.approx(8)
    assert test.f_p_value == pytest.approx(0, abs=1e-12)


@given(SCORES)
def test_p_values_cross_the_level_at_the_critical_difference(scores):
    n, k = scores.shape
    ranks = average_ranks(scores)
    apart = np.abs(ranks[:, None] - ranks)
    for p, difference in (
        (nemenyi(scores), critical_difference(k, n)),
        (
            np.stack([bonferroni_dunn(scores, control) for control in range(k)]),
            critical_difference(k, n, test="bonferroni-dunn"),
        ),
    ):
        np.testing.assert_allclose(p, p.T, rtol=1e-9)
        assert ((p >= 0) & (p <= 1)).all()
        clear = np.abs(apart - difference) > 1e-6
        np.testing.assert_array_equal((p < 0.05)[clear], (apart > difference)[clear])


def exact_tail(q, k):
    """The probability of a range above q, by the difference of two large numbers in 60 digits."""

    def density(z):
        return mp.npdf(z) * (mp.ncdf(z) ** (k - 1) - (mp.ncdf(z) - mp.ncdf(z - q)) ** (k - 1))

    with mp.workdps(60):
        return float(k * mp.quad(density, [-15, -5, 0, q / 2, q, q + 5, q + 20]))


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("q", [0.01, 0.5, 2.0, 5.0, 10.0, 14.0, 18.0])
def test_p_values_of_nemenyi_have_their_digits_where_they_are_small(q, k):
    assert _beyond_range(np.array([q]), k)[0] == pytest.approx(exact_tail(q, k), rel=1e-9)


def test_no_p_value_of_nemenyi_is_zero_on_both_accuracies_of_isomap_kl():
    cells = [cell for table in ("II", "III") for cell in tables.read("isomap-kl", table)]
    columns = list(dict.fromkeys(cell.column for cell in cells))
    rows = {}
    for cell in cells:
        if cell.data_set:
            rows.setdefault((cell.printed, cell.classifier), {})[cell.column] = cell.value
    p = nemenyi([[row[column] for column in columns] for row in rows.values()])
    own = dict(zip(columns, p[columns.index("ISO-KL")], strict=True))
    expected = {"PCA": 2.910e-12, "KPCA": 5.733e-17, "LLE": 3.903e-24, "LAP": 1.319e-21}
    for name, value in expected.items():
        assert own[name] == pytest.approx(value, rel=1e-3)


def test_all_statements_of_x_space_follow_with_ten_methods_and_four_comparisons():
    # Section 6: all X-methods differ from their own, but X-ISM from ISM under NMI.
    names = ("ISM", "LEM", "LLE", "tSNE")
    found = {}
    for score in ("ARI", "NMI", "PUR"):
        columns, values = printed("xspace", "2", score=score)
        assert len(columns) == 10
        comparison = compare(columns, values, pairs=[(f"X-{name}", name) for name in names])
        ranks = average_ranks(values)
        for (better, worse), p in comparison.p_values.items():
            assert better == f"X-{worse}"
            apart = ranks[columns.index(worse)] - ranks[columns.index(better)]
            by_hand = 4 * math.erfc(apart / math.sqrt(10 * 11 / (6 * 12)) / math.sqrt(2))
            assert p == pytest.approx(by_hand)
            assert (apart > comparison.difference) == (p < 0.05)
            found[score, worse] = p
    assert len(found) == 12
    assert {pair for pair, p in found.items() if p >= 0.10} == {("NMI", "ISM")}
    isomap = [round(found[score, "ISM"], 3) for score in ("ARI", "NMI", "PUR")]
    assert isomap == [0.023, 0.146, 0.055]


def test_methods_of_a_pair_have_to_be_there():
    with pytest.raises(ValueError, match="pairs='d'"):
        compare(["a", "b", "c"], [[3, 2, 1]] * 8, pairs=[("a", "d")])


def test_what_is_public_is_what_the_reproduction_uses():
    assert significance.compare is compare
    svg = significance.critical_difference_svg(
        [("chosen", compare(["a", "b", "c"], [[3, 2, 1], [1, 2, 3]] * 4, pairs=[("a", "b")]))]
    )
    assert svg.count('stroke-width="4"') == 1  # the two that do not differ


@given(st.lists(st.floats(1, 6), min_size=3, max_size=7), st.floats(0, 6))
def test_groups_are_all_largest_sets_of_ranks_that_do_not_differ(ranks, difference):
    found = groups(ranks, difference)
    together = {pair for group in found for pair in combinations(sorted(group), 2)}
    alike = {
        (i, j)
        for i, j in combinations(range(len(ranks)), 2)
        if max(ranks[i], ranks[j]) <= min(ranks[i], ranks[j]) + difference
    }
    assert together == alike
    sets = [set(group) for group in found]
    assert not any(a < b for a in sets for b in sets)


@pytest.mark.parametrize("scores", [[[1, 2, 3]], [[1, 2], [3, 4]], [1, 2, 3]])
def test_too_few_data_sets_or_methods_are_refused(scores):
    with pytest.raises(ValueError, match=r"scores has shape .*give at least two data sets"):
        friedman(scores)


def test_missing_scores_are_refused():
    with pytest.raises(ValueError, match=r"missing values; leave out data sets"):
        average_ranks([[1, 2, np.nan], [1, 2, 3]])


def test_a_comparison_lists_pairs_with_the_better_method_first():
    scores = [[1, 2, 3], [1, 2, 3], [2, 1, 3]]
    every = compare(["a", "b", "c"], scores)
    assert list(every.p_values) == [("c", "b"), ("c", "a"), ("b", "a")]
    assert not every.control
    one = compare(["a", "b", "c"], scores, control="b")
    assert list(one.p_values) == [("c", "b"), ("b", "a")]
    with pytest.raises(ValueError, match="control='d' is not known"):
        compare(["a", "b", "c"], scores, control="d")
