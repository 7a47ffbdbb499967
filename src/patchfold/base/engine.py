"""What the parameter ``engine`` may be: where the work runs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, get_args

from sklearn.base import clone

from patchfold.base.types import EngineName
from patchfold.base.validation import check_choice

# Beside a client of a Dask cluster; "auto" follows the type of the data.
NAMES = get_args(EngineName)


def is_client(engine: Any) -> bool:
    """Tell whether ``engine`` is a client of a Dask cluster; this does not import dask.

    Examples
    --------
    >>> is_client("threads")
    False
    """
    return any(kind.__module__.startswith("distributed.") for kind in type(engine).__mro__)


def check_engine(engine: Any) -> None:
    """Refuse an engine that is neither a known name nor a client."""
    if not is_client(engine):
        check_choice("engine", engine, NAMES)


def is_collection(X: Any) -> bool:
    """Tell whether ``X`` is an array or a data frame of dask; this does not import dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def refuse_collection(estimator: Any, X: Any, remedy: str) -> None:
    """Refuse an array or a data frame of dask, which would be gathered in this process."""
    if is_collection(X):
        raise TypeError(
            f"X is a {type(X).__name__} of dask, and {type(estimator).__name__} works in this "
            f"process here; use {remedy}, or X.compute() if it fits."
        )


def clone_beside_client(estimator: Any) -> Any:
    """Return an unfitted estimator with equal parameters, and the same client, not a copy of it."""
    plain = type(estimator)(**{**estimator.get_params(deep=False), "engine": "auto"})
    for name in ("_metadata_request", "_sklearn_output_config"):
        if hasattr(estimator, name):
            setattr(plain, name, deepcopy(getattr(estimator, name)))
    return clone(plain).set_params(engine=estimator.engine)
