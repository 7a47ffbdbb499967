"""What is chosen never depends on the rows it is scored on."""

from __future__ import annotations

import numpy as np
import pytest

from patchfold.evaluation.sampling import halves, honest_scores

Y = np.repeat([0, 1], 20)
SPLITS = [
    (halves(Y, rows=train, random_state=seed)[0], (train, test))
    for seed, (train, test) in enumerate(halves(Y, 5))
]


def mean(values, _, test):
    return float(values[test].mean())


def test_the_choice_is_the_same_whatever_the_test_rows_hold():
    random = np.random.default_rng(0)
    candidates = random.normal(size=(6, 40))
    _, chosen = honest_scores(candidates, SPLITS, mean)
    for split, place in zip(SPLITS, chosen, strict=True):
        other = candidates.copy()
        other[:, split[1][1]] = random.normal(size=(6, 20)) * 100
        assert honest_scores(other, [split], mean)[1] == [place]


def test_scores_are_those_of_the_test_rows_of_what_was_chosen():
    candidates = np.random.default_rng(1).normal(size=(4, 40))
    scores, chosen = honest_scores(candidates, SPLITS, mean)
    for value, place, (inner, outer) in zip(scores, chosen, SPLITS, strict=True):
        judged = [candidate[inner[1]].mean() for candidate in candidates]
        assert judged[place] == max(judged)
        assert value == candidates[place][outer[1]].mean()


def test_another_judge_may_choose():
    candidates = np.random.default_rng(2).normal(size=(4, 40))
    _, least = honest_scores(candidates, SPLITS, mean, judge=lambda *given: -mean(*given))
    _, most = honest_scores(-candidates, SPLITS, mean)
    assert least == most


def test_one_candidate_is_not_judged_and_equals_are_chosen_in_order():
    def refuse(*_):
        raise AssertionError

    assert honest_scores([Y], SPLITS, mean, judge=refuse)[1] == [0] * 5
    assert honest_scores([Y, Y, Y], SPLITS, mean)[1] == [0] * 5
    with pytest.raises(AssertionError):
        honest_scores([Y, Y], SPLITS, mean, judge=refuse)
