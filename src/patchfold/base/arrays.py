"""Arrays of numpy, torch, or another library that follows the array API standard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array, is_torch_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.base.types import Indices

# The standard has no type to annotate with.
Array = Any


def floating(x: Any, name: str = "X") -> Array:
    """Return float32 or float64 numbers in the namespace of ``x``; lists become numpy arrays."""
    if not is_array_api_obj(x):
        x = np.asarray(x)
    xp = array_namespace(x)
    if x.dtype in (xp.float32, xp.float64):
        return x
    if not xp.isdtype(x.dtype, ("real floating", "integral", "bool")):
        raise TypeError(f"{name} has the dtype {x.dtype}; pass real numbers.")
    return xp.astype(x, xp.float64)


def promoted(**arrays: Any) -> tuple[Array, ...]:
    """Return named arrays of one namespace in the widest of their floating point types."""
    real = {name: floating(array, name) for name, array in arrays.items()}
    kinds = {name: array_namespace(array).__name__ for name, array in real.items()}
    if len(set(kinds.values())) > 1:
        listed = ", ".join(f"{name} of {kind}" for name, kind in kinds.items())
        raise TypeError(f"arrays of different libraries do not mix ({listed}); convert them.")
    xp = array_namespace(*real.values())
    dtype = xp.result_type(*real.values())
    return tuple(xp.astype(array, dtype, copy=False) for array in real.values())


def to_numpy(x: Array) -> NDArray[Any]:
    """Return the same numbers as a numpy array on the CPU."""
    if is_numpy_array(x):
        return x
    return np.from_dlpack(x.detach().cpu() if is_torch_array(x) else x)


def put(array: Array, rows: Indices, values: Array) -> None:
    """Write ``values`` into some rows of an array, in place."""
    if is_numpy_array(array):
        array[rows] = values
    elif is_torch_array(array):
        array[array_namespace(array).asarray(rows)] = values
    else:  # the standard writes one row at a time
        for place, row in enumerate(rows):
            array[int(row), ...] = values[place, ...]


def check_stored(
    name: str,
    array: Any,
    shape: tuple[int | None, ...],
    kind: str = "f",
    *,
    least: Any = None,
    finite: bool = True,
) -> None:
    """Refuse an array out of a file that is not what compiled code and others take it for.

    Parameters
    ----------
    name : str
        What messages call it.
    array : ndarray
        Of the byte order of this machine.
    shape : tuple of int or None
        None for any number.
    kind : str, default="f"
        Letters of the kinds of numbers it may hold: float32 and float64, integers (``"i"``) or
        unsigned ones (``"u"``).
    least : int or float, optional
        The least value allowed.
    finite : bool, default=True
        Whether infinite values and NaN are refused.

    Examples
    --------
    >>> check_stored("axes", np.ones((3, 2)), (None, 2))
    >>> check_stored("axes", np.ones((2, 3)), (None, 2))
    Traceback (most recent call last):
        ...
    ValueError: axes is of shape (2, 3) and float64, not (any, 2) of kind 'f'
    """
    if type(array) is not np.ndarray:
        raise TypeError(f"{name} is no array but a {type(array).__name__}")
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, found) for found, wanted in zip(array.shape, shape, strict=True)
    )
    known = array.dtype.kind in kind and array.dtype.itemsize in (4, 8) and array.dtype.isnative
    if not fits or not known:
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(
            f"{name} is of shape {array.shape} and {array.dtype}, not ({wanted}) of kind {kind!r}"
        )
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} has values that are not finite")
    if least is not None and array.size and array.min() < least:
        raise ValueError(f"{name} has values below {least}")


def check_follows(name: str, found: Any, computed: Any) -> None:
    """Refuse a value out of a file that is not the computed one, in type and all numbers."""
    alike = type(found) is type(computed) and (
        getattr(found, "dtype", None) == getattr(computed, "dtype", None)
    )
    if not alike or not np.array_equal(found, computed):
        raise ValueError(f"{name} does not follow from what it was computed of")
