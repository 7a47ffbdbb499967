"""Maps for new points: a regression of the embedding on the points it came from.

Kernel ridge regression and the general regression network choose their width by leave-one-out;
any other scikit-learn regressor of several outputs does as well.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist, pdist
from sklearn.base import (
    BaseEstimator,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from patchfold._memory import check_memory
from patchfold._space import Space
from patchfold._validation import check_choice, check_points, check_positive
from patchfold.blocks import map_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Indices = NDArray[np.intp]

MAPS = ("nystrom", "krr", "grnn")

# A width is chosen on so many rows, the same in every run: it is one number, and the time of
# trying many of them would grow with the square (GRNN) or the cube (kernel ridge) of the rows.
CHOICE_ROWS = 1000
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

# What kernel ridge regression chooses from: kernel widths in median distances, and ridges beside
# the unit diagonal of the kernel. Of widths from 1/64 to 32, none outside was best for Isomap of
# swiss rolls, S curve, iris, wine, breast cancer and digits; a finer grid lowered the squared
# error by 0 to 11 %. A ridge of 1e-7 lowered that of new points on one roll by 6 %, but rounding
# grows as the inverse of the ridge, and reached 1e-9 of the coordinates there.
KERNEL_WIDTHS = tuple(2.0**power for power in range(-5, 3))
RIDGES = tuple(10.0**power for power in range(-6, 2))


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
    _space: Space
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
        points = _validate(self, X, y=y)
        y = check_array(y, ensure_2d=False, dtype="numeric", input_name="y", estimator=self)
        check_consistent_length(points, y)
        self._dtype = np.result_type(points, y) if y.dtype.kind == "f" else points.dtype
        self._single_output = y.ndim == 1
        self._values = np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)
        self._space = Space(points, self.n_jobs)
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
        queries = space.check_queries(_validate(self, X, reset=False), type(self).__name__)
        points = _scaled(space, space.points)
        bandwidth = self.bandwidth_ * space.scale

        def means(block: slice) -> Floats:
            squared = cdist(_scaled(space, queries[block]), points, "sqeuclidean")
            squared -= squared.min(axis=1, keepdims=True)
            return _weighted_means(squared, self._values, bandwidth)

        parts = map_blocks(means, len(queries), 8 * space.n_samples, self.n_jobs)
        predicted = np.concatenate(parts).astype(self._dtype, copy=False)
        return predicted[:, 0] if self._single_output else predicted


class DistanceScaler(TransformerMixin, BaseEstimator):
    """Centre points and divide them all by one number, their median distance.

    What comes after may expand squared distances into products, as scikit-learn's kernels do,
    without losing the digits of data far from the origin or in extreme units.

    Attributes
    ----------
    center_ : array of shape (n_features,)
        Mean of the points.
    unit_ : float
        Median of the positive distances between (a sample of) the points, 1 if there is none.

    Examples
    --------
    >>> from patchfold.mapping import DistanceScaler
    >>> DistanceScaler().fit_transform([[1e6], [1e6 + 2], [1e6 + 4]]).ravel()
    array([-1.,  0.,  1.])
    """

    center_: Floats
    unit_: float

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the centre and the unit of the points."""
        points = _validate(self, X)
        self.center_ = points.mean(axis=0, dtype=np.float64)
        centred = points[_choice_rows(len(points), CHOICE_ROWS)] - self.center_
        # Near 1, differences can be squared.
        largest = float(np.abs(centred).max()) or 1.0
        distances = pdist(centred / largest)
        distances = distances[distances > 0]
        self.unit_ = largest * float(np.median(distances)) if len(distances) else 1.0
        return self

    def transform(self, X: Any) -> Floats:
        """Return the points in float64, centred and in units of the median distance."""
        check_is_fitted(self)
        points = _validate(self, X, reset=False)
        return np.asarray((points - self.center_) / self.unit_)


def kernel_ridge(X: Any, Y: Any) -> Pipeline:
    """Fit kernel ridge regression with a Gaussian kernel, its width and ridge by leave-one-out.

    The width is one of :data:`KERNEL_WIDTHS` in units of the median distance of the points, the
    ridge one of :data:`RIDGES`. With ``K`` the kernel matrix and ``c = (K + ridge I)^-1 Y``,
    leaving point i out gives the residual ``c_i / ((K + ridge I)^-1)_ii``; the sum of squares of
    all of them is least. Of more than 1000 points, 1000 decide, the same in every run; all are
    fitted, in the time and memory of solving a dense system of their number.

    There is no intercept: far from all points the map goes to zero, the centre of an embedding.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Points.
    Y : array of shape (n_samples, n_outputs)
        Their places in the embedding.

    Returns
    -------
    Pipeline
        A fitted :class:`DistanceScaler` (``"scale"``), then
        :class:`sklearn.kernel_ridge.KernelRidge` (``"ridge"``).

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold.mapping import kernel_ridge
    >>> angle = np.linspace(0, 3, 50)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> kernel_ridge(circle, angle[:, None]).predict([[0.0, 1.0]]).round(3)
    array([[1.571]])
    """
    Y = np.asarray(Y, dtype=np.float64)
    n = len(Y)
    check_memory(  # the kernel, and what is left of it when the system is solved
        2 * 8 * n * n,
        f"kernel ridge regression on {n} points",
        "use out_of_sample='grnn' or 'nystrom'",
    )
    scaler = DistanceScaler().fit(X)
    points = scaler.transform(X)
    rows = _choice_rows(len(points), CHOICE_ROWS)
    width, ridge = _choose_kernel(points[rows], Y[rows])
    fitted = KernelRidge(alpha=ridge, kernel="rbf", gamma=0.5 / width**2).fit(points, Y)
    return Pipeline([("scale", scaler), ("ridge", fitted)])


