"""How long an edge is: the divergence of two patches, or their distance; and what labels do to it.

Where lengths are distances, short circuits are removed (:mod:`patchfold.graph.short_circuits`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
from array_api_compat import array_namespace
from scipy.spatial.distance import cdist
from sklearn.metrics import euclidean_distances

from patchfold import divergences
from patchfold.base.arrays import Array, put, taken, to_numpy
from patchfold.base.threads import large_blocks, map_blocks
from patchfold.base.types import LengthName
from patchfold.base.validation import is_sparse
from patchfold.divergences.pairing import paired
from patchfold.graph.known_pairs import KnownPairs
from patchfold.graph.short_circuits import Typical, trusted_of_new
from patchfold.neighbors.points import SearchedPoints
from patchfold.neighbors.search import SharedNeighbors
from patchfold.supervision import UNKNOWN, Edges, changed_lengths, kinship, likeness

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy.sparse import csr_array

    from patchfold.base.types import Floats, Indices
    from patchfold.divergences import Divergence
    from patchfold.neighbors.copies import Copies
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.patches.gaussians import Patches
    from patchfold.supervision import Kin, LabelRule


# What ``lengths`` may be: distances in a graph without short circuits, or the divergence itself.
KINDS = get_args(LengthName)

# The mean is taken over all pairs, or over a sample of about this many, which has three digits.
MEAN_PAIRS = 2**19


def has_patches(divergence: str | Divergence) -> bool:
    """Tell whether a divergence is one of patches."""
    return divergence not in ("euclidean", "precomputed")


@dataclass(frozen=True, eq=False)
class Lengths:
    """Lengths of pairs of fitted points, and of new points from fitted ones.

    Divergences of patches; without patches Euclidean or given distances.
    """

    # (n, m), in the span of sparse rows if there are patches; for "precomputed" distances, (n, n)
    points: Any
    patches: Patches | None  # one per distinct point; None where lengths are Euclidean or given
    divergence: str | Divergence
    n_jobs: int | None = None
    rule: LabelRule | None = None  # how labels change lengths
    codes: Any = None  # the class of every point, -1 if not known; or measured values, or NaN
    known_mean: float | None = None  # of all pairs, where it is not that of the points kept
    patch_of: Indices | None = None  # which patch each point has, where copies share one

    # ---------------------------------------------------------------- plain lengths

    def plain(self, i: Indices, j: Indices) -> Floats:
        """Return the lengths of the pairs ``(i, j)`` of fitted points before labels change them."""
        return self.euclidean(i, j) if self.patches is None else self.divergences(i, j)

    def divergences(self, i: Indices, j: Indices, knn: Any = None) -> Floats:
        """Return the divergences of the patches of pairs ``(i, j)``.

        With a ``knn`` that several fits share, that of each pair is found once.
        """
        compare = partial(self._compared, self.patches)
        return self._once(knn, ("divergences", self.divergence), compare, i, j)

    def apart(self, i: Indices, j: Indices, knn: Any = None) -> Floats:
        """Return the distances between the centres of the patches of pairs; ``knn`` as above."""
        points = cast("Patches", self.patches).points

        def compare(a: Indices, b: Indices) -> Floats:
            return self._distances(points, a, points, b)

        return self._once(knn, "distances", compare, i, j)

    def _once(
        self,
        knn: Any,
        kind: Any,
        find: Callable[[Indices, Indices], Floats],
        i: Indices,
        j: Indices,
    ) -> Floats:
        if isinstance(knn, SharedNeighbors):
            n, compare = len(cast("Patches", self.patches)), find
            find = knn.once(kind, self.patches, lambda: KnownPairs(n, compare))
        return find(self._of(i), self._of(j))

    def euclidean(self, i: Indices, j: Indices) -> Floats:
        """Return the distances of the pairs ``(i, j)`` of points: given, or by differences."""
        if self.divergence == "precomputed":
            return np.asarray(np.minimum(self.points[i, j], self.points[j, i]))
        return self._distances(self.points, i, self.points, j)

    @cached_property
    def mean(self) -> float:
        """The mean plain length of all pairs, or of a sample of them."""
        if self.known_mean is not None:
            return self.known_mean
        if self.divergence == "precomputed" and is_sparse(self.points):
            return float(np.mean(self.points.data))
        i, j = even_pairs(self.points.shape[0], MEAN_PAIRS)
        return float(np.mean(self.plain(i, j), dtype=np.float64))

    def without_points(self) -> Lengths:
        """Return the same without given distances; new points need at most their mean."""
        known = None if self.rule is None else self.mean
        return replace(self, points=None, known_mean=known)

    def pruned(self, typical: Typical) -> PrunedLengths:
        """Return the lengths in a graph without short circuits, given what is typical of edges."""
        return PrunedLengths(**_fields(self), typical=typical)

    def of_distinct(self, copies: Copies | None) -> Lengths:
        """Return the lengths of distinct points, by which edges were chosen before pruning."""
        known = _fields(self)
        if copies is not None:
            codes = None if self.codes is None else self.codes[copies.first]
            known |= {"points": self.points[copies.first], "codes": codes, "patch_of": None}
        return Lengths(**known)

    def _of(self, rows: Indices) -> Indices:
        """Return the patches of points."""
        return rows if self.patch_of is None else self.patch_of[rows]

    # ---------------------------------------------------------------- what the nearest are

    def matrix(self) -> Floats:
        """Return the plain lengths of all pairs of points that each have a patch of their own."""
        if self.divergence == "precomputed":
            return np.asarray(np.minimum(self.points, self.points.T))
        if self.patches is None:
            return all_distances(self.points, self.points).astype(self.points.dtype, copy=False)
        matrix = divergences.pairwise(self.patches, self.divergence, n_jobs=self.n_jobs)
        return np.asarray(to_numpy(matrix))

    def order(
        self, lengths: Floats, i: Indices, j: Indices, distances: Floats | None = None
    ) -> Floats:
        """Return the sort key for choosing neighbours: the length after labels.

        Pairs that labels would remove keep their plain length. Labels can make different lengths
        equal; the plain lengths then decide.
        """
        return _kept(self.labelled(lengths, i, j, distances), lengths)

    def order_of_rows(self, lengths: Floats, block: slice | Indices) -> Floats:
        """Do the same as :meth:`order` for the pairs of a block of points with all points."""
        points = np.arange(self.points.shape[0])
        changed = self._by_rule(lengths, points[block, None], points, lambda: self._from_all(block))
        return _kept(changed, lengths)

    def gaps(self, rows: Indices) -> tuple[Floats, Floats]:
        """Return two keys for finding the closest pair of two components, for some points.

        The divergence of their patches from all others, whatever the labels. Without patches the
        distance after labels; then the plain distance, for ties.
        """
        if self.patches is not None:
            n = len(self.points)
            i, j = np.repeat(rows, n), np.tile(np.arange(n), len(rows))
            return 2 * (self.divergences(i, j).reshape(len(rows), n),)
        if self.divergence == "precomputed":
            gaps = np.minimum(self.points[rows], self.points[:, rows].T)
        else:
            gaps = all_distances(self.points[rows], self.points)
        return self.order_of_rows(gaps, rows), gaps

    # ---------------------------------------------------------------- labels

    def labelled(
        self, lengths: Floats, i: Indices, j: Indices, distances: Floats | None = None
    ) -> Floats:
        """Let the labels of pairs ``(i, j)`` of fitted points change their plain lengths.

        Infinite where the rule removes an edge. ``distances`` are the Euclidean lengths, if they
        are known.
        """
        known = (lambda: self.euclidean(i, j)) if distances is None else lambda: distances
        return self._by_rule(lengths, i, j, known)

    def of_unlabelled(
        self, lengths: Floats, distances: Callable[[], Floats] | None = None
    ) -> Floats:
        """Return what the rule makes of plain lengths from new points: their labels are not known.

        ``distances`` gives the Euclidean lengths, if they differ from ``lengths``.
        """
        if self.rule is None:
            return lengths
        unknown = np.full(lengths.shape, UNKNOWN, dtype=np.int8)
        return changed_lengths(self.rule, self._edges(lengths, unknown, distances))

    # ---------------------------------------------------------------- new points

    def divergences_of_new(self, patches: Patches, i: Indices, j: Indices) -> Floats:
        """Return the divergences of the patches ``i`` of new points from ``j`` of fitted ones."""
        return self._compared(patches, i, self._of(j), self.patches)

    def _compared(
        self, patches: Any, i: Indices, j: Indices, other: Patches | None = None
    ) -> Floats:
        values = paired(patches, i, j, self.divergence, other=other, n_jobs=self.n_jobs)
        return np.asarray(to_numpy(values))

    def of_new(
        self, patches: Patches, near: Neighborhoods, values: Floats, graph: csr_array
    ) -> Floats:
        """Return the lengths of the edges from new points to fitted ones, infinite if left out.

        ``patches`` are those of the new points, ``near`` their neighbours, ``values`` the
        divergences along these edges, and ``graph`` is that of the fitted points.
        """
        return self._left_over(values, lambda: self._from_new(patches, near))

    def _from_new(self, patches: Patches, near: Neighborhoods) -> Floats:
        """Return the distances of the centres of new patches from those of fitted ones."""
        fitted = cast("Patches", self.patches).points
        return self._distances(patches.points, near.sources, fitted, self._of(near.indices))

    def _left_over(self, values: Floats, distances: Callable[[], Floats]) -> Floats:
        """Return the lengths from new points after labels, infinite where an edge is left out."""
        stays = np.isfinite(values)
        lengths = np.full(len(values), np.inf, dtype=values.dtype)
        lengths[stays] = self.of_unlabelled(values[stays], lambda: distances()[stays])
        return lengths

    def _distances(self, X: Floats, i: Indices, Z: Floats, j: Indices) -> Floats:
        """Return the distances of the points ``X[i]`` from ``Z[j]``, by differences."""
        if is_sparse(X):
            space = SearchedPoints(Z, self.n_jobs)
            return (space.distances(X, i, j) / space.scale).astype(X.dtype, copy=False)
        with large_blocks(X):
            parts = map_blocks(
                lambda block: to_numpy(step_lengths(taken(X, i[block]) - taken(Z, j[block]))),
                len(i),
                3 * X.itemsize * X.shape[1],
                self.n_jobs,
            )
        return np.concatenate(parts) if parts else to_numpy(X[:0, 0])

    def _from_all(self, block: slice | Indices) -> Floats:
        """Return the distances of a block of points from all points."""
        return all_distances(self.points[block], self.points)

    def _by_rule(
        self, lengths: Floats, i: Indices, j: Indices, distances: Callable[[], Floats]
    ) -> Floats:
        if self.rule is None or self.codes is None:
            return lengths
        a, b = self.codes[i], self.codes[j]
        if self.codes.dtype.kind == "f":
            kin, alike = likeness(a, b, self.bandwidth)
            return changed_lengths(self.rule, self._edges(lengths, kin, distances, alike))
        return changed_lengths(self.rule, self._edges(lengths, kinship(a, b), distances))

    @cached_property
    def bandwidth(self) -> float:
        """The difference of the measured values of two points that are half alike."""
        given = getattr(self.rule, "bandwidth", None)
        return float(np.nanstd(cast("Any", self.codes)) if given is None else given)

    def _edges(
        self,
        lengths: Floats,
        kin: Kin,
        distances: Callable[[], Floats] | None,
        alike: Floats | None = None,
    ) -> Edges:
        patches = has_patches(self.divergence)  # which on a cluster are elsewhere
        # Without patches lengths are Euclidean, or given: the only distances there are.
        known = distances if patches and distances is not None else lambda: lengths
        return Edges(lengths, kin, known, lambda: self.mean, between_patches=patches, alike=alike)


@dataclass(frozen=True, eq=False)
class PrunedLengths(Lengths):
    """Distances of patch centres in units of the typical one, in a graph without short circuits.

    They are learned from the edges of a graph (:meth:`Lengths.pruned`). Short circuits of fitted
    points are removed where edges of the graph are measured, and not here.
    """

    typical: Typical = field(kw_only=True)  # of the edges to near neighbours

    def plain(self, i: Indices, j: Indices) -> Floats:
        """Return the distances of the pairs ``(i, j)``, also of pairs that are short circuits."""
        return self.euclidean(i, j)

    def euclidean(self, i: Indices, j: Indices) -> Floats:
        """Return the distances of patch centres in units of the typical one."""
        return np.asarray(self.apart(i, j) / self.typical.distance)

    def of_new(
        self, patches: Patches, near: Neighborhoods, values: Floats, graph: csr_array
    ) -> Floats:
        """Do the same by distances; an edge is left out unless it is trusted."""
        disagreement = self.typical.disagreement(values)
        distances = self._from_new(patches, near) / self.typical.distance
        trusted = trusted_of_new(near, disagreement, distances, graph)
        return self._left_over(np.where(trusted, distances, np.inf), lambda: distances)

    def _from_all(self, block: slice | Indices) -> Floats:
        centres = to_numpy(cast("Patches", self.patches).points)
        X = centres[self._of(np.arange(len(self.points)))]
        return np.asarray(cdist(X[block], X) / self.typical.distance)


def _fields(lengths: Lengths) -> dict[str, Any]:
    """Return what any lengths know, learned or not."""
    return {known.name: getattr(lengths, known.name) for known in fields(Lengths)}


def all_distances(X: Any, Z: Any) -> Floats:
    """Return the distances of all rows of ``X`` from all rows of ``Z``, both dense or sparse."""
    return np.asarray(euclidean_distances(X, Z) if is_sparse(X) else cdist(X, Z))


def step_lengths(steps: Array) -> Array:
    """Return the lengths of steps (n, m), also where their squares overflow or vanish.

    Examples
    --------
    >>> step_lengths(np.array([[3.0, 4.0], [3e200, 4e200], [0.0, 0.0]]))
    array([5.e+000, 5.e+200, 0.e+000])
    """
    xp = array_namespace(steps)
    with np.errstate(over="ignore"):
        lengths = xp.linalg.vector_norm(steps, axis=1)
    odd = np.flatnonzero(to_numpy(~xp.isfinite(lengths) | (lengths == 0)))
    if len(odd):
        steps = taken(steps, odd)
        units = xp.max(xp.abs(steps), axis=1)
        units = xp.where(units == 0, 1.0, units)
        put(lengths, odd, xp.linalg.vector_norm(steps / units[:, None], axis=1) * units)
    return lengths


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
