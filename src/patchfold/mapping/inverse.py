"""Back from an embedding: the features that belong to a place in it.

Around a place, features are an affine function of the coordinates of the embedding. It is fitted to
the nearest fitted points *in the embedding*, the near ones counting more, and evaluated at the
place. So the features at a place are a weighted sum of those of fitted points, and the weights
change smoothly with the place. How many points, and how far slopes are shrunk, is chosen by leaving
points out.

An embedding may squeeze one direction: its nearest points are then far apart. So a second look
takes those whose *features* are the nearest to what the first look has found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

from patchfold.base.sampling import CHOICE_ROWS, choice_rows
from patchfold.base.threads import map_blocks
from patchfold.neighbors.points import SearchedPoints, k_nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Floats, Indices


# Neighbours in the embedding that are tried, the last of which has no weight. These, the ridges and
# their mixture were chosen on mnist, pendigits, satimage, segment, texture and mfeat-fourier.
NEIGHBORS = (8, 15, 30, 60, 120)

# Of these, the CLOSE nearest by features are tried, too. The numbers were chosen on swiss rolls of
# the seeds 11 to 13, and on mnist, pendigits and satimage.
CLOSE = (8, 15, 30)

# Ridges that are tried, as shares of the mean variance of the neighbours in the embedding. The
# first is none but for rounding: what is affine comes back exactly.
RIDGES = (1e-9, 1e-2, 0.1, 0.3, 1.0, 3.0)

# No direction is followed further than REACH standard deviations of the neighbours. Beyond it,
# features stay as they are.
REACH = 3.0

# Places further away than FAR times the width of the embedding are moved to that distance: their
# neighbours are the same, and nothing overflows.
FAR = 1e3

# What the cube root of the tricube weight of a neighbour at the border is: where all are equally
# far they then count alike.
BORDER = 1e-3

# Candidates of the least error, and rounding beside the largest one, as shares of these errors; and
# how heavy the condition that shares sum to one weighs.
STEADY, ROUNDING, HEAVY = 1e-6, 1e-12, 30.0

# A variance below this share of the largest is none.
FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class Inverse:
    """The way back from an embedding to features."""

    places: Floats  # (n, d): of the fitted points in the embedding, copies left out
    points: Floats  # (n, m): their features
    counts: tuple[int, ...]  # numbers of neighbours that affine functions are fitted to, rising
    # (n_counts, n_ridges): what each function counts for in the first look; the sum is one
    first: Floats
    close: tuple[int, ...]  # numbers of neighbours that are the nearest by their features, rising
    # (n_counts + n_close, n_ridges): what all functions count for in the end; the sum is one
    mixture: Floats

    def __call__(self, Z: Floats, n_jobs: int | None = None) -> Floats:
        """Return the features at places ``Z`` of the embedding, (n_places, m).

        Rows do not influence each other. The result has the type of the points.
        """
        low, high = self.places.min(axis=0), self.places.max(axis=0)
        width = float((high - low).max())
        # In the type of the embedding: a fitted place is then found as it is.
        Z = np.clip(Z, low - FAR * width, high + FAR * width).astype(self.places.dtype)
        near = _nearest(self._space, Z, self.counts[-1])

        def features(block: slice) -> Floats:
            z, here, count = Z[block], near[block], len(self.counts)
            weights = _weights(self.places, z, here, self.counts, self.first)
            found = _blended(self.points, here, weights[:, None, :])[:, 0]
            order, distances = _closest(self.points, here, found)
            weights = _weights(self.places, z, here, self.counts, self.mixture[:count])
            weights = np.take_along_axis(weights, order, axis=1)
            here = np.take_along_axis(here, order, axis=1)
            close = self.mixture[count:]
            weights += _weights(self.places, z, here, self.close, close, distances)
            return _blended(self.points, here, weights[:, None, :])[:, 0]

        parts = map_blocks(features, len(Z), _row_bytes(self.points, self.counts[-1]), n_jobs)
        return np.concatenate(parts).astype(self.points.dtype)

    @cached_property
    def _space(self) -> SearchedPoints:
        return SearchedPoints(self.places, None)


def fit_inverse(places: Floats, points: Floats, n_jobs: int | None = None) -> Inverse:
    """Find how places of an embedding go back to features: by the least left-out error.

    ``places`` (n, d) are where the fitted points are in the embedding, ``points`` (n, m) their
    features, every point once: a copy would predict a point exactly. Results do not depend on
    ``n_jobs``, the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> places = np.random.default_rng(0).standard_normal((50, 2))
    >>> sheet = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])
    >>> back = fit_inverse(places, places @ sheet + 5)
    >>> back(np.zeros((1, 2))).round(6)
    array([[5., 5., 5.]])
    """
    n = len(places)
    counts, close = (
        tuple(sorted({min(count, n - 1) for count in tried} - {0})) for tried in (NEIGHBORS, CLOSE)
    )
    if not counts:
        only = np.eye(1, len(RIDGES))
        return Inverse(places, points, (1,), only, (), only)
    rows = choice_rows(n, CHOICE_ROWS)
    near = _nearest(SearchedPoints(places, n_jobs), places[rows], counts[-1], rows)
    half = np.abs(points.max(axis=0) / 2 - points.min(axis=0) / 2).max()
    unit = float(half) or 1.0  # so that errors can be squared

    def products(block: slice, first: Floats | None = None) -> Floats:
        """Return the products of the left-out errors of all candidates, point by point."""
        z, here = places[rows[block]], near[block]
        found = _candidates(places, points, z, here, counts)
        if first is not None:
            order, distances = _closest(points, here, (found * first[:, None]).sum(axis=1))
            here = np.take_along_axis(here, order, axis=1)
            more = _candidates(places, points, z, here, close, distances)
            found = np.concatenate([found, more], axis=1)
        errors = (found - points[rows[block], None]) / unit
        return np.asarray(errors @ errors.transpose(0, 2, 1))

    row_bytes = _row_bytes(points, counts[-1] + len(RIDGES) * len(counts + close))

    def mixture(products: Callable[[slice], Floats]) -> Floats:
        parts = map_blocks(products, len(rows), row_bytes, n_jobs)
        return _least_mixture(np.concatenate(parts).sum(axis=0))

    first = mixture(products)
    both = mixture(lambda block: products(block, first))
    shape = -1, len(RIDGES)
    return Inverse(places, points, counts, first.reshape(shape), close, both.reshape(shape))


def _ridge_weights(
    places: Floats, Z: Floats, near: Indices, distances: Floats | None = None
) -> Floats:
    """Return what neighbours (n_rows, k) count for affine functions at places: sums are one.

    The shape is (n_rows, n_ridges, k). Neighbours are weighed by distances: given ones, in any
    unit, or those in the embedding. The functions are ridge regressions of the features on the
    places: a slope along an axis of variance ``v``, in units of the mean variance, is shrunk to the
    share ``v / (v + ridge)``.
    """
    offsets = _in_reach(places[near].astype(np.float64) - Z[:, None, :])
    shares = _tricube(_lengths(offsets) if distances is None else distances)
    mean = (shares[:, None, :] @ offsets)[:, 0, :]
    centred = offsets - mean[:, None, :]
    weighted = centred * shares[:, :, None]
    variances, axes = np.linalg.eigh(weighted.transpose(0, 2, 1) @ centred)
    spread = variances > FLAT * variances[:, -1:]
    scale = np.where(spread, 1 / np.sqrt(np.where(spread, variances, 1.0)), 0.0)
    # The way from the neighbours' mean to the place along axes in which they have variance one.
    step = np.clip(-(mean[:, None, :] @ axes)[:, 0, :] * scale, -REACH, REACH)
    average = np.clip(variances, 0, None).mean(axis=1, keepdims=True)
    relative = np.where(spread, variances / np.where(average > 0, average, 1.0), 0.0)
    v = relative[:, None, :]
    shrunk = step[:, None, :] * v / (v + np.array(RIDGES)[:, None])
    whitened = centred @ axes * scale[:, None, :]
    return np.asarray(shares[:, None, :] * (1 + shrunk @ whitened.transpose(0, 2, 1)))


def _weights(
    places: Floats,
    Z: Floats,
    near: Indices,
    counts: tuple[int, ...],
    mixture: Floats,
    distances: Floats | None = None,
) -> Floats:
    """Return what neighbours (n_rows, k) count for a mixture of affine functions."""
    weights = np.zeros(near.shape)
    for count, shares in zip(counts, mixture, strict=True):
        by = None if distances is None else distances[:, :count]
        weights[:, :count] += shares @ _ridge_weights(places, Z, near[:, :count], by)
    return weights


def _candidates(
    places: Floats,
    points: Floats,
    Z: Floats,
    near: Indices,
    counts: tuple[int, ...],
    distances: Floats | None = None,
) -> Floats:
    """Return the features that all affine functions have at places, (n_rows, n_functions, m)."""
    found = []
    for count in counts:
        by = None if distances is None else distances[:, :count]
        weights = _ridge_weights(places, Z, near[:, :count], by)
        found.append(_blended(points, near[:, :count], weights))
    return np.concatenate(found, axis=1)


def _closest(points: Floats, near: Indices, features: Floats) -> tuple[Indices, Floats]:
    """Return the order of neighbours by how near their features are, and these distances."""
    distances = _lengths(_in_reach(points[near] - features[:, None, :]))
    order = np.argsort(distances, axis=1, kind="stable")
    return order, np.take_along_axis(distances, order, axis=1)


def _least_mixture(products: Floats) -> Floats:
    """Return the mixture ``w`` of candidates with the least squared error ``w' products w``.

    None counts negatively, and the sum is one (stacking, Breiman 1996).
    """
    errors = products.diagonal()
    if not errors.max() > 0:
        return np.asarray(np.eye(1, len(errors))[0])
    # Candidates that err alike share, whatever the rounding of their errors.
    alike = STEADY * errors.min() + ROUNDING * errors.max()
    root = np.linalg.cholesky(products + alike * np.eye(len(errors))).T
    # The last row, HEAVY times as large as the others, makes the sum one up to a small factor.
    heavy = np.full((1, len(errors)), HEAVY * np.sqrt(errors.max()))
    target = np.append(np.zeros(len(errors)), heavy[0, 0])
    mixture, _ = nnls(np.concatenate([root, heavy]), target)
    return np.asarray(mixture / mixture.sum())


def _row_bytes(points: Floats, count: int) -> int:
    return int(3 * 8 * count * (points.shape[1] + 1))


def _in_reach(offsets: Floats) -> Floats:
    """Return offsets (n_rows, k, any) in units of the largest of a row: squares do not vanish."""
    reach = np.abs(offsets).max(axis=(1, 2), keepdims=True)
    return np.asarray(offsets / np.where(reach > 0, reach, 1.0))


def _lengths(offsets: Floats) -> Floats:
    return np.asarray(np.sqrt(np.square(offsets).sum(axis=2)))


def _tricube(distances: Floats) -> Floats:
    """Return weights that fall to almost nothing at the furthest neighbour; rows sum to one."""
    furthest = distances.max(axis=1, keepdims=True)
    ratio = distances / np.where(furthest > 0, furthest, 1.0)
    weights = (1 - ratio**3 + BORDER) ** 3
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _blended(points: Floats, near: Indices, weights: Floats) -> Floats:
    """Return sums of the points ``near`` (n_rows, k) by weights (n_rows, any, k).

    They are taken from the nearest point on, so that data far from the origin lose nothing.
    """
    nearest = points[near[:, :1]].astype(np.float64)
    return np.asarray(nearest + weights @ (points[near] - nearest))


def _nearest(
    space: SearchedPoints, queries: Floats, k: int, rows: Indices | None = None
) -> Indices:
    """Return the ``k`` nearest points of every query, without the point ``rows`` that it is."""
    if rows is None:
        return k_nearest(space, queries, k, own=False).indices.reshape(-1, k)
    found = k_nearest(space, queries, k + 1, own=False).indices.reshape(-1, k + 1)
    # Points in the same place stand in any order: one that is not found makes room at the end.
    other = found != rows[:, None]
    other[other.all(axis=1), -1] = False
    return np.asarray(found[other].reshape(-1, k))
