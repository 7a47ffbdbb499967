"""Locally linear embedding: its weights are exact, however large divergences are."""

import mpmath as mp
import numpy as np
import pytest

import slow_reference as slow
from equations import (
    DATA,
    PLAIN,
    assert_equal_up_to_sign,
    slow_space,
)
from patchfold import PatchLLE
from patchfold.embedding.lle import entropic_weights
from patchfold.neighbors.neighborhoods import Neighborhoods


@pytest.mark.parametrize("reg", [1e-6, 1.0, 100.0])
@pytest.mark.parametrize("weights", ["entropic", "euclidean"])
def test_any_regularisation_follows_the_equations(weights, reg):
    estimator = PatchLLE(n_neighbors=5, **PLAIN, weights=weights, reg=reg)
    found = estimator.fit_transform(DATA["k < m"][0])
    expected = slow.lle(slow_space("k < m"), 2, weights, reg)[1]
    assert_equal_up_to_sign(found, expected, 1e-8)


def test_given_distances_have_no_euclidean_weights():
    with pytest.raises(ValueError, match=r"weights='euclidean' needs points.*weights='entropic'"):
        PatchLLE(weights="euclidean", divergence="precomputed").fit(np.ones((9, 9)))


# ------------------------------------------------------------------- entropic weights


def rows_of(lengths):
    lengths = [np.asarray(row, dtype=float) for row in lengths]
    return Neighborhoods(
        np.cumsum([0, *map(len, lengths)]),
        np.concatenate([np.arange(len(row)) for row in lengths]),
        np.concatenate(lengths),
    )


@pytest.mark.parametrize("reg", [1e-3, 1.0])
def test_entropic_weights_solve_the_equations_of_the_seed(reg):
    rng = np.random.default_rng(0)
    lengths = [rng.uniform(0, 3, k) for k in (1, 2, 5, 5, 15, 40)]
    solved = [
        np.linalg.solve(np.outer(d, d) + reg * np.eye(len(d)), np.ones(len(d))) for d in lengths
    ]
    expected = np.concatenate([w / w.sum() for w in solved])
    np.testing.assert_allclose(entropic_weights(rows_of(lengths), reg), expected, atol=1e-9)


@pytest.mark.parametrize("largest", [1.0, 1e2, 1e4, 1e6, 1e8])
def test_entropic_weights_are_exact_for_large_divergences(largest):
    rng = np.random.default_rng(1)
    lengths = [largest * rng.uniform(0, 1, 12), largest * 10.0 ** -rng.uniform(0, 8, 12)]
    found = entropic_weights(rows_of(lengths), 1e-3)
    expected = np.concatenate([slow.entropic_weights(row, 1e-3) for row in lengths])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose([found[:12].sum(), found[12:].sum()], 1, rtol=1e-12)


@pytest.mark.parametrize("length", [0.0, 0.1, 1e3])
@pytest.mark.parametrize("k", [1, 3, 7, 30])
def test_equal_divergences_share_the_weight(length, k):
    found = entropic_weights(rows_of([[length] * k]), 1e-3)
    np.testing.assert_allclose(found, 1 / k, rtol=1e-9)


@pytest.mark.parametrize("d", [[1e8 / 3] * 7, [1e8, 1e8 + 1, 1e8 + 3], [5.0] * 3])
def test_entropic_weights_of_large_almost_equal_divergences_are_exact(d):
    with mp.workdps(60):
        column = mp.matrix(d)
        C = column * column.T + mp.mpf(1e-3) * mp.eye(len(d))
        w = mp.lu_solve(C, mp.ones(len(d), 1))
        expected = [float(value / sum(w)) for value in w]
    np.testing.assert_allclose(entropic_weights(rows_of([d]), 1e-3), expected, rtol=1e-9)
