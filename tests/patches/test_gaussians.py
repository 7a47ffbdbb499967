"""Fitted Gaussians: what is given comes back, rows can be chosen, wrong arrays are named."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from gaussians import cloud, factored_patches, full_patches, random_covariances
from patchfold import Patches, divergences


def test_given_moments_come_back():
    S = random_covariances(np.random.default_rng(0), 4, 5)
    means = cloud(4, 5)
    patches = Patches.from_moments(means, S)
    assert np.array_equal(patches.means, means)
    np.testing.assert_allclose(patches.covariances(), S, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("ranks", [(2, 2), (1, 3), None])
def test_patches_of_several_fits_are_put_together(ranks):
    rng = np.random.default_rng(0)
    if ranks is None:
        parts = [full_patches(rng, n, 4) for n in (3, 2)]
    else:
        parts = [factored_patches(rng, n, 5, rank) for n, rank in zip((3, 2), ranks, strict=True)]
    together = Patches.concatenated(parts)
    assert len(together) == 5
    for part, rows in zip(parts, (slice(0, 3), slice(3, 5)), strict=True):
        np.testing.assert_array_equal(together[rows].means, part.means)
        np.testing.assert_allclose(together[rows].covariances(), part.covariances(), rtol=1e-12)


def test_given_factors_come_back():
    patches = factored_patches(np.random.default_rng(0), 4, 6, 2)
    expected = [
        ridge * np.eye(6) + Q @ np.diag(variances) @ Q.T
        for Q, variances, ridge in zip(
            patches.directions, patches.variances, patches.ridge, strict=True
        )
    ]
    np.testing.assert_allclose(patches.covariances(), expected, atol=1e-14)


@pytest.mark.parametrize("make", [full_patches, lambda *a: factored_patches(*a, 2)])
def test_indexing_selects_patches(make):
    patches = make(np.random.default_rng(0), 5, 4)
    S = patches.covariances()
    mask = np.array([True, False, False, True, False])
    for key, rows in [
        (2, [2]),
        (-1, [4]),
        (np.int64(3), [3]),
        (slice(1, 4), [1, 2, 3]),
        (slice(None, None, -1), [4, 3, 2, 1, 0]),
        ([3, 1], [3, 1]),
        (np.array([-1, 0]), [4, 0]),
        (mask, [0, 3]),
        (np.array([], dtype=int), []),
    ]:
        chosen = patches[key]
        assert isinstance(chosen, Patches)
        assert len(chosen) == len(rows)
        assert np.array_equal(chosen.means, patches.means[rows])
        assert np.array_equal(chosen.covariances(), S[rows])
    with pytest.raises(IndexError, match="patch 5 is out of range"):
        patches[5]
    for wrong in (np.array([[0, 1]]), True):
        with pytest.raises(IndexError, match="along one axis"):
            patches[wrong]
    assert len(patches[[]]) == 0


def test_patches_are_iterable_printable_and_picklable():
    patches = full_patches(np.random.default_rng(0), 3, 2)
    assert [len(patch) for patch in patches] == [1, 1, 1]
    assert repr(patches) == "Patches(n=3, features=2, full)"
    copy = pickle.loads(pickle.dumps(patches))
    assert np.array_equal(copy.covariances(), patches.covariances())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X: Patches.from_moments(X[:1] + 1j, np.eye(4)[None]), "complex"),
        (lambda X: Patches.from_factors(X[:1], 1.0, [[1.0]], [1.0]), "directions has shape"),
        (lambda X: Patches.from_moments(X, np.eye(4)), "covariances has shape"),
        (lambda X: Patches.from_moments(X[0], np.eye(4)), "two-dimensional"),
        (lambda X: Patches.from_moments(X[:1], -np.eye(4)[None]), "positive definite"),
        (lambda X: Patches.from_moments(X[:1], np.zeros((1, 4, 4))), "positive definite"),
        (
            lambda X: Patches.from_moments(X[:1], np.tri(4)[None]),
            "not symmetric",
        ),
        (lambda X: Patches.from_moments(X[:1], np.eye(4)[None] * np.nan), "NaN"),
        (
            lambda X: Patches.from_factors(X[:1], np.eye(4)[None], [[1.0] * 4], [1.0]),
            "4 columns for 4 features",
        ),
        (
            lambda X: Patches.from_factors(X[:1], 2 * np.eye(4)[None, :, :1], [[1.0]], [1.0]),
            "not orthonormal",
        ),
        (
            lambda X: Patches.from_factors(X[:1], np.eye(4)[None, :, :1], [[1.0]], [0.0]),
            "ridge must be positive",
        ),
        (
            lambda X: Patches.from_factors(X[:1], np.eye(4)[None, :, :1], [1.0], [1.0]),
            "variances has shape",
        ),
    ],
)
def test_arrays_that_do_not_fit_together_are_named(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call(cloud())


class Marked(Patches):
    """Patches that know one number more."""

    FIELDS = (*Patches.FIELDS, "marks")

    def __init__(self, means, points, *, marks, **fields):
        super().__init__(means, points, **fields)
        self.marks = marks


def test_fields_of_a_subclass_go_where_patches_go():
    patches = factored_patches(np.random.default_rng(0), 6, 5, 2)
    known = {name: getattr(patches, name) for name in Patches.FIELDS}
    marked = Marked(**known, marks=np.arange(6))
    assert marked[[4, 1]].marks.tolist() == [4, 1]
    assert marked[2:].narrowed(1).marks.tolist() == [2, 3, 4, 5]
    assert Marked.concatenated([marked[5], marked[:2]]).marks.tolist() == [5, 0, 1]
    full = full_patches(np.random.default_rng(1), 6, 5)
    seen = []

    def divergence(a, b):
        seen.extend(a.marks.tolist())
        return np.abs(a.marks - b.means[:, 0])

    assert len(divergences.paired(marked, [3, 5], [0, 1], divergence, other=full)) == 2
    assert sorted(seen) == [3, 5]
