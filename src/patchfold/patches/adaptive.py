"""The size of the patch at each point: larger where the data are flat, smaller where bent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.threads import map_blocks

if TYPE_CHECKING:
    from patchfold.base.types import Doubles, Indices
    from patchfold.neighbors.neighborhoods import Neighborhoods


# A patch may have twice as many neighbours as the graph. All, a half and a quarter are tried.
REACH = 2
STRIDES = (1, 2, 4)

# A spread needs at least LEAST_POINTS neighbours: fewer span no plane.
LEAST_POINTS = 3

# A size counts as good if its ratio is up to this times the best. A ratio of spreads of some ten
# points is not known any better, and a larger patch has a smaller variance.
AS_GOOD = 1.2

# A patch is flat if its spread across is below this share of that along it: it is then three
# hundredths as thick as wide. Without noise a smaller radius gives a smaller ratio at any
# curvature, down to rounding errors.
FLAT = 1e-3


def adaptive_sizes(
    X: Any, neighborhoods: Neighborhoods, points: Any = None, *, n_jobs: int | None = None
) -> Indices:
    """Choose the size of every patch: a quarter, a half or all of the point's neighbours.

    A patch of radius r on a manifold that bends with curvature c has a spread of order ``r^2``
    along the tangent space and of ``s^2 + c^2 r^4`` across it, with ``s`` the noise. Their ratio,
    ``s^2 / r^2 + c^2 r^2``, falls with r where the manifold is flat and rises where it is bent. It
    is least at the radius that shows the tangent space best. The choice is the largest size whose
    ratio is within a fifth of the least, or below 0.001, which is flat.

    Spreads are principal variances; the ``d`` leading ones belong to the tangent space. They depend
    on the number of points, and sizes should differ only in radius. So a larger neighbourhood is
    split into sets of every second or fourth point, and the spreads of the sets are averaged.
    ``d`` is the local dimension, the participation ratio ``(sum l)^2 / sum l^2`` of the variances
    ``l`` in the smallest neighbourhood. Only ratios of variances count: to rescale, rotate or shift
    the data changes nothing.

    The neighbourhoods, those that patches may have, consist of points ``X`` and belong to
    ``points``, or to ``X`` itself. Of fewer than six neighbours a patch takes all. The result does
    not depend on ``n_jobs``, the number of threads.

    Examples
    --------
    >>> from patchfold.neighbors import find_neighbors
    >>> x = np.linspace(-3.0, 3.0, 61)
    >>> X = np.column_stack([x, np.maximum(x, 0.0) ** 2])
    >>> sizes = adaptive_sizes(X, find_neighbors(X, 16))
    >>> sizes[[10, 32]]
    array([16,  4])
    """
    points = X if points is None else points
    sizes = neighborhoods.degrees.copy()
    for degree in np.unique(sizes):
        rows = np.flatnonzero(neighborhoods.degrees == degree)
        count = max(LEAST_POINTS, int(degree) // STRIDES[-1])
        strides = [stride for stride in STRIDES if stride * count <= degree]
        if len(strides) < 2:
            continue
        tried = np.array([*(stride * count for stride in strides[:-1]), degree])

        def choose(
            block: slice,
            rows: Indices = rows,
            count: int = count,
            strides: list[int] = strides,
            tried: Indices = tried,
        ) -> None:
            chosen = rows[block]
            edges = neighborhoods.indptr[chosen][:, None] + np.arange(strides[-1] * count)
            # Differences from the point, in units of the farthest neighbour, do not overflow.
            Z = X[neighborhoods.indices[edges]].astype(np.float64) - points[chosen][:, None, :]
            unit = np.abs(Z).max(axis=(1, 2), keepdims=True)
            sizes[chosen] = tried[_best(Z / np.where(unit > 0, unit, 1.0), count, strides)]

        row_bytes = 8 * 4 * (strides[-1] * count) * (X.shape[1] + count)
        map_blocks(choose, len(rows), row_bytes, n_jobs)
    return sizes


def _best(Z: Doubles, count: int, strides: list[int]) -> Indices:
    """Return the best size for neighbours ``Z`` (n, points, m) relative to their point.

    Neighbours come nearest first. The point itself, at the origin, belongs to each patch.
    """
    ratios = np.empty((len(Z), len(strides)))
    dimension = np.empty(0, dtype=np.intp)
    for place, stride in enumerate(strides):
        parts = [_variances(Z[:, start : stride * count : stride]) for start in range(stride)]
        leading = np.cumsum(sum(parts), axis=1)
        if place == 0:
            dimension = _dimension(parts[0], most=count // 2)
        tangent = np.take_along_axis(leading, dimension[:, None] - 1, axis=1)[:, 0]
        across = np.clip(leading[:, -1] - tangent, 0.0, None)
        ratios[:, place] = across / np.where(tangent > 0, tangent, 1.0)
    good = ratios <= np.maximum(AS_GOOD * ratios.min(axis=1, keepdims=True), FLAT)
    return np.asarray(len(strides) - 1 - np.argmax(good[:, ::-1], axis=1))


def _variances(Z: Doubles) -> Doubles:
    """Return the principal variances of patches, falling, up to a factor."""
    count = Z.shape[1] + 1
    centred = np.concatenate([np.zeros_like(Z[:, :1]), Z], axis=1)
    centred -= centred.mean(axis=1, keepdims=True)
    turned = centred.transpose(0, 2, 1)
    products = turned @ centred if Z.shape[2] <= count else centred @ turned
    return np.asarray(np.clip(np.linalg.eigvalsh(products)[:, ::-1], 0.0, None))


def _dimension(variances: Doubles, most: int) -> Indices:
    """Return the rounded participation ratio, at most ``most``, so that a residual is left."""
    squares = np.square(variances).sum(axis=1)
    ratio = np.square(variances.sum(axis=1)) / np.where(squares > 0, squares, 1.0)
    largest = max(1, min(most, variances.shape[1]))
    return np.asarray(np.clip(np.rint(ratio), 1, largest), dtype=np.intp)
