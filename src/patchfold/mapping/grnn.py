"""The general regression network: a weighted mean of the values of fitted points."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from patchfold.base.estimators import BaseEstimator, MultiOutputMixin, RegressorMixin
from patchfold.base.sampling import CHOICE_ROWS, choice_rows
from patchfold.base.threads import map_blocks
from patchfold.base.validation import check_positive, checked_points
from patchfold.neighbors.points import SearchedPoints

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices


# While GRNN chooses a bandwidth it holds the distances of some rows to all points. It takes fewer
# rows if these are more than 2^25 pairs (256 MiB), but at least a hundred.
CHOICE_PAIRS = 2**25

LEAST_ROWS = 100

# Squared distances that differ by a smaller share count as equal; gridded data have many.
EQUAL_DISTANCE = 1e-9

# The first bandwidths tried differ by this factor, which is less than the width of the minimum of
# the error. The search between two of them ends at this share of the bandwidth.
BANDWIDTH_STEP = 1.5

BANDWIDTH_TOLERANCE = 1e-4

# Errors that differ by a smaller share count as equal. Many bandwidths can be equally good, because
# all see only the nearest point; rounding must not choose, and the smallest is taken.
EQUAL_ERROR = 1e-6


class GRNN(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """General regression neural network (Specht 1991): a mean weighted by a Gaussian kernel.

    The prediction at ``x`` is ``sum_j w_j y_j / sum_j w_j`` with
    ``w_j = exp(-|x - x_j|^2 / (2 bandwidth^2))``. Far from all points, where every weight would
    vanish, it is the value of the nearest ones.

    Parameters
    ----------
    bandwidth : float or None
        Width of the kernel, in units of the points. None chooses it by leave-one-out: it has the
        least squared error of predicting each point by the others, summed over points and
        outputs. Of more than 1000 points, 1000 are predicted (fewer beyond 30 000), the same in
        every run.
    n_jobs : int or None
        Number of threads. Results do not depend on it.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth used; 1 if all points coincide, where any bandwidth would do.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Distances are computed from differences, in double precision, so data far from the origin
    lose nothing. Predictions are float32 if the points are float32 and the values are float32 or
    integers.

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
    """Return points in units in which their differences can be squared."""
    return np.asarray(np.multiply(X, space.scale, dtype=np.float64))


def _weighted_means(excess: Floats, values: Floats, bandwidth: float) -> Floats:
    """Average ``values`` by the softmax of ``-excess / (2 bandwidth^2)``, row by row.

    ``excess`` holds squared distances minus the least of their row. It is overwritten.
    """
    info = np.finfo(np.float64)
    bandwidth = max(bandwidth, float(info.tiny))
    # Finite, so that the nearest point keeps its weight of 1 under the narrowest kernel.
    factor = min(0.5 / bandwidth / bandwidth, float(info.max))
    with np.errstate(over="ignore"):
        excess *= -factor
    weights = np.exp(excess, out=excess)
    weights /= weights.sum(axis=1, keepdims=True)
    # Row by row: the bits of a product of matrices depend on the number of rows.
    return np.asarray((weights[:, None, :] @ values)[:, 0, :])


def _left_out_bandwidth(space: SearchedPoints, values: Floats, n_jobs: int | None) -> float:
    """Return the bandwidth with the least squared error of predicting points by the others."""
    n = space.n_samples
    rows = choice_rows(n, min(CHOICE_ROWS, max(LEAST_ROWS, CHOICE_PAIRS // n)))
    excess, shortest, longest = _left_out_distances(space, rows, n_jobs)
    if longest == 0:
        return 1.0
    # Values between -1 and 1 can be squared; means shift and scale with the values.
    low, high = values.min(axis=0), values.max(axis=0)
    values = values - (low / 2 + high / 2)
    values = values / (np.abs(values).max() or 1.0)

    def error(bandwidth: float) -> float:
        def squared_errors(block: slice) -> Floats:
            means = _weighted_means(excess[block].copy(), values, bandwidth)
            return np.asarray(np.square(means - values[rows[block]]).sum(axis=1))

        return float(np.concatenate(map_blocks(squared_errors, len(rows), 8 * n, n_jobs)).sum())

    # Multiples of the shortest bandwidth, so that units do not matter.
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
    """Return squared distances of rows to other points minus the least, and a range of bandwidths.

    Below the shortest bandwidth nine rows of ten see only their nearest point; far above the
    longest all see the mean of all points. Both are 0 if all points coincide.
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
        # How much farther the next point is; if all are equally far, how far they are.
        gaps = np.min(squared, axis=1, initial=np.inf, where=squared > EQUAL_DISTANCE * nearest)
        return np.where(np.isinf(gaps), nearest[:, 0], gaps), longest

    parts = map_blocks(fill, len(rows), 2 * 8 * len(points), n_jobs)
    gaps = np.concatenate([part[0] for part in parts])
    longest = max(part[1] for part in parts)
    if longest == 0:
        return excess, 0.0, 0.0
    shortest = np.quantile(gaps[gaps > 0], 0.1, method="lower")
    return excess, float(np.sqrt(shortest)) / 4, float(np.sqrt(longest))
