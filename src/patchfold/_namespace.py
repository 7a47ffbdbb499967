"""Arrays of any namespace: numpy's, torch's, or another that follows the array API standard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array, is_torch_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The standard has no type to annotate with.
Array = Any


def floating(x: Any) -> Array:
    """Return real floating point numbers in the namespace of ``x``; lists become numpy arrays."""
    if not is_array_api_obj(x):
        x = np.asarray(x)
    xp = array_namespace(x)
    return x if xp.isdtype(x.dtype, "real floating") else xp.astype(x, xp.float64)


def to_numpy(x: Array) -> NDArray[Any]:
    """Return the same numbers as a numpy array on the CPU."""
    if is_numpy_array(x):
        return x
    return np.from_dlpack(x.cpu() if is_torch_array(x) else x)
