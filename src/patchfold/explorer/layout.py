"""Places of points in the plane: embeddings laid over each other, and patches as ellipses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.engines.arrays import to_numpy
from patchfold.engines.threads import map_blocks
from patchfold.neighbors.neighborhoods import Neighborhoods, edge_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.patches.gaussians import Patches

    Floats = NDArray[np.float64]


def placed(embedding: Any) -> Floats:
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


def turned_ellipses(found: Floats, by: Floats) -> Floats:
    """Turn ellipses, as :func:`ellipses` returns them, with the plane they are in."""
    covariances = by.T @ found[:, [2, 3, 3, 4]].reshape(-1, 2, 2) @ by
    return np.column_stack([found[:, :2] @ by, covariances[:, [0, 0, 1], [0, 1, 1]]])


def ellipses(
    patches: Patches, members: Neighborhoods, plane: Floats, n_jobs: int | None = None
) -> Floats:
    """Carry the covariances of patches into the plane: centre and covariance of every ellipse.

    The linear map that predicts the places y of a patch's points from their features x best is
    ``A = C S^-1``, with ``C`` the cross-covariance of y and x over the patch and ``S`` its
    covariance: least squares, with the ridge that the patch itself has. The patch in the plane is
    ``A S A' = C S^-1 C'``. It is the covariance of what the map predicts, so it never is larger
    than the spread of the places: a patch that the embedding tears apart gets a small ellipse
    with its neighbours far outside.

    Parameters
    ----------
    patches : Patches
        n patches.
    members : Neighborhoods
        The points that each patch was fitted to, beside its own; at least one each.
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

    def carry(block: slice) -> Floats:
        rows = np.arange(block.start, block.stop)
        near = members[rows]
        result = np.empty((len(rows), 5))
        for degree in np.unique(near.degrees):
            some = np.flatnonzero(near.degrees == degree)
            who = near.indices[near.indptr[some][:, None] + np.arange(degree)]
            y = plane[who]
            centre = y.mean(axis=1)
            y = y - centre[:, None, :]
            x = X[who] - means[rows[some]][:, None, :]
            cross = np.swapaxes(y, 1, 2) @ x / max(int(degree) - 1, 1)
            result[some, :2] = centre
            result[some, 2:] = _carried(patches[rows[some]], cross)
        return result

    row_bytes = 8 * (widest + 4) * (m + 4) + (8 * m * (widest + m))
    return np.concatenate(map_blocks(carry, len(patches), row_bytes, n_jobs))


def _carried(patches: Patches, cross: Floats) -> Floats:
    """Return ``C S^-1 C'`` as xx, xy, yy."""
    if patches.factored:
        ridge = _double(patches.ridge)[:, None, None]
        along = cross @ _double(patches.directions)
        variances = _double(patches.variances)[:, None, :]
        # Along a direction of variance v the inverse is 1 / (ridge + v), across all 1 / ridge.
        less = (along * (variances / (ridge + variances))) @ np.swapaxes(along, 1, 2)
        image = (cross @ np.swapaxes(cross, 1, 2) - less) / ridge
    else:
        white = cross @ np.swapaxes(_double(patches.whiteners), 1, 2)
        image = white @ np.swapaxes(white, 1, 2)
    return np.stack([image[:, 0, 0], image[:, 0, 1], image[:, 1, 1]], axis=1)


def _with_self(near: Neighborhoods) -> Neighborhoods:
    """Put every point before its neighbours."""
    starts = edge_starts(near.degrees + 1)
    indices = np.empty(starts[-1], dtype=np.intp)
    own = np.zeros(starts[-1], dtype=bool)
    own[starts[:-1]] = True
    indices[own], indices[~own] = np.arange(len(near)), near.indices
    return Neighborhoods(starts, indices, np.zeros(len(indices)))


def _double(x: Any) -> Floats:
    return to_numpy(x).astype(np.float64, copy=False)
