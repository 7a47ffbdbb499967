"""The trustworthiness of an embedding, point by point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from patchfold.base.sampling import drawn_rows
from patchfold.base.threads import map_blocks
from patchfold.base.validation import check_points
from patchfold.evaluation.coranking import check_data, check_size, largest_sum

if TYPE_CHECKING:
    from patchfold.base.types import Doubles, Indices, MetricName


# Neighbours in the embedding whose ranks in the data count.
NEIGHBORS = 15
# Of more than MOST_RANKED points, ranks are counted among DRAWN random ones. The standard deviation
# of a share of nearer points is then at most 0.016.
MOST_RANKED, DRAWN = 5000, 1000
# Of fewer features, distances take no longer than sorting them.
QUICK_FEATURES = 100


def trust(
    X: Any,
    embedding: Any,
    n_neighbors: int = NEIGHBORS,
    *,
    metric: MetricName = "euclidean",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Doubles:
    """Return how far the neighbours of each point in an embedding are its neighbours in the data.

    ``1 - sum(rank - K) / worst`` over the K nearest of a point in the embedding whose rank in the
    data is above K; ``worst`` is the largest possible sum. 1: all of them are among its K nearest.
    A random embedding has about 0.5. The mean over all points is :func:`trustworthiness`. Of more
    than 5000 points, a rank is estimated by the share of 1000 random points that are nearer.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or (n_samples, n_samples)
        Points; with ``metric="precomputed"``, their distances.
    embedding : array of shape (n_samples, n_components)
    n_neighbors : int, default=15
        K, from 1 to n - 2.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What X holds.
    random_state : int, RandomState or None, default=0
        Seed of the sample.
    n_jobs : int or None
        Number of threads. The result does not depend on it.

    Returns
    -------
    array of shape (n_samples,)

    Examples
    --------
    >>> trust([[0], [1], [3], [6], [10]], [[0], [1], [3], [6], [0.4]], 1)
    array([0., 0., 1., 1., 0.])
    """
    k = check_size(n_neighbors, embedding)
    Y = check_points(embedding, name="embedding", min_samples=3)
    check_data(X, len(Y), metric, np.arange(len(Y)))
    (found,) = pointwise_trust(
        check_points(X, min_samples=3),
        [Y],
        n_neighbors=k,
        precomputed=metric == "precomputed",
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return found


def pointwise_trust(
    X: Any,
    planes: list[Any],
    *,
    n_neighbors: int = NEIGHBORS,
    precomputed: bool = False,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> list[Doubles]:
    """Return the :func:`trust` of every point in every embedding; the data are ranked once.

    X holds points, or distances if they are ``precomputed``. Fewer than ``n_neighbors + 2`` points
    have fewer neighbours. Of more than MOST_RANKED points, ranks are estimated from a sample,
    drawn by ``random_state``. That suffices: only large ranks count.
    """
    n = len(X)
    k = min(n_neighbors, n - 2)
    if k < 1:
        return [np.ones(n) for _ in planes]
    near = [_nearest(plane, k) for plane in planes]
    drawn = drawn_rows(n, DRAWN, random_state) if n > MOST_RANKED else np.arange(n)
    # The point itself, in the sample or not, is the nearest and has rank 0.
    share = (n - 1) / (len(drawn) - (len(drawn) == n))
    worst = largest_sum(k, n)
    quick = not precomputed and len(drawn) == n and X.shape[1] >= QUICK_FEATURES
    centred = X - X.mean(axis=0, dtype=np.float64) if quick else None
    with np.errstate(over="ignore"):
        squares = None if centred is None else np.square(centred).sum(axis=1)

    def score(block: slice) -> Doubles:
        whose = np.concatenate([who[block] for who in near], axis=1)
        if centred is not None and squares is not None:
            nearer = _nearer(X, centred, squares, block, whose)
        else:
            distances = X[block][:, drawn] if precomputed else cdist(X[block], X[drawn])
            if len(drawn) == n or precomputed:
                gaps = np.take_along_axis(X[block] if precomputed else distances, whose, axis=1)
            else:
                own = X[block, None, :]
                each = [np.linalg.norm(X[who[block]] - own, axis=2) for who in near]
                gaps = np.concatenate(each, axis=1)
            nearer = _counted(np.sort(distances, axis=1), gaps, "left")
        ranks = (nearer - (len(drawn) == n)) * share + 1
        above = np.clip(ranks - k, 0, None).reshape(len(whose), len(near), k)
        return np.asarray(np.clip(1 - above.sum(axis=2).T / worst, 0.0, 1.0))

    # Products take nothing for each feature.
    row_bytes = 3 * 8 * len(drawn) + (0 if quick else 3 * 8 * k * X.shape[1])
    return list(np.concatenate(map_blocks(score, n, row_bytes, n_jobs), axis=1))


def _nearer(X: Any, centred: Doubles, own: Doubles, block: slice, whose: Indices) -> Indices:
    """Count the points that are nearer to each row of a block than some of them, by their places.

    Products of matrices give the squared distances up to a known error, quickly for many features.
    Where this leaves open who is nearer, distances decide: every count is that by distances.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        squares, error = _squares(centred, own, block)
        gaps = np.take_along_axis(squares, whose, axis=1)
        ordered = np.sort(squares, axis=1)
        # Both sides of a comparison may be wrong.
        low = _counted(ordered, gaps - 2 * error[:, None], "left")
        high = _counted(ordered, gaps + 2 * error[:, None], "right")
    # One of them is the point itself.
    unsure = np.flatnonzero((high - low > 1).any(axis=1) | ~np.isfinite(error))
    if len(unsure):
        distances = cdist(X[block][unsure], X)
        gaps = np.take_along_axis(distances, whose[unsure], axis=1)
        low[unsure] = _counted(np.sort(distances, axis=1), gaps, "left")
    return low


def _squares(x: Doubles, own: Doubles, block: slice) -> tuple[Doubles, Doubles]:
    """Return squared distances of a block from all rows, and how wrong those of a row can be.

    ``own`` are the squares of the rows.
    """
    squares = (-2 * x[block]) @ x.T
    squares += own[block, None]
    squares += own
    eps = float(np.finfo(np.float64).eps)
    # A sum of m products is wrong by at most m eps / 2 of the product of lengths.
    return squares, 4 * (x.shape[1] + 8) * eps * (own[block] + own.max())


def _counted(ordered: Doubles, gaps: Doubles, side: Literal["left", "right"]) -> Indices:
    """Count the entries of every sorted row that are below some values, or up to them."""
    pairs = zip(ordered, gaps, strict=True)
    return np.stack([np.searchsorted(row, values, side=side) for row, values in pairs])


def _nearest(plane: Doubles, k: int) -> Indices:
    """Return the k nearest other points in an embedding."""
    _, found = KDTree(plane).query(plane, k + 1)
    found = np.asarray(found, dtype=np.intp)
    # Copies of a point may come before it, or displace it.
    own = found == np.arange(len(plane))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(found[~own].reshape(len(plane), k))
