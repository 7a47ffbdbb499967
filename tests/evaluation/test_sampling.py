"""Rows are drawn as scikit-learn draws them, whole, disjoint and in the shares of their classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, train_test_split

from patchfold.evaluation.sampling import draw, folds, halves

Y = np.repeat(["a", "b", "c"], [51, 30, 20])


def same(found, expected):
    for one, other in zip(found, expected, strict=True):
        for ours, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@given(st.integers(0, 10**6), st.integers(2, 40))
def test_halves_are_disjoint_whole_and_have_the_classes_shares(seed, count):
    y = np.repeat(["a", "b"], count)
    found = list(halves(y, 3, random_state=seed))
    assert len(found) == 3
    for train, test in found:
        assert sorted([*train, *test]) == list(range(2 * count))
        assert abs(np.sum(y[train] == "a") - np.sum(y[train] == "b")) <= 1


def test_without_strata_rows_are_halved_whatever_their_targets():
    found = list(halves(np.arange(9.0), 4, stratify=False))
    assert len(found) == 4
    for train, test in found:
        assert (len(train), len(test)) == (4, 5)
        assert sorted([*train, *test]) == list(range(9))


# Stored results of the reproduction were drawn in these ways.
@pytest.mark.parametrize("stratify", [True, False])
def test_one_half_a_seed_is_that_of_train_test_split(stratify):
    for seed in range(5):
        expected = train_test_split(
            np.arange(101), test_size=0.5, random_state=seed, stratify=Y if stratify else None
        )
        same(halves(Y, stratify=stratify, random_state=seed), [expected])


def test_many_halves_of_a_seed_are_those_of_one_splitter_or_one_generator():
    splitter = StratifiedShuffleSplit(4, test_size=0.5, random_state=7)
    same(halves(Y, 4, random_state=7), splitter.split(Y, Y))
    random, rows = np.random.RandomState(7), np.arange(101)
    expected = [
        train_test_split(rows, test_size=0.5, random_state=random, stratify=Y) for _ in range(4)
    ]
    same(halves(Y, 4, random_state=7), expected)


def test_some_rows_are_split_and_named_as_rows_of_all():
    rows = np.arange(3, 90, 2)
    expected = train_test_split(rows, test_size=0.5, random_state=1, stratify=Y[rows])
    same(halves(Y, rows=rows, random_state=1), [expected])
    for train, test in folds(Y, 3, rows=rows):
        assert sorted([*train, *test]) == rows.tolist()


def test_folds_are_those_of_scikit_learn_and_every_row_is_tested_once():
    expected = StratifiedKFold(4, shuffle=True, random_state=3).split(Y, Y)
    found = folds(Y, 4, random_state=3)
    same(found, expected)
    assert sorted(np.concatenate([test for _, test in found])) == list(range(101))


def test_there_are_two_folds_at_least_and_no_more_than_the_largest_class_has_rows():
    few = np.repeat(["a", "b"], [3, 1])
    assert len(folds(few, 5)) == 3
    assert len(folds(Y, 1)) == 2


@given(st.integers(1, 30), st.integers(0, 10**6), st.booleans())
def test_a_sample_has_different_rows_and_no_more_than_there_are(size, seed, stratify):
    y = np.arange(20) % 3
    rows = draw(20, size, seed, strata=y if stratify else None)
    assert rows.tolist() == sorted(set(rows.tolist()))
    assert len(rows) == min(size, 20)
    assert set(rows) <= set(range(20))


@given(st.integers(1, 100), st.integers(0, 10**6))
def test_a_stratified_sample_has_each_class_in_its_share_to_within_a_row(size, seed):
    _, counts = np.unique(Y, return_counts=True)
    rows = draw(101, size, seed, strata=Y)
    found = np.array([np.sum(Y[rows] == name) for name in "abc"])
    assert (np.abs(found - counts * size / 101) < 1 + 1e-9).all()


def test_a_sample_comes_in_order_drawn_by_a_seed_or_a_generator():
    drawn = np.random.default_rng(4).permutation(50)[:10]
    np.testing.assert_array_equal(draw(50, 10, 4), np.sort(drawn))
    old = np.random.RandomState(4)
    expected = np.sort(np.random.RandomState(4).permutation(50)[:10])
    np.testing.assert_array_equal(draw(50, 10, old), expected)
    assert draw(50, 10, old).tolist() != expected.tolist()
