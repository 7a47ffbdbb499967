"""Warnings that point at the user's line, however deep in the library they arise."""

from __future__ import annotations

import inspect
import warnings

# Frames of these packages stand between the user's call and the place that warns.
_INNER = ("patchfold", "sklearn", "joblib", "contextlib")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside the library."""
    level = 1
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in _INNER:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
