"""Random Gaussians for tests: any dimension, orientation, condition number and distance."""

from __future__ import annotations

import numpy as np

from patchfold import GaussianPatch, Patches

# Every divergence; euclidean, the last, compares points instead of Gaussians.
NAMES = (
    "kl",
    "jeffreys",
    "bhattacharyya",
    "hellinger",
    "jeffreys-riemann",
    "bhattacharyya-riemann",
    "wasserstein",
    "cauchy-schwarz",
    "fisher-rao",
    "calvo-oller",
    "euclidean",
)


def random_covariances(rng, n, m, condition=100.0):
    """Eigenvalues log-uniform between 1 and 1/condition, both attained."""
    V = np.linalg.qr(rng.standard_normal((n, m, m)))[0]
    values = condition ** -rng.uniform(0, 1, (n, m))
    values[:, 0] = 1
    if m > 1:
        values[:, -1] = 1 / condition
    S = (V * values[:, None, :]) @ V.transpose(0, 2, 1)
    return (S + S.transpose(0, 2, 1)) / 2


def full_patches(rng, n, m, condition=100.0, spread=1.0):
    means = spread * rng.standard_normal((n, m))
    return Patches.from_moments(means, random_covariances(rng, n, m, condition))


def factored_patches(rng, n, m, r, condition=100.0, spread=1.0):
    """Ridges differ from patch to patch, as those of a shrinkage do."""
    variances = condition ** -rng.uniform(0, 1, (n, r))
    variances[:, 0] = 1
    return Patches.from_factors(
        spread * rng.standard_normal((n, m)),
        np.linalg.qr(rng.standard_normal((n, m, r)))[0],
        variances,
        rng.uniform(1, 3, n) / condition,
    )


def small_patches(m=6, size=4, dtype=np.float64):
    """Patches of fifty random points, factored if ``size`` is below ``m``."""
    X = np.random.default_rng(1).standard_normal((50, m)).astype(dtype)
    return GaussianPatch(size=size).fit(X)


def recipe(covariance="ridge", **parameters):
    """Return a recipe; that of low rank needs a rank."""
    if covariance == "low-rank":
        parameters.setdefault("rank", 2)
    return GaussianPatch(covariance=covariance, **parameters)


def cloud(n=60, m=4, seed=0):
    """Return normally distributed points."""
    return np.random.default_rng(seed).standard_normal((n, m))
