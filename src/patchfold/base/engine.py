"""What the parameter ``engine`` may be: where the work runs."""

from __future__ import annotations

from typing import Any, get_args

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
