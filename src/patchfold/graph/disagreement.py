"""How much two patches disagree: their divergence, and how far the edge between them leaves both.

Both are measured against what is typical of neighbours. A divergence alone is large wherever
patches are narrow, bent or sparse. An edge that jumps off the manifold also leaves the planes of
its two patches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from patchfold.engines.arrays import check_stored, to_numpy
from patchfold.engines.threads import map_blocks
from patchfold.engines.validation import check_positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.patches.gaussians import Patches

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]

# What is typical of neighbours is the median over the edges to so many nearest ones, whatever the
# degree of the graph.
NEAREST = 10

# Whether there are short circuits is asked of the edges to so many neighbours, whatever the degree:
# by those of ten or thirty, noisy rolls are taken for closed surfaces now and then.
TYPICAL_NEIGHBORS = 15

# Disagreement up to so many times the typical one is ordinary. Chosen with the other constants of
# the recipe on the tuning half of benchmarks/geometry and on seeds 100 to 102 of the manifolds in
# docs/stability.md; 1.5 and 2 differ little, from 3 on short circuits of noisy rolls pass.
ORDINARY = 1.5

# What is typical around a point is the median over its neighbours, so often repeated: over too few
# points it would be that of short circuits themselves.
SMOOTHINGS = 6

# The least share by which edges leave their patches typically. In flat, clean data a smaller one
# would make every bend a jump.
LEAST_LEAVING = 0.3

# Between these shares of noise in the distance of neighbours, distances lose their weight.
QUIET, NOISY = 0.35, 0.6


@dataclass(frozen=True, eq=False)
class Typical:
    """What is typical of neighbours.

    Attributes
    ----------
    distance, divergence : float
        Medians over the edges of near neighbours, both positive.
    leaving : float
        The median share by which these edges leave their patches, see :func:`leaving`.
    around : array of shape (n,)
        The divergence that is typical around each point: the median, over the point and its near
        neighbours, of the medians of their edges.
    noise : float
        The share of a neighbour's squared distance that is noise across the patches, 0 to about 1:
        how far points lie from their patches, squared and twice, as both ends do.
    """

    distance: float
    divergence: float
    leaving: float
    around: Floats
    noise: float

    @classmethod
    def of(
        cls,
        edges: tuple[Indices, Indices],
        values: Floats,
        distances: Floats,
        leaves: Floats,
        offsets: Floats,
        apart: Floats,
    ) -> Typical:
        """Learn what is typical from the edges of near neighbours, each given once.

        Parameters
        ----------
        edges : pair of arrays of shape (n_edges,)
        values, distances, leaves : arrays of shape (n_edges,)
            Divergences, distances of the patches, and :func:`leaving`.
        offsets : array of shape (n,)
            How far each point lies from the centre of its patch.
        apart : array of shape (n_edges,)
            Distances of the points.
        """
        n = len(offsets)
        rows, others = np.concatenate(edges), np.concatenate(edges[::-1])
        around = medians(rows, np.concatenate([values, values]), n)
        for _ in range(SMOOTHINGS):
            beside = np.concatenate([around[others], around])
            around = medians(np.concatenate([rows, np.arange(n)]), beside, n)
        return cls(
            distance=_positive_median(distances),
            divergence=_positive_median(values),
            leaving=max(LEAST_LEAVING, float(np.median(leaves)) if len(leaves) else 0.0),
            around=around,
            noise=2 * float(np.median(np.square(offsets))) / _positive_median(np.square(apart)),
        )

    def check(self, n: int) -> None:
        """Refuse what is in a file and is not typical of so many points."""
        check_stored("around", self.around, (n,), least=0)
        for name in ("distance", "divergence", "leaving"):
            check_positive(name, getattr(self, name))
        if not 0 <= self.noise < np.inf:
            raise ValueError(f"noise={self.noise} is no share")

    def disagreement(self, values: Floats, leaves: Floats, around: Floats) -> Floats:
        """Return the disagreement along edges; up to 1 it is ordinary.

        ``(d / d0) (s / s0) / 1.5`` for divergences ``d`` and shares ``s`` by which edges leave
        their patches, where ``d0`` and ``s0`` are typical: of all neighbours, or of those
        ``around`` an edge, where that is more.
        """
        usual = np.maximum(around, self.divergence) * self.leaving
        return np.asarray(values.astype(np.float64) * leaves / (ORDINARY * usual))

    @property
    def quiet(self) -> float:
        """How far distances can be relied on: 1 where they are hardly noise, 0 where mostly."""
        return float(np.clip((NOISY - self.noise) / (NOISY - QUIET), 0.0, 1.0))


def leaving(a: Patches, i: Indices, b: Patches, j: Indices, *, n_jobs: int | None = None) -> Floats:
    """Return the share by which the edges between patches ``a[i]`` and ``b[j]`` leave them.

    For the step ``u`` between the two points, and the patch that it leaves by more,
    ``1 - (u' Sigma u / u'u - l) / (L - l)`` with ``l`` and ``L`` the least and largest eigenvalue
    of ``Sigma``: 0 along the widest direction of both patches, 1 across one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold import Patches
    >>> flat = np.stack([np.diag([1.0, 1.0, 0.01])] * 3)
    >>> points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> patches = Patches.from_moments(points, flat)
    >>> leaving(patches, np.array([0, 0]), patches, np.array([1, 2])).round(6)
    array([0., 1.])
    """
    starts, ends = to_numpy(a.points), to_numpy(b.points)
    of_a = _widths(a, n_jobs)
    of_b = of_a if b is a else _widths(b, n_jobs)

    def share(block: slice) -> Floats:
        steps = ends[j[block]] - starts[i[block]]
        lengths = np.linalg.norm(steps, axis=1)
        # Of unit length: fourth powers of small or large units would vanish or overflow.
        steps /= np.where(lengths > 0, lengths, 1.0)[:, None]
        along = np.minimum(
            _along(a, i[block], steps, *of_a),
            _along(b, j[block], steps, *of_b),
        )
        # A step of length zero leaves nothing.
        return np.where(lengths > 0, np.clip(1 - along, 0.0, 1.0), 0.0)

    widest = a.roots if a.directions is None else a.directions
    row_bytes = 4 * starts.itemsize * (starts.shape[1] + int(np.prod(widest.shape[1:])))
    parts = map_blocks(share, len(i), row_bytes, n_jobs)
    return np.concatenate(parts) if parts else np.empty(0)


def nearest(
    edges: tuple[Indices, Indices], apart: Floats, n: int
) -> tuple[csr_array, NDArray[np.bool_]]:
    """Return the nearest points of each, itself among them, and which edges lead to them.

    Parameters
    ----------
    edges : pair of arrays of shape (n_edges,)
        Those of near neighbours, each given once.
    apart : array of shape (n_edges,)
        Distances of the points. All as far as the tenth belong to the nearest.
    n : int
        Number of points.

    Returns
    -------
    near : csr_array of shape (n, n)
        Ones.
    kept : array of bool of shape (n_edges,)
        The edges to one of the nearest of an end.
    """
    return within(edges, apart, reaches(edges, apart, n))


def reaches(edges: tuple[Indices, Indices], apart: Floats, n: int) -> Floats:
    """Return how far the nearest points of each reach; edges are as in :func:`nearest`."""
    rows, both = np.concatenate(edges), np.concatenate([apart, apart])
    counts = np.bincount(rows, minlength=n)
    last = np.cumsum(counts) - np.maximum(counts - NEAREST, 0) - 1
    return both[np.lexsort((both, rows))][last] if len(both) else np.zeros(n)


def within(
    edges: tuple[Indices, Indices], apart: Floats, reach: Floats
) -> tuple[csr_array, NDArray[np.bool_]]:
    """Return what :func:`nearest` does, given how far the nearest points of each reach."""
    rows, others = np.concatenate(edges), np.concatenate(edges[::-1])
    both, n = np.concatenate([apart, apart]), len(reach)
    kept, itself = both <= reach[rows], np.arange(n)
    ends = np.concatenate([rows[kept], itself]), np.concatenate([others[kept], itself])
    near = csr_array((np.ones(len(ends[0]), dtype=np.int32), ends), shape=(n, n))
    return near, np.logical_or(*np.split(kept, 2))


def shares(near: csr_array, i: Indices, j: Indices, *, n_jobs: int | None = None) -> Floats:
    """Return the share of their nearest points that the ends of edges have in common.

    Examples
    --------
    >>> import numpy as np
    >>> near, _ = nearest((np.array([0, 1]), np.array([1, 2])), np.ones(2), 4)
    >>> shares(near, np.array([0, 0, 0]), np.array([1, 2, 3]))
    array([1. , 0.5, 0. ])
    """
    counts = np.diff(near.indptr)

    def common(block: slice) -> Floats:
        return np.asarray(near[i[block]].multiply(near[j[block]]).sum(axis=1))

    parts = map_blocks(common, len(i), 64 * int(counts.max(initial=1)), n_jobs)
    found = np.concatenate(parts) if parts else np.empty(0)
    return np.asarray(found / np.minimum(counts[i], counts[j]))


def _widths(patches: Patches, n_jobs: int | None) -> tuple[Floats, Floats]:
    """Return the least eigenvalue of every covariance, and how far the largest is above it."""
    if patches.factored:
        return to_numpy(patches.ridge), to_numpy(patches.variances).max(axis=1)
    roots = to_numpy(patches.roots)

    def extremes(block: slice) -> Floats:
        values = np.linalg.eigvalsh(roots[block] @ roots[block].transpose(0, 2, 1))
        return np.asarray(values[:, [0, -1]])

    row_bytes = 4 * roots.itemsize * roots.shape[1] ** 2
    parts = map_blocks(extremes, len(roots), row_bytes, n_jobs)
    least, largest = np.concatenate(parts).T if parts else np.empty((2, 0))
    # Eigenvalues equal to half the digits, as those of a patch flattened in no direction are, are
    # taken as equal: what is left of their difference is rounding.
    wider = largest - least > np.finfo(roots.dtype).eps ** 0.5 * largest
    return least, np.where(wider, largest - least, 0)


def _along(patches: Patches, rows: Indices, steps: Floats, least: Floats, above: Floats) -> Floats:
    """Return how wide patches are along steps of unit length, from 0, least, to 1, largest."""
    if patches.factored:
        # Row by row: a product of matrices has bits that depend on how many rows there are.
        parts = (steps[:, None, :] @ to_numpy(patches.directions)[rows])[:, 0, :]
        wide = np.einsum("er,er->e", parts * parts, to_numpy(patches.variances)[rows])
    else:
        parts = (steps[:, None, :] @ to_numpy(patches.roots)[rows])[:, 0, :]
        wide = np.einsum("em,em->e", parts, parts) - least[rows]
    # A patch as wide in all directions is left by none.
    unit = above[rows]
    return np.asarray(np.divide(wide, unit, out=np.ones_like(wide), where=unit > 0))


def _positive_median(values: Floats) -> float:
    """Return the median of those above zero: copies of a point say nothing about the rest."""
    above = values[values > 0]
    return float(np.median(above)) if len(above) else 1.0


def medians(rows: Indices, values: Floats, n: int) -> Floats:
    """Return the (lower) median of the values of each row, 0 where a row has none."""
    order = np.lexsort((values, rows))
    counts = np.bincount(rows, minlength=n)
    middle = np.cumsum(counts) - counts + np.maximum(counts - 1, 0) // 2
    found = counts > 0
    medians = np.zeros(n)
    medians[found] = values[order][middle[found]]
    return medians
