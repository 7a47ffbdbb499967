"""Divergences of kernels, mixtures and generalised Gaussians against sums over a fine grid."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("benchmarks.patch_models", reason="benchmarks are part of the checkout only")

from benchmarks.patch_models import models
from patchfold import GaussianPatch, Patches, PatchIsomap, divergences

GRID = np.linspace(-40, 40, 200_001)


def normal(mean, variance):
    return np.exp(-((GRID - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)


def kernels():
    patches = models.KernelPatch(size=4).fit(np.random.default_rng(0).normal(size=(30, 1)))
    widths = patches.variances_of_kernels
    densities = [
        np.mean([normal(x, widths[i]) for x in patches.places[i, :, 0]], axis=0) for i in range(30)
    ]
    return patches, densities, models.kernel_overlaps, models.kernel_kls


def mixtures():
    patches = models.MixturePatch(size=6).fit(np.random.default_rng(1).normal(size=(30, 1)))
    densities = []
    for shares, centres, spreads in zip(
        patches.shares, patches.centres, patches.spreads, strict=True
    ):
        parts = [normal(m[0], S[0, 0]) for m, S in zip(centres, spreads, strict=True)]
        densities.append(np.exp(shares) @ np.array(parts))
    return patches, densities, models.mixture_overlaps, models.mixture_kls


@pytest.mark.parametrize("make", [kernels, mixtures])
def test_cauchy_schwarz_is_that_of_the_densities(make):
    patches, densities, overlaps, _ = make()
    i, j = [0, 2, 5], [1, 9, 20]
    values = divergences.paired(patches, i, j, models.cauchy_schwarz(overlaps))
    for a, b, value in zip(i, j, values, strict=True):
        p, q = densities[a], densities[b]
        expected = -np.log((p @ q) / np.sqrt((p @ p) * (q @ q)))
        assert value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("make", [kernels, mixtures])
def test_the_variational_kl_is_near_that_of_the_densities(make):
    patches, densities, _, kls = make()
    i, j = [0, 2, 5], [1, 9, 20]
    values = divergences.paired(patches, i, j, models.variational_kl(kls))
    for a, b, value in zip(i, j, values, strict=True):
        p, q = (np.maximum(densities[c], 1e-300) for c in (a, b))
        expected = ((p - q) * np.log(p / q)).sum() * (GRID[1] - GRID[0]) / 2
        assert value == pytest.approx(expected, rel=0.1)


def test_one_gaussian_is_a_mixture():
    X = np.random.default_rng(2).normal(size=(30, 3))
    patches = models.MixturePatch(size=8, number=1).fit(X)
    alone = Patches.from_moments(patches.centres[:, 0], patches.spreads[:, 0])
    for name, divergence in [
        ("kl", models.variational_kl(models.mixture_kls)),
        ("cauchy-schwarz", models.cauchy_schwarz(models.mixture_overlaps)),
    ]:
        expected = divergences.pairwise(alone, name)
        np.testing.assert_allclose(
            divergences.pairwise(patches, divergence), expected, rtol=1e-8, atol=1e-9
        )


def test_the_generalised_gaussian_of_shape_one_is_gaussian():
    X = np.random.default_rng(3).normal(size=(40, 3))
    patches = models.GeneralizedGaussianPatch(size=9, number=1.0).fit(X)
    # Its divisor is the number of points, and its covariance has the same ridge.
    plain = GaussianPatch(size=9, covariance="ridge").fit(X)
    np.testing.assert_allclose(patches.means, plain.means, atol=1e-12)
    ridge = models.ridge(X, None) * np.eye(3)
    expected = (plain.covariances() - ridge) * 9 / 10 + ridge
    np.testing.assert_allclose(patches.covariances(), expected, rtol=1e-9)
    np.testing.assert_allclose(
        divergences.pairwise(patches, models.generalized_kl(1.0)),
        divergences.pairwise(patches, "kl"),
        rtol=1e-8,
        atol=1e-9,
    )


def test_heavy_tails_hold_a_patch_against_a_stray_point():
    X = np.random.default_rng(4).normal(size=(21, 2))
    X[0] = [40.0, 0.0]
    near = [GaussianPatch(size=20), models.GeneralizedGaussianPatch(size=20, number=0.5)]
    plain, robust = (np.abs(patch.fit(X).means[1, 0]) for patch in near)
    assert robust < plain / 2


def test_estimators_do_not_know_which_model_they_have():
    X = np.random.default_rng(5).normal(size=(80, 3))
    overlaps = models.cauchy_schwarz(models.kernel_overlaps)
    for patch, divergence in [
        (models.KernelPatch(size=8, denoise=True), overlaps),
        (models.KernelPatch(size=8), "kl"),  # of the Gaussians with the same moments
    ]:
        isomap = PatchIsomap(patch=patch, divergence=divergence).fit(X[:70])
        assert isinstance(isomap.patches_, models.Kernels)
        assert np.isfinite(isomap.transform(X[70:])).all()
