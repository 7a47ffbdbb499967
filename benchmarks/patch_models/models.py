"""Kernel densities, mixtures and generalised Gaussians of neighbourhoods, and their divergences.

A model of a patch is a :class:`~patchfold.GaussianPatch` whose ``gaussians`` returns patches with
more fields, and its divergence is a function of two such sets of patches. Neighbourhoods have one
size: there is no radius here. ``patches`` that are compared have equal length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from patchfold import GaussianPatch, Patches
from patchfold.divergences import geometry
from patchfold.patches.covariances import AUTO_RIDGE, principal
from patchfold.patches.gaussians import triangular

if TYPE_CHECKING:
    from patchfold.base.types import Doubles

# Rounds of the two fits that have no closed form.
ROUNDS = 20


def places(patch: Any, X: Any, neighborhoods: Any, points: Any, denoised: Any) -> Doubles:
    """Return the points that each patch consists of, (n, size + 1, m), its own point first."""
    if patch.size is not None:
        neighborhoods = neighborhoods.nearest(patch.size)
    X, own = (X, X if points is None else points) if denoised is None else denoised
    members = neighborhoods.indices.reshape(len(neighborhoods), -1)
    return np.concatenate([own[:, None, :], X[members]], axis=1)


def ridge(X: Any, part: Any) -> float:
    """Return the automatic ridge."""
    return float(AUTO_RIDGE * (X.var(axis=0).mean() if part is None else part.scale))


# -------------------------------------------------------------------------------- kernel densities


class Kernels(Patches):
    """Patches with a sphere at each of their points."""

    FIELDS = (*Patches.FIELDS, "places", "variances_of_kernels")

    def __init__(
        self, means: Any, points: Any, *, places: Any, variances_of_kernels: Any, **fields: Any
    ) -> None:
        super().__init__(means, points, **fields)
        self.places, self.variances_of_kernels = places, variances_of_kernels


class KernelPatch(GaussianPatch):
    """A kernel density of the neighbourhood, with spheres of the same width.

    Their variance is ``bandwidth^2`` times the total variance of the patch, plus the ridge.
    """

    def __init__(
        self,
        size: Any = None,
        include_self: Any = True,
        center: Any = "mean",
        covariance: Any = "ridge",
        gamma: Any = "auto",
        rank: Any = None,
        denoise: Any = False,
        bandwidth: float = 0.3,
    ) -> None:
        super().__init__(size, include_self, center, covariance, gamma, rank, denoise)
        self.bandwidth = bandwidth

    def gaussians(
        self,
        X: Any,
        neighborhoods: Any,
        *,
        points: Any = None,
        denoised: Any = None,
        part: Any = None,
        **how: Any,
    ) -> Kernels:
        """Return the Gaussians of neighbourhoods, with their kernels."""
        given = {"points": points, "denoised": denoised, "part": part, **how}
        whole = super().gaussians(X, neighborhoods, **given)
        P = places(self, X, neighborhoods, points, denoised)
        width = self.bandwidth**2 * P.var(axis=1).sum(axis=1) + ridge(X, part)
        return Kernels(**fields(whole), places=P, variances_of_kernels=width)


def fields(patches: Patches) -> dict[str, Any]:
    return {name: getattr(patches, name) for name in Patches.FIELDS}


def kernel_terms(a: Kernels, b: Kernels) -> tuple[Doubles, Doubles, Doubles]:
    """Return squared distances (n, s, s) of the kernels of two patches, and both variances."""
    A, B = a.places - b.places[:, :1], b.places - b.places[:, :1]
    squares = (A**2).sum(2)[:, :, None] + (B**2).sum(2)[:, None] - 2 * A @ B.swapaxes(1, 2)
    widths = (p.variances_of_kernels[:, None, None] for p in (a, b))
    return np.maximum(squares, 0.0), *widths


def kernel_overlaps(a: Kernels, b: Kernels) -> tuple[Doubles, Doubles, Doubles]:
    """Return ``ln int N_k N_l`` of the kernels, up to a constant, and the logs of their shares."""
    squares, v, w = kernel_terms(a, b)
    return -(squares / (v + w) + a.n_features * np.log(v + w)) / 2, *equal_shares(a, b)


def kernel_kls(a: Kernels, b: Kernels) -> tuple[Doubles, Doubles, Doubles]:
    """Return the KL divergences of the kernels, and the logs of their shares."""
    squares, v, w = kernel_terms(a, b)
    m = a.n_features
    return (m * (v / w - 1 - np.log(v / w)) + squares / w) / 2, *equal_shares(a, b)


def equal_shares(a: Kernels, b: Kernels) -> tuple[Doubles, Doubles]:
    first, second = (np.full(p.places.shape[:2], -np.log(p.places.shape[1])) for p in (a, b))
    return first, second


# ---------------------------------------------------------------------------------- mixtures


class Mixtures(Patches):
    """Patches with a few Gaussians each."""

    FIELDS = (*Patches.FIELDS, "shares", "centres", "spreads")

    def __init__(
        self, means: Any, points: Any, *, shares: Any, centres: Any, spreads: Any, **fields: Any
    ) -> None:
        super().__init__(means, points, **fields)
        self.shares, self.centres, self.spreads = shares, centres, spreads


class MixturePatch(GaussianPatch):
    """Gaussians with full covariances, found by EM; the first start at points far apart."""

    def __init__(
        self,
        size: Any = None,
        include_self: Any = True,
        center: Any = "mean",
        covariance: Any = "ridge",
        gamma: Any = "auto",
        rank: Any = None,
        denoise: Any = False,
        n_components: int = 2,
    ) -> None:
        super().__init__(size, include_self, center, covariance, gamma, rank, denoise)
        self.n_components = n_components

    def gaussians(
        self,
        X: Any,
        neighborhoods: Any,
        *,
        points: Any = None,
        denoised: Any = None,
        part: Any = None,
        **how: Any,
    ) -> Mixtures:
        """Return the Gaussians of neighbourhoods, with their mixtures."""
        given = {"points": points, "denoised": denoised, "part": part, **how}
        whole = super().gaussians(X, neighborhoods, **given)
        P = places(self, X, neighborhoods, points, denoised)
        shares, centres, spreads = expectation_maximization(P, self.n_components, ridge(X, part))
        return Mixtures(**fields(whole), shares=shares, centres=centres, spreads=spreads)


def expectation_maximization(
    P: Doubles, count: int, ridge: float
) -> tuple[Doubles, Doubles, Doubles]:
    """Fit mixtures to points (n, s, m): logs of shares, means and covariances."""
    apart = [((P - P.mean(axis=1, keepdims=True)) ** 2).sum(axis=2)]
    for _ in range(count):  # the point farthest from the mean, then those farthest from the chosen
        far = np.argmax(np.min(apart[1:] or apart, axis=0), axis=1)
        apart.append(((P - P[np.arange(len(P)), far][:, None]) ** 2).sum(axis=2))
    nearest = np.argmin(apart[1:], axis=0)
    duty = np.stack([nearest == c for c in range(count)], axis=1).astype(float)  # (n, c, s)
    identity = ridge * np.eye(P.shape[2])
    for _ in range(ROUNDS):
        duty = np.maximum(duty, 1e-9)
        weight = duty / duty.sum(axis=2, keepdims=True)
        shares = np.log(duty.mean(axis=2))
        centres = weight @ P
        gaps = P[:, None] - centres[:, :, None]
        spreads = (gaps * weight[..., None]).swapaxes(2, 3) @ gaps + identity
        roots = np.linalg.cholesky(spreads)
        white = np.linalg.solve(roots, gaps.swapaxes(2, 3))
        logs = shares[:, :, None] - (white**2).sum(axis=2) / 2 - log_roots(roots)[:, :, None]
        duty = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    return shares - logsumexp(shares, axis=1, keepdims=True), centres, spreads


def log_roots(roots: Doubles) -> Doubles:
    return np.asarray(np.log(np.diagonal(roots, axis1=-2, axis2=-1)).sum(axis=-1))


def mixture_overlaps(a: Mixtures, b: Mixtures) -> tuple[Doubles, Doubles, Doubles]:
    """Return ``ln int N_k N_l`` of Gaussians up to a constant, and the logs of their shares."""
    roots = np.linalg.cholesky(a.spreads[:, :, None] + b.spreads[:, None])
    gaps = a.centres[:, :, None] - b.centres[:, None]
    white = np.linalg.solve(roots, gaps[..., None])[..., 0]
    return -(white**2).sum(axis=-1) / 2 - log_roots(roots), a.shares, b.shares


def mixture_kls(a: Mixtures, b: Mixtures) -> tuple[Doubles, Doubles, Doubles]:
    """Return the KL divergences of the Gaussians, and the logs of their shares."""
    A, B = (np.linalg.cholesky(p.spreads) for p in (a, b))
    gaps = (a.centres[:, :, None] - b.centres[:, None])[..., None]
    both = np.concatenate(
        [np.broadcast_to(A[:, :, None], (*gaps.shape[:-1], gaps.shape[-2])), gaps], axis=-1
    )
    white = np.linalg.solve(B[:, None], both)
    logs = log_roots(B)[:, None] - log_roots(A)[:, :, None]
    return ((white**2).sum(axis=(-2, -1)) - a.n_features) / 2 + logs, a.shares, b.shares


# ---------------------------------------------------------------------------------- divergences

Terms = Callable[[Any, Any], tuple[Any, Any, Any]]


def cauchy_schwarz(overlaps: Terms) -> Callable[[Any, Any], Doubles]:
    """Return ``-ln(int pq / sqrt(int p^2 int q^2))`` of mixtures, in closed form."""

    def log_integral(a: Any, b: Any) -> Doubles:
        logs, first, second = overlaps(a, b)
        return np.asarray(logsumexp(logs + first[:, :, None] + second[:, None], axis=(1, 2)))

    def divergence(a: Any, b: Any) -> Doubles:
        value = (log_integral(a, a) + log_integral(b, b)) / 2 - log_integral(a, b)
        return np.clip(value, 0.0, None)

    return divergence


def variational_kl(kls: Terms) -> Callable[[Any, Any], Doubles]:
    """Return the approximation of the symmetrised KL divergence by Hershey and Olsen (2007).

    ``sum_k w_k ln(sum_j w_j exp(-KL(p_k, p_j)) / sum_l v_l exp(-KL(p_k, q_l)))`` is the difference
    of two lower bounds of likelihoods. It is exact for one Gaussian, and zero for equal mixtures.
    """

    def directed(a: Any, b: Any) -> Doubles:
        own, shares, _ = kls(a, a)
        other, _, second = kls(a, b)
        within = logsumexp(shares[:, None] - own, axis=2)
        across = logsumexp(second[:, None] - other, axis=2)
        return np.asarray((np.exp(shares) * (within - across)).sum(axis=1))

    return lambda a, b: np.clip((directed(a, b) + directed(b, a)) / 2, 0.0, None)


# ---------------------------------------------------------------------------------- heavy tails


class GeneralizedGaussianPatch(GaussianPatch):
    """Generalised Gaussians, ``p ~ exp(-r^(2 shape) / 2)`` with ``r`` a Mahalanobis distance.

    Mean and covariance are of largest likelihood: points far away count less for ``shape < 1``
    (heavy tails; 0.5 is a Laplace distribution), and more for ``shape > 1``.
    """

    def __init__(
        self,
        size: Any = None,
        include_self: Any = True,
        center: Any = "mean",
        covariance: Any = "ridge",
        gamma: Any = "auto",
        rank: Any = None,
        denoise: Any = False,
        shape: float = 0.5,
    ) -> None:
        super().__init__(size, include_self, center, covariance, gamma, rank, denoise)
        self.shape = shape

    def gaussians(
        self,
        X: Any,
        neighborhoods: Any,
        *,
        points: Any = None,
        denoised: Any = None,
        part: Any = None,
        **how: Any,
    ) -> Patches:
        """Return patches with the weighted moments of their points."""
        given = {"points": points, "denoised": denoised, "part": part, **how}
        whole = super().gaussians(X, neighborhoods, **given)
        P = places(self, X, neighborhoods, points, denoised)
        n, s = P.shape[:2]
        add = ridge(X, part)
        weights = np.full((n, s), 1 / s)
        for _ in range(ROUNDS):
            means = (weights[:, :, None] * P).sum(axis=1)
            rows = np.sqrt(weights)[:, :, None] * (P - means[:, None])
            # Seen from the points: r^2 = z' (Z'Z + ridge I)^-1 z for each row z of P - mean.
            _, roots, right = np.linalg.svd(rows, full_matrices=False)
            along = (P - means[:, None]) @ right.swapaxes(1, 2)
            r2 = (along**2 / (roots**2 + add)[:, None]).sum(axis=2)
            weights = np.maximum(r2, 1e-3) ** (self.shape - 1)
            weights /= weights.sum(axis=1, keepdims=True)
        means = means if denoised is None else whole.means
        ridges = np.full(n, add)
        if not whole.factored:
            return Patches(means, whole.points, **triangular(rows, ridges))
        directions, variances = principal(rows, whole.directions.shape[2])
        return Patches(
            means, whole.points, directions=directions, variances=variances, ridge=ridges
        )


def generalized_kl(shape: float) -> Callable[[Any, Any], Doubles]:
    """Return an approximation of the symmetrised KL divergence of generalised Gaussians.

    With ``t_ab = (tr(Sb^-1 Sa) + u' Sb^-1 u) / m`` it is ``m (t_ab^shape + t_ba^shape - 2) / (4
    shape)``. The mean of a power of a Mahalanobis distance is taken as a multiple of the power of
    its mean. That is exact for equal means and proportional covariances, and for Gaussians.
    """

    def divergence(a: Patches, b: Patches) -> Doubles:
        p = geometry.pairs(a, b)
        m = a.n_features

        def seen(whitener: Any, root: Any, rest: Any) -> Doubles:
            gaps = (whitener @ p.gap[..., None])[..., 0]
            inside = ((whitener @ root) ** 2).sum(axis=(-2, -1)) + (gaps**2).sum(axis=-1)
            return np.asarray((inside + rest) / m)

        forth = seen(p.whiteners_b, p.roots_a, p.rest * p.ridge_a / p.ridge_b)
        back = seen(p.whiteners_a, p.roots_b, p.rest * p.ridge_b / p.ridge_a)
        return np.clip(m * (forth**shape + back**shape - 2) / (4 * shape), 0.0, None)

    return divergence