def check_map(value: Any) -> Any:
    """Return ``value`` if it names a map for new points or is a regressor.

    Examples
    --------
    >>> check_map("krr")
    'krr'
    """
    if isinstance(value, str):
        return check_choice("out_of_sample", value, MAPS)
    if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "predict")):
        raise TypeError(
            f"out_of_sample={value!r} is neither one of {', '.join(map(repr, MAPS))} nor an object "
            "with fit and predict, such as sklearn.neighbors.KNeighborsRegressor()."
        )
    return value


def fit_map(out_of_sample: Any, X: Any, Y: Floats, n_jobs: int | None = None) -> Any:
    """Fit a regressor that takes points to their places in an embedding.

    Parameters
    ----------
    out_of_sample : {"krr", "grnn"} or regressor
        :func:`kernel_ridge`, :class:`GRNN`, or a regressor of which a clone is fitted.
    X : array of shape (n_samples, n_features)
        Points.
    Y : array of shape (n_samples, n_components)
        Their places.
    n_jobs : int or None
        Number of threads of GRNN.

    Returns
    -------
    regressor
        Fitted; :func:`predict_map` asks it.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> regressor = fit_map("grnn", X, X)
    >>> predict_map(regressor, X, 2).shape
    (3, 2)
    """
    if isinstance(out_of_sample, str):
        return kernel_ridge(X, Y) if out_of_sample == "krr" else GRNN(n_jobs=n_jobs).fit(X, Y)
    regressor = clone(out_of_sample, safe=False)
    if Y.shape[1] == 1:  # what a regressor of one output expects
        return regressor.fit(X, Y[:, 0])
    try:
        return regressor.fit(X, Y)
    except ValueError as error:
        raise ValueError(
            f"out_of_sample={out_of_sample!r} could not be fitted to {Y.shape[1]} outputs "
            f"({error}); {_WRAP}"
        ) from error


def predict_map(regressor: Any, X: Any, n_components: int) -> Floats:
    """Return where a regressor of :func:`fit_map` takes points, (n_samples, n_components)."""
    places = np.asarray(regressor.predict(X))
    if places.ndim == 1 and n_components == 1:
        places = places[:, None]
    if places.shape != (len(X), n_components):
        raise ValueError(
            f"out_of_sample={regressor!r} predicts an array of shape {places.shape} for {len(X)} "
            f"points of an embedding with n_components={n_components}; {_WRAP}"
        )
    return places


_WRAP = "if it has a single output, wrap it in sklearn.multioutput.MultiOutputRegressor."


def _validate(estimator: Any, X: Any, *, y: Any = "no_validation", reset: bool = True) -> Floats:
    """Check points; scikit-learn remembers and compares the columns, and misses ``y``."""
    points: Floats = check_points(X, min_samples=1)
    validate_data(estimator, X, y, reset=reset, skip_check_array=True)
    return points


def _choice_rows(n: int, count: int) -> Indices:
    """Return at most ``count`` of ``n`` rows, always the same."""
    if n <= count:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, size=count, replace=False))


def _scaled(space: Space, X: Any) -> Floats:
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


def _left_out_bandwidth(space: Space, values: Floats, n_jobs: int | None) -> float:
    """Return the bandwidth with the least squared error of predicting points by the others."""
    n = space.n_samples
    rows = _choice_rows(n, min(CHOICE_ROWS, max(LEAST_ROWS, CHOICE_PAIRS // n)))
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
    space: Space, rows: Indices, n_jobs: int | None
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


def _choose_kernel(points: Floats, Y: Floats) -> tuple[float, float]:
    """Return the kernel width and the ridge with the least squared leave-one-out residuals."""
    Y = Y / (np.abs(Y).max() or 1.0)
    squared = cdist(points, points, "sqeuclidean")
    choices = [(width, ridge) for width in KERNEL_WIDTHS for ridge in RIDGES]
    errors = []
    for width in KERNEL_WIDTHS:
        # One decomposition serves all ridges.
        values, vectors = eigh(np.exp(squared * (-0.5 / width**2)), driver="evd")
        values = values.clip(0)  # rounding
        rotated, squares = vectors.T @ Y, np.square(vectors)
        for ridge in RIDGES:
            inverse = 1 / (values + ridge)
            residuals = (vectors * inverse) @ rotated / (squares @ inverse)[:, None]
            errors.append(float(np.square(residuals).sum()))
    return choices[int(np.argmin(errors))]
