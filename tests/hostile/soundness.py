"""What a result has to be, whatever it is a result of; otherwise it is silently wrong."""

from __future__ import annotations

from typing import Any

import numpy as np


class SilentlyWrongError(Exception):
    """A result is there that should not be, or is another than it should be."""


class UnlikeError(SilentlyWrongError):
    """Two results that should be alike up to unit, sign and rotation are not."""


def must(holds: Any, otherwise: str) -> None:
    """Raise :class:`SilentlyWrongError` unless something holds."""
    if not holds:
        raise SilentlyWrongError(otherwise)


def numbers(result: Any, what: str) -> Any:
    """Return finite floating point numbers; those of a sparse matrix are its entries."""
    values = result.data if hasattr(result, "indptr") else np.asarray(result)
    must(values.dtype.kind == "f", f"{what} gives the type {values.dtype}")
    must(np.isfinite(values).all(), f"{what} gives NaN or infinity")
    return values


def length(X: Any) -> int:
    """Return the number of rows."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def dense(result: Any) -> Any:
    """Return an array, whatever a result is."""
    return result.toarray() if hasattr(result, "toarray") else result
