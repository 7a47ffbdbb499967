"""Eigenproblems of manifold learning: classical scaling and the bottom of sparse matrices.

Eigenvectors have a sign that does not depend on the solver: the first entry of largest magnitude,
up to rounding, is positive. Residuals are checked, whichever solver was used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csc_array, csr_array, diags_array
from scipy.sparse.linalg import ArpackError, eigsh
from sklearn.exceptions import ConvergenceWarning

from patchfold._warnings import warn_user

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

# Up to this size a direct solver for the few eigenvectors wanted is as fast as an iterative one.
DENSE_SIZE = 1000

# The largest residual |M v - lambda v| taken for converged, as a share of the norm of M.
RESIDUAL = 1e-7

# Entries that differ by a smaller share are equally large: in symmetric data rounding would decide.
EQUAL_SIZE = 1e-6

# Bottom eigenvectors are found around a point this share of the largest diagonal entry below
# zero: the matrices are singular, and zero itself cannot be factorised.
SHIFT = 1e-9


def classical_mds(distances: Floats, n_components: int) -> tuple[Floats, Floats, Floats]:
    """Scale distances classically: ``B = -H D^2 H / 2``, its leading eigenpairs.

    ``distances`` (n, n) is overwritten. ISOMAP-KL eq. 9-11.

    Returns
    -------
    eigenvalues : array of shape (n_components,), falling
    eigenvectors : array of shape (n, n_components)
    squared_means : array of shape (n,)
        Mean squared distance of every point, what new points need.
    """
    B = distances
    np.square(B, out=B)
    squared_means = B.mean(axis=0)
    B -= squared_means
    B -= squared_means[:, None]
    B += squared_means.mean()
    B *= -0.5
    n = len(B)
    if not B.any():  # all points in one place: any directions do
        return np.zeros(n_components), np.eye(n, n_components), squared_means
    if n <= DENSE_SIZE:
        values, vectors = eigh(B, subset_by_index=(n - n_components, n - 1))
    else:
        values, vectors = eigsh(B, n_components, which="LA", v0=_start(n, B.dtype), tol=0)
    _check_residual(B, values, vectors)
    order = np.argsort(-values, kind="stable")
    return values[order], fix_signs(vectors[:, order]), squared_means


def triangulation(places: Floats) -> Floats:
    """Return the matrix that places points by their distances to some with known places.

    A point with the squared distances ``d^2`` from the n ``places`` lies, relative to the origin,
    at ``-(d^2 - m) A / 2`` for the result ``A`` (n, d) and the mean squared distances ``m`` of the
    ``places`` from all points around the origin: the least squares solution, that of classical
    scaling itself where there are no other points (de Silva and Tenenbaum, 2004).
    """
    return np.asarray(np.linalg.pinv(places - places.mean(axis=0)).T)


def bottom_eigenvectors(M: Any, count: int, skip: int) -> tuple[Floats, Floats]:
    """Return eigenpairs ``skip`` to ``skip + count - 1`` of a sparse positive semi-definite matrix.

    Eigenvalues (count,) rise; eigenvectors (n, count) have unit length.
    """
    n = M.shape[0]
    last = skip + count
    if n <= max(DENSE_SIZE, 2 * last + 2):
        values, vectors = eigh(M.toarray(), subset_by_index=(0, last - 1))
    else:
        values, vectors = _shift_invert(csc_array(M), last)
    _check_residual(M, values, vectors)
    order = np.argsort(values, kind="stable")[skip:]
    return values[order], fix_signs(vectors[:, order])


def laplacian(W: Any) -> tuple[Any, Floats]:
    """Return ``D - W`` and the degrees of a symmetric weight matrix."""
    degrees = np.asarray(W.sum(axis=1), dtype=W.dtype)
    return csr_array(diags_array(degrees) - W), degrees


def fix_signs(vectors: Floats) -> Floats:
    """Flip columns so that the first of their entries of largest magnitude is positive."""
    size = np.abs(vectors)
    largest = np.argmax(size >= (1 - EQUAL_SIZE) * size.max(axis=0, initial=0.0), axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1, signs).astype(vectors.dtype)


def _shift_invert(M: csc_array, count: int) -> tuple[Floats, Floats]:
    n = M.shape[0]
    shift = -SHIFT * float(abs(M.diagonal()).max())
    try:
        values, vectors = eigsh(
            M, count, sigma=shift, which="LM", v0=_start(n, M.dtype), tol=0, maxiter=100 * count
        )
    except ArpackError as error:
        raise RuntimeError(
            "the eigensolver did not converge; a larger n_neighbors, or reg for PatchLLE, "
            "separates the smallest eigenvalues."
        ) from error
    return np.asarray(values), np.asarray(vectors)


def _check_residual(M: Any, values: Floats, vectors: Floats) -> None:
    residual = np.linalg.norm(M @ vectors - vectors * values, axis=0).max(initial=0.0)
    scale = max(float(abs(M).max()), float(np.abs(values).max(initial=0.0)))
    tolerance = max(RESIDUAL, 32 * float(np.finfo(vectors.dtype).eps))
    if residual > tolerance * scale * len(vectors) ** 0.5:
        warn_user(
            f"eigenvectors have a residual of {residual:.1e} beside a matrix of size {scale:.1e}; "
            "the embedding may be inaccurate, float64 data helps.",
            ConvergenceWarning,
        )


def _start(n: int, dtype: Any) -> Floats:
    """Return a start vector that is no eigenvector of anything regular, the same every time."""
    return np.asarray(np.cos(np.arange(n, dtype=dtype) + 1))
