"""Compiled kl and jeffreys have the properties of all divergences."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from gaussians import factored_patches
from patchfold import GaussianPatch, Patches, divergences
from patchfold.divergences import geometry, pairing
from patchfold.divergences.compiled import jeffreys_terms

NAMES = ("kl", "jeffreys")
seeds = st.integers(0, 2**32 - 1)
paired = partial(divergences.paired, compiled=True)
pairwise = partial(divergences.pairwise, compiled=True)


@st.composite
def random_factored(draw, n=4):
    rng = np.random.default_rng(draw(seeds))
    m = draw(st.integers(2, 12))
    condition, spread = 10.0 ** draw(st.integers(0, 10)), 10.0 ** draw(st.integers(-3, 3))
    return factored_patches(rng, n, m, draw(st.integers(1, m - 1)), condition, spread)


@given(random_factored())
def test_terms_agree_with_those_of_gathered_patches(patches):
    i, j = np.triu_indices(len(patches), 1)
    gap, excess = jeffreys_terms(patches, patches)(i, j)
    expected_gap, expected_excess = geometry.factored_jeffreys(patches[i], patches[j])
    rank = patches.directions.shape[2]
    np.testing.assert_allclose(gap, expected_gap, rtol=1e-11)
    np.testing.assert_allclose(excess + 2 * rank, expected_excess + 2 * rank, rtol=1e-11)


@pytest.mark.some_cases(9)
@pytest.mark.parametrize("spread", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("condition", [10.0, 1e4, 1e8, 1e12])
@pytest.mark.parametrize(("m", "r"), [(2, 1), (6, 4), (20, 12)])
def test_agrees_with_fifty_digits_at_any_condition(m, r, condition, spread):
    patches = factored_patches(np.random.default_rng(m + r), 2, m, r, condition, spread)
    means = [reference.matrix(mean[:, None]) for mean in patches.means]
    S = [
        reference.factored_covariance(patches.directions[p], patches.variances[p], patches.ridge[p])
        for p in (0, 1)
    ]
    expected = reference.divergences(means[0], S[0], means[1], S[1])
    for name in NAMES:
        got = paired(patches, [0], [1], name)[0]
        assert abs(got - expected[name]) <= 1e-10 * expected[name], name


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("apart", [1e-1, 1e-3, 1e-6, 0.0])
def test_directions_that_almost_coincide_cost_no_digits(apart, dtype):
    # Lengths off the directions of the other patch are then formed, not what is left of one.
    rng = np.random.default_rng(0)
    base = np.linalg.qr(rng.standard_normal((9, 4)))[0]
    turned = np.linalg.qr(base + apart * rng.standard_normal(base.shape))[0]
    turned *= np.sign(np.sum(turned * base, axis=0))
    patches = Patches.from_factors(
        *(
            part.astype(dtype)
            for part in (
                np.zeros((2, 9)),
                np.stack([base, turned]),
                np.array([[3.0, 2.0, 1.0, 0.5], [3.0, 2.0, 1.5, 0.5]]),
                np.full(2, 1e-3),
            )
        )
    )
    got = paired(patches, [0], [1])
    expected = divergences.paired(patches, [0], [1], compiled=False)
    # Single precision knows the directions themselves, and so the lengths, only so well.
    np.testing.assert_allclose(got, expected, rtol=1e-10 if dtype is np.float64 else 2e-3)


@given(random_factored())
def test_symmetric_to_the_last_bit_and_zero_for_equal_patches(patches):
    i, j = (ends.ravel() for ends in np.indices((len(patches),) * 2))
    for name in NAMES:
        edges = paired(patches, i, j, name)
        np.testing.assert_array_equal(edges, paired(patches, j, i, name))
        np.testing.assert_array_equal(edges[i == j], 0.0)
        np.testing.assert_array_equal(edges.reshape(2 * (len(patches),)), pairwise(patches, name))
        assert (edges >= 0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_do_not_depend_on_threads_or_on_what_else_is_asked(dtype):
    X = np.random.default_rng(1).normal(size=(100, 20)).astype(dtype)
    patches = GaussianPatch(size=6).fit(X)
    i, j = np.triu_indices(100, 1)
    assert len(i) > pairing.COMPILED_EDGES
    values = paired(patches, i, j)
    assert values.dtype == dtype
    np.testing.assert_array_equal(values, paired(patches, i, j, n_jobs=3))
    np.testing.assert_array_equal(values[5:6], paired(patches, i[5:6], j[5:6]))


def test_new_patches_have_the_same_divergences_alone_as_in_a_batch():
    rng = np.random.default_rng(2)
    # The fitted patches are just enough for compiled code, those of a few new points are not.
    fitted = factored_patches(rng, 400, 100, 25)
    new = factored_patches(rng, 40, 100, 25)
    assert fitted.directions.size == pairing.COMPILED_NUMBERS
    i, j = rng.integers(0, 40, 300), rng.integers(0, 400, 300)
    together = divergences.paired(new, i, j, other=fitted)
    np.testing.assert_array_equal(together, paired(new, i, j, other=fitted))
    third = i == 3
    alone = divergences.paired(new[3:4], np.zeros(third.sum(), int), j[third], other=fitted)
    np.testing.assert_array_equal(together[third], alone)


def test_no_edges_give_no_values():
    patches = GaussianPatch(size=4).fit(np.random.default_rng(3).normal(size=(10, 8)))
    assert paired(patches, [], []).shape == (0,)


def test_overflow_gets_a_message():
    patches = factored_patches(np.random.default_rng(4), 2, 5, 2, 10.0, 1e200)
    with pytest.raises(ValueError, match="larger gamma"):
        paired(patches, [0], [1])


def test_directions_given_to_half_the_digits_are_made_orthonormal():
    rng = np.random.default_rng(5)
    exact = np.linalg.qr(rng.standard_normal((2, 9, 3)))[0]
    rough = exact * (1 + 4e-8 * rng.uniform(-1, 1, (2, 1, 3)))
    variances, ridge = np.array([[3.0, 2.0, 1.0]] * 2), np.full(2, 1e-6)
    patches = Patches.from_factors(np.zeros((2, 9)), rough, variances, ridge)
    means = [reference.matrix(np.zeros((9, 1)))] * 2
    S = [reference.factored_covariance(rough[p], variances[p], ridge[p]) for p in (0, 1)]
    expected = reference.divergences(means[0], S[0], means[1], S[1])["kl"]
    got = paired(patches, [0], [1])[0]
    assert abs(got - expected) <= 1e-9 * expected


def test_a_direction_without_variance_may_have_any_length_up_to_one():
    rng = np.random.default_rng(6)
    directions = np.linalg.qr(rng.standard_normal((2, 6, 2)))[0]
    directions[0, :, 1] *= 0.5
    variances, ridge = np.array([[2.0, 0.0], [3.0, 1.0]]), np.array([0.1, 0.2])
    patches = Patches.from_factors(np.zeros((2, 6)), directions, variances, ridge)
    full = Patches.from_moments(np.zeros((2, 6)), patches.covariances())
    expected = divergences.paired(full, [0], [1])
    for compiled in (True, False):
        got = divergences.paired(patches, [0], [1], compiled=compiled)
        np.testing.assert_allclose(got, expected, rtol=1e-12)
