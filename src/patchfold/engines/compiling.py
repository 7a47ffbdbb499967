"""Compile a function with numba. Import modules that use it late: numba's own import is slow."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F, **options: Any) -> F:
    """Compile for threads; keep the result on disk where there is a place to write."""
    try:
        return cast("F", njit(nogil=True, cache=True, **options)(function))
    except RuntimeError:  # neither the package's folder nor the user's can be written
        return cast("F", njit(nogil=True, **options)(function))


def compiled_freely(function: F) -> F:
    """Do the same, with sums in any order: the processor then adds several numbers at once."""
    return compiled(function, fastmath={"reassoc", "contract"})
