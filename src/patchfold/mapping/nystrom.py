"""New points by their place in the graph: Nystrom's extension of each kind of embedding.

A new point has neighbours among the fitted points and lengths to them
(:meth:`patchfold.graph.patch_graph.PatchGraph.neighbors_of_new`). Embeddings make places of these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from patchfold.base.arrays import beside, to_numpy
from patchfold.base.threads import large_blocks, map_blocks
from patchfold.graph.geodesics import by_point, continued_paths
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.solvers.scaling import CLOSE, NEAR, settled

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Floats, Indices


# A denominator below this share of the degree is kept there: eigenvalues reach degrees only for
# isolated points.
LEAST_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class Triangulation:
    """Places points by their geodesics to targets, whose places are known (landmark Isomap).

    With squared geodesics ``d^2`` to the targets, a point lies at ``-(d^2 - m) A / 2`` for the axes
    ``A`` and the mean squared geodesics ``m`` of the targets (de Silva and Tenenbaum, 2004). With
    ``places``, it moves from there to where its stress is least
    (:func:`patchfold.solvers.scaling.settled`).
    """

    # (n, n_targets): geodesics of fitted points to the targets, in units of the longest
    paths: Floats
    squared_means: Floats  # (n_targets,)
    axes: Floats  # (n_targets, n_components), by solvers.scaling.triangulation
    unit: float  # the longest geodesic
    # of the targets, in units of the longest geodesic; None: classical scaling
    places: Floats | None = None

    def of_fitted(self, n_jobs: int | None = None) -> Floats:
        """Return the places of the fitted points, (n, n_components)."""
        n, n_targets = self.paths.shape
        return self._placed(n, 8 * n_targets, lambda block: self.paths[block], NEAR, n_jobs)

    def of_new(self, near: Neighborhoods, n_jobs: int | None = None) -> Floats:
        """Return the places of new points: a way leads to a neighbour, then through the graph."""
        near = Neighborhoods(near.indptr, near.indices, near.distances / self.unit)

        def paths(block: slice) -> Floats:
            return continued_paths(self.paths, near[np.arange(len(near))[block]])

        row_bytes = 8 * self.paths.shape[1] * int(near.degrees.max())
        return self._placed(len(near), row_bytes, paths, CLOSE, n_jobs)

    def grown(self, geodesics: Floats, targets: Indices) -> Triangulation:
        """Return the same frame for the points of a graph that has grown.

        ``geodesics`` (n_targets, n) lead from the targets to all points, those known before first.
        A graph of more points has other units and shorter ways. So geodesics are multiplied by the
        number that brings those between the targets closest to the known ones, by least squares.
        """
        known, between = self.paths[targets].astype(np.float64), geodesics[:, targets].T
        squares = float(np.square(between, dtype=np.float64).sum())
        factor = float((known * between).sum()) / squares if squares > 0 else 1.0
        return replace(self, paths=by_point(geodesics * factor, self.paths.dtype))

    def misfit(self, places: Floats, rows: Any, targets: Floats) -> float:
        """Return the relative error of distances to the targets, compared with geodesics.

        ``sqrt(sum (d - g)^2 / sum g^2)`` over the points ``rows``, whose places are given, and all
        targets, whose places are ``targets``.
        """
        geodesics = self.paths[rows].astype(np.float64) * self.unit
        total = np.square(geodesics).sum()
        wrong = np.square(cdist(places, targets) - geodesics).sum()
        return float(np.sqrt(wrong / total)) if total > 0 else 0.0

    def _placed(
        self,
        n: int,
        row_bytes: int,
        paths: Callable[[slice], Floats],
        close: float,
        n_jobs: int | None,
    ) -> Floats:
        """Place points by their geodesics, which ``paths`` gives for a block of them."""

        def place(block: slice) -> Floats:
            known = paths(block)
            xp = array_namespace(known)
            known = xp.astype(known, xp.float64, copy=False)
            with np.errstate(over="ignore", invalid="ignore"):  # callers check for infinities
                centred = -0.5 * (known**2 - beside(known, self.squared_means))
                # Row by row: a product of matrices has bits that depend on how many rows there are.
                found: Floats = to_numpy((centred[:, None, :] @ beside(known, self.axes))[:, 0, :])
                if self.places is not None:
                    found = settled(known, self.places, found, close)
                return np.asarray(found * self.unit)

        row_bytes += 3 * 8 * self.paths.shape[1]
        with large_blocks(self.paths):
            return np.concatenate(map_blocks(place, n, row_bytes, n_jobs))


def check_places(places: Floats, rows: Indices) -> None:
    """Refuse places of new points that are not finite; ``rows`` are their numbers."""
    lost = np.flatnonzero(~np.isfinite(places).all(axis=1))
    if len(lost):
        raise ValueError(
            f"row {rows[lost[0]]} of X lies so far from the fitted points that its place "
            "overflows; drop the row."
        )


def drift(frame: Triangulation, places: Floats, n_before: int, targets: Indices) -> float:
    """Return how far a grown graph has drifted from the frame that places its points.

    ``frame`` is that of the grown graph, and ``places`` are those of all points, of which the first
    ``n_before`` are not new. The drift is the larger of two shares: how far the targets would move,
    were they placed again by their geodesics of today (root mean square, beside that of their
    distances from their mean), and how much worse the frame fits the new points than the targets
    (:meth:`Triangulation.misfit`), where triangulation places them. From there a point may settle
    on either side of targets that lie along a line, and fit well on both.
    """
    fixed = places[targets].astype(np.float64)
    again = replace(frame, paths=frame.paths[targets]).of_fitted()
    spread = np.square(fixed - fixed.mean(axis=0)).sum()
    moved = np.square(again - fixed).sum()
    worse = _misfit(frame, slice(n_before, None), fixed) - _misfit(frame, targets, fixed)
    return max(float(np.sqrt(moved / spread)) if spread > 0 else 0.0, worse)


def _misfit(frame: Triangulation, rows: Any, targets: Floats) -> float:
    """Return the misfit of some rows where triangulation places them."""
    places = replace(frame, paths=frame.paths[rows], places=None).of_fitted()
    return frame.misfit(places, rows, targets)


def weighted_places(near: Neighborhoods, weights: Floats, embedding: Floats) -> Floats:
    """Return the sums of the places of neighbours by their weights, one per edge.

    Examples
    --------
    >>> near = Neighborhoods(np.array([0, 2]), np.array([0, 1]), np.array([1.0, 1.0]))
    >>> weighted_places(near, np.array([0.25, 0.75]), np.array([[0.0], [4.0]]))
    array([[3.]])
    """
    W = csr_array((weights, near.indices, near.indptr), (len(near), len(embedding)))
    return np.asarray(W @ embedding)


def total_weights(near: Neighborhoods, weights: Floats) -> Floats:
    """Return the sum of the weights of every row, (n_rows, 1)."""
    width = int(near.indices.max(initial=0)) + 1
    W = csr_array((weights, near.indices, near.indptr), (len(near), width))
    return np.asarray(W.sum(axis=1), dtype=weights.dtype)[:, None]


def extended_eigenvectors(
    near: Neighborhoods,
    weights: Floats,
    embedding: Floats,
    eigenvalues: Floats,
    *,
    normalized: bool,
) -> Floats:
    """Extend eigenvectors of a graph Laplacian: ``f(x) = sum_j w_j f_j / (degree - lambda)``.

    ``degree (1 - lambda)`` where the Laplacian is normalised.
    """
    degree = total_weights(near, weights)
    scale = degree * (1 - eigenvalues) if normalized else degree - eigenvalues
    least = LEAST_SHARE * degree
    scale = np.where(np.abs(scale) < least, np.copysign(least, scale), scale)
    return np.asarray(weighted_places(near, weights, embedding) / scale)
