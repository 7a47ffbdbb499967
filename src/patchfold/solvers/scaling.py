"""Scaling: coordinates from distances, classical or of least stress, and places of new points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array
from sklearn.utils import gen_batches

from patchfold.base.arrays import Array, beside, taken, to_doubles, to_numpy
from patchfold.base.sampling import drawn_rows
from patchfold.base.threads import block_slices, large_blocks, map_slices, one_blas_thread
from patchfold.solvers import eigenvectors

if TYPE_CHECKING:
    from patchfold.base.types import Floats


# Rows and columns of a tile of the matrix. A tile is small enough that a product with a block of
# vectors copies nothing. Fixed, because a sum in another order has other last bits.
TILE_ROWS, TILE_COLUMNS = 64, 1024

# Units of rounding in the squared lengths of axes, as a share of the longest.
ROUNDING = 64.0

# Stress is least where a step takes away less than this share of it, or where its mean is below
# LEAST_STRESS, in squares of the longest distance; after PASSES steps whatever it is. A tenth of
# the share takes up to a third more steps, and stress falls by less than 0.003 % (digits, MNIST and
# Fashion-MNIST, image seed 31; 24 to 57 steps).
STEP_SHARE, LEAST_STRESS, PASSES = 1e-5, 1e-14, 300

# From SAMPLED_FROM points on, SAMPLE of them move first, and the others settle beside them. Then
# few steps of all points are left, until one takes less than LAST_SHARE away. On 5000 images of
# MNIST and Fashion-MNIST (seed 31) stress is as low as without a sample, to 0.1 %, in a quarter of
# the time.
SAMPLED_FROM, SAMPLE, LAST_SHARE = 4000, 1000, 3e-4

# The residual, as a share of the largest eigenvalue, of a classical scaling that they start from.
START = 1e-6

# Length of a step, in plain ones. Up to twice the length it never has more stress, and gets there
# sooner. At twice the length, an error that one step would have taken away, as that of the scale,
# changes its sign for ever; so the first step is a plain one, and others are shorter than that.
FIRST_STEP, STEP = 1.0, 1.9

# Points closer than this share of the longest distance have no direction from each other.
NO_DIRECTION = 1e-12

# Points from which compiled code pulls: to import the compiler takes as long as fewer do.
COMPILED_FROM = 500

# A point beside others that stay has settled where a step is no longer than this share of the
# longest distance; a new one closer, because derivatives of its place are taken by differences.
NEAR, CLOSE = 1e-5, 1e-12


def classical_mds(
    distances: Floats,
    n_components: int,
    *,
    n_jobs: int | None = None,
    limits: eigenvectors.Limits = eigenvectors.LIMITS,
) -> tuple[Floats, Floats, Floats]:
    """Return the leading eigenpairs of ``B = -H D^2 H / 2`` (ISOMAP-KL eq. 9-11).

    After the eigenvalues, which fall, and the eigenvectors (n, n_components) comes the mean squared
    distance of every point, which new points need. ``distances`` (n, n) is overwritten with its
    squares. Distances in float32 are scaled in float64. Results do not depend on ``n_jobs``, the
    number of threads. They may be a tensor of torch, whose device then does the work.
    """
    n = len(distances)
    squared = distances
    squared_means = np.empty(n)

    def square(rows: slice) -> float:
        squared[rows] *= squared[rows]
        squared_means[rows] = _row_means(squared[rows])
        return float(squared[rows].max())

    largest = max(map_slices(square, _tiles(squared), n_jobs))
    if largest == 0:  # all points in one place: any direction will do
        return np.zeros(n_components), np.eye(n, n_components), squared_means
    if n <= max(limits.dense, 4 * (n_components + eigenvectors.BLOCK)):
        B = np.array(to_numpy(squared), dtype=np.float64)
        B -= squared_means
        B -= squared_means[:, None]
        B += squared_means.mean()
        B *= -0.5
        values, vectors = eigenvectors.dense(B, n - n_components, n - 1)
        image: Floats = B @ vectors
    else:

        def product(V: Floats) -> Floats:
            return _centred_product(squared, V, n_jobs)

        rows = np.linspace(0, n - 1, eigenvectors.BLOCK).astype(np.intp)
        start = to_doubles(taken(squared, rows)).T
        with one_blas_thread():
            values, vectors, image = eigenvectors.leading(
                product, start - start.mean(axis=0), n_components, limits
            )
    eigenvectors.check_residual(image, values, vectors, largest)
    order = np.argsort(-values, kind="stable")
    return values[order], eigenvectors.fix_signs(vectors[:, order]), squared_means


def least_stress(squared: Floats, places: Floats, *, n_jobs: int | None = None) -> Floats:
    """Move points so that their distances fit the known ones best, and return their places.

    The stress ``sum (d_ij - |z_i - z_j|)^2`` falls with every step (SMACOF, de Leeuw and Heiser,
    1980), from the given ``places`` (n, n_components) to a minimum nearby. Distances that the
    places keep already leave them where they are. The origin is the mean of the places, and the
    axes are those of their largest variance, widest first.

    ``squared`` (n, n) are the squared distances, in units of the longest; they are overwritten with
    the distances. Results do not depend on ``n_jobs``, the number of threads.

    Examples
    --------
    Of a tetrahedron, the plane shows four corners of a square, as far apart as they can be:

    >>> squared = 1 - np.eye(4)
    >>> start = np.array([[0.0, 0.6], [0.5, -0.3], [-0.5, -0.3], [0.1, 0.0]])
    >>> places = least_stress(squared, start)
    >>> np.linalg.norm(places - places[0], axis=1).round(2)
    array([0.  , 1.21, 0.85, 0.85])
    """
    known = squared if is_torch_array(squared) else np.ascontiguousarray(squared)

    def root(block: slice) -> None:
        known[block] **= 0.5

    map_slices(root, _tiles(known), n_jobs)
    moving = places - places.mean(axis=0, dtype=np.float64)
    share = STEP_SHARE
    if len(known) >= SAMPLED_FROM:
        moving = _placed_by_sample(known, moving, n_jobs)
        share = LAST_SHARE
    found = _descended(known, moving, share, n_jobs)
    axes = eigenvectors.dense(found.T @ found, 0, places.shape[1] - 1)[1][:, ::-1]
    return eigenvectors.fix_signs(found @ axes)


def _placed_by_sample(known: Floats, places: Floats, n_jobs: int | None) -> Floats:
    """Return places where a sample has the least stress, and every other point beside it."""
    sample = drawn_rows(len(known), SAMPLE, 0)
    centre = places[sample].mean(axis=0)
    columns = taken(known.T, sample).T
    between, start = to_numpy(taken(columns, sample)), places[sample] - centre
    targets = _descended(between, start, STEP_SHARE, n_jobs)

    def settle(block: slice) -> Floats:
        return settled(columns[block], targets, places[block] - centre, NEAR)

    return np.concatenate(map_slices(settle, _tiles(known), n_jobs))


def _descended(known: Floats, places: Floats, share: float, n_jobs: int | None) -> Floats:
    """Take steps of falling stress until one takes less than ``share`` of it away."""
    n = len(known)
    moving = places - places.mean(axis=0)
    targets, pulled, stress = np.empty(moving.T.shape), np.empty_like(moving), np.empty(n)
    compiled = n >= COMPILED_FROM and not is_torch_array(known)
    if compiled:
        from patchfold.solvers import stress_kernel

    def pull(block: slice) -> None:
        if compiled:
            stress_kernel.pull(known[block], targets, moving[block], pulled[block], stress[block])
        else:
            pulled[block], stress[block] = map(
                to_numpy, _pull(known[block], targets, moving[block])
            )

    before, step = np.inf, FIRST_STEP
    for _ in range(PASSES):
        targets[:] = moving.T
        map_slices(pull, _tiles(known), n_jobs)
        now = float(stress.sum())
        if before - now <= share * now or now <= LEAST_STRESS * n * n:
            break
        moving += step * (pulled - moving)
        before, step = now, STEP
    return np.asarray(pulled - pulled.mean(axis=0))


def _pull(known: Array, targets: Any, places: Any) -> tuple[Array, Array]:
    """Return what :func:`patchfold.solvers.stress_kernel.pull` writes: for few points, or tensors.

    The mean pull on every point, and its stress.
    """
    xp = array_namespace(known)
    apart = beside(known, places)[:, :, None] - beside(known, targets)
    distances = xp.sqrt(xp.sum(apart * apart, axis=1))
    stress = xp.sum((known - distances) ** 2, axis=1)
    some = distances > NO_DIRECTION
    ratios = xp.where(some, known / xp.where(some, distances, 1.0), 0.0)
    return xp.mean(ratios[:, None, :] * apart, axis=2), stress


def _settle(known: Array, targets: Array, places: Array, passes: int, close: float) -> None:
    """Do what :func:`patchfold.solvers.stress_kernel.settle` does: beside few targets, or tensors.

    Points that have settled leave the rest.
    """
    xp = array_namespace(known)
    moving, step = xp.arange(len(known), device=device(known)), FIRST_STEP
    for _ in range(passes):
        pulled = _pull(known[moving], targets, places[moving])[0]
        pulled += xp.mean(targets, axis=1) - places[moving]
        places[moving] += step * pulled
        moving, step = moving[xp.sum(pulled * pulled, axis=1) > close**2], STEP
        if len(moving) == 0:
            return


def _tiles(known: Array) -> list[slice]:
    """Return the blocks of rows that are worked on at once."""
    if not is_torch_array(known):
        return list(gen_batches(len(known), TILE_ROWS))
    with large_blocks(known):
        return block_slices(len(known), 8 * 8 * known.shape[1])


def _row_means(rows: Array) -> Floats:
    """Return the means of rows in double precision."""
    if is_torch_array(rows):
        return to_numpy(rows.double().mean(dim=1))
    return np.asarray(rows.mean(axis=1, dtype=np.float64))


def settled(paths: Floats, targets: Floats, places: Floats, close: float = CLOSE) -> Floats:
    """Return where points have the least stress beside targets that stay, from places nearby.

    ``paths`` (n_points, n_targets) are distances to the targets, in units of the longest. A point
    stops where a step is no longer than ``close``.

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> settled(np.full((1, 3), np.sqrt(0.5)), corners, np.array([[0.3, 0.4]])).round(3)
    array([[0.5, 0.5]])
    """
    found = np.array(to_numpy(places), dtype=np.float64)
    axes = np.ascontiguousarray(targets.T, dtype=np.float64)
    if is_torch_array(paths):
        there = beside(paths, found)
        _settle(paths, beside(paths, axes), there, PASSES, close)
        return to_numpy(there)
    settle = _settle
    if len(targets) >= COMPILED_FROM:
        from patchfold.solvers import stress_kernel

        settle = stress_kernel.settle
    settle(np.ascontiguousarray(paths), axes, found, PASSES, close)
    return found


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
    if is_torch_array(squared):
        centred = beside(squared, centred)

    def multiply(rows: slice) -> Floats:
        if is_torch_array(squared):
            return to_numpy(squared[rows].to(centred.dtype) @ centred)
        part = np.zeros((rows.stop - rows.start, V.shape[1]))
        for tile in gen_batches(len(V), TILE_COLUMNS):
            part += squared[rows, tile] @ centred[tile]
        return part

    image = np.concatenate(map_slices(multiply, _tiles(squared), n_jobs))
    image -= image.mean(axis=0)
    image *= -0.5
    return image
