"""How long an edge is: the divergence of two patches, as labels change it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from patchfold import divergences
from patchfold._validation import is_sparse
from patchfold.engines.arrays import to_numpy
from patchfold.engines.pools import map_blocks
from patchfold.graph.disagreement import TYPICAL_NEIGHBORS, Typical, leaving, medians
from patchfold.graph.short_circuits import stretches, trusted_of_new
from patchfold.supervision import UNKNOWN, Edges, changed_lengths, kinship

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from patchfold.divergences import Divergence
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.patches.gaussians import Patches
    from patchfold.supervision import Codes, Kin, LabelRule

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]

# What ``lengths`` may be: the divergence itself, or distances that it stretches.
KINDS = ("divergence", "stretched")

# A mean over so many pairs has three digits; all pairs are looked at while there are no more.
MEAN_PAIRS = 2**19


@dataclass(eq=False)
class Lengths:
    """Lengths of pairs of fitted points, and of new points from fitted ones.

    Parameters
    ----------
    points : array of shape (n, m)
        The points; for ``"precomputed"`` their distances, (n, n) or sparse.
    patches : Patches or None
        Their Gaussians; None where lengths are Euclidean or given.
    divergence : str or callable
    rule : LabelRule or None
        How labels change lengths.
    codes : array of shape (n,) or None
        The class of every point, -1 where it is not known.
    n_jobs : int or None
    typical : Typical or None
        What makes lengths distances, in units of the typical one, that are stretched at short
        circuits; None where they are the divergences.
    """

    points: Any
    patches: Patches | None
    divergence: str | Divergence
    rule: LabelRule | None = None
    codes: Codes | None = None
    n_jobs: int | None = None
    typical: Typical | None = None

    def plain(self, i: Indices, j: Indices) -> Floats:
        """Return the lengths of the pairs ``(i, j)`` of fitted points before labels change them.

        And before short circuits are stretched, which only edges of the graph can be.
        """
        if self.patches is None or self.typical is not None:
            return self.euclidean(i, j)
        return self.divergences(i, j)

    def settle(self, i: Indices, j: Indices) -> None:
        """Learn what is typical from the edges ``(i, j)``; lengths are distances from then on."""
        self.typical = self._typical(i, j, *self._compared(i, j))

    def stretched(self, i: Indices, j: Indices, few: NDArray[np.bool_]) -> Floats:
        """Return the lengths of the edges ``(i, j)`` of a graph, infinite for short circuits.

        What is typical is learned from the ``few`` edges that are marked, if it is not known.
        """
        values, distances, leaves = compared = self._compared(i, j)
        if self.typical is None:
            self.typical = self._typical(i[few], j[few], *(part[few] for part in compared))
        typical = self.typical
        around = np.maximum(typical.around[i], typical.around[j])
        factors = stretches(
            i,
            j,
            typical.disagreement(values, leaves, around),
            distances,
            len(self.points),
            quiet=typical.quiet,
            n_jobs=self.n_jobs,
        )
        return np.asarray(distances / typical.distance * factors, dtype=distances.dtype)

    def _compared(self, i: Indices, j: Indices) -> tuple[Floats, Floats, Floats]:
        """Return the divergences, distances and ways out of the patches ``i`` and ``j``."""
        patches = cast("Patches", self.patches)
        leaves = leaving(patches, i, patches, j, n_jobs=self.n_jobs)
        return self.divergences(i, j), self.apart(i, j), leaves

    def _typical(
        self, i: Indices, j: Indices, values: Floats, distances: Floats, leaves: Floats
    ) -> Typical:
        centres = to_numpy(cast("Patches", self.patches).points)
        every = np.arange(len(self.points))
        offsets = self._distances(self.points, every, centres, every)
        apart = self._distances(self.points, i, self.points, j)
        return Typical.of((i, j), values, distances, leaves, offsets, apart)

    def ranking(self, i: Indices, j: Indices) -> Floats:
        """Return what the nearest of the pairs ``(i, j)`` are chosen by before labels: divergences.

        The lengths, where there are no patches.
        """
        return self.plain(i, j) if self.patches is None else self.divergences(i, j)

    def divergences(self, i: Indices, j: Indices) -> Floats:
        """Return the divergences of the patches of pairs ``(i, j)``."""
        patches = cast("Patches", self.patches)
        values = divergences.paired(patches, i, j, self.divergence, n_jobs=self.n_jobs)
        return np.asarray(to_numpy(values))

    def apart(self, i: Indices, j: Indices) -> Floats:
        """Return how far the points that the patches ``i`` and ``j`` belong to are apart."""
        points = to_numpy(cast("Patches", self.patches).points)
        return self._distances(points, i, points, j)

    def euclidean(self, i: Indices, j: Indices) -> Floats:
        """Return the distances of the pairs ``(i, j)`` of fitted points: given, or by differences.

        Those of their patches in typical ones, where these are what is stretched.
        """
        if self.divergence == "precomputed":
            return np.asarray(np.minimum(self.points[i, j], self.points[j, i]))
        if self.typical is not None:
            return np.asarray(self.apart(i, j) / self.typical.distance)
        return self._distances(self.points, i, self.points, j)

    def labelled(self, lengths: Floats, i: Indices, j: Indices) -> Floats:
        """Let the labels of pairs ``(i, j)`` of fitted points change their plain lengths.

        Infinite where the rule removes an edge.
        """
        return self._by_rule(lengths, i, j, lambda: self.euclidean(i, j))

    def order(self, lengths: Floats, i: Indices, j: Indices) -> Floats:
        """Return what pairs with these plain lengths are ordered by to choose the nearest.

        Their lengths as labels change them; a pair that labels take apart keeps its plain length.
        Labels can make lengths equal that differ: equal ones are ordered by the plain lengths.
        """
        return _kept(self.labelled(lengths, i, j), lengths)

    def matrix(self) -> Floats:
        """Return what the nearest are chosen by, as :meth:`ranking` does, for all pairs."""
        if self.divergence == "precomputed":
            return np.asarray(np.minimum(self.points, self.points.T))
        if self.patches is None:
            return cdist(self.points, self.points).astype(self.points.dtype, copy=False)
        matrix = divergences.pairwise(self.patches, self.divergence, n_jobs=self.n_jobs)
        return np.asarray(to_numpy(matrix))

    def order_of_rows(self, lengths: Floats, block: slice) -> Floats:
        """Do the same as :meth:`order` for the pairs of a block of points with all points."""
        points = np.arange(len(self.points))
        changed = self._by_rule(
            lengths, points[block, None], points, lambda: self._from_all(block) / self._unit
        )
        return _kept(changed, lengths)

    def gaps(self, block: slice) -> tuple[Floats, Floats]:
        """Return what tells which pair of two components is the closest, for a block of points.

        Euclidean or given distances, as labels change them where these are the lengths, too; and
        the distances themselves, for equal ones.
        """
        if self.divergence == "precomputed":
            gaps = np.minimum(self.points[block], self.points[:, block].T)
        else:
            gaps = cdist(self.points[block], self.points)
        return (gaps if self.patches is not None else self.order_of_rows(gaps, block)), gaps

    def divergences_of_new(self, patches: Patches, i: Indices, j: Indices) -> Floats:
        """Return the divergences of the patches ``i`` of new points from ``j`` of fitted ones."""
        fitted = cast("Patches", self.patches)
        values = divergences.paired(
            patches, i, j, self.divergence, other=fitted, n_jobs=self.n_jobs
        )
        return np.asarray(to_numpy(values))

    def of_new(
        self, patches: Patches, near: Neighborhoods, values: Floats, graph: csr_array
    ) -> Floats:
        """Return the lengths of the edges from new points to fitted ones, infinite if left out.

        Parameters
        ----------
        patches : Patches
            Those of the new points.
        near : Neighborhoods
            Their neighbours among the fitted points.
        values : array of shape (n_edges,)
            The divergences along these edges.
        graph : csr_array
            The graph of the fitted points.
        """

        def distances() -> Floats:
            fitted = to_numpy(cast("Patches", self.patches).points)
            apart = self._distances(to_numpy(patches.points), near.sources, fitted, near.indices)
            return apart / self._unit

        if self.typical is not None:
            disagreement, values = self._disagreement_of_new(patches, near, values), distances()
            # Labels change the lengths in the graph: no way through it compares with a distance.
            ways = graph if self.rule is None else csr_array(graph.shape, dtype=graph.dtype)
            values = np.where(trusted_of_new(near, disagreement, values, ways), values, np.inf)
        kept = np.isfinite(values)
        lengths = np.full(len(values), np.inf, dtype=values.dtype)
        lengths[kept] = self.of_unlabelled(values[kept], lambda: distances()[kept])
        return lengths

    def _disagreement_of_new(self, patches: Patches, near: Neighborhoods, values: Floats) -> Floats:
        typical, fitted = cast("Typical", self.typical), cast("Patches", self.patches)
        leaves = leaving(patches, near.sources, fitted, near.indices, n_jobs=self.n_jobs)
        there = typical.around[near.indices]
        # Around a new point that is typical which is so of its nearest neighbours.
        nearest = near.among_nearest(TYPICAL_NEIGHBORS)
        here = medians(near.sources[nearest], there[nearest], len(near))[near.sources]
        return typical.disagreement(values, leaves, np.maximum(here, there))

    def of_unlabelled(
        self, lengths: Floats, distances: Callable[[], Floats] | None = None
    ) -> Floats:
        """Return what the rule makes of plain lengths from new points: their labels are not known.

        ``distances`` gives the Euclidean lengths, where they are others.
        """
        if self.rule is None:
            return lengths
        unknown = np.full(lengths.shape, UNKNOWN, dtype=np.int8)
        return changed_lengths(self.rule, self._edges(lengths, unknown, distances))

    @cached_property
    def mean(self) -> float:
        """The mean plain length of all pairs, or of a sample of them."""
        if is_sparse(self.points):
            return float(np.mean(self.points.data))
        i, j = even_pairs(self.points.shape[0], MEAN_PAIRS)
        return float(np.mean(self.plain(i, j), dtype=np.float64))

    def _distances(self, X: Floats, i: Indices, Z: Floats, j: Indices) -> Floats:
        """Return the distances of the points ``X[i]`` from ``Z[j]``, by differences."""
        parts = map_blocks(
            lambda block: np.linalg.norm(X[i[block]] - Z[j[block]], axis=1),
            len(i),
            3 * X.itemsize * X.shape[1],
            self.n_jobs,
        )
        return np.concatenate(parts) if parts else np.empty(0, dtype=X.dtype)

    @property
    def _unit(self) -> float:
        return 1.0 if self.typical is None else self.typical.distance

    def _from_all(self, block: slice) -> Floats:
        """Return the distances of a block of points from all points."""
        X = self.points
        if self.typical is not None and self.patches is not None:
            X = to_numpy(self.patches.points)
        return cdist(X[block], X)

    def _by_rule(
        self, lengths: Floats, i: Indices, j: Indices, distances: Callable[[], Floats]
    ) -> Floats:
        if self.rule is None or self.codes is None:
            return lengths
        kin = kinship(self.codes[i], self.codes[j])
        return changed_lengths(self.rule, self._edges(lengths, kin, distances))

    def _edges(self, lengths: Floats, kin: Kin, distances: Callable[[], Floats] | None) -> Edges:
        patches = self.patches is not None
        # Without patches lengths are Euclidean, or given: the only distances there are.
        known = distances if patches and distances is not None else lambda: lengths
        return Edges(lengths, kin, known, lambda: self.mean, between_patches=patches)


def even_pairs(n: int, most: int) -> tuple[Indices, Indices]:
    """Return all pairs of ``n`` points, or a sample of about ``most`` where there are more.

    The sample pairs every point with the same number of others at random, always the same ones.
    """
    if n * (n - 1) // 2 <= most:
        i, j = np.triu_indices(n, 1)
        return i, j
    i = np.repeat(np.arange(n, dtype=np.intp), max(1, most // n))
    return i, (i + np.random.default_rng(0).integers(1, n, len(i))) % n


def _kept(changed: Floats, lengths: Floats) -> Floats:
    """Give edges that labels remove their plain length back."""
    return np.where(np.isinf(changed), lengths, changed)
