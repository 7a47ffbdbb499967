"""How good an embedding or a clustering is, and how many components the data need.

Everything is exact; of n x n values only blocks of rows are held, except for the distances that a
caller passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics.cluster import contingency_matrix

from patchfold._coranking import (
    Coranking,
    auc_log_rnx,
    continuity,
    coranking,
    lcmc,
    trustworthiness,
)
from patchfold._validation import check_count, check_points
from patchfold._warnings import warn_user
from patchfold.blocks import map_blocks
from patchfold.embedding import PatchIsomap
from patchfold.geodesics import shortest_paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    AnyFloats = NDArray[np.floating[Any]]
    Indices = NDArray[np.intp]

__all__ = [
    "Coranking",
    "IntrinsicDimension",
    "auc_log_rnx",
    "continuity",
    "coranking",
    "intrinsic_dimension",
    "lcmc",
    "purity",
    "rank_correlation",
    "residual_variance",
    "trustworthiness",
]

# A component counts if it removes this share of the residual variance that was left ...
COUNTING_SHARE = 1 / 3
# ... and this much of the whole: what is below is rounding, and paths that zigzag.
COUNTING_FLOOR = 0.002
# Geodesics from more points than this change the curve by less than 0.001.
MOST_SOURCES = 1000

# Values whose standard deviation is a smaller share of their mean are all equal: a correlation
# would be one of rounding errors.
EQUAL = 1e-6


def residual_variance(
    distances: Any, embedding: Any, *, sources: Any = None, n_jobs: int | None = None
) -> float:
    """Return the share of the variance of distances that an embedding does not explain.

    ``1 - R^2``, where R is the correlation of the distances with the Euclidean distances in the
    embedding, over all pairs of different points (Tenenbaum, de Silva and Langford, "A global
    geometric framework for nonlinear dimensionality reduction", Science 290, 2000, note 42). It is
    0 where both are constant, and 1 where only one of them is.

    Parameters
    ----------
    distances : array of shape (n_samples, n_samples) or (n_sources, n_samples)
        Mostly geodesics, see :func:`patchfold.geodesics.shortest_paths`.
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
    Y = check_points(embedding, name="embedding")
    D = check_points(distances, name="distances", min_samples=1)
    n = len(Y)
    rows = np.arange(n) if sources is None else _check_sources(sources, n)
    if D.shape != (len(rows), n):
        raise ValueError(
            f"distances has shape {D.shape} for {len(rows)} source(s) and {n} points; give one row "
            "a source and one column a point, and name the sources where they are not all points."
        )

    if D.min() < 0:
        raise ValueError(f"distances has the negative value {D.min()}; distances are not negative.")

    def pairs(block: slice) -> tuple[Floats, Floats]:
        others = np.arange(n) != rows[block, None]
        given, placed = D[block].astype(np.float64), cdist(Y[rows[block]], Y)
        return given[others].reshape(-1, n - 1), placed[others].reshape(-1, n - 1)

    return 1.0 - _correlation(pairs, len(rows), n - 1, n_jobs) ** 2


@dataclass(frozen=True, eq=False)
class IntrinsicDimension:
    """The intrinsic dimension, and the curve it was read from.

    Attributes
    ----------
    dimension : int
    residual_variances : array of shape (n_components,)
        Entry d - 1 is the residual variance of an embedding with d components.
    """

    dimension: int
    residual_variances: Floats


def intrinsic_dimension(
    X: Any, estimator: PatchIsomap | None = None, *, max_components: int = 10
) -> IntrinsicDimension:
    """Find how many components an Isomap embedding needs: where its residual variance flattens.

    The data are embedded once, and the first d components are the embedding in d dimensions
    (SA-Isomap, section 2.1, after Tenenbaum, de Silva and Langford 2000). A component counts if it
    removes a third of the residual variance that was left, and 0.002 of the whole, which is 1
    without components; the dimension is the last one that counts. If none does, the curve falls
    slowly and the dimension is at least ``max_components``; a warning says so.

    This is the dimension of a flat space that holds the geodesics: 2 for a swiss roll, which can be
    unrolled, but 3 for the surface of a sphere and 2 for a closed curve. Short circuits across
    a fold of the data add components, and so does a divergence whose scale changes from place to
    place, as ``"kl"`` does where the density of the data falls off.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Whatever the estimator takes.
    estimator : PatchIsomap or None
        How the data are embedded, its ``n_components`` aside; None means ``PatchIsomap()``. It is
        not changed.
    max_components : int, default=10
        The longest embedding looked at, at most ``n_samples - 1``.

    Returns
    -------
    IntrinsicDimension

    See Also
    --------
    patchfold.plotting.plot_residual_variance : The curve as a picture.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> X, _ = make_swiss_roll(500, random_state=0)
    >>> intrinsic_dimension(X).dimension
    2
    """
    if estimator is not None and not isinstance(estimator, PatchIsomap):
        raise TypeError(
            f"estimator={estimator!r} is not a PatchIsomap, whose components are nested; give one, "
            "or None."
        )
    n = check_points(X, accept_sparse=True).shape[0]
    count = min(check_count("max_components", max_components), n - 1)
    isomap = PatchIsomap() if estimator is None else clone(estimator)
    isomap.set_params(n_components=count).fit(X)
    sources = np.arange(n)
    if n > MOST_SOURCES:
        sources = np.random.default_rng(0).choice(n, MOST_SOURCES, replace=False)
    geodesics = shortest_paths(isomap.graph_, sources)
    curve = np.array(
        [
            residual_variance(
                geodesics, isomap.embedding_[:, :d], sources=sources, n_jobs=isomap.n_jobs
            )
            for d in range(1, count + 1)
        ]
    )
    dimension = _last_that_counts(curve)
    if dimension == count < n - 1 and curve[-1] > COUNTING_FLOOR:
        warn_user(
            f"the residual variance does not flatten within max_components={max_components} "
            f"({curve[-1]:.2g} is left); the dimension may be higher, raise max_components."
        )
    return IntrinsicDimension(dimension, curve)


def _last_that_counts(curve: Floats) -> int:
    """Return the number of the last component that counts; of all, where none does."""
    # Components that were added make distances longer, and may be less alike: what counts is the
    # best so far.
    best = np.minimum.accumulate(np.concatenate([[1.0], curve]))
    removed = best[:-1] - best[1:]
    counting = np.flatnonzero(removed > np.maximum(COUNTING_FLOOR, COUNTING_SHARE * best[:-1]))
    return int(counting[-1]) + 1 if len(counting) else len(curve)


def rank_correlation(a: Any, b: Any) -> float:
    """Return Spearman's correlation of two sets of distances between the same points.

    Each pair counts once, equal distances share their mean rank. The value is 1 where both sets are
    constant, and 0 where only one of them is.

    Parameters
    ----------
    a, b : array of shape (n_samples, n_samples), or (n_samples * (n_samples - 1) / 2,)
        Square, of which the part above the diagonal is read, or condensed as
        :func:`scipy.spatial.distance.pdist` gives them.

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


def purity(labels_true: Any, labels_pred: Any) -> float:
    """Return the share of points that belong to the commonest class of their cluster.

    Manning, Raghavan and Schuetze, "Introduction to information retrieval", 2008, section 16.3. It
    is not symmetric, and 1 for clusters of one point each.

    Parameters
    ----------
    labels_true : array of shape (n_samples,)
        Classes.
    labels_pred : array of shape (n_samples,)
        Clusters.

    Returns
    -------
    float

    Examples
    --------
    >>> purity(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.75
    """
    shapes = np.shape(labels_true), np.shape(labels_pred)
    if shapes[0] != shapes[1] or len(shapes[0]) != 1 or not shapes[0][0]:
        raise ValueError(
            f"labels_true and labels_pred have shapes {shapes[0]} and {shapes[1]}; "
            "give one label a point in each."
        )
    # Sparse, as there may be as many clusters as points.
    table = contingency_matrix(labels_true, labels_pred, sparse=True)
    return float(table.max(axis=0).sum() / shapes[0][0])


def _correlation(
    pairs: Callable[[slice], tuple[Floats, Floats]],
    n_rows: int,
    n_columns: int,
    n_jobs: int | None = None,
) -> float:
    """Return Pearson's correlation of two matrices, not negative, given by blocks of rows.

    1 where both are constant, 0 where one is. A matrix of zeros is constant.
    """

    # Sums of each row first, so that no bit depends on how rows are put into blocks.
    def sums(block: slice) -> Floats:
        return np.stack([values.sum(axis=1) for values in pairs(block)])

    def products(block: slice) -> Floats:
        # In units of the mean, squares neither overflow nor vanish.
        a, b = ((values - m) / (m or 1.0) for values, m in zip(pairs(block), means, strict=True))
        return np.stack([(x * y).sum(axis=1) for x, y in ((a, a), (b, b), (a, b))])

    def total(function: Callable[[slice], Floats]) -> Floats:
        parts = map_blocks(function, n_rows, 8 * 8 * n_columns, n_jobs)
        return np.asarray(np.concatenate(parts, axis=1).sum(axis=1))

    size = n_rows * n_columns
    means = total(sums) / size
    aa, bb, ab = total(products)
    constant = [bool(squares <= EQUAL**2 * size) for squares in (aa, bb)]
    if any(constant):
        return float(all(constant))
    return float(np.clip(ab / np.sqrt(aa * bb), -1.0, 1.0))


def _check_sources(sources: Any, n: int) -> Indices:
    rows = np.asarray(sources)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
        raise ValueError(
            f"sources has shape {rows.shape} and dtype {rows.dtype}; give a list of the indices of "
            "points."
        )
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(
            f"sources has values from {rows.min()} to {rows.max()} for {n} points; give integers "
            f"from 0 to {n - 1}."
        )
    return rows.astype(np.intp)


def _above_diagonal(distances: Any, name: str) -> Floats:
    values = np.asarray(distances)
    if values.ndim == 1:
        return np.asarray(check_points(values[:, None], name=name, min_samples=1)[:, 0])
    values = check_points(values, name=name)
    if values.shape[0] != values.shape[1]:
        raise ValueError(
            f"{name} has shape {values.shape}; give square distances, or condensed ones."
        )
    return np.asarray(values[np.triu_indices(len(values), 1)])
