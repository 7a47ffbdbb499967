"""Compile functions with numba. Import modules that use it late: to import numba is slow."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F, **options: Any) -> F:
    """Compile a function for threads; cache the result on disk if a folder can be written."""
    try:
        return cast("F", njit(nogil=True, cache=True, **options)(function))
    except RuntimeError:  # neither the package's folder nor the user's is writable
        return cast("F", njit(nogil=True, **options)(function))


def compiled_freely(function: F) -> F:
    """Compile a function whose sums may run in any order, so that several numbers add at once."""
    return compiled(function, fastmath={"reassoc", "contract"})
