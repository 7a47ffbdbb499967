"""The general regression network: a weighted mean of the values of fitted points."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from sklearn.base import (
    BaseEstimator,
    MultiOutputMixin,
    RegressorMixin,
)
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
)

from patchfold._validation import check_positive, checked_points
from patchfold.engines.pools import map_blocks
from patchfold.engines.sampling import CHOICE_ROWS, choice_rows
from patchfold.neighbors.points import SearchedPoints

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Indices = NDArray[np.intp]


# GRNN holds the distances of these rows to all points while it chooses. Above 2^25 pairs
# (256 MiB) it takes fewer rows, though never less than a hundred.
CHOICE_PAIRS = 2**25


LEAST_ROWS = 100


# Squared distances that differ by a smaller share are equal, as are many in gridded data.
EQUAL_DISTANCE = 1e-9


# Neighbouring bandwidths of the first look differ by this factor. The error has a minimum that
# is wider; the search between neighbours then ends at this share of the bandwidth.
BANDWIDTH_STEP = 1.5


BANDWIDTH_TOLERANCE = 1e-4


# Errors that differ by a smaller share are equal: where many bandwidths are equally good (all
# see the nearest point alone), rounding must not choose, and the smallest of them is taken.
EQUAL_ERROR = 1e-6


class GRNN(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """General regression neural network (Specht 1991): a mean weighted by a Gaussian kernel.

    The prediction at ``x`` is ``sum_j w_j y_j / sum_j w_j`` with
    ``w_j = exp(-|x - x_j|^2 / (2 bandwidth^2))``. Far from all points, where every weight would
    vanish, it becomes the value of the nearest ones.

    Parameters
    ----------
    bandwidth : float or None
        Width of the kernel, in units of the points. None chooses it by leave-one-out: the squared
        errors of predicting each point by the others, summed over points and outputs, are
        least. Of more than 1000 points, 1000 are predicted (fewer beyond 30 000), the same in
        every run.
    n_jobs : int or None
        Number of threads. Results do not depend on it.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth used. It is 1 where all points coincide and any other would do.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Distances are taken from differences and in double precision, so data far from the origin
    lose nothing. Predictions are float32 where points and values both are, or the values are
    integers and the points are float32.

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold.mapping import GRNN
    >>> x = np.linspace(0, 3, 50)
    >>> network = GRNN().fit(x[:, None], np.sin(x))
    >>> network.predict([[1.0], [100.0]]).round(2)
    array([0.84, 0.14])
    """

    bandwidth_: float
    _space: SearchedPoints
    _values: Floats

    def __init__(self, bandwidth: float | None = None, n_jobs: int | None = None) -> None:
        self.bandwidth = bandwidth
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the points and their values, and choose the bandwidth.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Points.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Their values.

        Returns
        -------
        self
        """
        if self.bandwidth is not None:
            check_positive("bandwidth", self.bandwidth)
        points = checked_points(self, X, y=y)
        y = check_array(y, ensure_2d=False, dtype="numeric", input_name="y", estimator=self)
        check_consistent_length(points, y)
        self._dtype = np.result_type(points, y) if y.dtype.kind == "f" else points.dtype
        self._single_output = y.ndim == 1
        self._values = np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)
        self._space = SearchedPoints(points, self.n_jobs)
        if self.bandwidth is None:
            self.bandwidth_ = _left_out_bandwidth(self._space, self._values, self.n_jobs)
        else:
            self.bandwidth_ = float(self.bandwidth)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the weighted mean of the values at new points.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Points.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs), as ``y`` was
        """
        check_is_fitted(self)
        space = self._space
        queries = space.check_queries(checked_points(self, X, reset=False), type(self).__name__)
        points = _scaled(space, space.points)
        bandwidth = self.bandwidth_ * space.scale

        def means(block: slice) -> Floats:
            squared = cdist(_scaled(space, queries[block]), points, "sqeuclidean")
            squared -= squared.min(axis=1, keepdims=True)
            return _weighted_means(squared, self._values, bandwidth)

        parts = map_blocks(means, len(queries), 8 * space.n_samples, self.n_jobs)
        predicted = np.concatenate(parts).astype(self._dtype, copy=False)
        return predicted[:, 0] if self._single_output else predicted


def _scaled(space: SearchedPoints, X: Any) -> Floats:
    """Return points in the units in which their differences can be squared."""
    return np.asarray(np.multiply(X, space.scale, dtype=np.float64))


def _weighted_means(excess: Floats, values: Floats, bandwidth: float) -> Floats:
    """Average ``values`` by the softmax of ``-excess / (2 bandwidth^2)``, row by row.

    ``excess`` are squared distances less the least of their row, and are overwritten.
    """
    info = np.finfo(np.float64)
    bandwidth = max(bandwidth, float(info.tiny))
    # Finite, so that the nearest point keeps its weight of 1 under the narrowest kernel.
    factor = min(0.5 / bandwidth / bandwidth, float(info.max))
    with np.errstate(over="ignore"):
        excess *= -factor
    weights = np.exp(excess, out=excess)
    weights /= weights.sum(axis=1, keepdims=True)
    # Row by row: a product of matrices has bits that depend on how many rows there are.
    return np.asarray((weights[:, None, :] @ values)[:, 0, :])


def _left_out_bandwidth(space: SearchedPoints, values: Floats, n_jobs: int | None) -> float:
    """Return the bandwidth with the least squared error of predicting points by the others."""
    n = space.n_samples
    rows = choice_rows(n, min(CHOICE_ROWS, max(LEAST_ROWS, CHOICE_PAIRS // n)))
    excess, shortest, longest = _left_out_distances(space, rows, n_jobs)
    if longest == 0:
        return 1.0
    # Means shift and stretch along with the values; near zero and one their squares are safe.
    low, high = values.min(axis=0), values.max(axis=0)
    values = values - (low / 2 + high / 2)
    values = values / (np.abs(values).max() or 1.0)

    def error(bandwidth: float) -> float:
        def squared_errors(block: slice) -> Floats:
            means = _weighted_means(excess[block].copy(), values, bandwidth)
            return np.asarray(np.square(means - values[rows[block]]).sum(axis=1))

        return float(np.concatenate(map_blocks(squared_errors, len(rows), 8 * n, n_jobs)).sum())

    # Bandwidths are multiples of the shortest, which no change of units changes.
    steps = math.ceil(math.log(2 * longest / shortest, BANDWIDTH_STEP))
    grid = np.linspace(0.0, math.log(2 * longest / shortest), steps + 1)
    errors = np.array([error(shortest * math.exp(power)) for power in grid])
    best = int(np.argmax(errors <= errors.min() * (1 + EQUAL_ERROR)))
    found = minimize_scalar(
        lambda power: error(shortest * math.exp(power)),
        bounds=(grid[max(best - 1, 0)], grid[min(best + 1, steps)]),
        method="bounded",
        options={"xatol": BANDWIDTH_TOLERANCE},
    )
    better = found.fun < errors[best] * (1 - EQUAL_ERROR)
    return shortest * math.exp(found.x if better else grid[best]) / space.scale


def _left_out_distances(
    space: SearchedPoints, rows: Indices, n_jobs: int | None
) -> tuple[Floats, float, float]:
    """Return squared distances of rows to other points, less the least; and bandwidths to try.

    Below the shortest nine rows of ten see their nearest point alone, far above the longest
    all see the mean of all. Both are 0 where all points coincide.
    """
    points = _scaled(space, space.points)
    excess = np.empty((len(rows), len(points)))

    def fill(block: slice) -> tuple[Floats, float]:
        squared = excess[block]
        cdist(points[rows[block]], points, "sqeuclidean", out=squared)
        longest = float(squared.max())
        squared[np.arange(len(squared)), rows[block]] = np.inf
        nearest = squared.min(axis=1, keepdims=True)
        if len(points) > 1:
            squared -= nearest
        # How much farther the next one is; where all are equally far, how far they are.
        gaps = np.min(squared, axis=1, initial=np.inf, where=squared > EQUAL_DISTANCE * nearest)
        return np.where(np.isinf(gaps), nearest[:, 0], gaps), longest

    parts = map_blocks(fill, len(rows), 2 * 8 * len(points), n_jobs)
    gaps = np.concatenate([part[0] for part in parts])
    longest = max(part[1] for part in parts)
    if longest == 0:
        return excess, 0.0, 0.0
    shortest = np.quantile(gaps[gaps > 0], 0.1, method="lower")
    return excess, float(np.sqrt(shortest)) / 4, float(np.sqrt(longest))
