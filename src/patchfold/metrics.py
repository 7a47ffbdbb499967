"""How good an embedding or a clustering is, and how many components the data need.

Co-ranking follows Lee and Verleysen, "Quality assessment of dimensionality reduction: rank-based
criteria", Neurocomputing 72, 2009. Everything is exact; of n x n values only blocks of rows are
held, except for the distances that a caller passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics.cluster import contingency_matrix

from patchfold._validation import check_choice, check_count, check_points
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

METRICS = ("euclidean", "precomputed")

# A component counts if it removes this share of the residual variance that was left ...
COUNTING_SHARE = 1 / 3
# ... and this much of the whole: what is below is rounding, and paths that zigzag.
COUNTING_FLOOR = 0.002
# Geodesics from more points than this change the curve by less than 0.001.
MOST_SOURCES = 1000

# Values whose standard deviation is a smaller share of their mean are all equal: a correlation
# would be one of rounding errors.
EQUAL = 1e-6


# ---------------------------------------------------------------- residual variance, dimension


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


# ---------------------------------------------------------------- neighbourhoods


@dataclass(frozen=True, eq=False)
class Coranking:
    """How well an embedding keeps the K nearest neighbours, for every K from 1 to n - 2.

    Entry K - 1 of each array belongs to K.

    Attributes
    ----------
    trustworthiness : array of shape (n - 2,)
        See :func:`trustworthiness`.
    continuity : array of shape (n - 2,)
        See :func:`continuity`.
    overlap : array of shape (n - 2,)
        ``Q_NX(K)``, the mean share of the K nearest neighbours that are kept.
    """

    trustworthiness: Floats
    continuity: Floats
    overlap: Floats

    @property
    def lcmc(self) -> Floats:
        """``Q_NX(K) - K / (n - 1)``, see :func:`lcmc`."""
        sizes, n = self._sizes()
        return self.overlap - sizes / (n - 1)

    @property
    def rnx(self) -> Floats:
        """``R_NX(K) = ((n - 1) Q_NX(K) - K) / (n - 1 - K)``: 0 for a random embedding, at most 1.

        Lee, Renard, Bernard, Dupont and Verleysen, "Type 1 and 2 mixtures of Kullback-Leibler
        divergences as cost functions in dimensionality reduction", Neurocomputing 112, 2013.
        """
        sizes, n = self._sizes()
        return ((n - 1) * self.overlap - sizes) / (n - 1 - sizes)

    @property
    def auc_log_rnx(self) -> float:
        """The area under ``R_NX`` over the logarithm of K, see :func:`auc_log_rnx`."""
        sizes, _ = self._sizes()
        return float(np.average(self.rnx, weights=1 / sizes))

    def _sizes(self) -> tuple[Indices, int]:
        return np.arange(1, len(self.overlap) + 1), len(self.overlap) + 2


def coranking(
    X: Any, embedding: Any, *, metric: str = "euclidean", n_jobs: int | None = None
) -> Coranking:
    """Compare who is near whom in the data and in an embedding, for all sizes of neighbourhoods.

    The measures are sums over the co-ranking matrix, which counts how many pairs have rank k in the
    data and rank l in the embedding (Lee and Verleysen 2009). The matrix is not formed: sums over
    its rows, columns and corners are gathered from blocks of ranks. Points at equal distances are
    ranked by their index, in the data as in the embedding.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or (n_samples, n_samples)
        Points; with ``metric="precomputed"`` distances, a row for every point that is ranked from.
    embedding : array of shape (n_samples, n_components)
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What X holds.
    n_jobs : int or None
        Number of threads. The result does not depend on it.

    Returns
    -------
    Coranking

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold import PatchIsomap
    >>> X = load_iris().data
    >>> kept = coranking(X, PatchIsomap(n_neighbors=30).fit_transform(X))
    >>> kept.trustworthiness.shape
    (148,)
    """
    Y = check_points(embedding, name="embedding", min_samples=3)
    n = len(Y)
    data, placed = _check_data(X, n, metric), _rows_of_distances(Y)

    sums = np.zeros((5, n))
    adding = Lock()

    def gather(block: slice) -> None:
        own = np.arange(block.start, block.stop)
        there, here = _ranks(data(block), own), _ranks(placed(block), own)
        kept = np.bincount(np.maximum(there, here).ravel(), minlength=n)
        part = np.stack([kept, *_crossings(here, there, n), *_crossings(there, here, n)])
        # Into one array, as the parts of all blocks would fill the memory. These are sums of whole
        # numbers, exact in any order.
        with adding:
            np.add(sums, part, out=sums)

    map_blocks(gather, n, 16 * 8 * n, n_jobs)
    # Rank 0 is the point itself.
    kept, intruders, their_ranks, lost, lost_ranks = np.cumsum(sums[:, 1:-1], axis=1)
    sizes = np.arange(1, n - 1)
    # No sum of excess ranks is larger: as many neighbours as can be are the farthest points.
    most = np.minimum(sizes, n - 1 - sizes)
    worst = n * most * (2 * (n - sizes) - most - 1) / 2
    return Coranking(
        trustworthiness=1 - (their_ranks - sizes * intruders) / worst,
        continuity=1 - (lost_ranks - sizes * lost) / worst,
        overlap=kept / (n * sizes),
    )


def trustworthiness(
    X: Any,
    embedding: Any,
    n_neighbors: int = 15,
    *,
    metric: str = "euclidean",
    n_jobs: int | None = None,
) -> float:
    """Return how far the neighbours in an embedding are neighbours in the data as well.

    ``1 - sum(rank - K) / worst`` over the K nearest in the embedding whose rank in the data is
    above K; ``worst`` is the largest sum there can be, ``n K (2 n - 3 K - 1) / 2`` for K < n / 2
    (Venna and Kaski, "Neighborhood preservation in nonlinear projection methods", ICANN 2001).
    Parameters are those of :func:`coranking`, which gives all measures for all K at once, and
    ``n_neighbors``, which is K, from 1 to n - 2.

    Examples
    --------
    >>> trustworthiness([[0], [1], [3], [6], [10]], [[0], [1], [3], [6], [10]], 2)
    1.0
    """
    k = _check_size(n_neighbors, embedding)
    return float(coranking(X, embedding, metric=metric, n_jobs=n_jobs).trustworthiness[k - 1])


def continuity(
    X: Any,
    embedding: Any,
    n_neighbors: int = 15,
    *,
    metric: str = "euclidean",
    n_jobs: int | None = None,
) -> float:
    """Return how far the neighbours in the data are still neighbours in an embedding.

    :func:`trustworthiness` with the roles of data and embedding exchanged (Venna and Kaski 2001).

    Examples
    --------
    >>> round(continuity([[0], [1], [3], [6], [10]], [[0], [10], [3], [6], [1]], 2), 3)
    0.467
    """
    k = _check_size(n_neighbors, embedding)
    return float(coranking(X, embedding, metric=metric, n_jobs=n_jobs).continuity[k - 1])


def lcmc(
    X: Any,
    embedding: Any,
    n_neighbors: int = 15,
    *,
    metric: str = "euclidean",
    n_jobs: int | None = None,
) -> float:
    """Return the share of the K nearest neighbours that are kept, less what chance would keep.

    The local continuity meta-criterion ``Q_NX(K) - K / (n - 1)`` (Chen and Buja, "Local
    multidimensional scaling for nonlinear dimension reduction, graph drawing, and proximity
    analysis", JASA 104, 2009). Parameters are those of :func:`trustworthiness`.

    Examples
    --------
    >>> lcmc([[0], [1], [3], [6], [10]], [[0], [1], [3], [6], [10]], 2)
    0.5
    """
    k = _check_size(n_neighbors, embedding)
    return float(coranking(X, embedding, metric=metric, n_jobs=n_jobs).lcmc[k - 1])


def auc_log_rnx(
    X: Any, embedding: Any, *, metric: str = "euclidean", n_jobs: int | None = None
) -> float:
    """Return one number for neighbourhoods of all sizes, small ones foremost.

    The area under ``R_NX(K)`` over the logarithm of K, ``sum(R_NX(K) / K) / sum(1 / K)`` for K from
    1 to n - 2: 1 if all ranks are kept, about 0 for a random embedding (Lee, Peluffo-Ordonez and
    Verleysen, "Multi-scale similarities in stochastic neighbour embedding", Neurocomputing 169,
    2015). Parameters are those of :func:`coranking`.

    Examples
    --------
    >>> auc_log_rnx([[0], [1], [3], [6], [10]], [[0], [1], [3], [6], [10]])
    1.0
    """
    return coranking(X, embedding, metric=metric, n_jobs=n_jobs).auc_log_rnx


def _ranks(distances: AnyFloats, own: Indices) -> Indices:
    """Rank the columns of each row by distance, 0 being the point itself."""
    distances = np.array(distances)
    distances[np.arange(len(own)), own] = -np.inf
    ranks = np.empty(distances.shape, dtype=np.intp)
    order = np.argsort(distances, axis=1, kind="stable")
    np.put_along_axis(ranks, order, np.arange(distances.shape[1])[None], axis=1)
    return ranks


def _crossings(near: Indices, far: Indices, n: int) -> tuple[Indices, Floats]:
    """Prepare the sums over pairs with ``near <= K < far``, for all K.

    A pair enters at ``K = near`` and leaves at ``K = far``: cumulated, the first array is the
    number of pairs, and the second the sum of their ``far``.
    """
    crossing = near < far
    near, far = near[crossing], far[crossing]
    leaving = np.bincount(far, minlength=n)
    number = np.bincount(near, minlength=n) - leaving
    return number, np.bincount(near, weights=far, minlength=n) - np.arange(n) * leaving


# ---------------------------------------------------------------- distances, clusters


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


def _rows_of_distances(points: Any) -> Callable[[slice], AnyFloats]:
    return lambda block: cdist(points[block], points)


# ---------------------------------------------------------------- checks


def _check_data(X: Any, n: int, metric: str) -> Callable[[slice], AnyFloats]:
    """Return what gives the distances from a block of points to all."""
    precomputed = check_choice("metric", metric, METRICS) == "precomputed"
    data = check_points(X, min_samples=3)
    if len(data) != n:
        raise ValueError(
            f"X has {len(data)} rows and embedding has {n}; give one row a point in each."
        )
    if not precomputed:
        return _rows_of_distances(data)
    if data.shape != (n, n):
        raise ValueError(
            f"metric='precomputed' needs X of shape ({n}, {n}), got {data.shape}; give the "
            "distances between all points, or metric='euclidean' for points."
        )
    return lambda block: np.asarray(data[block])


def _check_size(n_neighbors: Any, embedding: Any) -> int:
    k = check_count("n_neighbors", n_neighbors)
    n = len(check_points(embedding, name="embedding", min_samples=3))
    if k > n - 2:
        raise ValueError(
            f"n_neighbors={k} needs at least {k + 2} samples, got {n}; lower n_neighbors to at "
            f"most {n - 2}."
        )
    return k


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
