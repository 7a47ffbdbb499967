"""Covariance estimates of a patch: how centred points become a well-conditioned covariance.

A block of patches arrives as ``Y`` (batch, points, m): centred points divided by the root of the
divisor, so that ``C = Y'Y`` is the sample covariance. An estimate returns a :class:`Spread`. It
forms no ``m x m`` matrix if patches have fewer points than features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device

from patchfold.base.arrays import Array, beside, to_numpy
from patchfold.base.validation import ignored_warnings

# gamma="auto": the ridge as a share of the mean variance of the features
# (docs/evidence/recipe.md), and the intensity of a shrinkage (the one scikit-learn's
# ShrunkCovariance has).
AUTO_RIDGE = 7e-3
AUTO_INTENSITY = 0.1

# gamma="auto" of the graphical lasso: the penalty, in correlations. At 0.2, 57 % of the inverse are
# zero in patches of wine, and 88 % in patches of digits.
AUTO_PENALTY = 0.2

# A shrunk patch of equal points has a zero covariance, and a feature that is constant in a patch
# has a zero on the diagonal. Such variances are raised to this share of the data's mean variance,
# so that divergences stay finite. An explicit ridge is never changed.
VARIANCE_FLOOR = 1e-10

# Full covariances of more features take minutes: at 2000 features the root of one takes 3 seconds,
# and to compare two of them up to 13 seconds; at 1000 features 0.4 seconds and 1 second.
FULL_FEATURES = 1000


@dataclass(frozen=True)
class Setting:
    """What an estimate needs beside the points: gamma, rank, and the variance of the data."""

    gamma: float | None
    rank: int | None
    scale: float

    @property
    def ridge(self) -> float:
        """Gamma read as a ridge."""
        return AUTO_RIDGE * self.scale if self.gamma is None else self.gamma

    @property
    def intensity(self) -> float:
        """Gamma read as an intensity between 0 and 1."""
        return AUTO_INTENSITY if self.gamma is None else self.gamma

    @property
    def penalty(self) -> float:
        """Gamma read as the penalty of the graphical lasso, between 0 and 1."""
        return AUTO_PENALTY if self.gamma is None else self.gamma

    @property
    def floor(self) -> float:
        """The least variance a shrinkage may leave."""
        return VARIANCE_FLOOR * self.scale


@dataclass(frozen=True)
class Spread:
    """Covariances ``Z'Z + ridge I``, or ``Z'Z + diag(ridge)`` where ridge has a second axis.

    ``Z'Z`` is known by the ``rows`` of ``Z`` (batch, points, m), or by its ``axes``: directions
    (batch, m, r), orthonormal or zero, and variances (batch, r).
    """

    ridge: Array
    rows: Array = None
    axes: tuple[Array, Array] | None = None

    def principal(self, rank: int) -> tuple[Array, Array]:
        """Return directions of ``Z'Z`` and their variances, at most ``rank``."""
        directions, variances = self.axes or principal(self.rows, rank)
        return directions[:, :, :rank], variances[:, :rank]

    def scattered(self) -> Array:
        """Return ``Z``."""
        if self.axes is None:
            return self.rows
        directions, variances = self.axes
        xp = array_namespace(directions)
        return xp.sqrt(variances)[:, :, None] * xp.matrix_transpose(directions)


Estimate = Callable[[Array, Array, Setting], Spread]


def empirical(Y: Array, counts: Array, setting: Setting) -> Spread:
    """``C`` itself; singular if the points do not span the space."""
    return Spread(_constant(Y, 0.0), Y)


def ridge(Y: Array, counts: Array, setting: Setting) -> Spread:
    """``C + gamma I``."""
    return Spread(_constant(Y, setting.ridge), Y)


def ridge_if_singular(Y: Array, counts: Array, setting: Setting) -> Spread:
    """``C + gamma I`` where the condition number of ``C`` exceeds ``1 / eps``, ``C`` elsewhere."""
    xp = array_namespace(Y)
    return Spread(setting.ridge * xp.astype(singular(Y), Y.dtype), Y)


def shrinkage(Y: Array, counts: Array, setting: Setting) -> Spread:
    """``(1 - gamma) C + gamma tr(C)/m I`` (X-space, footnote 5)."""
    return _shrink(Y, _constant(Y, setting.intensity), setting)


def diagonal_shrinkage(Y: Array, counts: Array, setting: Setting) -> Spread:
    """``(1 - gamma) C + gamma diag(C)`` (X-space, footnote 5)."""
    xp = array_namespace(Y)
    diagonal = xp.clip(xp.sum(Y * Y, axis=1), min=setting.floor)
    return Spread(setting.intensity * diagonal, (1 - setting.intensity) ** 0.5 * Y)


