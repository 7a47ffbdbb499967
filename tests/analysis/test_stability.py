"""Places of refits lie over the embedding, and what is left of their distance is instability."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import procrustes

from patchfold.analysis.stability import laid_over, stability_of


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_a_moved_turned_and_scaled_copy_comes_back(d, unit):
    random = np.random.default_rng(d)
    places = random.standard_normal((30, d)) * unit
    turn = np.linalg.qr(random.standard_normal((d, d)))[0]
    copy = (3 * places / unit) @ turn + 7
    np.testing.assert_allclose(laid_over(copy, places), places, atol=1e-12 * unit)


def test_what_is_in_common_is_scipys():
    random = np.random.default_rng(0)
    A, B = random.standard_normal((2, 40, 3))
    common = ((laid_over(B, A) - A.mean(axis=0)) * (A - A.mean(axis=0))).sum()
    share = common / ((A - A.mean(axis=0)) ** 2).sum()
    assert share == pytest.approx(np.sqrt(1 - procrustes(A, B)[2]))


@given(st.integers(5, 40), st.integers(2, 7), st.integers(0, 5))
def test_all_points_take_part_equally_often_to_within_one_refit(n, n_refits, seed):
    places, seen = np.random.default_rng(n).standard_normal((n, 2)), np.zeros(n, dtype=int)

    def refit(rows):
        seen[rows] += 1
        return places[rows]

    found = stability_of(refit, places, n_refits=n_refits, random_state=seed)
    np.testing.assert_allclose(found, 1)
    assert seen.min() >= 1
    assert seen.max() - seen.min() <= 1


def test_points_that_move_are_told_from_those_that_stay():
    random = np.random.default_rng(0)
    places = random.standard_normal((400, 2))
    restless = np.arange(400) < 20

    def refit(rows):
        moved = places[rows].copy()
        moved[restless[rows]] = random.standard_normal((restless[rows].sum(), 2))
        return moved

    found = stability_of(refit, places, n_refits=20, random_state=0)
    assert found[~restless].min() > 0.9
    assert found[restless].mean() < 0.25


def test_places_drawn_by_lot_have_no_stability():
    random = np.random.default_rng(1)
    places = random.standard_normal((300, 2))
    found = stability_of(
        lambda rows: random.standard_normal((len(rows), 2)), places, n_refits=10, random_state=0
    )
    assert found.mean() < 0.15
