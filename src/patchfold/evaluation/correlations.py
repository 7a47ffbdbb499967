"""How alike two sets of distances are: residual variance, stress and rank correlation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from patchfold.base.threads import block_slices, map_blocks
from patchfold.base.validation import check_points, check_sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Doubles

    Pairs = Callable[[slice], tuple[Doubles, Doubles]]

# Values whose standard deviation is a smaller share of their mean count as equal: a correlation
# would be one of rounding errors.
EQUAL = 1e-6


def residual_variance(
    distances: Any, embedding: Any, *, sources: Any = None, n_jobs: int | None = None
) -> float:
    """Return the share of the variance of distances that an embedding does not explain.

    ``1 - R^2``, where R is the correlation of the distances with the Euclidean distances in the
    embedding, over all pairs of different points (Tenenbaum, de Silva and Langford, "A global
    geometric framework for nonlinear dimensionality reduction", Science 290, 2000, note 42). It is
    0 if both are constant, and 1 if only one of them is.

    Parameters
    ----------
    distances : array of shape (n_samples, n_samples) or (n_sources, n_samples)
        Usually geodesics, see :func:`patchfold.graph.geodesics.shortest_paths`.
    embedding : array of shape (n_samples, n_components)
    sources : array of shape (n_sources,) or None
        The points that the rows of ``distances`` start from; None means all, in order.
    n_jobs : int or None
        Number of threads. The result does not depend on it.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.spatial.distance import cdist
    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    >>> residual_variance(cdist(X, X), 2 * X)
    0.0
    >>> round(residual_variance(cdist(X, X), X[:, :1]), 3)
    0.005
    """
    pairs, shape = _pairs(distances, embedding, sources)
    return 1.0 - _correlation(pairs, *shape, n_jobs) ** 2


def stress(
    distances: Any, embedding: Any, *, sources: Any = None, n_jobs: int | None = None
) -> float:
    """Return how far distances in an embedding are from given ones, up to one common factor.

    Kruskal's stress-1 with the best scale: ``sqrt(sum (d - a e)^2 / sum d^2)`` over all pairs of
    different points, where d are the distances, e the Euclidean ones in the embedding and
    ``a = sum(d e) / sum(e^2)`` (Kruskal, "Multidimensional scaling by optimizing goodness of fit to
    a nonmetric hypothesis", Psychometrika 29, 1964). Pairs whose distance is not finite, such as
    points in different components of a graph, are left out.

    0 means that all distances are kept, 1 that none is. Planes of real data have 0.1 to 0.4. Unlike
    a correlation of ranks, stress sees how large distances are: a few points placed too far out
    leave no distance between all others. If all distances are zero, the stress is 0 if those in the
    embedding are zero, too, and 1 otherwise.

    Parameters
    ----------
    distances : array of shape (n_samples, n_samples) or (n_sources, n_samples)
        Usually geodesics, see :func:`patchfold.graph.geodesics.shortest_paths`.
    embedding : array of shape (n_samples, n_components)
    sources : array of shape (n_sources,) or None
        The points that the rows of ``distances`` start from; None means all, in order.
    n_jobs : int or None
        Number of threads. The result does not depend on it.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.spatial.distance import cdist
    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    >>> stress(cdist(X, X), 2 * X)
    0.0
    >>> round(stress(cdist(X, X), X[:, :1]), 3)
    0.225
    """
    pairs, shape = _pairs(distances, embedding, sources, finite=False)
    means, (dd, ee, de) = _products(pairs, *shape, n_jobs, centred=False)
    if dd == 0 or ee == 0:
        return float(dd != ee)
    scale = de / ee

    # Not from the products above: rounding would leave only half the digits of their difference.
    def residues(block: slice) -> Doubles:
        d, e = (values / (mean or 1.0) for values, mean in zip(pairs(block), means, strict=True))
        return np.asarray(((d - scale * e) ** 2).sum(axis=1)[None])

    return float(np.sqrt(min(_total(residues, *shape, n_jobs)[0] / dd, 1.0)))


def rank_correlation(a: Any, b: Any) -> float:
    """Return Spearman's correlation of two sets of distances between the same points.

    Each pair counts once; equal distances share their mean rank. The value is 1 if both sets are
    constant, and 0 if only one of them is.

    Parameters
    ----------
    a, b : array of shape (n_samples, n_samples), or (n_samples * (n_samples - 1) / 2,)
        Square (only the part above the diagonal is read), or condensed as
        :func:`scipy.spatial.distance.pdist` returns them.

    Returns
    -------
    float

    Examples
    --------
    >>> from scipy.spatial.distance import pdist
    >>> rank_correlation(pdist([[0], [1], [3]]), pdist([[0], [1], [9]]))
    1.0
    """
    first, second = (_above_diagonal(values, name) for values, name in ((a, "a"), (b, "b")))
    if len(first) != len(second):
        raise ValueError(
            f"a and b have {len(first)} and {len(second)} pairs of points; give distances between "
            "the same points."
        )
    ranks = rankdata(first)[None], rankdata(second)[None]
    return _correlation(lambda _: ranks, 1, len(first))


def _pairs(
    distances: Any, embedding: Any, sources: Any, *, finite: bool = True
) -> tuple[Pairs, tuple[int, int]]:
    """Return a function that gives both distances of pairs in a block of rows, and their shape.

    Pairs of a point with itself are left out. Without ``finite``, both distances of a pair are zero
    if the given one is not finite.
    """
    Y = check_points(embedding, name="embedding")
    D = check_points(distances, name="distances", min_samples=1, finite=finite)
    n = len(Y)
    rows = np.arange(n) if sources is None else check_sources(sources, n)
    if D.shape != (len(rows), n):
        raise ValueError(
            f"distances has shape {D.shape} for {len(rows)} source(s) and {n} points; give one row "
            "a source and one column per point, and name the sources where they are not all points."
        )
    least = np.fmin.reduce(D, axis=None)  # NaN is ignored
    if least < 0:
        raise ValueError(f"distances has the negative value {least}; distances are not negative.")

    if not finite:
        itself = np.isfinite(D[np.arange(len(rows)), rows]).sum()
        if itself == sum(np.isfinite(D[b]).sum() for b in block_slices(len(rows), n)):
            raise ValueError(
                "distances has no finite value between two points; give distances of a graph whose "
                "points are joined."
            )

    def pairs(block: slice) -> tuple[Doubles, Doubles]:
        others = np.arange(n) != rows[block, None]
        given, placed = D[block].astype(np.float64), cdist(Y[rows[block]], Y)
        if not finite:
            unknown = ~np.isfinite(given)
            given[unknown] = placed[unknown] = 0.0
        return given[others].reshape(-1, n - 1), placed[others].reshape(-1, n - 1)

    return pairs, (len(rows), n - 1)


def _correlation(pairs: Pairs, n_rows: int, n_columns: int, n_jobs: int | None = None) -> float:
    """Return Pearson's correlation of two non-negative matrices, given by blocks of rows.

    It is 1 if both are constant, 0 if one is. A matrix of zeros is constant.
    """
    _, (aa, bb, ab) = _products(pairs, n_rows, n_columns, n_jobs, centred=True)
    constant = [bool(squares <= EQUAL**2 * n_rows * n_columns) for squares in (aa, bb)]
    if any(constant):
        return float(all(constant))
    return float(np.clip(ab / np.sqrt(aa * bb), -1.0, 1.0))


def _products(
    pairs: Pairs, n_rows: int, n_columns: int, n_jobs: int | None, *, centred: bool
) -> tuple[Doubles, Doubles]:
    """Return the means of both, and the sums of their squares and products.

    Sums are in units of the means: they neither overflow nor vanish.
    """

    # Each row is summed by itself, so that no bit depends on the blocks.
    def sums(block: slice) -> Doubles:
        return np.stack([values.sum(axis=1) for values in pairs(block)])

    means = _total(sums, n_rows, n_columns, n_jobs) / (n_rows * n_columns)

    def products(block: slice) -> Doubles:
        a, b = (
            (values - m if centred else values) / (m or 1.0)
            for values, m in zip(pairs(block), means, strict=True)
        )
        return np.stack([(x * y).sum(axis=1) for x, y in ((a, a), (b, b), (a, b))])

    return means, _total(products, n_rows, n_columns, n_jobs)


def _total(
    function: Callable[[slice], Doubles], n_rows: int, n_columns: int, n_jobs: int | None
) -> Doubles:
    """Sum the values of a function over all rows of pairs, a block of rows at a time."""
    parts = map_blocks(function, n_rows, 8 * 8 * n_columns, n_jobs)
    return np.asarray(np.concatenate(parts, axis=1).sum(axis=1))


def _above_diagonal(distances: Any, name: str) -> Doubles:
    values = np.asarray(distances)
    if values.ndim == 1:
        return np.asarray(check_points(values[:, None], name=name, min_samples=1)[:, 0])
    values = check_points(values, name=name)
    if values.shape[0] != values.shape[1]:
        raise ValueError(
            f"{name} has shape {values.shape}; give square distances, or condensed ones."
        )
    return np.asarray(values[np.triu_indices(len(values), 1)])
