"""How long an edge is: the divergence of two patches, as labels change it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

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
    """

    points: Any
    patches: Patches | None
    divergence: str | Divergence
    rule: LabelRule | None = None
    codes: Codes | None = None
    n_jobs: int | None = None

    def plain(self, i: Indices, j: Indices) -> Floats:
        """Return the lengths of the pairs ``(i, j)`` of fitted points before labels change them."""
        if self.divergence == "precomputed":
            return np.asarray(np.minimum(self.points[i, j], self.points[j, i]))
        if self.patches is None:
            return self.euclidean(i, j)
        values = divergences.paired(self.patches, i, j, self.divergence, n_jobs=self.n_jobs)
        return np.asarray(to_numpy(values))

    def euclidean(self, i: Indices, j: Indices) -> Floats:
        """Return the distances of the pairs ``(i, j)`` of fitted points, by differences."""
        X = self.points
        parts = map_blocks(
            lambda block: np.linalg.norm(X[i[block]] - X[j[block]], axis=1),
            len(i),
            3 * X.itemsize * X.shape[1],
            self.n_jobs,
        )
        return np.concatenate(parts) if parts else np.empty(0, dtype=X.dtype)

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
        return np.asarray(to_numpy(matrix))

    def order_of_rows(self, lengths: Floats, block: slice) -> Floats:
        """Do the same as :meth:`order` for the pairs of a block of points with all points."""
        points = np.arange(len(self.points))
        changed = self._by_rule(
            lengths, points[block, None], points, lambda: cdist(self.points[block], self.points)
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

        def between(divergence: str | Divergence) -> Floats:
            values = divergences.paired(
                patches, i, j, divergence, other=self.patches, n_jobs=self.n_jobs
            )
            return np.asarray(to_numpy(values))

        return self.of_unlabelled(between(self.divergence), lambda: between("euclidean"))

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
