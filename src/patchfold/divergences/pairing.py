"""A divergence on the edges of a graph, or on all pairs.

Values are symmetric to the last bit; a divergence called by itself is symmetric up to rounding.
Work is done in blocks of bounded memory.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from sklearn.utils import gen_batches

from patchfold.base import row_order
from patchfold.base.arrays import Array, beside, taken, to_numpy
from patchfold.base.threads import (
    block_rows,
    block_slices,
    large_blocks,
    map_blocks,
    map_slices,
)
from patchfold.divergences.formulas import Divergence, is_close, jeffreys, kl
from patchfold.divergences.registry import BUILT_IN, resolve
from patchfold.patches.gaussians import Patches, aligned

if TYPE_CHECKING:
    from patchfold.base.types import Indices


# Compiled code compares patches that hold at least COMPILED_NUMBERS numbers in their directions.
# Below, numpy takes less time than the import of the compiler.
COMPILED_NUMBERS = 10**6

# Edges that a thread takes at once in compiled code, which needs no memory for them.
COMPILED_EDGES = 4096

OnEdges = Callable[[Any, Any], Array]

# Compiled code gives the sum of two terms; the divergence is the sum divided by this.
_JEFFREYS = {kl: 4, jeffreys: 2}


def paired(
    patches: Patches,
    i: Array,
    j: Array,
    divergence: str | Divergence = "kl",
    *,
    other: Patches | None = None,
    n_jobs: int | None = None,
    compiled: bool | None = None,
) -> Array:
    """Evaluate a divergence on the edges ``(i, j)``.

    Parameters
    ----------
    patches : Patches
    i, j : arrays of integers of shape (n_edges,)
    divergence : name (see :data:`NAMES`) or callable, default="kl"
    other : Patches or None
        What ``j`` refers to, when it is not ``patches`` itself.
    n_jobs : int or None
        Number of threads; the values do not depend on it.
    compiled : bool or None
        Whether compiled code evaluates ``"kl"`` and ``"jeffreys"`` of factored patches in numpy
        arrays. None: if the patches are many.

    Returns
    -------
    array of shape (n_edges,)

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold import Patches, divergences
    >>> patches = Patches.from_moments([[0.0], [1.0]], [[[1.0]], [[2.0]]])
    >>> divergences.paired(patches, [0, 1], [1, 1], "kl")
    array([0.5, 0. ])
    """
    function = resolve(divergence)
    _check_patches(patches)
    second = patches if other is None else other
    i, j = _edges("i", i, len(patches)), _edges("j", j, len(second))
    if i.shape != j.shape:
        raise ValueError(f"i and j must have one entry per edge each, got {i.size} and {j.size}.")
    xp = array_namespace(patches.means)
    if other is None:
        rank = np.argsort(_canonical_order(patches))
        swap = rank[i] > rank[j]
        i, j = np.where(swap, j, i), np.where(swap, i, j)
    order = _edge_order(patches, i)
    i, j = i[order], j[order]
    with large_blocks(patches.means):
        if _is_compiled(function, patches, second, compiled):
            edges = list(gen_batches(i.size, COMPILED_EDGES)) if i.size else []
            compare = _compiled(function, patches, second, n_jobs)
        else:
            # Patches of different forms are compared in full.
            wider = second if patches.factored else patches
            edges = block_slices(i.size, _pair_bytes(wider, _width(function, wider)), n_jobs)
            compare = _on_used_directions(function, patches, second, n_jobs)
        values = map_slices(lambda block: compare(i[block], j[block]), edges, n_jobs)
    if not values:
        return patches.ridge[:0] if patches.factored else patches.means[:0, 0]
    return taken(xp.concat(values), row_order.inverse(order))


def pairwise(
    patches: Patches,
    divergence: str | Divergence = "kl",
    *,
    n_jobs: int | None = None,
    compiled: bool | None = None,
) -> Array:
    """Evaluate a divergence on all pairs.

    Parameters
    ----------
    patches : Patches
        n patches.
    divergence : name (see :data:`NAMES`) or callable, default="kl"
    n_jobs : int or None
        Number of threads; the values do not depend on it.
    compiled : bool or None
        As in :func:`paired`.

    Returns
    -------
    array of shape (n, n), symmetric

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold import Patches, divergences
    >>> patches = Patches.from_moments([[0.0], [1.0]], [[[1.0]], [[1.0]]])
    >>> divergences.pairwise(patches, "jeffreys")
    array([[0., 1.],
           [1., 0.]])
    """
    function = resolve(divergence)
    _check_patches(patches)
    xp = array_namespace(patches.means)
    n = len(patches)
    order = _canonical_order(patches)
    ordered = patches[order]
    width = _width(function, patches)
    if patches.factored:
        ordered = ordered.narrowed(width)
    matrix = xp.empty((n, n), dtype=patches.means.dtype, device=device(patches.means))
    pair_bytes = _pair_bytes(patches, width)
    with large_blocks(matrix):
        most = block_rows(pair_bytes, n_jobs)
    on_edges = None
    if _is_compiled(function, ordered, ordered, compiled):
        on_edges = _compiled(function, ordered, ordered, n_jobs)

    def compare(row: int, others: slice) -> Array:
        if on_edges is not None:
            j = np.arange(others.start, others.stop)
            return on_edges(np.full_like(j, row), j)
        # One patch against a slice of the others: views, nothing is gathered.
        alone = function in BUILT_IN
        one = ordered[row] if alone else ordered[[row] * (others.stop - others.start)]
        return _evaluate(function, one, ordered[others])

    def fill(rows: slice) -> None:
        for row in range(rows.start, rows.stop):
            for start in range(row, n, most):
                others = slice(start, min(start + most, n))
                values = compare(row, others)
                matrix[row, others] = values
                matrix[others, row] = values

    with large_blocks(matrix):
        map_blocks(fill, n, n * pair_bytes, n_jobs)
    back = beside(matrix, np.argsort(order))
    matrix = xp.take(matrix, back, axis=0)
    return xp.take(matrix, back, axis=1)


def _on_used_directions(
    function: Divergence, a: Patches, b: Patches, n_jobs: int | None
) -> OnEdges:
    """Return a divergence on pairs ``a[i]``, ``b[j]`` that reads only the used directions.

    It reads as many directions as any patch of ``b`` uses, or ``a[i]`` if that is more. So the
    value of a pair depends on ``b`` and the pair alone. A user's function sees all directions.
    """
    if not (a.factored and b.factored):
        return lambda i, j: _evaluate(function, *aligned(a[i], b[j]))
    xp = array_namespace(a.means)
    needed = np.maximum(a.used_ranks(), _width(function, b))
    narrow = {
        rank: (a.narrowed(rank), b.narrowed(rank), block_rows(_pair_bytes(b, rank), n_jobs))
        for rank in np.flatnonzero(np.bincount(needed)).tolist()
    }

    def on_edges(i: Any, j: Any) -> Array:
        widths = needed[i]
        values, places = [], []
        for rank, (one, other, most) in narrow.items():
            rows = np.flatnonzero(widths == rank)
            for start in range(0, len(rows), most):
                part = rows[start : start + most]
                values.append(_evaluate(function, *aligned(one[i[part]], other[j[part]])))
                places.append(part)
        order = row_order.inverse(np.concatenate(places))
        return taken(xp.concat(values), order)

    return on_edges


def _edge_order(patches: Patches, i: Indices) -> Indices:
    """Return an order of edges in which those from nearby patches are together."""
    return np.argsort(row_order.inverse(row_order.walk(patches.means))[i], kind="stable")


def _is_compiled(
    function: Divergence, patches: Patches, fitted: Patches, wanted: bool | None
) -> bool:
    """Tell whether compiled code compares these patches: if it can, and is ``wanted``.

    Without a wish the number of fitted patches decides, not that of new points that come at once.
    """
    if function not in _JEFFREYS or not (patches.factored and fitted.factored):
        return False
    arrays = (patches.means, fitted.means, patches.directions, fitted.directions)
    if (
        not all(is_numpy_array(array) for array in arrays)
        or len({array.dtype for array in arrays}) > 1
        or patches.n_features != fitted.n_features
    ):
        return False
    if wanted is None:
        numbers = fitted.means.size * int(fitted.used_ranks().max(initial=1))
        return bool(numbers >= COMPILED_NUMBERS)
    return wanted


def _compiled(function: Divergence, a: Patches, b: Patches, n_jobs: int | None) -> OnEdges:
    """Return :func:`kl` or :func:`jeffreys` on pairs of factored patches, as compiled code."""
    # Here and not above: small data should not wait for the compiler to be imported.
    from patchfold.divergences import compiled

    terms = compiled.jeffreys_terms(a, b)
    exactly = _on_used_directions(function, a, b, n_jobs)
    ranks_a, ranks_b = a.used_ranks(), b.used_ranks()

    def on_edges(i: Any, j: Any) -> Any:
        gap, spread = terms(i, j)
        values = (gap + spread) / _JEFFREYS[function]
        close = np.flatnonzero(is_close(gap + spread, np.maximum(ranks_a[i], ranks_b[j])))
        if len(close):
            values[close] = exactly(i[close], j[close])
        return _checked(function, values, len(values))

    return on_edges


def _canonical_order(patches: Patches) -> Any:
    """Order patches by value.

    Every pair is evaluated with the smaller patch first. So a divergence is symmetric to the last
    bit, and the same for the same two Gaussians at any index. The keys are the mean along a fixed
    generic direction and the size of the covariance; the index decides between patches that agree
    in both.
    """
    xp = array_namespace(patches.means)
    features = xp.arange(1, patches.n_features + 1, dtype=patches.means.dtype)
    generic = xp.cos(beside(patches.means, features))
    place = xp.vecdot(patches.means, generic)  # without a product as large as the means
    if patches.factored:
        size = xp.sum(patches.variances, axis=1) + patches.ridge
    else:
        size = xp.sum(xp.linalg.diagonal(patches.roots), axis=1)
    return np.lexsort((to_numpy(size), to_numpy(place)))


def _evaluate(function: Divergence, a: Patches, b: Patches) -> Array:
    """Call a divergence and check its values."""
    return _checked(function, function(a, b), max(len(a), len(b)))


def _checked(function: Divergence, value: Any, n: int) -> Array:
    """Return the values of a divergence if they are ``n`` finite numbers, none negative."""
    name = getattr(function, "__name__", repr(function))
    if getattr(value, "shape", None) != (n,):
        raise ValueError(
            f"divergence {name!r} must return one value per row, shape ({n},), "
            f"got {getattr(value, 'shape', type(value).__name__)}."
        )
    xp = array_namespace(value)
    if not xp.isdtype(value.dtype, ("real floating", "integral", "bool")):
        raise TypeError(
            f"divergence {name!r} gave values of type {value.dtype}; return real numbers."
        )
    if value.dtype not in (xp.float32, xp.float64):
        value = xp.astype(value, xp.float64)
    if not bool(xp.all(xp.isfinite(value) & (value >= 0))):
        raise ValueError(
            f"divergence {name!r} gave negative, NaN or infinite values, and a graph needs finite "
            "lengths >= 0; "
            + (
                "use a larger gamma in GaussianPatch."
                if function in BUILT_IN
                else "check the function."
            )
        )
    return value


def _check_patches(patches: Any) -> None:
    if not isinstance(patches, Patches):
        raise TypeError(
            f"patches is a {type(patches).__name__}; fit Patches first, e.g. "
            "GaussianPatch().fit(X)."
        )


def _edges(name: str, ends: Any, n: int) -> Indices:
    """Check one end of the edges, and make negative indices count from the end."""
    ends = np.asarray(ends)
    if ends.ndim != 1 or (ends.size and ends.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} must be a one-dimensional array of integers, got {ends.dtype} {ends.shape}."
        )
    if ends.size and not (-n <= ends.min() and ends.max() < n):
        raise IndexError(
            f"{name} refers to patches {ends.min()} to {ends.max()}, but there are {n}; "
            f"use indices from 0 to {n - 1}."
        )
    return np.asarray(np.where(ends < 0, ends + n, ends), dtype=np.intp)


def _width(function: Divergence, patches: Patches) -> int:
    """Return how many directions of factored patches are compared; 0 for full ones."""
    if not patches.factored:
        return 0
    if function not in BUILT_IN:
        return int(patches.directions.shape[2])
    return int(patches.used_ranks().max(initial=1))


def _pair_bytes(patches: Patches, width: int) -> int:
    """Bytes that comparing a pair needs: both patches, and as much again for temporaries."""
    xp = array_namespace(patches.means)
    m = patches.n_features
    d = m
    numbers = 10 * m
    if patches.factored:
        d = 2 * width + 1
        numbers += 6 * m * width
    # What a model of a patch knows beside its Gaussian.
    more = (getattr(patches, name) for name in patches.FIELDS[len(Patches.FIELDS) :])
    numbers += sum(4 * prod(field.shape[1:]) for field in more)
    return int((numbers + 10 * d * d) * xp.finfo(patches.means.dtype).bits // 8)