def ledoit_wolf(Y: Array, counts: Array, setting: Setting) -> Spread:
    """Shrinkage with the intensity of Ledoit and Wolf (2004), as ``sklearn.covariance`` has it.

    The divisor of ``Y`` must be the number of points, ``counts`` (batch,).
    """
    xp = array_namespace(Y)
    m = Y.shape[2]
    power, fourth = _relative_moments(Y, counts)
    # In units where tr(C) = 1: the squared distance of C from the scaled identity, and the
    # variance of C as an estimate.
    distance = (power - 1 / m) / m
    variance = xp.clip(fourth - power, min=0.0) / (counts * m)
    intensity = xp.where(
        variance < distance,
        variance / xp.where(distance > 0, distance, 1.0),
        xp.astype(variance > 0, Y.dtype),
    )
    return _shrink(Y, intensity, setting)


def oas(Y: Array, counts: Array, setting: Setting) -> Spread:
    """Shrinkage with the oracle approximating intensity, as ``sklearn.covariance`` has it.

    The divisor of ``Y`` must be the number of points, ``counts`` (batch,).
    """
    xp = array_namespace(Y)
    m = Y.shape[2]
    power, _ = _relative_moments(Y, counts)
    denominator = (counts + 1.0) * (power - 1 / m)
    positive = denominator > 0
    intensity = (power + 1.0) / xp.where(positive, denominator, 1.0)
    return _shrink(Y, xp.where(positive, xp.clip(intensity, max=1.0), 1.0), setting)


def low_rank(Y: Array, counts: Array, setting: Setting) -> Spread:
    """The leading ``rank`` directions of ``C`` with their variances, plus ``gamma I``."""
    # Beside the automatic ridge, the digits that products lose are rounding: of the largest
    # variance, which is at most some thousand ridges a feature.
    axes = principal(Y, setting.rank, by_products=setting.gamma is None)
    return Spread(_constant(Y, setting.ridge), axes=axes)


def hazan(Y: Array, counts: Array, setting: Setting) -> Spread:
    """X-space's Algorithm 1 on ``R = C + gamma I``: ``B B' + gamma I``, ``B`` of ``rank`` columns.

    The iterates ``S`` estimate ``R^-1``. The paper leaves open which directions a low rank keeps:
    here the leading ones of the patch, at most as many as it spans. In these ``B B' + gamma I`` is
    the inverse of ``S``, in all others it is ``gamma``.

    The trace constraint of problem (6) fixes a unit of measurement. It is chosen so that ``R^-1``
    itself has trace one. Then the iterates tend to ``R``, the solution without a rank constraint
    (footnote 6), whatever the units of the data are, and ``B B' + gamma I`` tends to
    :func:`low_rank`.
    """
    from patchfold.patches.hazan import hazan_weights

    xp = array_namespace(Y)
    directions, variances = principal(Y, setting.rank)
    # A patch spans the directions with variance; the block may be padded with more.
    spanned = variances > float(xp.finfo(Y.dtype).eps) * variances[:, :1]
    spanned = spanned | (xp.arange(variances.shape[1], device=device(Y)) == 0)
    R = xp.where(spanned, variances + setting.ridge, xp.inf)
    unit = xp.sum(1 / R, axis=1, keepdims=True)
    found = hazan_weights(to_numpy(R * unit).astype("float64"))
    S = xp.where(spanned, xp.astype(beside(Y, found), Y.dtype), xp.inf)
    variances = xp.clip(1 / (unit * S) - setting.ridge, min=0.0)
    return Spread(_constant(Y, setting.ridge), axes=(directions, variances))


def sparse_precision(Y: Array, counts: Array, setting: Setting) -> Spread:
    """Graphical lasso: features that tell nothing of each other have a zero in the inverse.

    It is a Gaussian Markov random field. scikit-learn's ``graphical_lasso``, with the penalty
    ``gamma``, gets the correlations of ``C`` plus the automatic ridge, so that units do not matter.
    """
    from sklearn.covariance import graphical_lasso

    xp = array_namespace(Y)
    Z = to_numpy(Y).astype("float64")
    least = AUTO_RIDGE * setting.scale * np.eye(Z.shape[2])
    C = Z.swapaxes(1, 2) @ Z + least
    units = np.sqrt(np.diagonal(C, axis1=1, axis2=2))
    correlations = C / (units[:, :, None] * units[:, None, :])
    if Z.shape[2] > 1:
        try:
            # A last step that is not small enough is of no account beside the penalty.
            with ignored_warnings():
                found = [graphical_lasso(one, setting.penalty)[0] for one in correlations]
            correlations = np.stack(found)
        except FloatingPointError as error:
            raise ValueError(
                f"covariance='graphical-lasso' found no solution with gamma={setting.penalty}; "
                "use a larger gamma, below 1, or covariance='shrinkage'."
            ) from error
    roots = units[:, :, None] * np.linalg.cholesky(correlations)
    rows = beside(Y, roots.swapaxes(1, 2))
    return Spread(_constant(Y, 0.0), xp.astype(rows, Y.dtype))


ESTIMATES: dict[str, Estimate] = {
    "empirical": empirical,
    "ridge": ridge,
    "ridge-if-singular": ridge_if_singular,
    "shrinkage": shrinkage,
    "diagonal-shrinkage": diagonal_shrinkage,
    "ledoit-wolf": ledoit_wolf,
    "oas": oas,
    "low-rank": low_rank,
    "hazan": hazan,
    "graphical-lasso": sparse_precision,
}

