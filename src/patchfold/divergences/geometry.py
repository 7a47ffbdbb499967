"""Geometry of pairs of Gaussians: what the divergences are made of.

With ``Sigma = L L'`` and ``M = La^-1 Lb``, everything that compares two covariances regardless of
their units follows from one matrix, ``N = M - M^-T``. Its singular values are
``s = |lambda^(1/2) - lambda^(-1/2)|`` for the generalised eigenvalues ``lambda`` of the pair, so

- ``tr(Sa^-1 Sb + Sb^-1 Sa) - 2 m = sum s^2``,
- ``ln det((Sa + Sb)/2) - ln(det Sa det Sb)/2 = sum ln(1 + s^2/4) / 2``,
- ``|ln lambda| = 2 asinh(s/2)``.

Nothing is subtracted in these sums: they cannot turn negative, they vanish smoothly for equal
covariances, and the roots keep the condition number from being squared.

Factored covariances are first reduced to the space spanned by both patches' directions and the
gap between their means, at most ``2 r + 1`` dimensions. In all other dimensions both covariances
are multiples of the identity. Leading axes of all arrays broadcast, so one patch can be compared
with many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from array_api_compat import array_namespace, device

if TYPE_CHECKING:
    from patchfold.base.arrays import Array
    from patchfold.patches.gaussians import Patches


class Pairs(NamedTuple):
    """Pairs of Gaussians in ``d`` dimensions, beside ``rest`` dimensions with ridges only."""

    gap: Array  # (batch, d), mean of a minus mean of b
    roots_a: Array  # (batch, d, d)
    roots_b: Array
    whiteners_a: Array  # their inverses
    whiteners_b: Array
    rest: int
    ridge_a: Array  # (batch,); unused when rest is 0
    ridge_b: Array


def pairs(a: Patches, b: Patches) -> Pairs:
    """Pair the patches of ``a`` with those of ``b``, row by row."""
    if a.factored:
        return _reduce(a, b)
    xp = array_namespace(a.means)
    nothing = xp.ones((1,), dtype=a.means.dtype, device=device(a.means))
    return Pairs(a.means - b.means, a.roots, b.roots, a.whiteners, b.whiteners, 0, nothing, nothing)


def contrast(p: Pairs) -> Array:
    """``N = La^-1 Lb - (Lb^-1 La)'``, of shape (batch, d, d)."""
    xp = array_namespace(p.gap)
    return p.whiteners_a @ p.roots_b - xp.matrix_transpose(p.whiteners_b @ p.roots_a)


def trace_excess(p: Pairs) -> Array:
    """``tr(Sa^-1 Sb + Sb^-1 Sa) - 2 m``."""
    xp = array_namespace(p.gap)
    return xp.sum(contrast(p) ** 2, axis=(-2, -1)) + p.rest * _ridge_contrast(p) ** 2


def log_det_excess(p: Pairs) -> Array:
    """``ln det((Sa + Sb)/2) - ln(det Sa det Sb)/2``."""
    xp = array_namespace(p.gap)
    s = xp.linalg.svdvals(contrast(p))
    inside = xp.sum(xp.log1p(s**2 / 4), axis=-1)
    return (inside + p.rest * xp.log1p(_ridge_contrast(p) ** 2 / 4)) / 2


def riemann(p: Pairs) -> Array:
    """The affine-invariant distance of the covariances, ``sqrt(sum ln(lambda)^2)``."""
    xp = array_namespace(p.gap)
    s = xp.linalg.svdvals(contrast(p))
    return _norm_of_logs(p, s)


def embedded_riemann(p: Pairs) -> Array:
    """The affine-invariant distance after Calvo and Oller's embedding of Gaussians.

    A Gaussian becomes the positive definite matrix ``[[S + mu mu', mu], [mu', 1]]``. With the mean
    of ``a`` as origin, the contrast of two such matrices is ``N`` bordered by both whitened gaps.
    """
    xp = array_namespace(p.gap)
    N = contrast(p)
    right = _whitened(p.whiteners_a, p.gap)
    below = _whitened(p.whiteners_b, p.gap)
    corner = xp.zeros_like(right[..., :1])
    top = xp.concat([N, right[..., :, None]], axis=-1)
    bottom = xp.concat([below, corner], axis=-1)[..., None, :]
    s = xp.linalg.svdvals(xp.concat([top, bottom], axis=-2))
    return _norm_of_logs(p, s)


