"""Eigenvectors: the leading ones of a dense operator, the bottom ones of a sparse matrix.

Eigenvectors have a sign that does not depend on the solver: the first entry of largest magnitude,
up to rounding, is positive. Residuals are checked, whichever solver was used.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.sparse import csc_array, csr_array, diags_array, eye_array
from scipy.sparse.csgraph import connected_components, dijkstra, reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, lobpcg, splu
from sklearn.exceptions import ConvergenceWarning

from patchfold._validation import warn_user
from patchfold.engines.memory import check_memory
from patchfold.engines.pools import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]


# Up to this size a direct solver for the few eigenvectors wanted is as fast as an iterative one;
# where many are wanted, up to the larger one.
DENSE_SIZE = 1000


MANY, DENSE_SIZE_OF_MANY = 20, 4000


# The largest residual |M v - lambda v| taken for converged, as a share of the norm of M.
RESIDUAL = 1e-7


# A residual, as a share of the largest eigenvalue, with which the search for leading eigenvectors
# stops: the last pass usually gains two digits, so the search goes as far as rounding allows.
CONVERGED = 1e-12


# Vectors multiplied at once. As a block they need half the passes over the matrix that one vector
# would, and a pass takes half as long again.
BLOCK = 8


# Passes after which the search ends; where eigenvalues lie close, about thirty are needed.
PASSES = 500


# Entries that differ by a smaller share are equally large: in symmetric data rounding would decide.
EQUAL_SIZE = 1e-6


# Bottom eigenvectors are found around a point this share of the largest diagonal entry below
# zero: the matrices are singular, and zero itself cannot be factorised.
SHIFT = 1e-9


# Points that are equally many edges away from one at the margin of a graph: where there are more
# than WIDE, the graph has no small cut, its matrix no sparse factor, and its few smallest
# eigenvalues lie so far apart that an iteration finds them. Graphs with fewer entries a point are
# trees, more or less, and have factors.
WIDE, TREE_ENTRIES = 5000, 8


# The Laplacian of a graph is factorised up to so many points, if no more of them are equally far
# away; others are solved by multigrid, which takes half a second for 62 500 points on a surface.
DIRECT, NARROW = 20_000, 1000


# Iterations have rounds of so many steps, while each leaves at most this share of the residual, and
# more vectors than wanted, without multigrid and with it.
ROUNDS, STEPS, GAINED = 10, 100, 0.1


SPARE_VECTORS, SPARE_WITH_MULTIGRID = 5, 3


# A residual, as a share of the largest entry, beyond which such an iteration gains nothing.
EXHAUSTED = 1e-13


# The residual of such an iteration, as a share of the largest eigenvalue wanted, that is accepted.
ITERATED = 1e-5


# The share by which the coarsest graph may miss the kernel: rounding, and far less than a point.
KNOWN = 1e-8


def bottom_eigenvectors(
    M: Any,
    count: int,
    skip: int,
    *,
    kernel: Floats | None = None,
    parts: NDArray[np.intp] | None = None,
) -> tuple[Floats, Floats]:
    """Return eigenpairs ``skip`` to ``skip + count - 1`` of a sparse positive semi-definite matrix.

    The matrix is the Laplacian of a graph where a ``kernel`` (n,) is given, the positive vector
    that it maps to zero. Large graphs are then solved by multigrid if they are connected. Others
    have ``parts`` (n,), numbered from 0 to ``skip - 1``, with no edge between them that counts: the
    kernel of each is an eigenvector that is skipped.

    Eigenvalues (count,) rise; eigenvectors (n, count) have unit length.
    """
    n = M.shape[0]
    last = skip + count
    known = None if kernel is None or parts is None else _kernels(kernel, parts)
    most = DENSE_SIZE_OF_MANY if last > MANY else DENSE_SIZE
    if n <= max(most, 2 * (last if known is None else count) + 2):
        values, vectors = eigh(M.toarray(), subset_by_index=(0, last - 1))
    else:
        with one_blas_thread():
            found, large = None, n > DIRECT
            width = 0 if large else _widest_level(M)
            if kernel is not None and parts is None and last <= MANY and (large or width > NARROW):
                found = _by_multigrid(M, kernel, last)
            if found is None and large:
                width = _widest_level(M)
            if found is None and width > WIDE and (known is None or last <= MANY):
                found = _by_diagonal(M, last)
            values, vectors = found or _shift_invert(csc_array(M), last, width, known)
    check_residual(M @ vectors, values, vectors, float(abs(M).max()))
    order = np.argsort(values, kind="stable")[-count:]
    return values[order], fix_signs(vectors[:, order])


def fix_signs(vectors: Floats) -> Floats:
    """Flip columns so that the first of their entries of largest magnitude is positive."""
    size = np.abs(vectors)
    largest = np.argmax(size >= (1 - EQUAL_SIZE) * size.max(axis=0, initial=0.0), axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1, signs).astype(vectors.dtype)


def leading(
    product: Callable[[Floats], Floats], start: Floats, count: int
) -> tuple[Floats, Floats]:
    """Return the leading eigenpairs of a symmetric matrix by block Lanczos with thick restarts.

    A pass over a large matrix costs hardly more for a block of vectors than for one, and needs
    fewer passes. The basis is kept orthogonal in full, so that the projected matrix may be too.
    """
    n, width = start.shape
    kept = count + width
    limit = min(8 * kept, n // 2)
    block = np.linalg.qr(start)[0]
    basis = np.empty((n, 0))
    projected = np.empty((0, 0))
    for _ in range(PASSES):
        image = product(block)
        basis = np.concatenate([basis, block], axis=1)
        new = basis.T @ image
        border = new[:-width]
        projected = np.block([[projected, border], [border.T, (new[-width:] + new[-width:].T) / 2]])
        block, link = np.linalg.qr(image - basis @ new)
        # Again: what is left of converged directions is rounding, in any direction.
        block, correction = np.linalg.qr(block - basis @ (basis.T @ block))
        values, inner = np.linalg.eigh(projected)
        values, inner = values[::-1], inner[:, ::-1]
        vectors = basis @ inner[:, :kept]
        residuals = np.linalg.norm(correction @ link @ inner[-width:, :count], axis=0)
        if len(values) >= count and residuals.max() <= CONVERGED * np.abs(values).max():
            break
        if basis.shape[1] + width > limit:
            basis, projected = vectors, np.diag(values[:kept])
    return values[:count], vectors[:, :count]


def _by_multigrid(L: Any, kernel: Floats, count: int) -> tuple[Floats, Floats] | None:
    """Return bottom eigenpairs of the Laplacian of a large graph, if they are found."""
    # Here and not above: small data should not wait for it to be imported.
    from patchfold.engines.multigrid import Multigrid, has_sparse_groups

    # Neighbours in the graph become neighbours in memory.
    order = reverse_cuthill_mckee(L, symmetric_mode=True)
    L = csr_array(L[order][:, order])
    if not has_sparse_groups(L):
        return None
    try:
        grid = Multigrid(L, kernel[order])
    except (ValueError, LinAlgError):  # weights next to nothing overflow where they divide
        return None
    size = count + SPARE_WITH_MULTIGRID
    values, start = grid.coarse_eigenvectors(size)
    known = abs(start[:, 0] @ kernel[order]) / np.linalg.norm(kernel) / np.linalg.norm(start[:, 0])
    if not known > 1 - KNOWN:  # some points belong to no group
        return None
    if len(values) < size:
        random = np.random.default_rng(0).standard_normal((len(kernel), size - len(values)))
        start = np.concatenate([start, grid.solve(random)], axis=1)
    solver = LinearOperator(
        L.shape, lambda b: grid.solve(b.reshape(-1, 1)), matmat=grid.solve, dtype=np.float64
    )
    found = _iterated(L, start, count, solver, expected=float(values[:count].max()))
    if found is not None:
        vectors = np.empty_like(found[1])
        vectors[order] = found[1]
        found = found[0], vectors
    return found


def _by_diagonal(M: Any, count: int) -> tuple[Floats, Floats] | None:
    """Return bottom eigenpairs of the matrix of a graph without small cuts, if they are found."""
    M = M.astype(np.float64, copy=False)
    diagonal = M.diagonal()
    start = np.random.default_rng(0).standard_normal((len(diagonal), count + SPARE_VECTORS))
    return _iterated(M, start, count, diags_array(1 / np.where(diagonal > 0, diagonal, 1.0)))


def _iterated(
    M: Any, vectors: Any, count: int, preconditioner: Any, expected: float = 0.0
) -> tuple[Floats, Floats] | None:
    """Return bottom eigenpairs by preconditioned iteration from some vectors, if they are found.

    ``expected`` is about the largest of the wanted eigenvalues, or zero where nothing is known of
    it. Where it is far too large or too small, there is another round, or one takes longer.
    """
    before = np.inf
    for _ in range(ROUNDS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it did not converge; residuals tell
            try:
                values, vectors = lobpcg(
                    M,
                    vectors,
                    M=preconditioner,
                    largest=False,
                    tol=max(ITERATED * expected / 4, EXHAUSTED * float(M.diagonal().max())),
                    maxiter=STEPS,
                )
            except (ValueError, LinAlgError):
                return None
        order = np.argsort(values)[:count]
        found, wanted = np.asarray(values)[order], np.asarray(vectors, dtype=np.float64)[:, order]
        residual = float(np.linalg.norm(M @ wanted - wanted * found, axis=0).max())
        expected = float(found[-1])
        if residual <= ITERATED * expected:
            return found, wanted
        if not residual <= GAINED * before:
            return None
        before = residual
    return None


def _widest_level(M: Any) -> int:
    """Return the size of the largest set of points that are equally far from a point at the margin.

    Where the graph has several parts, in the largest one.
    """
    edges = csr_array(M != 0)
    _, parts = connected_components(edges, directed=False)
    start = int(np.argmax(np.bincount(parts)[parts]))
    for _ in range(2):  # the farthest point from any is at the margin
        hops = dijkstra(edges, unweighted=True, indices=[start])[0]
        hops = np.where(np.isfinite(hops), hops, -1).astype(np.intp)
        start = int(np.argmax(hops))
    return int(np.bincount(hops[hops >= 0]).max())


def _kernels(kernel: Floats, parts: NDArray[np.intp]) -> csr_array:
    """Return the kernels of the parts of a graph as columns of unit length."""
    lengths = np.sqrt(np.bincount(parts, kernel**2))
    return csr_array((kernel / lengths[parts], (np.arange(len(parts)), parts)))


def _shift_invert(
    M: csc_array, count: int, width: int, known: csr_array | None = None
) -> tuple[Floats, Floats]:
    """Return bottom eigenpairs, all or all but the ``known`` eigenvectors (n, fewer).

    Many equal eigenvalues take an iteration that sees one vector at a time as good as forever.
    """
    n = M.shape[0]
    if M.nnz >= TREE_ENTRIES * n:
        # The last part of a factor is a full matrix of the size of the largest cut.
        what = f"the factorisation of the matrix of a graph of {n} points, which has no small cut,"
        remedy = "use PatchIsomap(landmarks='auto') or a smaller n_neighbors"
        check_memory(8 * width**2, what, remedy)
    shift = -SHIFT * float(abs(M.diagonal()).max())
    # What is factorised is positive definite: there is no need to look for pivots.
    factor = splu(
        M - shift * eye_array(n, dtype=M.dtype, format="csc"),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )

    def without_known(v: Floats) -> Floats:
        return v if known is None else np.asarray(v - known @ (known.T @ v))

    def solve(v: Floats) -> Floats:
        return without_known(factor.solve(without_known(v)))

    try:
        values, vectors = eigsh(
            M,
            count - (0 if known is None else known.shape[1]),
            sigma=shift,
            OPinv=LinearOperator(M.shape, solve, dtype=M.dtype),
            v0=without_known(_start(n, M.dtype)),
            tol=0,
            maxiter=100 * count,
        )
    except ArpackError as error:
        raise RuntimeError(
            "the eigensolver did not converge; a larger n_neighbors, or reg for PatchLLE, "
            "separates the smallest eigenvalues."
        ) from error
    return np.asarray(values), np.asarray(vectors)


def check_residual(image: Floats, values: Floats, vectors: Floats, largest: float) -> None:
    """Compare ``image``, the matrix times the vectors, with what it should be."""
    residual = np.linalg.norm(image - vectors * values, axis=0).max(initial=0.0)
    scale = max(largest, float(np.abs(values).max(initial=0.0)))
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