# Estimates that have full covariances, whatever the rank of the patch.
FULL = ("diagonal-shrinkage", "graphical-lasso")

# Estimates for which gamma is a share between 0 and 1.
SHARES = ("shrinkage", "diagonal-shrinkage", "graphical-lasso")


def singular(Y: Array) -> Array:
    """Tell where ``Y'Y`` is numerically singular: a condition number above ``1 / eps``."""
    xp = array_namespace(Y)
    if Y.shape[1] < Y.shape[2]:
        return xp.ones(Y.shape[0], dtype=xp.bool, device=device(Y))
    roots = xp.linalg.svdvals(Y)
    return roots[:, -1] ** 2 <= float(xp.finfo(Y.dtype).eps) * roots[:, 0] ** 2


def principal(Y: Array, rank: int | None, *, by_products: bool = False) -> tuple[Array, Array]:
    """Return the leading principal directions (batch, m, r) of patches and their variances.

    ``r`` is ``rank``, or as many as there are; variances (batch, r) fall. Directions without
    variance may be zero where patches have fewer points than features. ``by_products`` is quicker
    in double precision, and loses the digits of variances below a 1e-8th of the largest.
    """
    xp = array_namespace(Y)
    if Y.shape[1] < Y.shape[2] and (by_products or Y.dtype == xp.float32):
        return _principal_by_products(Y, rank)
    if Y.shape[1] < Y.shape[2]:
        # The small triangle of a QR decomposition first: faster than an SVD of the wide matrix.
        basis, triangle = xp.linalg.qr(xp.matrix_transpose(Y))
        turn, roots, _ = xp.linalg.svd(triangle, full_matrices=False)
        directions = basis @ turn
    else:
        _, roots, turned = xp.linalg.svd(Y, full_matrices=False)
        directions = xp.matrix_transpose(turned)
    rank = roots.shape[1] if rank is None else rank
    return directions[:, :, :rank], roots[:, :rank] ** 2


def _principal_by_products(Y: Array, rank: int | None) -> tuple[Array, Array]:
    """Return the same from the products of points in double precision.

    Products have the squares of the lengths: of points in single precision double has the digits
    for them. This takes a third to half of the time of a QR decomposition.
    """
    xp = array_namespace(Y)
    wide = xp.astype(Y, xp.float64)
    variances, turn = xp.linalg.eigh(wide @ xp.matrix_transpose(wide))
    variances, turn = xp.flip(variances, axis=1)[:, :rank], xp.flip(turn, axis=2)[:, :, :rank]
    least = Y.shape[1] * float(xp.finfo(xp.float64).eps)
    spanned = variances > least * variances[:, :1]
    variances = xp.where(spanned, variances, 0.0)
    roots = xp.where(spanned, xp.sqrt(xp.where(spanned, variances, 1.0)), xp.inf)
    # Each direction is contiguous in memory, as patches keep it.
    directions = xp.matrix_transpose(xp.matrix_transpose(turn / roots[:, None, :]) @ wide)
    return xp.astype(directions, Y.dtype), xp.astype(variances, Y.dtype)


def check_full(n_features: int, covariance: str) -> None:
    """Refuse full covariances of more than FULL_FEATURES features: comparing them takes hours."""
    if n_features > FULL_FEATURES:
        raise ValueError(
            f"covariance={covariance!r} makes full covariances of {n_features} features here, and "
            f"comparing them takes too long beyond {FULL_FEATURES}; reduce X, e.g. with PCA, or "
            "use covariance='shrinkage' with a size below the number of features."
        )


def _constant(Y: Array, value: float) -> Array:
    xp = array_namespace(Y)
    return xp.full(Y.shape[0], value, dtype=Y.dtype, device=device(Y))


def _shrink(Y: Array, intensity: Array, setting: Setting) -> Spread:
    xp = array_namespace(Y)
    mean_eigenvalue = xp.sum(Y * Y, axis=(1, 2)) / Y.shape[2]
    ridge = xp.clip(intensity * mean_eigenvalue, min=setting.floor)
    return Spread(ridge, xp.sqrt(1 - intensity)[:, None, None] * Y)


def _relative_moments(Y: Array, counts: Array) -> tuple[Array, Array]:
    """``||C||_F^2`` and the mean of ``||x||^4``, in units where ``tr(C) = 1``.

    The units keep float32 from overflowing and change nothing: both uses are scale-free.
    """
    xp = array_namespace(Y)
    trace = xp.sum(Y * Y, axis=(1, 2))
    Y = Y / xp.sqrt(xp.where(trace > 0, trace, 1.0))[:, None, None]
    gram = Y @ xp.matrix_transpose(Y)
    norms = xp.sum(Y * Y, axis=2)
    return xp.sum(gram * gram, axis=(1, 2)), counts * xp.sum(norms * norms, axis=1)
