"""Kernel ridge regression, its width and ridge chosen by leave-one-out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import parallel_config
from scipy.linalg import eigh
from scipy.spatial.distance import cdist, pdist
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from patchfold.base.estimators import BaseEstimator, TransformerMixin
from patchfold.base.memory import check_memory
from patchfold.base.sampling import CHOICE_ROWS, choice_rows
from patchfold.base.validation import checked_points

if TYPE_CHECKING:
    from patchfold.base.types import Floats


# The choices of kernel ridge regression: kernel widths in median distances, and ridges beside the
# unit diagonal of the kernel. Widths from 1/64 to 32 were tried for Isomap of swiss rolls, S curve,
# iris, wine, breast cancer and digits: none outside these was best, and a finer grid lowered the
# squared error by 0 to 11 %. A ridge of 1e-7 lowered the error of new points on one roll by 6 %;
# but rounding grows as the inverse of the ridge, and reached 1e-9 of the coordinates there.
KERNEL_WIDTHS = tuple(2.0**power for power in range(-5, 3))

RIDGES = tuple(10.0**power for power in range(-6, 2))


class DistanceScaler(TransformerMixin, BaseEstimator):
    """Centre points and divide them all by one number, their median distance.

    Steps that follow may expand squared distances into products, as scikit-learn's kernels do,
    and lose no digits to an offset of the data or to extreme units.

    Examples
    --------
    >>> from patchfold.mapping import DistanceScaler
    >>> DistanceScaler().fit_transform([[1e6], [1e6 + 2], [1e6 + 4]]).ravel()
    array([-1.,  0.,  1.])
    """

    center_: Floats  # (n_features,): the mean of the points
    # The median of the positive distances between (a sample of) the points; 1 if none is positive.
    unit_: float

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the centre and the unit of the points."""
        points = checked_points(self, X)
        self.center_ = points.mean(axis=0, dtype=np.float64)
        centred = points[choice_rows(len(points), CHOICE_ROWS)] - self.center_
        # Near 1, differences can be squared.
        largest = float(np.abs(centred).max()) or 1.0
        distances = pdist(centred / largest)
        distances = distances[distances > 0]
        self.unit_ = largest * float(np.median(distances)) if len(distances) else 1.0
        return self

    def transform(self, X: Any) -> Floats:
        """Return the points in float64, centred and in units of the median distance."""
        check_is_fitted(self)
        points = checked_points(self, X, reset=False)
        return np.asarray((points - self.center_) / self.unit_)


def kernel_ridge(X: Any, Y: Any) -> Pipeline:
    """Fit kernel ridge regression with a Gaussian kernel, its width and ridge by leave-one-out.

    The width is one of :data:`KERNEL_WIDTHS` in units of the median distance of the points, the
    ridge one of :data:`RIDGES`. With ``K`` the kernel matrix and ``c = (K + ridge I)^-1 Y``,
    leaving point i out gives the residual ``c_i / ((K + ridge I)^-1)_ii``. The choice has the least
    sum of squared residuals. Of more than 1000 points a sample chooses, the same in every
    run. All points ``X`` are fitted to their places ``Y``, in the time and memory of solving a
    dense system of their number. There is no intercept: far from all points the map goes to zero,
    the centre of an embedding.

    The pipeline is a fitted :class:`DistanceScaler` (``"scale"``), then
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
    check_kernel_memory(n)
    scaler = DistanceScaler().fit(X)
    points = scaler.transform(X)
    rows = choice_rows(len(points), CHOICE_ROWS)
    width, ridge = _choose_kernel(points[rows], Y[rows])
    with parallel_config(backend="sequential"):  # blocks of the kernel would round differently
        fitted = KernelRidge(alpha=ridge, kernel="rbf", gamma=0.5 / width**2).fit(points, Y)
    return Pipeline([("scale", scaler), ("ridge", fitted)])


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


def check_kernel_memory(n: int) -> None:
    """Refuse kernel ridge regression on more points than there is memory for."""
    check_memory(  # the kernel, and a copy while the system is solved
        2 * 8 * n * n,
        f"kernel ridge regression on {n} points",
        "use out_of_sample='grnn' or 'nystrom'",
    )
