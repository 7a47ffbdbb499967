"""Intervals are those of SciPy and of the papers that define them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from patchfold.evaluation.significance import (
    HALVES_OVERLAP,
    mean_interval,
    score_range,
    standard_error,
)

SCORES = [0.8, 0.9, 0.7, 0.95]


def test_an_interval_without_overlap_is_students_own():
    mean, low, high = mean_interval(SCORES)
    expected = stats.t.interval(0.95, 3, loc=np.mean(SCORES), scale=stats.sem(SCORES))
    assert mean == np.mean(SCORES)
    assert (low, high) == pytest.approx(expected)
    assert standard_error(SCORES) == pytest.approx(stats.sem(SCORES))


def test_halves_that_overlap_widen_the_interval_as_nadeau_and_bengio_do():
    # Section 5.3 there: the variance of the scores times 1 / J + n_test / n_train.
    expected = np.sqrt((1 / 4 + 1) * np.var(SCORES, ddof=1))
    assert standard_error(SCORES, overlap=HALVES_OVERLAP) == pytest.approx(expected)
    _, low, high = mean_interval(SCORES, overlap=HALVES_OVERLAP)
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 3) * expected)


def test_a_lower_level_has_a_narrower_interval():
    wide, narrow = (mean_interval(SCORES, level=level) for level in (0.99, 0.5))
    assert wide[1] < narrow[1] < narrow[0] < narrow[2] < wide[2]


@pytest.mark.slow
def test_the_interval_covers_the_mean_as_often_as_its_level_says():
    random = np.random.default_rng(0)
    ends = np.array([mean_interval(sample)[1:] for sample in random.normal(size=(4000, 6))])
    covered = np.mean((ends[:, 0] < 0) & (ends[:, 1] > 0))
    assert covered == pytest.approx(0.95, abs=0.012)


def test_the_range_of_scores_leaves_a_share_beyond_each_end():
    scores = np.random.default_rng(1).normal(size=10_000)
    for tail in (0.025, 0.1):
        low, high = score_range(scores, tail=tail)
        assert np.mean(scores < low) == pytest.approx(tail, abs=1e-3)
        assert np.mean(scores > high) == pytest.approx(tail, abs=1e-3)
