"""Arrays of numpy, torch, or another library that follows the array API standard."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_array_api_obj,
    is_numpy_array,
    is_torch_array,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.base.types import Doubles, Indices

# The standard has no type to annotate with.
Array = Any

# Data with a spread outside this range are rescaled before anything is squared, by a power of two,
# which changes no digit.
PLAIN_SPREAD = (1e-100, 1e100)


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


def to_doubles(x: Array) -> Doubles:
    """Return the same numbers as a numpy array of float64."""
    return to_numpy(x).astype(np.float64, copy=False)


def taken(array: Array, rows: Indices) -> Array:
    """Return some rows of an array, where it is."""
    return array_namespace(array).take(array, beside(array, rows), axis=0)


def beside(array: Array, values: Any) -> Array:
    """Return numbers of numpy as an array of the same library and on the same device."""
    if is_torch_array(array) and is_numpy_array(values) and not values.flags.writeable:
        values = values.copy()  # torch warns of what it could write into
    return array_namespace(array).asarray(values, device=device(array))


def of_type(array: Array, dtype: Any) -> Array:
    """Return an array in a floating point type of numpy."""
    xp = array_namespace(array)
    return xp.astype(array, getattr(xp, np.dtype(dtype).name), copy=False)


def put(array: Array, rows: Indices, values: Array) -> None:
    """Write ``values`` into some rows of an array, in place."""
    if is_numpy_array(array):
        array[rows] = values
    elif is_torch_array(array):
        array[beside(array, rows)] = values
    else:  # the standard writes one row at a time
        for place, row in enumerate(rows):
            array[int(row), ...] = values[place, ...]


def unit_and_scale(half: float) -> tuple[float, float]:
    """Return factors for data of half the spread ``half``, both powers of two.

    The first brings the spread near 1. The second is 1 but for data whose squares may overflow or
    vanish.

    Examples
    --------
    >>> unit_and_scale(3.0)
    (0.25, 1.0)
    """
    unit = math.ldexp(1.0, min(-math.frexp(half)[1], 1000)) if half else 1.0  # finite itself
    plain = half == 0 or PLAIN_SPREAD[0] <= 2 * half <= PLAIN_SPREAD[1]
    return unit, 1.0 if plain else unit / 2
