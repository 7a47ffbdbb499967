"""Classical scaling: coordinates from distances, and the place of new points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import gen_batches

from patchfold.engines import eigenvectors
from patchfold.engines.threads import map_slices, one_blas_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]


# Rows and columns of a tile of the matrix. A tile is small enough that a product with a block of
# vectors copies nothing. Fixed, because a sum in another order has other last bits.
TILE_ROWS, TILE_COLUMNS = 64, 1024


# Squared lengths of axes, as a share of the longest, have about so many units of rounding.
ROUNDING = 64.0


def classical_mds(
    distances: Floats,
    n_components: int,
    *,
    n_jobs: int | None = None,
    limits: eigenvectors.Limits = eigenvectors.LIMITS,
) -> tuple[Floats, Floats, Floats]:
    """Return the leading eigenpairs of ``B = -H D^2 H / 2`` (ISOMAP-KL eq. 9-11).

    ``distances`` (n, n) is overwritten. Distances in float32 are scaled in float64. Results do not
    depend on ``n_jobs``, the number of threads.

    Returns
    -------
    eigenvalues : array of shape (n_components,), falling
    eigenvectors : array of shape (n, n_components)
    squared_means : array of shape (n,)
        Mean squared distance of every point; new points need it.
    """
    n = len(distances)
    squared = distances
    squared_means = np.empty(n)

    def square(rows: slice) -> float:
        np.square(squared[rows], out=squared[rows])
        squared_means[rows] = squared[rows].mean(axis=1, dtype=np.float64)
        return float(squared[rows].max())

    largest = max(map_slices(square, list(gen_batches(n, TILE_ROWS)), n_jobs))
    if largest == 0:  # all points in one place: any direction will do
        return np.zeros(n_components), np.eye(n, n_components), squared_means
    values: Floats
    vectors: Floats
    if n <= max(limits.dense, 4 * (n_components + eigenvectors.BLOCK)):
        B = squared.astype(np.float64, copy=False)
        B -= squared_means
        B -= squared_means[:, None]
        B += squared_means.mean()
        B *= -0.5
        values, vectors = eigenvectors.dense(B, n - n_components, n - 1)
        image: Floats = B @ vectors
    else:

        def product(V: Floats) -> Floats:
            return _centred_product(squared, V, n_jobs)

        start = squared[np.linspace(0, n - 1, eigenvectors.BLOCK).astype(np.intp)].T.astype(
            np.float64
        )
        with one_blas_thread():
            values, vectors = eigenvectors.leading(
                product, start - start.mean(axis=0), n_components, passes=limits.passes
            )
        image = product(vectors)
    eigenvectors.check_residual(image, values, vectors, largest)
    order = np.argsort(-values, kind="stable")
    return values[order], eigenvectors.fix_signs(vectors[:, order]), squared_means


def triangulation(places: Floats, precision: Any = np.float64) -> Floats:
    """Return the matrix ``A`` (n, d) that places a point by its distances to n known ``places``.

    The point is at ``-(d^2 - m) A / 2``: ``d^2`` are its squared distances from the places, ``m``
    the mean squared distances of the places from all points, whose mean is the origin. This is the
    least squares solution (de Silva and Tenenbaum, 2004), and classical scaling itself if the
    places are all points. Axes as short as rounding get no share: data along a curve have such.
    """
    least = float(np.sqrt(ROUNDING * np.finfo(precision).eps))
    return np.asarray(np.linalg.pinv(places - places.mean(axis=0), rcond=least).T)


def _centred_product(squared: Floats, V: Floats, n_jobs: int | None) -> Floats:
    """Return ``-H D^2 H V / 2``; centring ``V`` saves passes over the matrix."""
    centred = V - V.mean(axis=0)

    def multiply(rows: slice) -> Floats:
        part = np.zeros((rows.stop - rows.start, V.shape[1]))
        for tile in gen_batches(len(V), TILE_COLUMNS):
            part += squared[rows, tile] @ centred[tile]
        return part

    image = np.concatenate(map_slices(multiply, list(gen_batches(len(V), TILE_ROWS)), n_jobs))
    image -= image.mean(axis=0)
    image *= -0.5
    return image
