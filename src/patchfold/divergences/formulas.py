"""One function per divergence: its formula, and where it comes from.

A divergence is a function of two :class:`~patchfold.Patches` of equal length, ``a`` and ``b``,
that returns one value per row: the divergence of ``a[i]`` and ``b[i]``. Notation in the formulas:
``u = mu_a - mu_b``, ``G = (Sa + Sb) / 2``, ``m`` features, and ``d_R``, the affine-invariant
distance ``sqrt(sum ln(lambda)^2)`` over the generalised eigenvalues of ``(Sa, Sb)``.

Papers: ISOMAP-KL is Cervati Neto and Levada (2020), X-space Abou-Moustafa, Schuurmans and Ferrie
(2013), PELLE "Parametric entropic locally linear embedding" (TMLR submission), ELAP Levada and
Haddad (2021).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from patchfold.base.arrays import Array, beside, taken, to_numpy
from patchfold.divergences import geometry
from patchfold.patches.gaussians import Patches, aligned

# Factored patches whose Jeffreys divergence is below this many root-eps a direction are compared
# by the slow, exact sum; above, the quick sum has a relative error of at most root-eps / 25.
CLOSE = 100.0

Divergence = Callable[[Patches, Patches], Array]


def _of_gaussians(formula: Divergence) -> Divergence:
    """Correct what rounding does to a formula: zero for equal Gaussians, never negative."""

    @wraps(formula)
    def divergence(a: Patches, b: Patches) -> Array:
        a, b = aligned(a, b)
        xp = array_namespace(a.means)
        value = xp.clip(formula(a, b), min=0.0)
        return xp.where(_equal(a, b), 0.0, value)

    return divergence


@_of_gaussians
def kl(a: Patches, b: Patches) -> Array:
    """Symmetrised Kullback-Leibler divergence, half of :func:`jeffreys`.

    ``[tr(Sa^-1 Sb + Sb^-1 Sa)/2 + u'Sa^-1 u/2 + u'Sb^-1 u/2 - m] / 2``

    ISOMAP-KL eq. 22, PELLE eq. 24, ELAP eq. 41. Patches of length n in, (n,) out.
    """
    return _jeffreys(a, b) / 2


@_of_gaussians
def jeffreys(a: Patches, b: Patches) -> Array:
    """Jeffreys divergence, the sum of both Kullback-Leibler divergences.

    ``u'(Sa^-1 + Sb^-1)u/2 + tr(Sa^-1 Sb + Sb^-1 Sa)/2 - m``

    X-space eq. 7. Patches of length n in, (n,) out.
    """
    return _jeffreys(a, b)


@_of_gaussians
def bhattacharyya(a: Patches, b: Patches) -> Array:
    """Bhattacharyya distance, minus the logarithm of the overlap of two densities.

    ``u'G^-1 u/8 + ln(det G / sqrt(det Sa det Sb))/2``

    X-space eq. 8. Patches of length n in, (n,) out.
    """
    return _bhattacharyya(a, b)


@_of_gaussians
def hellinger(a: Patches, b: Patches) -> Array:
    """Hellinger distance, a metric between 0 and 1.

    ``sqrt(1 - exp(-bhattacharyya))``

    X-space section 4, third measure. Patches of length n in, (n,) out.
    """
    xp = array_namespace(a.means)
    return xp.sqrt(xp.clip(-xp.expm1(-_bhattacharyya(a, b)), min=0.0))


@_of_gaussians
def jeffreys_riemann(a: Patches, b: Patches) -> Array:
    """Jeffreys-Riemann measure: a Mahalanobis distance plus a distance of covariances.

    ``sqrt(u'(Sa^-1 + Sb^-1)u/2) + d_R(Sa, Sb)``

    X-space eq. 9. A metric among patches of equal mean and among patches of equal covariance.
    Between others the triangle inequality can fail, although the paper calls it a metric: from
    N(0, 1) to N(100, 1) is 100, by way of N(50, 100) only 80. Patches of length n in, (n,) out.
    """
    xp = array_namespace(a.means)
    p = geometry.pairs(a, b)
    return xp.sqrt(geometry.mahalanobis(p) / 2) + geometry.riemann(p)


@_of_gaussians
def bhattacharyya_riemann(a: Patches, b: Patches) -> Array:
    """Bhattacharyya-Riemann measure: a Mahalanobis distance plus a distance of covariances.

    ``sqrt(u'G^-1 u) + d_R(Sa, Sb)``

    X-space eq. 10. A metric among patches of equal mean and among patches of equal covariance.
    Between others the triangle inequality can fail, although the paper calls it a metric: from
    N(0, 1) to N(100, 1) is 100, by way of N(50, 100) only 23. Patches of length n in, (n,) out.
    """
    xp = array_namespace(a.means)
    p = geometry.pairs(a, b)
    return xp.sqrt(geometry.pooled_mahalanobis(p)) + geometry.riemann(p)


@_of_gaussians
def wasserstein(a: Patches, b: Patches) -> Array:
    """2-Wasserstein (Bures) distance, a metric in the units of the data.

    ``sqrt(|u|^2 + tr(Sa + Sb - 2 (Sa^1/2 Sb Sa^1/2)^1/2))``

    Patches of length n in, (n,) out.
    """
    xp = array_namespace(a.means)
    p = geometry.pairs(a, b)
    return xp.sqrt(xp.sum(p.gap**2, axis=-1) + xp.clip(geometry.bures(p), min=0.0))


@_of_gaussians
def cauchy_schwarz(a: Patches, b: Patches) -> Array:
    """Cauchy-Schwarz divergence, ``-ln(int pq / sqrt(int p^2 int q^2))`` of two densities.

    ``u'G^-1 u/4 + ln(det G / sqrt(det Sa det Sb))/2`` for Gaussians

    Named as future work by ELAP, section V. Patches of length n in, (n,) out.
    """
    p = geometry.pairs(a, b)
    return geometry.pooled_mahalanobis(p) / 4 + geometry.log_det_excess(p) / 2


@_of_gaussians
def fisher_rao(a: Patches, b: Patches) -> Array:
    """Fisher-Rao distance in closed form, at most a few per cent too long.

    ``|ln Gab| / 2``, with the matrix ``Gab`` of ``2 m + 1`` rows to which Eriksen's construction
    lifts ``b`` as seen from ``a`` (:func:`patchfold.divergences.geometry.lifted_riemann`)

    The Fisher-Rao distance has no closed form when means and covariances both differ. Gaussians are
    the quotient of a space with one (Eriksen 1987; Kobayashi, arXiv 2304.12575), and a distance up
    there is never shorter. It is exact in one dimension, for equal means, for proportional
    covariances, and wherever the gap between the means is along a common axis of both covariances.
    Elsewhere it is too long: on edges of tables by 0.04 to 0.9 % in the median and by at most 4 %
    (``python -m benchmarks.fisher_rao``). Together with :func:`calvo_oller` it encloses the true
    distance. Invariant under affine maps; the triangle inequality can fail by as much as it is too
    long. Named as future work by ISOMAP-KL, PELLE and ELAP. Patches of length n in, (n,) out.
    """
    return geometry.lifted_riemann(geometry.pairs(a, b)) / 2**0.5


@_of_gaussians
def calvo_oller(a: Patches, b: Patches) -> Array:
    """Calvo and Oller's lower bound of the Fisher-Rao distance, itself a metric.

    ``d_R(A, B) / sqrt(2)`` with ``A = [[Sa + mu mu', mu], [mu', 1]]`` and ``B`` likewise

    Exact for equal means, invariant under affine maps and never too long (Calvo and Oller, Journal
    of Multivariate Analysis 35, 1990). On edges of tables it is 3 to 10 % too short in the median.
    Patches of length n in, (n,) out.
    """
    return geometry.embedded_riemann(geometry.pairs(a, b)) / 2**0.5


def euclidean(a: Patches, b: Patches) -> Array:
    """Euclidean distance of the points the patches belong to; gives the classical method back.

    ``|x_a - x_b|``. Patches of length n in, (n,) out.
    """
    xp = array_namespace(a.points)
    return xp.linalg.vector_norm(a.points - b.points, axis=-1)


def is_close(values: Array, rank: Any) -> Array:
    """Tell where the quick sum is inexact: it subtracts the rank, and hardly anything is left."""
    xp = array_namespace(values)
    return values < CLOSE * float(xp.finfo(values.dtype).eps) ** 0.5 * rank


def _jeffreys(a: Patches, b: Patches) -> Array:
    if not a.factored:
        p = geometry.pairs(a, b)
        return (geometry.mahalanobis(p) + geometry.trace_excess(p)) / 2
    xp = array_namespace(a.means)
    gap, spread = geometry.factored_jeffreys(a, b)
    close = to_numpy(is_close(gap + spread, a.directions.shape[2]))
    if close.any():
        rows = np.flatnonzero(close)
        one, other = (x[rows] if len(x) > 1 else x for x in (a, b))
        exact = geometry.trace_excess(geometry.pairs(one, other))
        exact = taken(exact, np.maximum(np.cumsum(close) - 1, 0))
        spread = xp.where(beside(spread, close), exact, spread)
    return (gap + spread) / 2


def _bhattacharyya(a: Patches, b: Patches) -> Array:
    p = geometry.pairs(a, b)
    return geometry.pooled_mahalanobis(p) / 8 + geometry.log_det_excess(p) / 2


def _equal(a: Patches, b: Patches) -> Array:
    """Tell which rows hold the same Gaussian, to the last bit."""
    xp = array_namespace(a.means)
    equal = xp.all(a.means == b.means, axis=-1)
    if not bool(xp.any(equal)):
        return equal
    if not a.factored:
        return equal & xp.all(a.roots == b.roots, axis=(-2, -1))
    equal = equal & (a.ridge == b.ridge) & xp.all(a.variances == b.variances, axis=-1)
    return equal & xp.all(a.directions == b.directions, axis=(-2, -1))
