"""Maps of new points by regression: any regressor from points to their places."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from joblib import parallel_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from patchfold.base.types import MapName
from patchfold.base.validation import check_choice
from patchfold.mapping.grnn import GRNN
from patchfold.mapping.kernel_ridge import DistanceScaler, kernel_ridge

if TYPE_CHECKING:
    from patchfold.base.types import Floats


MAPS = get_args(MapName)


def check_map(value: Any) -> Any:
    """Return ``value`` if it names a map for new points or is a regressor."""
    if isinstance(value, str):
        return check_choice("out_of_sample", value, MAPS)
    if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "predict")):
        raise TypeError(
            f"out_of_sample={value!r} is neither one of {', '.join(map(repr, MAPS))} nor an object "
            "with fit and predict, such as sklearn.neighbors.KNeighborsRegressor()."
        )
    return value


def fit_map(out_of_sample: Any, X: Any, Y: Floats, n_jobs: int | None = None) -> Any:
    """Fit a regressor that takes points ``X`` to their places ``Y``, for :func:`predict_map`.

    It is :func:`kernel_ridge` for ``"krr"``, :class:`GRNN` with ``n_jobs`` threads for ``"grnn"``,
    or a clone of a given regressor.

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
    if Y.shape[1] == 1:  # a regressor of one output expects one dimension
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
    # Without it, joblib's configuration could cut the kernel of kernel_ridge into blocks, whose
    # products round differently.
    own = isinstance(regressor, Pipeline) and isinstance(regressor[0], DistanceScaler)
    with parallel_config(backend="sequential") if own else nullcontext():
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