def lifted_riemann(p: Pairs) -> Array:
    """The affine-invariant distance of two lifted Gaussians, over the root of two.

    Eriksen (1987) lifts ``N(mu, L L')`` to ``G = F F'`` with ``2 m + 1`` rows, ``F = [[L^-T, 0, 0],
    [mu' L^-T, 1, 0], [-mu mu' L^-T / 2, -mu, L]]``. Seen from ``a``, that is with the mean of ``a``
    as origin and ``La`` as unit, ``Gb`` has the eigenvalues ``exp(t)``, ``exp(-t)`` and 1. Exchange
    the first and the last ``m`` coordinates, and ``Gb`` becomes its inverse. So a part of ``Fb`` is
    enough, that from vectors which change their sign to those which do not. Its singular values are
    ``sinh(t / 2)``. Twice the part, up to signs, is ``[[N + w v' / 2], [sqrt(2) v']]`` with the
    whitened gaps ``w = La^-1 u`` and ``v = Lb^-1 u``.

    Far apart, the product of the gaps is far larger than all else, and would cost digits. A
    rotation of either side moves it into one entry.
    """
    xp = array_namespace(p.gap)
    turn_a, length_a = _turned(_whitened(p.whiteners_a, p.gap))
    turn_b, length_b = _turned(_whitened(p.whiteners_b, p.gap))
    N = xp.matrix_transpose(turn_a) @ contrast(p) @ turn_b
    first = xp.eye(1, N.shape[-1], dtype=N.dtype, device=device(N))
    corner = (length_a * length_b / 2)[..., None, None] * xp.matrix_transpose(first) * first
    below = 2**0.5 * length_b[..., None, None] * first
    batch = N.shape[:-2]  # that of b; the one of a may be a single patch
    below = xp.broadcast_to(below, (*batch, *first.shape))
    return _norm_of_logs(p, xp.linalg.svdvals(xp.concat([N + corner, below], axis=-2)))


def mahalanobis(p: Pairs) -> Array:
    """``u'(Sa^-1 + Sb^-1) u`` for the gap ``u`` between the means."""
    xp = array_namespace(p.gap)
    return xp.sum(_whitened(p.whiteners_a, p.gap) ** 2, axis=-1) + xp.sum(
        _whitened(p.whiteners_b, p.gap) ** 2, axis=-1
    )


def pooled_mahalanobis(p: Pairs) -> Array:
    """``u'((Sa + Sb)/2)^-1 u`` for the gap ``u`` between the means.

    With ``w = La^-1 u`` it is ``2 w'(I + M M')^-1 w``; the root of ``I + M M'`` comes from a QR
    decomposition, which does not square the condition number of ``M``.
    """
    xp = array_namespace(p.gap)
    M = p.whiteners_a @ p.roots_b
    identity = xp.broadcast_to(xp.eye(M.shape[-1], dtype=M.dtype, device=device(M)), M.shape)
    _, upper = xp.linalg.qr(xp.concat([xp.matrix_transpose(M), identity], axis=-2))
    w = xp.broadcast_to(_whitened(p.whiteners_a, p.gap), M.shape[:-1])
    solved = xp.linalg.solve(xp.matrix_transpose(upper), w[..., None])
    return 2 * xp.sum(solved[..., 0] ** 2, axis=-1)


def bures(p: Pairs) -> Array:
    """``tr Sa + tr Sb - 2 tr (Sa^1/2 Sb Sa^1/2)^1/2``, the squared Bures distance.

    Evaluated as ``min ||La R - Lb||_F^2`` over the rotations ``R``: a sum of squares.
    """
    xp = array_namespace(p.gap)
    left, _, right = xp.linalg.svd(xp.matrix_transpose(p.roots_a) @ p.roots_b)
    inside = xp.sum((p.roots_a @ (left @ right) - p.roots_b) ** 2, axis=(-2, -1))
    return inside + p.rest * (xp.sqrt(p.ridge_a) - xp.sqrt(p.ridge_b)) ** 2


def factored_jeffreys(a: Patches, b: Patches) -> tuple[Array, Array]:
    """:func:`mahalanobis` and :func:`trace_excess` of factored patches, without the reduction.

    ``Sa^-1`` is ``1 / (variance + ridge)`` along the directions ``Qa`` and ``1 / ridge`` off them,
    so that ``tr(Sa^-1 Sb)`` needs only the squares of ``Qa'Qb`` and of the part of ``Qb`` off
    ``Qa``. That part is formed, not taken from ``1 - cos^2``: all terms are then positive, and the
    condition number costs no digits. Only the rank is subtracted at the end, which costs digits if
    two covariances almost coincide; there :func:`trace_excess` is the better choice.
    """
    xp = array_namespace(a.means)
    gap = (a.means - b.means)[..., None]
    cosines = xp.matrix_transpose(a.directions) @ b.directions
    trace_ab, square_a = _seen_from(a, b, cosines, gap)
    trace_ba, square_b = _seen_from(b, a, xp.matrix_transpose(cosines), gap)
    m, r = a.directions.shape[1:]
    apart = a.ridge - b.ridge
    rest = (m - r) * (apart / a.ridge) * (apart / b.ridge)
    return square_a + square_b, (trace_ab + trace_ba - 2 * r) + rest


