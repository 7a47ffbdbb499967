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


class Model(GaussianPatch):
    """A Gaussian patch with a model beside it, which has one ``number`` of its own."""

    def __init__(
        self,
        size: Any = None,
        include_self: Any = True,
        center: Any = "mean",
        covariance: Any = "ridge",
        gamma: Any = "auto",
        rank: Any = None,
        denoise: Any = False,
        number: float | None = None,
    ) -> None:
        super().__init__(size, include_self, center, covariance, gamma, rank, denoise)
        self.number = number

    def gaussians(
        self, X: Any, neighborhoods: Any, *, points: Any = None, denoised: Any = None, **how: Any
    ) -> Patches:
        """Return the Gaussians of neighbourhoods, with their models."""
        whole = super().gaussians(X, neighborhoods, points=points, denoised=denoised, **how)
        add = ridge(X, how.get("part"))
        if self.size is not None:
            neighborhoods = neighborhoods.nearest(self.size)
        X, own = (X, X if points is None else points) if denoised is None else denoised
        members = X[neighborhoods.indices.reshape(len(neighborhoods), -1)]
        return self.modelled(whole, np.concatenate([own[:, None, :], members], axis=1), add)

    def modelled(self, whole: Patches, P: Doubles, add: float) -> Patches:
        """Return patches with the model of their points ``P`` (n, s, m), the own point first."""
        raise NotImplementedError


class ModelledPatches(Patches):
    """Patches that carry ``MORE`` fields."""

    MORE: tuple[str, ...] = ()

    def __init__(self, means: Any, points: Any, **fields: Any) -> None:
        for name in self.MORE:
            setattr(self, name, fields.pop(name))
        super().__init__(means, points, **fields)

    @classmethod
    def beside(cls, patches: Patches, **more: Doubles) -> ModelledPatches:
        """Add the fields of a model to patches."""
        return cls(**{name: getattr(patches, name) for name in Patches.FIELDS}, **more)


def ridge(X: Any, part: Any) -> float:
    """Return the automatic ridge."""
    return float(AUTO_RIDGE * (X.var(axis=0).mean() if part is None else part.scale))


# -------------------------------------------------------------------------------- kernel densities


class Kernels(ModelledPatches):
    """Patches with a sphere at each of their points."""

    MORE = ("places", "variances_of_kernels")
    FIELDS = (*Patches.FIELDS, *MORE)


class KernelPatch(Model):
    """A kernel density of the neighbourhood, with spheres of the same width.

    Their variance is the square of ``number`` (0.3) times the total variance of the patch, plus the
    ridge.
    """

    def modelled(self, whole: Patches, P: Doubles, add: float) -> Patches:
        """Add the kernels."""
        width = (self.number or 0.3) ** 2 * P.var(axis=1).sum(axis=1) + add
        return Kernels.beside(whole, places=P, variances_of_kernels=width)


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


class Mixtures(ModelledPatches):
    """Patches with a few Gaussians each."""

    MORE = ("shares", "centres", "spreads")
    FIELDS = (*Patches.FIELDS, *MORE)


class MixturePatch(Model):
    """``number`` (2) Gaussians with full covariances, found by EM, started at points far apart."""

    def modelled(self, whole: Patches, P: Doubles, add: float) -> Patches:
        """Add the mixtures."""
        found = expectation_maximization(P, int(self.number or 2), add)
        return Mixtures.beside(whole, **dict(zip(Mixtures.MORE, found, strict=True)))


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


class GeneralizedGaussianPatch(Model):
    """Generalised Gaussians, ``p ~ exp(-r^(2 number) / 2)`` with ``r`` a Mahalanobis distance.

    Mean and covariance are of largest likelihood: points far away count less for a ``number`` below
    1 (heavy tails; 0.5, the default, is a Laplace distribution), and more above 1.
    """

    def modelled(self, whole: Patches, P: Doubles, add: float) -> Patches:
        """Return patches with the weighted moments of their points."""
        n, s = P.shape[:2]
        weights = np.full((n, s), 1 / s)
        for _ in range(ROUNDS):
            means = (weights[:, :, None] * P).sum(axis=1)
            rows = np.sqrt(weights)[:, :, None] * (P - means[:, None])
            # Seen from the points: r^2 = z' (Z'Z + ridge I)^-1 z for each row z of P - mean.
            _, roots, right = np.linalg.svd(rows, full_matrices=False)
            along = (P - means[:, None]) @ right.swapaxes(1, 2)
            r2 = (along**2 / (roots**2 + add)[:, None]).sum(axis=2)
            weights = np.maximum(r2, 1e-3) ** ((self.number or 0.5) - 1)
            weights /= weights.sum(axis=1, keepdims=True)
        means = whole.means if self.denoise else means
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
