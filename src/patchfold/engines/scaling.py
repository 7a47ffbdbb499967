"""Classical scaling: coordinates from distances, and the place of new points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import gen_batches

from patchfold.engines import eigenvectors
from patchfold.engines.pools import map_slices, one_blas_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]


# Rows and columns of a tile of the matrix: with a block of vectors, little enough for products
# that work on the matrix in its place. Fixed, as a sum in another order has other last bits.
TILE_ROWS, TILE_COLUMNS = 64, 1024


def classical_mds(
    distances: Floats, n_components: int, *, n_jobs: int | None = None
) -> tuple[Floats, Floats, Floats]:
    """Scale distances classically: ``B = -H D^2 H / 2``, its leading eigenpairs.

    ``distances`` (n, n) is overwritten. ISOMAP-KL eq. 9-11. What is computed from distances in
    float32 is computed in float64. Results do not depend on ``n_jobs``, the number of threads.

    Returns
    -------
    eigenvalues : array of shape (n_components,), falling
    eigenvectors : array of shape (n, n_components)
    squared_means : array of shape (n,)
        Mean squared distance of every point, what new points need.
    """
    n = len(distances)
    squared = distances
    squared_means = np.empty(n)

    def square(rows: slice) -> float:
        np.square(squared[rows], out=squared[rows])
        squared_means[rows] = squared[rows].mean(axis=1, dtype=np.float64)
        return float(squared[rows].max())

    largest = max(map_slices(square, list(gen_batches(n, TILE_ROWS)), n_jobs))
    if largest == 0:  # all points in one place: any directions do
        return np.zeros(n_components), np.eye(n, n_components), squared_means
    values: Floats
    vectors: Floats
    if n <= max(eigenvectors.DENSE_SIZE, 4 * (n_components + eigenvectors.BLOCK)):
        B = squared.astype(np.float64, copy=False)
        B -= squared_means
        B -= squared_means[:, None]
        B += squared_means.mean()
        B *= -0.5
        values, vectors = eigh(B, subset_by_index=(n - n_components, n - 1))
        image: Floats = B @ vectors
    else:

        def product(V: Floats) -> Floats:
            return _centred_product(squared, V, n_jobs)

        start = squared[np.linspace(0, n - 1, eigenvectors.BLOCK).astype(np.intp)].T.astype(
            np.float64
        )
        with one_blas_thread():
            values, vectors = eigenvectors.leading(
                product, start - start.mean(axis=0), n_components
            )
        image = product(vectors)
    eigenvectors.check_residual(image, values, vectors, largest)
    order = np.argsort(-values, kind="stable")
    return values[order], eigenvectors.fix_signs(vectors[:, order]), squared_means


def triangulation(places: Floats) -> Floats:
    """Return the matrix that places points by their distances to some with known places.

    A point with the squared distances ``d^2`` from the n ``places`` lies, relative to the origin,
    at ``-(d^2 - m) A / 2`` for the result ``A`` (n, d) and the mean squared distances ``m`` of the
    ``places`` from all points around the origin: the least squares solution, that of classical
    scaling itself where there are no other points (de Silva and Tenenbaum, 2004).
    """
    return np.asarray(np.linalg.pinv(places - places.mean(axis=0)).T)


def _centred_product(squared: Floats, V: Floats, n_jobs: int | None) -> Floats:
    """Return ``-H D^2 H V / 2`` without centring the matrix, which would take passes over it."""
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