def _seen_from(a: Patches, b: Patches, cosines: Array, gap: Array) -> tuple[Array, Array]:
    """``tr(Sa^-1 Sb)`` without the ``(m - r)`` ridge-only terms, and ``u' Sa^-1 u``."""
    xp = array_namespace(a.means)
    along = 1 / (a.variances + a.ridge[:, None])
    square = cosines**2
    off = _squared_lengths(b.directions - a.directions @ cosines)
    seen = xp.sum(square * along[:, :, None], axis=-2) + off / a.ridge[:, None]
    trace = xp.sum(b.variances * seen, axis=-1) + b.ridge * xp.sum(along, axis=-1)
    gap_along = xp.matrix_transpose(a.directions) @ gap
    gap_off = _squared_lengths(gap - a.directions @ gap_along)[..., 0]
    return trace, xp.sum(gap_along[..., 0] ** 2 * along, axis=-1) + gap_off / a.ridge


def _squared_lengths(columns: Array) -> Array:
    """Squared lengths of the columns; a product with ones beats a sum over many short rows."""
    xp = array_namespace(columns)
    ones = xp.ones((1, columns.shape[-2]), dtype=columns.dtype, device=device(columns))
    return (ones @ (columns * columns))[..., 0, :]


def _reduce(a: Patches, b: Patches) -> Pairs:
    """Write factored pairs in a basis that begins with the directions of ``a``.

    There ``Sa`` is diagonal, and ``Sb = ridge I + P diag(variances) P'`` with orthonormal ``P``,
    whose symmetric root and its inverse are known in closed form.
    """
    xp = array_namespace(a.means)
    gap = (a.means - b.means)[..., None]
    turned = xp.matrix_transpose(a.directions)
    along, gap_along = turned @ b.directions, turned @ gap
    off = xp.concat([b.directions - a.directions @ along, gap - a.directions @ gap_along], axis=-1)
    _, upper = xp.linalg.qr(off)
    P = xp.concat([along, upper[..., :-1]], axis=-2)
    d, m = P.shape[-2], a.means.shape[-1]
    identity = xp.eye(d, dtype=P.dtype, device=device(P))
    none = xp.zeros((len(a), d - P.shape[-1]), dtype=P.dtype, device=device(P))

    deviations_a = xp.sqrt(xp.concat([a.variances, none], axis=-1) + a.ridge[:, None])[:, :, None]
    least = xp.sqrt(b.ridge)[:, None]
    deviations_b = xp.sqrt(b.variances + b.ridge[:, None])
    growth = b.variances / (deviations_b + least)
    least_b, growth, loss = least[:, :, None], growth[:, None, :], growth / (deviations_b * least)
    transposed = xp.matrix_transpose(P)
    return Pairs(
        gap=xp.concat([gap_along, upper[..., -1:]], axis=-2)[..., 0],
        roots_a=deviations_a * identity,
        roots_b=least_b * identity + (P * growth) @ transposed,
        whiteners_a=identity / deviations_a,
        whiteners_b=identity / least_b - (P * loss[:, None, :]) @ transposed,
        rest=m - d,
        ridge_a=a.ridge,
        ridge_b=b.ridge,
    )


def _ridge_contrast(p: Pairs) -> Array:
    """The singular value that each of the ``rest`` dimensions adds to those of ``N``."""
    xp = array_namespace(p.ridge_a)
    return (p.ridge_a - p.ridge_b) / (xp.sqrt(p.ridge_a) * xp.sqrt(p.ridge_b))


def _norm_of_logs(p: Pairs, s: Array) -> Array:
    """``sqrt(sum ln(lambda)^2)`` over the singular values ``s`` and the ``rest`` dimensions.

    ``rest`` is negative if the basis of two patches has more dimensions than the space. The surplus
    singular values are then those of the ridges, and are subtracted again (up to rounding).
    """
    xp = array_namespace(s)
    total = xp.sum(xp.asinh(s / 2) ** 2, axis=-1)
    return 2 * xp.sqrt(xp.clip(total + p.rest * xp.asinh(_ridge_contrast(p) / 2) ** 2, min=0.0))


def _whitened(whiteners: Array, gap: Array) -> Array:
    return (whiteners @ gap[..., None])[..., 0]


def _turned(vectors: Array) -> tuple[Array, Array]:
    """Return orthogonal matrices whose first column is along a vector, and the vector in it."""
    xp = array_namespace(vectors)
    d = vectors.shape[-1]
    identity = xp.eye(d, dtype=vectors.dtype, device=device(vectors))
    identity = xp.broadcast_to(identity, (*vectors.shape, d))
    Q, upper = xp.linalg.qr(xp.concat([vectors[..., None], identity], axis=-1))
    return Q, upper[..., 0, 0]
