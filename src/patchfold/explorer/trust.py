"""The trustworthiness of an embedding, point by point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from patchfold.engines.threads import map_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Neighbours in the plane whose ranks in the data count.
NEIGHBORS = 15
# Of more than MOST_RANKED points, ranks are counted among DRAWN random ones. The standard deviation
# of a share of nearer points is then at most 0.016.
MOST_RANKED, DRAWN = 5000, 1000


def pointwise_trust(
    X: Any,
    planes: list[Floats],
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
    most_ranked: int = MOST_RANKED,
) -> list[Floats]:
    """Return the trustworthiness of every point in every embedding, from 0 to 1.

    ``1 - sum(rank - K) / worst`` over the K = 15 nearest of a point in the plane whose rank in the
    data is above K; ``worst`` is the largest possible sum. The mean over all points is
    :func:`patchfold.metrics.trustworthiness`. For many points, a rank is estimated by the share of
    a random sample that is nearer. That suffices: only large ranks count.

    Parameters
    ----------
    X : array of shape (n, m)
    planes : list of arrays of shape (n, 2)
    random_state : int, RandomState or None
        Seed of the sample.
    n_jobs : int or None
    most_ranked : int
        Of more points, ranks are estimated from a sample.

    Returns
    -------
    list of arrays of shape (n,)
    """
    n = len(X)
    k = min(NEIGHBORS, n - 2)
    if k < 1:
        return [np.ones(n) for _ in planes]
    near = [_nearest(plane, k) for plane in planes]
    drawn = np.arange(n)
    if n > most_ranked:
        drawn = np.sort(check_random_state(random_state).permutation(n)[:DRAWN])
    sample = X[drawn]
    most = min(k, n - 1 - k)
    worst = most * (2 * (n - k) - most - 1) / 2
    # The point itself, in the sample or not, is the nearest and has rank 0.
    share = (n - 1) / (len(drawn) - (len(drawn) == n))

    def score(block: slice) -> Floats:
        distances = cdist(X[block], sample)
        ordered = np.sort(distances, axis=1)
        trust = np.empty((len(planes), len(distances)))
        for view, who in enumerate(near):
            gaps = (
                np.take_along_axis(distances, who[block], axis=1)
                if len(drawn) == n
                else np.linalg.norm(X[who[block]] - X[block, None, :], axis=2)
            )
            nearer = np.stack(
                [np.searchsorted(*pair, side="left") for pair in zip(ordered, gaps, strict=True)]
            )
            ranks = (nearer - (len(drawn) == n)) * share + 1
            trust[view] = 1 - np.clip(ranks - k, 0, None).sum(axis=1) / worst
        return np.clip(trust, 0.0, 1.0)

    row_bytes = 3 * 8 * len(drawn) + 3 * 8 * k * X.shape[1]
    return list(np.concatenate(map_blocks(score, n, row_bytes, n_jobs), axis=1))


def _nearest(plane: Floats, k: int) -> NDArray[np.intp]:
    """Return the k nearest other points in the plane."""
    _, found = KDTree(plane).query(plane, k + 1)
    found = np.asarray(found, dtype=np.intp)
    # Copies of a point may come before it, or displace it.
    own = found == np.arange(len(plane))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(found[~own].reshape(len(plane), k))
