"""Eigenvectors: the leading ones of a dense operator, the bottom ones of a sparse matrix.

The sign of an eigenvector does not depend on the solver: the first of its largest entries, up to
rounding, is positive. The residuals of every solver are checked.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace
from scipy.linalg import LinAlgError, eigh
from scipy.sparse import csc_array, csr_array, diags_array, eye_array
from scipy.sparse.csgraph import connected_components, dijkstra, reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, lobpcg, splu
from sklearn.exceptions import ConvergenceWarning

from patchfold.base.arrays import Array, beside, to_numpy
from patchfold.base.memory import available_memory, check_memory
from patchfold.base.threads import one_blas_thread
from patchfold.base.validation import ignored_warnings, warn_user

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Floats, Indices


# From MANY eigenvectors on, `Limits.dense_of_many` counts instead of `Limits.dense`.
MANY = 20

# Dense matrices of up to ONE_THREAD rows are decomposed by one thread of BLAS. Several wait for
# each other at every column: beside two other busy processes, two threads took 40 times as long.
ONE_THREAD = 1000

# The largest residual |M v - lambda v| that counts as converged, as a share of the norm of M.
RESIDUAL = 1e-7

# Vectors multiplied at once. A block needs half the passes over the matrix that one vector needs,
# and a pass takes half as long again.
BLOCK = 8

# Entries that differ by a smaller share count as equally large: in symmetric data rounding would
# decide between them.
EQUAL_SIZE = 1e-6

# Bottom eigenvectors are sought around a point below zero, this share of the largest diagonal entry
# away: the matrices are singular, and cannot be factorised at zero itself.
SHIFT = 1e-9

# Graphs with fewer entries a point are nearly trees, and have sparse factors however wide they are.
TREE_ENTRIES = 8

# An iteration has another round only if the last one left at most this share of the residual.
GAINED = 0.1

# Vectors that an iteration carries along beyond those wanted, without multigrid and with it.
SPARE_VECTORS, SPARE_WITH_MULTIGRID = 5, 3

# A residual, as a share of the largest entry, below which an iteration gains nothing more.
EXHAUSTED = 1e-13

# The residual at which an iteration is accepted, as a share of the largest eigenvalue wanted.
ITERATED = 1e-5

# On a device: passes with one polynomial, and the residual at which they stop.
DEVICE_PASSES, ENOUGH = 12, 1e-9

# How far the coarsest graph may miss the kernel, as a share: rounding, and far less than a point.
KNOWN = 1e-8


@dataclass(frozen=True)
class Limits:
    """Sizes at which one solver hands over to the next, and when an iteration gives up.

    A level of a graph is a set of points that are equally many edges away from a point at its
    margin; the width of a graph is the size of its largest level.
    """

    # Points up to which a direct solver is as fast as an iterative one; the second number counts
    # where more than MANY eigenvectors are wanted.
    dense: int = 1000
    dense_of_many: int = 4000

    # Laplacians of more points, or of wider graphs, are solved by multigrid instead of factors. It
    # takes half a second for 62 500 points on a surface.
    direct: int = 20_000
    narrow: int = 1000

    # A wider graph has no small cut, and its matrix no sparse factor. Its few smallest eigenvalues
    # lie so far apart that an iteration without factors finds them.
    wide: int = 5000

    # Points of the coarsest graph of multigrid, which a direct method solves.
    coarsest: int = 1000

    # Rounds of an iteration for bottom eigenvectors, and steps of a round.
    rounds: int = 10
    steps: int = 100

    # Passes of the search for leading eigenvectors; close eigenvalues need about thirty.
    passes: int = 500

    # The residual at which it stops, as a share of the largest eigenvalue. The last pass usually
    # gains two digits, so the result is as good as rounding allows.
    converged: float = 1e-12

    # Rows up to which a matrix is solved in full where an iteration gives up.
    fallback: int = 5000

    # Tells how many bytes are free before a large matrix is factorised.
    memory: Callable[[], int | None] = available_memory


LIMITS = Limits()


def bottom_eigenvectors(
    M: Any,
    count: int,
    skip: int,
    *,
    kernel: Floats | None = None,
    parts: Indices | None = None,
    limits: Limits = LIMITS,
    device: str | None = None,
) -> tuple[Floats, Floats]:
    """Return eigenpairs ``skip`` to ``skip + count - 1`` of a sparse positive semi-definite matrix.

    Give a ``kernel`` (n,) if the matrix is the Laplacian of a graph: the positive vector that it
    maps to zero. Multigrid then solves large connected graphs. A graph that falls apart needs
    ``parts`` (n,), the number from 0 to ``skip - 1`` of every point's part: the kernel of each part
    is an eigenvector, and is skipped. Laplacians are solved on a ``device`` of torch, if one is
    given and they have few parts.

    Eigenvalues (count,) rise; eigenvectors (n, count) have unit length.
    """
    n = M.shape[0]
    last = skip + count
    known = None if kernel is None or parts is None else _kernels(kernel, parts)
    most = limits.dense_of_many if last > MANY else limits.dense
    if n <= max(most, 2 * (last if known is None else count) + 2):
        values, vectors = dense(M.toarray(), 0, last - 1)
    elif device is not None and kernel is not None and skip <= MANY:
        values, vectors = _on_device(M, last - skip, kernel, parts, device)
    else:
        with one_blas_thread():
            found, large = None, n > limits.direct
            width = 0 if large else _widest_level(M)
            hard = last <= MANY and (large or width > limits.narrow)
            if kernel is not None and parts is None and hard:
                found = _by_multigrid(M, kernel, last, limits)
            if found is None and large:
                width = _widest_level(M)
            if found is None and width > limits.wide and (known is None or last <= MANY):
                found = _by_diagonal(M, last, limits)
            values, vectors = found or _shift_invert(
                csc_array(M), last, width, known, limits=limits
            )
    check_residual(M @ vectors, values, vectors, float(abs(M).max()))
    order = np.argsort(values, kind="stable")[-count:]
    return values[order], fix_signs(vectors[:, order])


def dense(M: Floats, first: int, last: int) -> tuple[Floats, Floats]:
    """Return eigenpairs ``first`` to ``last`` of a symmetric matrix, counted from the smallest."""
    with one_blas_thread() if len(M) <= ONE_THREAD else nullcontext():
        values, vectors = eigh(M, subset_by_index=(first, last))
        if len(values) <= last - first:  # where many eigenvalues are equal LAPACK may find none
            values, vectors = eigh(M)
            values, vectors = values[first : last + 1], vectors[:, first : last + 1]
    return values, vectors


def fix_signs(vectors: Floats) -> Floats:
    """Flip columns so that the first of their entries of largest magnitude is positive."""
    size = np.abs(vectors)
    largest = np.argmax(size >= (1 - EQUAL_SIZE) * size.max(axis=0, initial=0.0), axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1, signs).astype(vectors.dtype)


def leading(
    product: Callable[[Array], Array], start: Array, count: int, limits: Limits = LIMITS
) -> tuple[Floats, Array, Array]:
    """Return the leading eigenpairs of a symmetric matrix by block Lanczos with thick restarts.

    The products of the matrix and the eigenvectors, which are known by then, come last. A pass over
    a large matrix costs hardly more for a block of vectors than for one, and a block needs fewer
    passes. Every new block is made orthogonal to the whole basis. Vectors are arrays of the library
    and on the device of ``start``.
    """
    n, width = start.shape
    kept = count + width
    limit = min(8 * kept, n // 2)
    xp = array_namespace(start)
    block = xp.linalg.qr(start)[0]
    basis = images = start[:, :0]
    projected = np.empty((0, 0))
    for _ in range(limits.passes):
        image = product(block)
        basis = xp.concat([basis, block], axis=1)
        images = xp.concat([images, image], axis=1)
        coefficients = basis.T @ image
        new = to_numpy(coefficients)
        border = new[:-width]
        projected = np.block([[projected, border], [border.T, (new[-width:] + new[-width:].T) / 2]])
        block, link = xp.linalg.qr(image - basis @ coefficients)
        # Twice: of a converged direction only rounding is left, which points anywhere.
        block, correction = xp.linalg.qr(block - basis @ (basis.T @ block))
        values, inner = np.linalg.eigh(projected)
        values, inner = values[::-1], inner[:, ::-1]
        turn = beside(basis, inner[:, :kept].copy())
        vectors, turned = basis @ turn, images @ turn
        residuals = np.linalg.norm(to_numpy(correction @ link) @ inner[-width:, :count], axis=0)
        if len(values) >= count and residuals.max() <= limits.converged * np.abs(values).max():
            break
        if basis.shape[1] + width > limit:
            basis, images, projected = vectors, turned, np.diag(values[:kept])
    return values[:count], vectors[:, :count], turned[:, :count]


def _on_device(
    L: Any, count: int, kernel: Floats, parts: Indices | None, device: str
) -> tuple[Floats, Floats]:
    """Return the bottom eigenpairs of a Laplacian, but its kernel, found on a device of torch."""
    from patchfold.gpu.eigenvectors import DEGREES, Filtered

    if parts is None:
        parts = np.zeros(len(kernel), dtype=np.intp)
    matrix = Filtered(L, _kernels(kernel, parts).toarray(), device)
    few = replace(LIMITS, passes=DEVICE_PASSES, converged=ENOUGH)
    spare = start = matrix.random(SPARE_VECTORS + count)
    for degree in DEGREES:
        vectors = leading(matrix.filter(degree), start, count, few)[1]
        values, found, residual = matrix.pairs(vectors)
        if residual <= ITERATED * values.max():
            break
        start = array_namespace(spare).concat([vectors, spare[:, count:]], axis=1)
    return values, found


def _by_multigrid(
    L: Any, kernel: Floats, count: int, limits: Limits
) -> tuple[Floats, Floats] | None:
    """Return bottom eigenpairs of the Laplacian of a large graph, or None if it finds none."""
    # Here and not above: small data should not wait for it to be imported.
    from patchfold.solvers.multigrid import Multigrid, has_sparse_groups

    # Neighbours in the graph become neighbours in memory.
    order = reverse_cuthill_mckee(L, symmetric_mode=True)
    L = csr_array(L[order][:, order])
    if not has_sparse_groups(L):
        return None
    try:
        grid = Multigrid(L, kernel[order], coarsest=limits.coarsest)
    except (ValueError, LinAlgError):  # dividing by tiny weights overflows
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
    expected = float(values[:count].max())
    found = _iterated(L, start, count, solver, limits, expected=expected)
    if found is not None:
        vectors = np.empty_like(found[1])
        vectors[order] = found[1]
        found = found[0], vectors
    return found


def _by_diagonal(M: Any, count: int, limits: Limits) -> tuple[Floats, Floats] | None:
    """Return bottom eigenpairs of a graph without small cuts, or None if it finds none."""
    M = M.astype(np.float64, copy=False)
    diagonal = M.diagonal()
    start = np.random.default_rng(0).standard_normal((len(diagonal), count + SPARE_VECTORS))
    inverse = diags_array(1 / np.where(diagonal > 0, diagonal, 1.0))
    return _iterated(M, start, count, inverse, limits)


def _iterated(
    M: Any, vectors: Any, count: int, preconditioner: Any, limits: Limits, expected: float = 0.0
) -> tuple[Floats, Floats] | None:
    """Return bottom eigenpairs by preconditioned iteration from ``vectors``, or None.

    ``expected`` is a guess of the largest wanted eigenvalue, or zero. A bad guess costs another
    round, or a longer one.
    """
    before = np.inf
    for _ in range(limits.rounds):
        with ignored_warnings():  # lobpcg warns of residuals, which are checked below
            try:
                values, vectors = lobpcg(
                    M,
                    vectors,
                    M=preconditioner,
                    largest=False,
                    tol=max(ITERATED * expected / 4, EXHAUSTED * float(M.diagonal().max())),
                    maxiter=limits.steps,
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
    """Return the width of a graph, see :class:`Limits`; of its largest part if it has several."""
    edges = csr_array(M != 0)
    _, parts = connected_components(edges, directed=False)
    start = int(np.argmax(np.bincount(parts)[parts]))
    for _ in range(2):  # the point farthest from any other is at the margin
        hops = dijkstra(edges, unweighted=True, indices=[start])[0]
        hops = np.where(np.isfinite(hops), hops, -1).astype(np.intp)
        start = int(np.argmax(hops))
    return int(np.bincount(hops[hops >= 0]).max())


def _kernels(kernel: Floats, parts: Indices) -> csr_array:
    """Return the kernels of the parts of a graph as columns of unit length."""
    lengths = np.sqrt(np.bincount(parts, kernel**2))
    return csr_array((kernel / lengths[parts], (np.arange(len(parts)), parts)))


def _shift_invert(
    M: csc_array,
    count: int,
    width: int,
    known: csr_array | None = None,
    *,
    limits: Limits = LIMITS,
) -> tuple[Floats, Floats]:
    """Return ``count`` bottom eigenpairs, less the ``known`` eigenvectors (n, fewer).

    Lanczos' iteration sees one vector at a time. Without knowing them, it would hardly ever find
    all eigenvectors of an eigenvalue that many share.
    """
    n = M.shape[0]
    if M.nnz >= TREE_ENTRIES * n:
        # The last part of a factor is a full matrix of the size of the largest cut.
        what = f"the factorisation of the matrix of a graph of {n} points, which has no small cut,"
        remedy = "use PatchIsomap(landmarks='auto') or a smaller n_neighbors"
        check_memory(8 * width**2, what, remedy, available=limits.memory)
    shift = -SHIFT * float(abs(M.diagonal()).max())
    # The shifted matrix is positive definite, and needs no pivots.
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
            # A fixed start that is no eigenvector of a regular graph.
            v0=without_known(np.cos(np.arange(n, dtype=M.dtype) + 1)),
            tol=0,
            maxiter=100 * count,
        )
    except ArpackError as error:
        if known is None and n <= limits.fallback:
            return dense(M.toarray(), 0, count - 1)
        raise RuntimeError(
            "the eigensolver did not converge; a larger n_neighbors, or reg for PatchLLE, "
            "separates the smallest eigenvalues."
        ) from error
    return np.asarray(values), np.asarray(vectors)


def check_residual(image: Floats, values: Floats, vectors: Floats, largest: float) -> None:
    """Warn if ``image``, the matrix times the vectors, is not ``vectors * values``."""
    residual = np.linalg.norm(image - vectors * values, axis=0).max(initial=0.0)
    scale = max(largest, float(np.abs(values).max(initial=0.0)))
    tolerance = max(RESIDUAL, 32 * float(np.finfo(vectors.dtype).eps))
    if residual > tolerance * scale * len(vectors) ** 0.5:
        warn_user(
            f"eigenvectors have a residual of {residual:.1e} beside a matrix of size {scale:.1e}; "
            "the embedding may be inaccurate, float64 data helps.",
            ConvergenceWarning,
        )
