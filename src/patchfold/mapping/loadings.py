"""Loadings: which feature moves a point where, as the Jacobian of an embedding.

Where fitted points are, an embedding is known and nothing between them: its slopes are those of an
affine function fitted to the places of the neighbours. Where a map takes new points, slopes are its
derivatives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from patchfold.base.threads import block_slices, map_blocks
from patchfold.graph.edges import rows_of, side_by_side
from patchfold.neighbors.neighborhoods import Neighborhoods

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Floats, Indices, Mask


# Neighbours in the graph, at most, that slopes are fitted to.
NEIGHBORS = 30

# The weight of a neighbour falls to zero at BAND times the distance of the furthest one.
BAND = 1.3

# Directions of the neighbours whose variance is below this share of the largest are left out, by
# degrees: there are no slopes across a sheet of neighbours. BAND and CUT were chosen by the angles
# to the known coordinates of four swiss rolls, and by how well slopes predict the places of new
# points of mnist, pendigits and satimage.
CUT = 0.1

# Differences are taken over this power of the precision, times the distance of the neighbours: the
# errors of rounding and of curvature are then alike.
STEP_POWER = 1 / 3

# A step is at least LEAST_STEP times the rounding error of a coordinate.
LEAST_STEP = 1e3

# If the differences to both sides have lengths of a higher ratio, the map jumps on the side of the
# longer one, and the shorter one is the derivative.
JUMP = 100.0


def neighbors_to_fit(graph: csr_array, rows: Indices, distinct: Indices) -> Neighborhoods:
    """Return points of a graph with their neighbours, themselves first, without copies.

    ``rows`` are the points; for a copy, the first of those that are alike. ``distinct`` are the
    first of all points that are alike.

    Examples
    --------
    >>> path = csr_array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> neighbors_to_fit(path, np.array([1, 2]), np.arange(3)).indices
    array([1, 2, 0, 2, 1])
    """
    near = rows_of(csr_array(graph[rows]))
    kept = np.isin(near.indices, distinct)
    edges = (near.sources[kept], near.indices[kept], near.distances[kept])
    own = Neighborhoods(np.arange(len(rows) + 1), rows, np.zeros(len(rows), near.distances.dtype))
    return side_by_side(own, Neighborhoods.from_edges(*edges, len(near)))


def fitted_slopes(
    points: Floats, places: Floats, near: Neighborhoods, at: Floats, n_jobs: int | None = None
) -> Floats:
    """Return the slopes of the affine functions of the features that fit the neighbours' places.

    With ``A`` and ``B`` the weighted and centred features and places of the neighbours,
    ``B' A (S^2 + (c l)^2 I)^-1 S`` for ``S = A'A``, its largest eigenvalue ``l`` and ``c = 0.1``:
    least squares in the directions in which the neighbours spread, and nothing in the others.

    ``points`` (n, m) are the features of the fitted points, ``places`` (n, d) where they are in the
    embedding, and ``near`` the fitted points around each place ``at`` (n_rows, m). The slopes have
    the shape (n_rows, d, m) and the type of the places, and do not depend on ``n_jobs``.

    Examples
    --------
    >>> from patchfold.neighbors import find_neighbors
    >>> points = np.random.default_rng(0).standard_normal((30, 2))
    >>> slopes = fitted_slopes(points, points @ [[2.0], [0.5]], find_neighbors(points, 9), points)
    >>> bool(np.abs(slopes - [2.0, 0.5]).max() < 0.5)
    True
    """
    near = near.nearest(NEIGHBORS)

    def slopes(block: slice) -> Floats:
        rows, known = _padded(near, block)
        offsets = points[rows].astype(np.float64, copy=False)
        offsets -= at[block, None]
        reach = np.maximum(
            offsets.max(axis=(1, 2), keepdims=True), -offsets.min(axis=(1, 2), keepdims=True)
        )
        reach[reach == 0] = 1.0  # all in one place
        offsets /= reach
        values = places[rows].astype(np.float64, copy=False)
        weights = _weights(np.sqrt(np.square(offsets).sum(axis=2)), known)
        A, B = (_centred(values, weights) for values in (offsets, values))
        turned = A.transpose(0, 2, 1)
        # S and AA' have the same eigenvalues; the smaller of them is decomposed.
        few = points.shape[1] < NEIGHBORS
        variances, vectors = np.linalg.eigh(turned @ A if few else A @ turned)
        largest = np.where(variances[:, -1:] > 0, variances[:, -1:], 1.0)
        share = np.clip(variances / largest, 0, None)
        inverse = (share / (largest * (share**2 + CUT**2)))[:, None, :]
        sides = B.transpose(0, 2, 1)
        left = (sides @ A if few else sides) @ vectors * inverse @ vectors.transpose(0, 2, 1)
        found = (left if few else left @ A) / reach
        return np.asarray(found, dtype=places.dtype)

    row_bytes = 8 * 4 * NEIGHBORS * (NEIGHBORS + points.shape[1] + places.shape[1])
    return np.concatenate(map_blocks(slopes, len(near), row_bytes, n_jobs))


def map_slopes(function: Callable[[Floats, Indices], Floats], X: Floats, reach: Floats) -> Floats:
    """Return the derivatives (n, d, m) of a map at points ``X`` (n, m), by central differences.

    The function takes points, and the rows of ``X`` that they belong to, to places (n_rows, d),
    whose type the derivatives have. ``reach`` (n,) is how far away the neighbours of the points
    are. Where the map jumps beside a point, the difference to the other side is taken.

    Examples
    --------
    >>> def area(X, rows):
    ...     return X[:, :1] * X[:, 1:]
    >>> map_slopes(area, np.array([[2.0, 3.0]]), np.ones(1)).round(6)
    array([[[3., 2.]]])
    """
    n, m = X.shape
    eps = float(np.finfo(X.dtype).eps)
    parts = []
    for block in block_slices(n, 4 * 8 * m * m):
        rows = np.arange(n)[block]
        least = LEAST_STEP * eps * np.abs(X[rows])
        steps = np.maximum(eps**STEP_POWER * reach[rows, None], least)
        steps[steps == 0] = eps**STEP_POWER
        middle = function(X[rows], rows)
        sides = []
        for sign in (1, -1):
            moved = np.repeat(X[rows, None, :], m, axis=1)
            axes = np.arange(m)
            moved[:, axes, axes] += sign * steps
            taken = moved[:, axes, axes].astype(np.float64) - X[rows]  # what rounding left of it
            there = function(moved.reshape(-1, m), np.repeat(rows, m)).reshape(len(rows), m, -1)
            rise = there.astype(np.float64) - middle[:, None, :]
            sides.append(rise / taken[:, :, None])
        parts.append(_joined(*sides).transpose(0, 2, 1).astype(middle.dtype))
    return np.concatenate(parts)


def _joined(right: Floats, left: Floats) -> Floats:
    """Return the mean of differences to both sides, or the one without a jump, (n, m, d)."""
    lengths = [np.sqrt(np.square(side).sum(axis=2, keepdims=True)) for side in (right, left)]
    shorter = np.where(lengths[0] <= lengths[1], right, left)
    jumps = np.maximum(*lengths) > JUMP * np.minimum(*lengths)
    return np.where(jumps, shorter, (right + left) / 2)


def _padded(near: Neighborhoods, block: slice) -> tuple[Indices, Mask]:
    """Return the neighbours of a block of rows as an array, and which of its entries there are.

    It is equally wide for all rows: the bits of a product depend on how wide its factors are.
    """
    starts, degrees = near.indptr[:-1][block], near.degrees[block]
    known = np.arange(NEIGHBORS) < degrees[:, None]
    edges = np.where(known, starts[:, None] + np.arange(NEIGHBORS), starts[:, None])
    return near.indices[edges], known


def _weights(distances: Floats, known: Mask) -> Floats:
    """Return the tricube weights of neighbours; rows sum to one."""
    furthest = np.where(known, distances, 0.0).max(axis=1, keepdims=True)
    ratio = distances / (BAND * np.where(furthest > 0, furthest, 1.0))
    weights = np.where(known, (1 - np.minimum(ratio, 1.0) ** 3) ** 3, 0.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _centred(values: Floats, weights: Floats) -> Floats:
    """Make values (n, k, any) less their weighted mean, times the roots of the weights."""
    values -= weights[:, None, :] @ values
    values *= np.sqrt(weights)[:, :, None]
    return values
