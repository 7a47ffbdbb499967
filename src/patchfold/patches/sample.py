"""What the data around a patch tell, and its Gaussian does not: dimension and density.

The Gaussian of a patch may be denoised, flattened or shrunk. The points that it was fitted to, as
they were given, are kept beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import digamma, gammaln

from patchfold.base.arrays import Array, to_numpy
from patchfold.base.threads import map_blocks
from patchfold.base.validation import check_positive

if TYPE_CHECKING:
    from patchfold.base.types import Doubles, Floats, Indices
    from patchfold.neighbors.neighborhoods import Neighborhoods


@dataclass(frozen=True, eq=False)
class Sample:
    """The data, and which of them each patch was fitted to."""

    data: Array  # (n_samples, m): all points, as they were given
    rows: Indices  # (n,): the point that each patch belongs to
    members: Neighborhoods  # its neighbours: n rows

    def __getitem__(self, which: Indices) -> Sample:
        return Sample(self.data, self.rows[which], self.members[which])

    def dimension(self, n_jobs: int | None = None) -> Floats:
        """Return the intrinsic dimension at every patch, by its expected simplex skewness."""
        X = to_numpy(self.data)
        widest, m = int(self.members.degrees.max(initial=0)) + 1, X.shape[1]

        def skewness(block: slice) -> Floats:
            rows = np.arange(block.start, block.stop)
            degrees, found = self.members.degrees[rows], np.empty(len(rows))
            for degree in np.unique(degrees):
                some = np.flatnonzero(degrees == degree)
                starts = self.members.indptr[rows[some]]
                near = self.members.indices[starts[:, None] + np.arange(degree)]
                who = np.concatenate([self.rows[rows[some], None], near], axis=1)
                found[some] = simplex_skewness(X[who])
            return found

        row_bytes = 8 * widest * (3 * m + 5 * widest)
        parts = map_blocks(skewness, len(self.rows), row_bytes, n_jobs)
        dimensions = np.minimum(dimension_of_skewness(np.concatenate(parts)), m)
        return dimensions.astype(X.dtype, copy=False)

    def log_density(self, dimension: float) -> Floats:
        """Return the logarithm of the density at every patch, by the distance of its last member.

        For ``k`` members within ``r`` of a point, among ``n`` other points, the expectation of
        ``psi(k) - log(n V r^d)`` is the logarithm of the density, where ``V`` is the volume of the
        unit ball and ``psi`` the digamma function.
        """
        d = check_positive("dimension", dimension)
        counts = self.members.degrees
        reach = np.zeros(len(counts))
        some = counts > 0
        reach[some] = self.members.distances[self.members.indptr[1:][some] - 1]
        log_ball = d / 2 * np.log(np.pi) - gammaln(d / 2 + 1)
        others = max(1, int(self.data.shape[0]) - 1)
        with np.errstate(divide="ignore"):  # members in one place: their density is infinite
            found = digamma(np.maximum(counts, 1)) - np.log(others) - log_ball - d * np.log(reach)
        found = np.where(some, found, -np.inf)
        return np.asarray(found, dtype=to_numpy(self.data).dtype)


def simplex_skewness(points: Floats) -> Doubles:
    """Return how near to a right angle the points (n, k, m) of patches are, seen from their mean.

    ``sum |v_i| |v_j| sin(v_i, v_j) / sum |v_i| |v_j|`` over all pairs of points, ``v`` being their
    differences from the mean: 0 for points on a line, and nearer to 1 the more dimensions the
    points fill (Johnsson, Soneson and Fontes, "Low bias local intrinsic dimension estimation from
    expected simplex skewness", IEEE PAMI 37, 2015). NaN where all points are equal.

    Examples
    --------
    >>> simplex_skewness(np.array([[[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]]])).round(3)
    array([0.667])
    """
    V = points.astype(np.float64)
    V -= V[:, :1]  # digits of points far from the origin
    V -= V.mean(axis=1, keepdims=True)
    unit = np.abs(V).max(axis=(1, 2), keepdims=True)
    V /= np.where(unit > 0, unit, 1.0)
    products = V @ np.swapaxes(V, 1, 2)
    squares = np.einsum("nii->ni", products)
    sizes = np.sqrt(squares[:, :, None] * squares[:, None, :])
    areas = np.sqrt(np.clip(sizes**2 - products**2, 0.0, None))
    i, j = np.triu_indices(points.shape[1], 1)
    whole = sizes[:, i, j].sum(axis=1)
    return np.where(whole > 0, areas[:, i, j].sum(axis=1) / np.where(whole > 0, whole, 1.0), np.nan)


def expected_skewness(dimension: Any) -> Doubles:
    """Return the mean sine of the angle between two random directions in d dimensions.

    ``G(d/2)^2 / (G((d+1)/2) G((d-1)/2))`` with the gamma function ``G``, 0 in one dimension.

    Examples
    --------
    >>> expected_skewness([1, 2, 3]).round(4)
    array([0.    , 0.6366, 0.7854])
    """
    d = np.asarray(dimension, dtype=np.float64)
    above = np.maximum(d, np.nextafter(1.0, 2.0))
    value = np.exp(2 * gammaln(above / 2) - gammaln((above + 1) / 2) - gammaln((above - 1) / 2))
    return np.where(d > 1, value, 0.0)


# Where the expectation is tabled: finely where users look, to three digits beyond.
DIMENSIONS = np.concatenate([np.linspace(1, 20, 1901), np.geomspace(20, 1e4, 2001)[1:]])


def dimension_of_skewness(skewness: Floats) -> Doubles:
    """Return the dimension in which this skewness is expected; 0 for NaN, at most 10 000.

    Examples
    --------
    >>> dimension_of_skewness(expected_skewness([1, 2, 2.5, 30])).round(3)
    array([ 1. ,  2. ,  2.5, 30. ])
    """
    found = np.interp(skewness, expected_skewness(DIMENSIONS), DIMENSIONS)
    return np.where(np.isnan(skewness), 0.0, found)
