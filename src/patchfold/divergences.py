"""Divergences between Gaussian patches: how far apart two neighbourhoods are.

A divergence is a function of two :class:`~patchfold.Patches` of equal length, ``a`` and ``b``,
that returns one value a row: the divergence of ``a[i]`` and ``b[i]``. Notation in the formulas:
``u = mu_a - mu_b``, ``G = (Sa + Sb) / 2``, ``m`` features, and ``d_R``, the affine-invariant
distance ``sqrt(sum ln(lambda)^2)`` over the generalised eigenvalues of ``(Sa, Sb)``.

:func:`paired` evaluates one over an edge list, :func:`pairwise` over all pairs; both are symmetric
to the last bit (a divergence called by itself is so up to rounding), in blocks of bounded memory.
Papers: ISOMAP-KL is Cervati Neto and Levada (2020), X-space Abou-Moustafa, Schuurmans and Ferrie
(2013), PELLE "Parametric entropic locally linear embedding" (TMLR submission), ELAP Levada and
Haddad (2021).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from sklearn.utils import gen_batches

from patchfold import ordering, pairs
from patchfold._namespace import Array, to_numpy
from patchfold._validation import check_choice
from patchfold.blocks import block_rows, block_slices, map_blocks, map_slices
from patchfold.gaussians import Patches, aligned

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Numbers in the directions in use from which compiled code compares patches. numpy's way takes
# about as long for as many as the import of the compiler.
COMPILED_NUMBERS = 10**6

# Edges that a thread takes at once in compiled code, where they need no memory of their own.
COMPILED_EDGES = 4096

# Factored patches whose Jeffreys divergence is below this many root-eps a direction are compared
# the slow way; above it the quick one has a relative error of root-eps / 25 at most.
CLOSE = 100.0

Divergence = Callable[[Patches, Patches], Array]
OnEdges = Callable[[Any, Any], Array]


def _of_gaussians(formula: Divergence) -> Divergence:
    """Make a formula exact where rounding is not: zero for equal Gaussians, never negative."""

    @wraps(formula)
    def divergence(a: Patches, b: Patches) -> Array:
        a, b = aligned(a, b)
        xp = array_namespace(a.means)
        value = xp.clip(formula(a, b), min=0.0)
        return xp.where(_equal(a, b), 0.0, value)

    return divergence


@_of_gaussians
def kl(a: Patches, b: Patches) -> Array:
    """Symmetrised Kullback-Leibler divergence, half of :func:`jeffreys`.

    ``[tr(Sa^-1 Sb + Sb^-1 Sa)/2 + u'Sa^-1 u/2 + u'Sb^-1 u/2 - m] / 2``

    ISOMAP-KL eq. 22, PELLE eq. 24, ELAP eq. 41. Patches of length n in, (n,) out.
    """
    return _jeffreys(a, b) / 2


@_of_gaussians
def jeffreys(a: Patches, b: Patches) -> Array:
    """Jeffreys divergence, the sum of both Kullback-Leibler divergences.

    ``u'(Sa^-1 + Sb^-1)u/2 + tr(Sa^-1 Sb + Sb^-1 Sa)/2 - m``

    X-space eq. 7. Patches of length n in, (n,) out.
    """
    return _jeffreys(a, b)


@_of_gaussians
def bhattacharyya(a: Patches, b: Patches) -> Array:
    """Bhattacharyya distance, minus the logarithm of the overlap of two densities.

    ``u'G^-1 u/8 + ln(det G / sqrt(det Sa det Sb))/2``

    X-space eq. 8. Patches of length n in, (n,) out.
    """
    return _bhattacharyya(a, b)


@_of_gaussians
def hellinger(a: Patches, b: Patches) -> Array:
    """Hellinger distance, a metric between 0 and 1.

    ``sqrt(1 - exp(-bhattacharyya))``

    X-space section 4, third measure. Patches of length n in, (n,) out.
    """
    xp = array_namespace(a.means)
    return xp.sqrt(xp.clip(-xp.expm1(-_bhattacharyya(a, b)), min=0.0))


@_of_gaussians
def jeffreys_riemann(a: Patches, b: Patches) -> Array:
    """Jeffreys-Riemann measure: a Mahalanobis distance plus a distance of covariances.

    ``sqrt(u'(Sa^-1 + Sb^-1)u/2) + d_R(Sa, Sb)``

    X-space eq. 9. A metric among patches of equal mean and among patches of equal covariance.
    Between others the triangle inequality can fail, although the seed calls it a metric: from
    N(0, 1) to N(100, 1) is 100, by way of N(50, 100) only 80. Patches of length n in, (n,) out.
    """
    xp = array_namespace(a.means)
    p = pairs.pairs(a, b)
    return xp.sqrt(pairs.mahalanobis(p) / 2) + pairs.riemann(p)


@_of_gaussians
def bhattacharyya_riemann(a: Patches, b: Patches) -> Array:
    """Bhattacharyya-Riemann measure: a Mahalanobis distance plus a distance of covariances.

    ``sqrt(u'G^-1 u) + d_R(Sa, Sb)``

    X-space eq. 10. A metric among patches of equal mean and among patches of equal covariance.
    Between others the triangle inequality can fail, although the seed calls it a metric: from
    N(0, 1) to N(100, 1) is 100, by way of N(50, 100) only 23. Patches of length n in, (n,) out.
    """
    xp = array_namespace(a.means)
    p = pairs.pairs(a, b)
    return xp.sqrt(pairs.pooled_mahalanobis(p)) + pairs.riemann(p)


@_of_gaussians
def wasserstein(a: Patches, b: Patches) -> Array:
    """2-Wasserstein (Bures) distance, a metric in the units of the data.

    ``sqrt(|u|^2 + tr(Sa + Sb - 2 (Sa^1/2 Sb Sa^1/2)^1/2))``

    Patches of length n in, (n,) out.
    """
    xp = array_namespace(a.means)
    p = pairs.pairs(a, b)
    return xp.sqrt(xp.sum(p.gap**2, axis=-1) + xp.clip(pairs.bures(p), min=0.0))


@_of_gaussians
def cauchy_schwarz(a: Patches, b: Patches) -> Array:
    """Cauchy-Schwarz divergence, ``-ln(int pq / sqrt(int p^2 int q^2))`` of two densities.

    ``u'G^-1 u/4 + ln(det G / sqrt(det Sa det Sb))/2`` for Gaussians

    Named as future work by ELAP, section V. Patches of length n in, (n,) out.
    """
    p = pairs.pairs(a, b)
    return pairs.pooled_mahalanobis(p) / 4 + pairs.log_det_excess(p) / 2


@_of_gaussians
def fisher_rao(a: Patches, b: Patches) -> Array:
    """Calvo and Oller's lower bound of the Fisher-Rao distance, itself a metric.

    ``d_R(A, B) / sqrt(2)`` with ``A = [[Sa + mu mu', mu], [mu', 1]]`` and ``B`` likewise

    The Fisher-Rao distance has no closed form when means and covariances both differ. This one is
    exact for equal means, invariant under affine maps and always a lower bound (Calvo and Oller,
    Journal of Multivariate Analysis 35, 1990). Named as future work by ISOMAP-KL, PELLE and ELAP.
    Patches of length n in, (n,) out.
    """
    return pairs.embedded_riemann(pairs.pairs(a, b)) / 2**0.5


def euclidean(a: Patches, b: Patches) -> Array:
    """Euclidean distance of the points the patches belong to; gives the classical method back.

    ``|x_a - x_b|``. Patches of length n in, (n,) out.
    """
    xp = array_namespace(a.points)
    return xp.linalg.vector_norm(a.points - b.points, axis=-1)


_REGISTRY: dict[str, Divergence] = {
    "kl": kl,
    "jeffreys": jeffreys,
    "bhattacharyya": bhattacharyya,
    "hellinger": hellinger,
    "jeffreys-riemann": jeffreys_riemann,
    "bhattacharyya-riemann": bhattacharyya_riemann,
    "wasserstein": wasserstein,
    "cauchy-schwarz": cauchy_schwarz,
    "fisher-rao": fisher_rao,
    "euclidean": euclidean,
}

NAMES = _REGISTRY.keys()

# These broadcast: a single patch may stand for as many as the other side has.
_BUILT_IN = frozenset(_REGISTRY.values())

# Compiled code gives the sum of the two terms, of which these are so small a part.
_JEFFREYS = {kl: 4, jeffreys: 2}


def register(name: Any, function: Any) -> None:
    """Make a function available under a name wherever a divergence is asked for.

    Parameters
    ----------
    name : str
        A new name.
    function : callable
        ``function(a, b)`` for two :class:`~patchfold.Patches` of equal length, returning one
        finite value a row, none negative. It is evaluated once a pair, so it should be symmetric,
        and zero for equal patches.

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold import Patches, divergences
    >>> def mean_gap(a, b):
    ...     return np.linalg.norm(a.means - b.means, axis=1)
    >>> divergences.register("mean-gap", mean_gap)
    >>> patches = Patches.from_moments([[0.0], [3.0]], [[[1.0]], [[2.0]]])
    >>> divergences.paired(patches, [0], [1], "mean-gap")
    array([3.])
    """
    if not isinstance(name, str) or not name:
        msg = f"name={name!r} must be a non-empty string."
        raise TypeError(msg)
    if not callable(function):
        msg = f"function={function!r} must be callable as function(a, b) on two Patches."
        raise TypeError(msg)
    if name in _REGISTRY:
        msg = f"name={name!r} is taken; choose a name that is not one of {', '.join(NAMES)}."
        raise ValueError(msg)
    _REGISTRY[name] = function


def paired(
    patches: Patches,
    i: Array,
    j: Array,
    divergence: str | Divergence = "kl",
    *,
    other: Patches | None = None,
    n_jobs: int | None = None,
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
    function = _resolve(divergence)
    _check_patches(patches)
    second = patches if other is None else other
    i, j = _edges("i", i, len(patches)), _edges("j", j, len(second))
    if i.shape != j.shape:
        msg = f"i and j must have one entry an edge each, got {i.size} and {j.size}."
        raise ValueError(msg)
    xp = array_namespace(patches.means)
    if other is None:
        rank = np.argsort(_canonical_order(patches))
        swap = rank[i] > rank[j]
        i, j = np.where(swap, j, i), np.where(swap, i, j)
    order = _edge_order(patches, i)
    i, j = i[order], j[order]
    if _is_compiled(function, patches, second):
        edges = list(gen_batches(i.size, COMPILED_EDGES)) if i.size else []
        compare = _compiled(function, patches, second, n_jobs)
    else:
        # Patches of different forms are compared in full.
        wider = second if patches.factored else patches
        edges = block_slices(i.size, _pair_bytes(wider, _width(function, wider)), n_jobs)
        compare = _on_used_directions(function, patches, second, n_jobs)
    values = map_slices(lambda block: compare(i[block], j[block]), edges, n_jobs)
    if not values:
        return xp.empty((0,), dtype=patches.means.dtype)
    return xp.take(xp.concat(values), xp.asarray(ordering.places(order)), axis=0)


def pairwise(
    patches: Patches, divergence: str | Divergence = "kl", *, n_jobs: int | None = None
) -> Array:
    """Evaluate a divergence on all pairs.

    Parameters
    ----------
    patches : Patches
        n patches.
    divergence : name (see :data:`NAMES`) or callable, default="kl"
    n_jobs : int or None
        Number of threads; the values do not depend on it.

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
    function = _resolve(divergence)
    _check_patches(patches)
    xp = array_namespace(patches.means)
    n = len(patches)
    order = _canonical_order(patches)
    ordered = patches[order]
    width = _width(function, patches)
    if patches.factored:
        ordered = ordered.narrowed(width)
    matrix = xp.empty((n, n), dtype=patches.means.dtype)
    pair_bytes = _pair_bytes(patches, width)
    most = block_rows(pair_bytes, n_jobs)
    is_compiled = _is_compiled(function, ordered, ordered)
    on_edges = _compiled(function, ordered, ordered, n_jobs) if is_compiled else None

    def compare(row: int, others: slice) -> Array:
        if on_edges is not None:
            j = np.arange(others.start, others.stop)
            return on_edges(np.full_like(j, row), j)
        # One patch against a slice of the others: views, nothing is gathered.
        alone = function in _BUILT_IN
        one = ordered[row] if alone else ordered[[row] * (others.stop - others.start)]
        return _evaluate(function, one, ordered[others])

    def fill(rows: slice) -> None:
        for row in range(rows.start, rows.stop):
            for start in range(row, n, most):
                others = slice(start, min(start + most, n))
                values = compare(row, others)
                matrix[row, others] = values
                matrix[others, row] = values

    map_blocks(fill, n, n * pair_bytes, n_jobs)
    back = xp.asarray(np.argsort(order))
    matrix = xp.take(matrix, back, axis=0)
    return xp.take(matrix, back, axis=1)


def _on_used_directions(
    function: Divergence, a: Patches, b: Patches, n_jobs: int | None
) -> OnEdges:
    """Return a divergence on pairs ``a[i]``, ``b[j]``, on no more directions than are in use.

    As many as the patches ``b`` use, or as ``a[i]`` does where that is more: what is computed for a
    pair depends on ``b`` and the pair alone. A function of the user sees all that ``b`` has.
    """
    if not (a.factored and b.factored):
        return lambda i, j: _evaluate(function, *aligned(a[i], b[j]))
    xp = array_namespace(a.means)
    needed = np.maximum(a.used_ranks(), _width(function, b))
    narrow = {
        width: (a.narrowed(width), b.narrowed(width), block_rows(_pair_bytes(b, width), n_jobs))
        for width in np.flatnonzero(np.bincount(needed)).tolist()
    }

    def on_edges(i: Any, j: Any) -> Array:
        widths = needed[i]
        values, places = [], []
        for width, (one, other, most) in narrow.items():
            rows = np.flatnonzero(widths == width)
            for start in range(0, len(rows), most):
                part = rows[start : start + most]
                values.append(_evaluate(function, *aligned(one[i[part]], other[j[part]])))
                places.append(part)
        order = ordering.places(np.concatenate(places))
        return xp.take(xp.concat(values), xp.asarray(order))

    return on_edges


def _edge_order(patches: Patches, i: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the order of edges in which those from patches near each other are together."""
    return np.argsort(ordering.places(ordering.walk(to_numpy(patches.means)))[i], kind="stable")


def _is_compiled(function: Divergence, patches: Patches, fitted: Patches) -> bool:
    """Tell whether compiled code compares these patches.

    That depends on the fitted ones alone, not on how many new points come at once.
    """
    if function not in _JEFFREYS or not (patches.factored and fitted.factored):
        return False
    arrays = (patches.means, fitted.means, patches.directions, fitted.directions)
    return (
        all(is_numpy_array(array) for array in arrays)
        and len({array.dtype for array in arrays}) == 1
        and patches.n_features == fitted.n_features
        and fitted.means.size * int(fitted.used_ranks().max(initial=1)) >= COMPILED_NUMBERS
    )


def _compiled(function: Divergence, a: Patches, b: Patches, n_jobs: int | None) -> OnEdges:
    """Return :func:`kl` or :func:`jeffreys` on pairs of factored patches, as compiled code."""
    # Here and not above: small data should not wait for the compiler to be imported.
    from patchfold import fused

    terms = fused.jeffreys_terms(a, b)
    exactly = _on_used_directions(function, a, b, n_jobs)
    ranks_a, ranks_b = a.used_ranks(), b.used_ranks()

    def on_edges(i: Any, j: Any) -> Any:
        gap, spread = terms(i, j)
        values = (gap + spread) / _JEFFREYS[function]
        close = np.flatnonzero(_is_close(gap + spread, np.maximum(ranks_a[i], ranks_b[j])))
        if len(close):
            values[close] = exactly(i[close], j[close])
        return _checked(function, values, len(values))

    return on_edges


def _is_close(values: Array, rank: Any) -> Array:
    """Tell where the quick sum is not exact: it subtracts the rank, and little is left."""
    xp = array_namespace(values)
    return values < CLOSE * float(xp.finfo(values.dtype).eps) ** 0.5 * rank


def _jeffreys(a: Patches, b: Patches) -> Array:
    if not a.factored:
        p = pairs.pairs(a, b)
        return (pairs.mahalanobis(p) + pairs.trace_excess(p)) / 2
    xp = array_namespace(a.means)
    gap, spread = pairs.factored_jeffreys(a, b)
    close = to_numpy(_is_close(gap + spread, a.directions.shape[2]))
    if close.any():
        rows = np.flatnonzero(close)
        one, other = (x[rows] if len(x) > 1 else x for x in (a, b))
        exact = pairs.trace_excess(pairs.pairs(one, other))
        places = xp.asarray(np.maximum(np.cumsum(close) - 1, 0))
        spread = xp.where(xp.asarray(close), xp.take(exact, places), spread)
    return (gap + spread) / 2


def _bhattacharyya(a: Patches, b: Patches) -> Array:
    p = pairs.pairs(a, b)
    return pairs.pooled_mahalanobis(p) / 8 + pairs.log_det_excess(p) / 2


def _equal(a: Patches, b: Patches) -> Array:
    """Tell which rows hold the same Gaussian, to the last bit."""
    xp = array_namespace(a.means)
    equal = xp.all(a.means == b.means, axis=-1)
    if not bool(xp.any(equal)):
        return equal
    if not a.factored:
        return equal & xp.all(a.roots == b.roots, axis=(-2, -1))
    equal = equal & (a.ridge == b.ridge) & xp.all(a.variances == b.variances, axis=-1)
    return equal & xp.all(a.directions == b.directions, axis=(-2, -1))


def _canonical_order(patches: Patches) -> Any:
    """Order patches by value.

    Every pair is evaluated with the smaller one first, so that a divergence is symmetric to the
    last bit, and the same for the same two Gaussians wherever they stand. The keys are the
    mean along a fixed generic direction and the size of the covariance; the index decides
    between patches that agree in both.
    """
    xp = array_namespace(patches.means)
    generic = xp.cos(xp.arange(1, patches.n_features + 1, dtype=patches.means.dtype))
    place = xp.sum(patches.means * generic, axis=1)
    if patches.factored:
        size = xp.sum(patches.variances, axis=1) + patches.ridge
    else:
        size = xp.sum(xp.linalg.diagonal(patches.roots), axis=1)
    return np.lexsort((to_numpy(size), to_numpy(place)))


def _evaluate(function: Divergence, a: Patches, b: Patches) -> Array:
    """Call a divergence and hold it to its contract."""
    return _checked(function, function(a, b), max(len(a), len(b)))


def _checked(function: Divergence, value: Any, n: int) -> Array:
    """Hold the values of a divergence to its contract."""
    name = getattr(function, "__name__", repr(function))
    if getattr(value, "shape", None) != (n,):
        msg = (
            f"divergence {name!r} must return one value a row, shape ({n},), "
            f"got {getattr(value, 'shape', type(value).__name__)}."
        )
        raise ValueError(msg)
    xp = array_namespace(value)
    if not bool(xp.all(xp.isfinite(value) & (value >= 0))):
        msg = (
            f"divergence {name!r} gave negative, NaN or infinite values, and a graph needs finite "
            "lengths >= 0; "
            + (
                "use a larger gamma in GaussianPatch."
                if function in _BUILT_IN
                else "check the function."
            )
        )
        raise ValueError(msg)
    return value


def _resolve(divergence: str | Divergence) -> Divergence:
    if callable(divergence):
        return divergence
    check_choice("divergence", divergence, NAMES)
    return _REGISTRY[divergence]


def _check_patches(patches: Any) -> None:
    if not isinstance(patches, Patches):
        msg = (
            f"patches is a {type(patches).__name__}; fit Patches first, e.g. "
            "GaussianPatch().fit(X)."
        )
        raise TypeError(msg)


def _edges(name: str, ends: Any, n: int) -> NDArray[np.intp]:
    """Check one end of the edges; negative indices count from the end."""
    ends = np.asarray(ends)
    if ends.ndim != 1 or (ends.size and ends.dtype.kind not in "iu"):
        msg = f"{name} must be a one-dimensional array of integers, got {ends.dtype} {ends.shape}."
        raise ValueError(msg)
    if ends.size and not (-n <= ends.min() and ends.max() < n):
        msg = (
            f"{name} refers to patches {ends.min()} to {ends.max()}, but there are {n}; "
            f"use indices from 0 to {n - 1}."
        )
        raise IndexError(msg)
    return np.asarray(np.where(ends < 0, ends + n, ends), dtype=np.intp)


def _width(function: Divergence, patches: Patches) -> int:
    """Return on how many directions factored patches are compared with others; 0 for full ones."""
    if not patches.factored:
        return 0
    if function not in _BUILT_IN:
        return int(patches.directions.shape[2])
    return int(patches.used_ranks().max(initial=1))


def _pair_bytes(patches: Patches, width: int) -> int:
    """Bytes a pair needs while it is compared: both patches and about as many temporaries again."""
    xp = array_namespace(patches.means)
    m = patches.n_features
    d = m
    numbers = 10 * m
    if patches.factored:
        d = 2 * width + 1
        numbers += 6 * m * width
    return int((numbers + 10 * d * d) * xp.finfo(patches.means.dtype).bits // 8)
