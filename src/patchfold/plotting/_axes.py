"""What all pictures share: colours, axes, and numbers as matplotlib takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from array_api_compat import is_array_api_obj

from patchfold.base.arrays import Array, to_numpy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from patchfold.base.types import Doubles

DOT_COLOR = "#8a9099"
CURVE_COLOR = "#1f5fa8"
CHOICE_COLOR = "#d55e00"


def require_matplotlib() -> None:
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise ImportError("plotting needs matplotlib; pip install 'patchfold[plot]'") from error


def new_axes(projection: str | None = None) -> Axes:
    from matplotlib import pyplot as plt

    return plt.figure(layout="constrained").add_subplot(projection=projection)


def double(x: Array) -> Doubles:
    return to_numpy(x).astype(np.float64, copy=False)


def host(x: Any) -> npt.NDArray[Any]:
    return to_numpy(x) if is_array_api_obj(x) else np.asarray(x)
