"""Co-ranking: how well an embedding keeps the order of neighbours, in neighbourhoods of any size.

Lee and Verleysen, "Quality assessment of dimensionality reduction: rank-based criteria",
Neurocomputing 72, 2009. Values are exact; only blocks of rows of n x n values are in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from scipy.spatial.distance import cdist

from patchfold.base.threads import map_blocks
from patchfold.base.types import MetricName
from patchfold.base.validation import check_choice, check_count, check_points, check_sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Doubles, Floats, Indices


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

    trustworthiness: Doubles
    continuity: Doubles
    overlap: Doubles

    @property
    def lcmc(self) -> Doubles:
        """``Q_NX(K) - K / (n - 1)``, see :func:`lcmc`."""
        sizes, n = self._sizes()
        return self.overlap - sizes / (n - 1)

    @property
    def rnx(self) -> Doubles:
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
    X: Any,
    embedding: Any,
    *,
    metric: MetricName = "euclidean",
    sources: Any = None,
    n_jobs: int | None = None,
) -> Coranking:
    """Compare neighbours in the data and in an embedding, for all sizes of neighbourhoods.

    The measures are sums over the co-ranking matrix, which counts how many pairs have rank k in the
    data and rank l in the embedding (Lee and Verleysen 2009). The matrix itself is never formed:
    blocks of ranks give the sums over its rows, columns and corners. Points at equal distances are
    ranked by their index, in the data and in the embedding.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or (n_sources, n_samples)
        Points; with ``metric="precomputed"``, the distances of every source to all points.
    embedding : array of shape (n_samples, n_components)
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What X holds.
    sources : array of shape (n_sources,) or None
        The points from whose view all others are ranked. A sample of points estimates the
        measures. None means all, in order.
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
    n, starts, data, placed = _compared(X, embedding, metric, sources)
    sums = np.zeros((5, n))
    adding = Lock()

    def gather(block: slice) -> None:
        own = starts[block]
        there, here = _ranks(data(block), own), _ranks(placed(block), own)
        kept = np.bincount(np.maximum(there, here).ravel(), minlength=n)
        part = np.stack([kept, *_crossings(here, there, n), *_crossings(there, here, n)])
        # Into one array: one array per block would fill the memory. Sums of whole numbers are exact
        # in any order.
        with adding:
            np.add(sums, part, out=sums)

    map_blocks(gather, len(starts), 16 * 8 * n, n_jobs)
    # Rank 0 is the point itself.
    kept, intruders, their_ranks, lost, lost_ranks = np.cumsum(sums[:, 1:-1], axis=1)
    sizes = np.arange(1, n - 1)
    worst = len(starts) * largest_sum(sizes, n)
    return Coranking(
        trustworthiness=1 - (their_ranks - sizes * intruders) / worst,
        continuity=1 - (lost_ranks - sizes * lost) / worst,
        overlap=kept / (len(starts) * sizes),
    )


def local_quality(
    X: Any,
    embedding: Any,
    n_neighbors: int,
    *,
    metric: MetricName = "euclidean",
    sources: Any = None,
    ranks: bool = True,
    n_jobs: int | None = None,
) -> tuple[float, float, float]:
    """Return trustworthiness, continuity and LCMC for one small K, without ranking all points.

    Values are those of :func:`coranking`, and so are the parameters, beside K. Ranks are counted
    only for points that are among the K nearest in the data or in the embedding, but not in both.
    Without ``ranks`` none are counted, and trustworthiness and continuity are NaN.

    Examples
    --------
    >>> local_quality([[0], [1], [3], [6], [10]], [[0], [1], [3], [6], [10]], 2)
    (1.0, 1.0, 0.5)
    """
    k = check_size(n_neighbors, embedding)
    n, starts, data, placed = _compared(X, embedding, metric, sources)

    def gather(block: slice) -> tuple[int, int, int]:
        own = np.arange(block.stop - block.start), starts[block]
        there, here = np.array(data(block)), placed(block)
        there[own] = here[own] = np.inf
        near_there, near_here = _nearest(there, k), _nearest(here, k)
        kept = int((near_there & near_here).sum())
        if not ranks:
            return kept, 0, 0
        intruded = _excess(there, near_here & ~near_there, k)
        lost = _excess(here, near_there & ~near_here, k)
        return kept, intruded, lost

    parts = map_blocks(gather, len(starts), (6 + k) * 8 * n, n_jobs)
    kept, intruded, lost = np.sum(parts, axis=0)
    worst = len(starts) * largest_sum(k, n) if ranks else np.nan
    overlap = kept / (len(starts) * k)
    return float(1 - intruded / worst), float(1 - lost / worst), float(overlap - k / (n - 1))


