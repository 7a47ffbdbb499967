"""How well points lie among others: their likelihood under the Gaussian of their neighbours.

A fitted point is judged by its neighbours alone, as a new point is. So the likelihoods of fitted
points tell what is usual for new points of the same kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import gen_batches

from patchfold.base.arrays import to_doubles
from patchfold.neighbors.search import neighbor_search
from patchfold.patches.fitting import Part
from patchfold.patches.gaussian_patch import GaussianPatch

if TYPE_CHECKING:
    from patchfold.base.types import Doubles, Floats, Indices
    from patchfold.graph.patch_graph import PatchGraph
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.neighbors.protocol import NeighborSearch
    from patchfold.patches.gaussians import Patches


# Neighbours that judge a point, and the shrinkage of their covariance. Chosen on nine tables
# and on swiss rolls, where 8 to 40 neighbours and 0.02 to 0.1 are about as good
# (benchmarks/strangers.py names the tables, and reports on others).
NEIGHBORS, SHRINKAGE = 15, 0.03

# Beyond the strangest fitted point, likelihoods fall off as they do among this share of the points.
TAIL = 0.05

# Bytes of patches that are held at a time: so few that every block takes the memory of the last.
BLOCK_BYTES = 2**24

# Likelihoods stay above this, so that sums and differences of them are finite.
LEAST = -1e300


@dataclass(frozen=True, eq=False)
class Strangers:
    """Points that say how strange others are."""

    data: Floats  # the points, (n, m)
    search: NeighborSearch  # finds their neighbours
    own: Doubles  # the log-likelihood of each point under the Gaussian of its neighbours
    n_neighbors: int = NEIGHBORS  # that judge a point
    n_jobs: int | None = None

    @classmethod
    def among(
        cls,
        data: Floats,
        search: NeighborSearch,
        n_neighbors: int = NEIGHBORS,
        n_jobs: int | None = None,
    ) -> Strangers:
        """Judge every point by its neighbours, which a search built on the points finds."""
        near = search.query().nearest(n_neighbors)
        own = neighbor_likelihoods(data, data, near, n_jobs)
        return cls(data, search, own, n_neighbors, n_jobs)

    @classmethod
    def of_graph(cls, graph: PatchGraph) -> Strangers:
        """Judge the points of a graph, which has points and not only distances."""
        search, n_jobs = graph.search, graph.setting.n_jobs
        points = graph.coordinates(graph.lengths.points)
        n, m = points.shape
        judges = min(NEIGHBORS, n - 1)
        # Its own search may find too few neighbours to judge by, or those in all columns of sparse
        # rows.
        if graph.span is not None or search is None or graph.reach is None or graph.reach < judges:
            search = neighbor_search(
                n_neighbors=judges, n_samples=n, n_features=m, n_jobs=n_jobs
            ).build(points)
        sample = None if graph.patches is None else graph.patches.sample
        # The members of patches are the nearest points, and need no search.
        if sample is None or graph.copies is not None or (sample.members.degrees < judges).any():
            return cls.among(points, search, n_jobs=n_jobs)
        own = neighbor_likelihoods(points, points, sample.members.nearest(judges), n_jobs)
        return cls(points, search, own, n_jobs=n_jobs)

    def likelihoods(self, X: Floats, same: Indices) -> Doubles:
        """Return the log-likelihoods of points; ``same`` tells which are fitted, -1 for none."""
        found = self.own[same]
        new = np.flatnonzero(same < 0)
        if len(new):
            near = self.search.query(X[new]).nearest(self.n_neighbors)
            found[new] = neighbor_likelihoods(self.data, X[new], near, self.n_jobs)
        return found

    def log_p(self, likelihoods: Doubles) -> Doubles:
        """Return the logarithm of the share of fitted points that are at least as strange.

        Between two fitted points shares are interpolated. Below the strangest of ``n`` fitted
        points, which has ``1 / (n + 1)``, the share falls exponentially, at the rate at which it
        falls among the strangest twentieth.
        """
        levels, n = self._levels, len(self._levels)
        rank = np.searchsorted(levels, likelihoods, side="right")
        lower, upper = levels[np.maximum(rank - 1, 0)], levels[np.minimum(rank, n - 1)]
        gap, above = upper - lower, likelihoods - lower
        between = np.where((rank < n) & (above > 0), above / np.where(gap > 0, gap, 1.0), 0.0)
        inside = np.log((np.maximum(rank, 1) + between) / (n + 1))
        return np.asarray(inside - np.clip(levels[0] - likelihoods, 0.0, None) / self._fall)

    @property
    def least_p(self) -> float:
        """The least p-value that the fitted points can show, by their number."""
        return 1 / (len(self.own) + 1)

    @cached_property
    def _levels(self) -> Doubles:
        """The likelihoods of the fitted points, in order."""
        return np.sort(self.own)

    @cached_property
    def _fall(self) -> float:
        """The mean distance of the strangest fitted points from the next ones."""
        levels = self._levels
        count = max(1, round(TAIL * len(levels)))
        fall = float(np.mean(levels[min(count, len(levels) - 1)] - levels[:count]))
        return fall if 0 < fall < np.inf else 1.0


def neighbor_likelihoods(
    data: Floats, X: Floats, near: Neighborhoods, n_jobs: int | None = None
) -> Doubles:
    """Return the log-likelihood of points ``X`` under the Gaussian of their neighbours in the data.

    The Gaussian has the mean of the neighbours, and their covariance ``C``, shrunk to
    ``0.97 C + 0.03 tr(C)/m I``. It does not know the point itself.

    Examples
    --------
    >>> from patchfold.neighbors import ExactNeighbors
    >>> data = np.random.default_rng(0).standard_normal((100, 2))
    >>> X = np.array([[0.0, 0.0], [5.0, 5.0]])
    >>> near, far = neighbor_likelihoods(data, X, ExactNeighbors(15).build(data).query(X))
    >>> bool(near > far)
    True
    """
    patch = GaussianPatch(include_self=False, covariance="shrinkage", gamma=SHRINKAGE)
    m = data.shape[1]
    widest = int(near.degrees.max(initial=1))
    rows = max(1, BLOCK_BYTES // (8 * m * (min(widest, 2 * m) + 3)))
    found = np.full(len(X), LEAST)
    part = Part.of(data)  # what all blocks know of the data is found once
    # A point without any neighbour is as strange as can be.
    some = np.flatnonzero(near.degrees > 0)
    for batch in gen_batches(len(some), rows):
        block = some[batch]
        patches = patch.gaussians(data, near[block], points=X[block], n_jobs=n_jobs, part=part)
        found[block] = log_likelihoods(patches, X[block])
    return found


def log_likelihoods(patches: Patches, X: Floats) -> Doubles:
    """Return the log-likelihood of each point under its patch, at least -1e300.

    ``-((x - mu)' S^-1 (x - mu) + log det S + m log(2 pi)) / 2``

    Examples
    --------
    >>> from patchfold import Patches
    >>> patches = Patches.from_moments(np.zeros((1, 1)), np.eye(1)[None])
    >>> log_likelihoods(patches, np.zeros((1, 1))).round(4)
    array([-0.9189])
    """
    m = patches.n_features
    offsets = X.astype(np.float64) - to_doubles(patches.means)
    with np.errstate(over="ignore", invalid="ignore"):
        if patches.factored:
            directions, ridge = to_doubles(patches.directions), to_doubles(patches.ridge)
            spread = to_doubles(patches.variances) + ridge[:, None]
            along = (offsets[:, None, :] @ directions)[:, 0, :]
            across = offsets - (directions @ along[:, :, None])[:, :, 0]
            squares = (along**2 / spread).sum(axis=1) + (across**2).sum(axis=1) / ridge
            log_det = np.log(spread).sum(axis=1) + (m - spread.shape[1]) * np.log(ridge)
        else:
            white = (to_doubles(patches.whiteners) @ offsets[:, :, None])[:, :, 0]
            squares = (white**2).sum(axis=1)
            diagonals = np.diagonal(to_doubles(patches.roots), axis1=1, axis2=2)
            log_det = 2 * np.log(diagonals).sum(axis=1)
        found = -0.5 * (squares + log_det + m * np.log(2 * np.pi))
    # What overflows is infinitely far away.
    return np.maximum(np.where(np.isnan(found), LEAST, found), LEAST)
