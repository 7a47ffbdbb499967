"""How long an edge is: the divergence of two patches, as labels change it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.spatial.distance import cdist

from patchfold import divergences
from patchfold._namespace import to_numpy
from patchfold._validation import is_sparse
from patchfold.blocks import map_blocks
from patchfold.supervision import UNKNOWN, Edges, changed_lengths, kinship

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from patchfold.divergences import Divergence
    from patchfold.gaussians import Patches
    from patchfold.supervision import Codes, Kin, LabelRule

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]

# What ``lengths`` may be: the divergence itself, or distances that it stretches.
KINDS = ("divergence", "stretched")

# An edge is stretched where its divergence is more than so many times the typical one, by the
# square of the excess; the typical one is the median over the edges to so many nearest neighbours,
# whatever the degree of the graph. On noisy manifolds (docs/stability.md) a lower limit costs
# accuracy where there is nothing to stretch, a higher one lets short circuits through.
ORDINARY = 2.0
TYPICAL_NEIGHBORS = 10

# A mean over so many pairs has three digits; all pairs are looked at while there are no more.
MEAN_PAIRS = 2**19


@dataclass(frozen=True)
class Typical:
    """The typical divergence and distance of neighbours, both positive."""

    divergence: float
    distance: float

    @classmethod
    def of(cls, values: Floats, distances: Floats) -> Typical:
        """Take the medians of those above zero: copies of a point say nothing about the rest."""
        medians = [
            float(np.median(some[some > 0])) if (some > 0).any() else 1.0
            for some in (values, distances)
        ]
        return cls(*medians)


def stretched(values: Floats, distances: Floats, typical: Typical) -> Floats:
    """Return ``e max(1, d / (2 d0))^2 / e0`` for divergences ``d`` and distances ``e``.

    Edges of ordinary divergence are as long as their ends are apart, in units of the typical
    distance ``e0``, ``d0`` being the typical divergence; an edge that joins patches of another
    kind, as a short circuit does, is stretched until paths avoid it.

    Examples
    --------
    >>> import numpy as np
    >>> stretched(np.array([1.0, 2.0, 4.0]), np.array([3.0, 3.0, 3.0]), Typical(1.0, 3.0))
    array([1., 1., 4.])
    """
    excess = np.maximum(values / (ORDINARY * typical.divergence), 1.0)
    return np.asarray(distances / typical.distance * np.square(excess), dtype=values.dtype)


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
        What makes lengths stretched distances; None where they are the divergences.
    """

    points: Any
    patches: Patches | None
    divergence: str | Divergence
    rule: LabelRule | None = None
    codes: Codes | None = None
    n_jobs: int | None = None
    typical: Typical | None = None

    def plain(self, i: Indices, j: Indices) -> Floats:
        """Return the lengths of the pairs ``(i, j)`` of fitted points before labels change them."""
        if self.divergence == "precomputed":
            return np.asarray(np.minimum(self.points[i, j], self.points[j, i]))
        if self.patches is None:
            return self.euclidean(i, j)
        values = self.divergences(i, j)
        if self.typical is None:
            return values
        return stretched(values, self.apart(i, j), self.typical)

    def settle(self, i: Indices, j: Indices, few: NDArray[np.bool_] | None = None) -> Floats:
        """Learn what is typical from the pairs ``(i, j)``, or from the ``few`` that are marked.

        From then on lengths are stretched distances; those of the pairs are returned.
        """
        values, distances = self.divergences(i, j), self.apart(i, j)
        known = (values, distances) if few is None else (values[few], distances[few])
        self.typical = Typical.of(*known)
        return stretched(values, distances, self.typical)

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
        """Return the distances of the pairs ``(i, j)`` of fitted points, by differences.

        Those of their patches in typical ones, where these are what is stretched.
        """
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
        """Return the plain lengths of all pairs."""
        if self.divergence == "precomputed":
            return np.asarray(np.minimum(self.points, self.points.T))
        if self.patches is None:
            return cdist(self.points, self.points).astype(self.points.dtype, copy=False)
        matrix = divergences.pairwise(self.patches, self.divergence, n_jobs=self.n_jobs)
        values = np.asarray(to_numpy(matrix))
        if self.typical is None:
            return values
        return stretched(values, self._from_all(slice(None)), self.typical)

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

    def of_new(self, patches: Patches, i: Indices, j: Indices) -> Floats:
        """Return the lengths from the patches ``i`` of new points to those ``j`` of fitted ones."""
        fitted = cast("Patches", self.patches)
        between = divergences.paired(
            patches, i, j, self.divergence, other=fitted, n_jobs=self.n_jobs
        )
        values = np.asarray(to_numpy(between))

        def distances() -> Floats:
            return self._distances(to_numpy(patches.points), i, to_numpy(fitted.points), j)

        if self.typical is not None:
            values = stretched(values, distances(), self.typical)
        return self.of_unlabelled(values, lambda: distances() / self._unit)

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
        """The mean plain length of all pairs, not stretched, or of a sample of them."""
        if is_sparse(self.points):
            return float(np.mean(self.points.data))
        i, j = even_pairs(self.points.shape[0], MEAN_PAIRS)
        # Stretching is for neighbours: of far pairs it makes numbers beyond all measure.
        lengths = self.plain(i, j) if self.typical is None else self.euclidean(i, j)
        return float(np.mean(lengths, dtype=np.float64))

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