def trustworthiness(
    X: Any,
    embedding: Any,
    n_neighbors: int = 15,
    *,
    metric: MetricName = "euclidean",
    n_jobs: int | None = None,
) -> float:
    """Return how far the neighbours in an embedding are neighbours in the data as well.

    ``1 - sum(rank - K) / worst`` over the K nearest in the embedding whose rank in the data is
    above K; ``worst`` is the largest possible sum, ``n K (2 n - 3 K - 1) / 2`` for K < n / 2
    (Venna and Kaski, "Neighborhood preservation in nonlinear projection methods", ICANN 2001).
    Parameters are those of :func:`coranking`, which gives all measures for all K at once, and
    ``n_neighbors``, which is K, from 1 to n - 2.

    Examples
    --------
    >>> trustworthiness([[0], [1], [3], [6], [10]], [[0], [1], [3], [6], [10]], 2)
    1.0
    """
    k = check_size(n_neighbors, embedding)
    return float(coranking(X, embedding, metric=metric, n_jobs=n_jobs).trustworthiness[k - 1])


def continuity(
    X: Any,
    embedding: Any,
    n_neighbors: int = 15,
    *,
    metric: MetricName = "euclidean",
    n_jobs: int | None = None,
) -> float:
    """Return how far the neighbours in the data are still neighbours in an embedding.

    :func:`trustworthiness` with the roles of data and embedding exchanged (Venna and Kaski 2001).

    Examples
    --------
    >>> round(continuity([[0], [1], [3], [6], [10]], [[0], [10], [3], [6], [1]], 2), 3)
    0.467
    """
    k = check_size(n_neighbors, embedding)
    return float(coranking(X, embedding, metric=metric, n_jobs=n_jobs).continuity[k - 1])


def lcmc(
    X: Any,
    embedding: Any,
    n_neighbors: int = 15,
    *,
    metric: MetricName = "euclidean",
    n_jobs: int | None = None,
) -> float:
    """Return the share of the K nearest neighbours that are kept, minus what chance would keep.

    The local continuity meta-criterion ``Q_NX(K) - K / (n - 1)`` (Chen and Buja, "Local
    multidimensional scaling for nonlinear dimension reduction, graph drawing, and proximity
    analysis", JASA 104, 2009). Parameters are those of :func:`trustworthiness`.

    Examples
    --------
    >>> lcmc([[0], [1], [3], [6], [10]], [[0], [1], [3], [6], [10]], 2)
    0.5
    """
    k = check_size(n_neighbors, embedding)
    return float(coranking(X, embedding, metric=metric, n_jobs=n_jobs).lcmc[k - 1])


