"""Places of points in the plane: embeddings laid over each other, and patches as ellipses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.arrays import to_numpy
from patchfold.base.threads import map_blocks
from patchfold.neighbors.neighborhoods import Neighborhoods, edge_starts

if TYPE_CHECKING:
    from patchfold.base.types import Doubles
    from patchfold.patches.gaussians import Patches


# Ridge of the map from features to the plane, as a share of the points' mean squared length: less
# than this share of a patch is noise to the map.
RIDGE = 1e-3


def placed(embedding: Any) -> Doubles:
    """Return the first two components, centred, at a mean squared distance of one from the centre.

    So embeddings in different units can be laid over each other. A missing component is zero.
    """
    plane = np.zeros((len(embedding), 2))
    plane[:, : min(2, embedding.shape[1])] = embedding[:, :2]
    plane -= plane.mean(axis=0)
    largest = np.abs(plane).max() or 1.0
    plane /= largest  # in this unit squares neither overflow nor vanish
    size = np.sqrt((plane**2).sum(axis=1).mean())
    return plane / (size or 1.0)


def turned_ellipses(found: Doubles, by: Doubles) -> Doubles:
    """Turn ellipses, as :func:`ellipses` returns them, with the plane they are in."""
    covariances = by.T @ found[:, [2, 3, 3, 4]].reshape(-1, 2, 2) @ by
    return np.column_stack([found[:, :2] @ by, covariances[:, [0, 0, 1], [0, 1, 1]]])


def ellipses(
    patches: Patches, members: Neighborhoods, plane: Doubles, n_jobs: int | None = None
) -> Doubles:
    """Carry the Gaussians of patches into the plane: centre and covariance of every ellipse.

    ``A`` is the linear map that predicts the places y of a patch's points from their features x
    best: ridge regression over the points that the patch was fitted to, smoothed ones where its
    recipe denoises. The Gaussian ``N(mu, S)`` becomes ``N(mean(y) + A (mu - mean(x)), A S A')``.

    Parameters
    ----------
    patches : Patches
        n patches.
    members : Neighborhoods
        The points around each patch, beside its own; at least one each.
    plane : array of shape (n, 2)
    n_jobs : int or None

    Returns
    -------
    array of shape (n, 5)
        x and y of the centre, and the variances xx, xy, yy.
    """
    X, means = _double(patches.points), _double(patches.means)
    members = _with_self(members)
    widest, m = int(members.degrees.max()), X.shape[1]

    def carry(block: slice) -> Doubles:
        rows = np.arange(block.start, block.stop)
        near = members[rows]
        result = np.empty((len(rows), 5))
        for degree in np.unique(near.degrees):
            some = np.flatnonzero(near.degrees == degree)
            who = near.indices[near.indptr[some][:, None] + np.arange(degree)]
            x, y = X[who], plane[who]
            off = means[rows[some]] - x.mean(axis=1)
            x, centre = x - x.mean(axis=1, keepdims=True), y.mean(axis=1)
            A = _regression(x, y - centre[:, None, :])
            result[some, :2] = centre + (A @ off[:, :, None])[:, :, 0]
            result[some, 2:] = _carried(patches[rows[some]], A)
        return result

    # Covariances in full are as large as all features by all features.
    spread = widest if patches.factored else m
    row_bytes = 8 * (3 * widest + 4) * (m + 4) + 8 * widest**2 + 8 * m * (widest + spread)
    return np.concatenate(map_blocks(carry, len(patches), row_bytes, n_jobs))


def _regression(x: Doubles, y: Doubles) -> Doubles:
    """Return A of ``y = A x`` by ridge regression, for stacks of centred points in rows."""
    products = x @ np.swapaxes(x, 1, 2)
    degree = products.shape[1]
    ridge = RIDGE * np.trace(products, axis1=1, axis2=2) / degree
    products[:, np.arange(degree), np.arange(degree)] += np.where(ridge > 0, ridge, 1)[:, None]
    return np.asarray(np.swapaxes(np.linalg.solve(products, y), 1, 2) @ x)


def _carried(patches: Patches, A: Doubles) -> Doubles:
    """Return ``A S A'`` as xx, xy, yy."""
    if patches.factored:
        along = A @ _double(patches.directions)
        image = (along * _double(patches.variances)[:, None, :]) @ np.swapaxes(along, 1, 2)
        image += _double(patches.ridge)[:, None, None] * (A @ np.swapaxes(A, 1, 2))
    else:
        image = A @ _double(patches.covariances()) @ np.swapaxes(A, 1, 2)
    return np.stack([image[:, 0, 0], image[:, 0, 1], image[:, 1, 1]], axis=1)


def _with_self(near: Neighborhoods) -> Neighborhoods:
    """Put every point before its neighbours."""
    starts = edge_starts(near.degrees + 1)
    indices = np.empty(starts[-1], dtype=np.intp)
    own = np.zeros(starts[-1], dtype=bool)
    own[starts[:-1]] = True
    indices[own], indices[~own] = np.arange(len(near)), near.indices
    return Neighborhoods(starts, indices, np.zeros(len(indices)))


def _double(x: Any) -> Doubles:
    return to_numpy(x).astype(np.float64, copy=False)