def auc_log_rnx(
    X: Any, embedding: Any, *, metric: MetricName = "euclidean", n_jobs: int | None = None
) -> float:
    """Return one number for neighbourhoods of all sizes, in which small ones weigh most.

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


def largest_sum(sizes: Any, n: int) -> Any:
    """Return the largest possible sum of ``rank - K`` over the K nearest of a point.

    It is reached when as many of them as possible are the farthest points.
    """
    most = np.minimum(sizes, n - 1 - sizes)
    return most * (2 * (n - sizes) - most - 1) / 2


def _nearest(distances: Floats, k: int) -> Any:
    """Mark the ``k`` least values of every row, the first of equal ones."""
    last = np.partition(distances, k - 1, axis=1)[:, k - 1, None]
    near = distances <= last
    for row in np.flatnonzero(near.sum(axis=1) > k):
        equal = np.flatnonzero(distances[row] == last[row])
        near[row, equal[k - near[row].sum() :]] = False
    return near


def _excess(distances: Floats, chosen: Any, k: int) -> int:
    """Sum ``rank - k`` over the chosen points; equal distances are ranked by index."""
    rows, columns = np.nonzero(chosen)
    values = distances[rows, columns][:, None]
    others = distances[rows]
    earlier = np.arange(distances.shape[1]) < columns[:, None]
    nearer = (others < values) | ((others == values) & earlier)
    return int(nearer.sum()) + len(rows) - k * len(rows)


def _ranks(distances: Floats, own: Indices) -> Indices:
    """Rank the columns of each row by distance; the point itself has rank 0."""
    distances = np.array(distances)
    distances[np.arange(len(own)), own] = -np.inf
    ranks = np.empty(distances.shape, dtype=np.intp)
    order = np.argsort(distances, axis=1, kind="stable")
    np.put_along_axis(ranks, order, np.arange(distances.shape[1])[None], axis=1)
    return ranks


def _crossings(near: Indices, far: Indices, n: int) -> tuple[Indices, Doubles]:
    """Prepare the sums over pairs with ``near <= K < far``, for all K.

    A pair counts from ``K = near`` to ``K = far - 1``. The cumulated sums of the two arrays are the
    number of such pairs and the sum of their ``far``.
    """
    crossing = near < far
    near, far = near[crossing], far[crossing]
    leaving = np.bincount(far, minlength=n)
    number = np.bincount(near, minlength=n) - leaving
    return number, np.bincount(near, weights=far, minlength=n) - np.arange(n) * leaving


def _compared(
    X: Any, embedding: Any, metric: MetricName, sources: Any
) -> tuple[int, Indices, Callable[[slice], Floats], Callable[[slice], Floats]]:
    """Return the number of points, the sources, and their distances in data and embedding."""
    Y = check_points(embedding, name="embedding", min_samples=3)
    starts = np.arange(len(Y)) if sources is None else check_sources(sources, len(Y))
    return len(Y), starts, check_data(X, len(Y), metric, starts), _rows_of_distances(Y, starts)


def _rows_of_distances(points: Any, sources: Indices) -> Callable[[slice], Floats]:
    return lambda block: cdist(points[sources[block]], points)


def check_data(X: Any, n: int, metric: MetricName, sources: Indices) -> Callable[[slice], Floats]:
    """Return a function that gives the distances from a block of sources to all points."""
    precomputed = check_choice("metric", metric, get_args(MetricName)) == "precomputed"
    data = check_points(X, min_samples=1 if precomputed else 3)
    if precomputed:
        if data.shape != (len(sources), n):
            raise ValueError(
                f"metric='precomputed' needs X of shape ({len(sources)}, {n}), got {data.shape}; "
                "give the distances from every source to all points, or metric='euclidean' for "
                "points."
            )
        return lambda block: np.asarray(data[block])
    if len(data) != n:
        raise ValueError(
            f"X has {len(data)} rows and embedding has {n}; give one row per point in each."
        )
    return _rows_of_distances(data, sources)


def check_size(n_neighbors: Any, embedding: Any) -> int:
    """Return K if K neighbours of every point can be ranked."""
    k = check_count("n_neighbors", n_neighbors)
    n = len(check_points(embedding, name="embedding", min_samples=3))
    if k > n - 2:
        raise ValueError(
            f"n_neighbors={k} needs at least {k + 2} samples, got {n}; lower n_neighbors to at "
            f"most {n - 2}."
        )
    return k
