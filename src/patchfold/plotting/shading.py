"""Shades of very many points: each pixel has the mean colour of its points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from patchfold.base.types import Doubles

# A cell of the picture is so wide, in points of 1/72 inch; a picture has at most so many on a side.
CELL, MOST_CELLS = 0.9, 2000
# The opacity of a cell with one point; one with as many as this quantile of all cells is opaque.
FAINTEST, FULL = 0.3, 0.99


def shade(ax: Axes, at: Doubles, colors: Doubles, view: Doubles, opacity: float = 1.0) -> Any:
    """Draw points as a picture of the view, and return it.

    ``colors`` has red, green and blue of every point, from 0 to 1; ``view`` has the lower left and
    the upper right corner.
    """
    inside = ((at >= view[0]) & (at <= view[1])).all(axis=1)
    at, colors = at[inside], colors[inside]
    shape = _shape(ax, view)
    place = (at - view[0]) / (view[1] - view[0]) * shape[::-1]
    column, row = np.minimum(place.astype(int), shape[::-1] - 1).T
    cell = row * shape[1] + column
    count = np.bincount(cell, minlength=shape.prod()).astype(float)
    picture = np.zeros((shape.prod(), 4))
    full = count > 0
    for part in range(3):
        sums = np.bincount(cell, weights=colors[:, part], minlength=shape.prod())
        picture[full, part] = sums[full] / count[full]
    most = np.quantile(count[full], FULL) if full.any() else 1.0
    share = np.minimum(np.log1p(count[full]) / np.log1p(most), 1.0)
    picture[full, 3] = opacity * (FAINTEST + (1 - FAINTEST) * share)
    left, bottom, right, top = view.ravel()
    return ax.imshow(
        picture.reshape(*shape, 4),
        extent=(left, right, bottom, top),
        origin="lower",
        interpolation="nearest",
        aspect=ax.get_aspect(),
        zorder=2,
    )


def _shape(ax: Axes, view: Doubles) -> Any:
    """Return how many cells the picture has, up and across."""
    extent = ax.get_window_extent()
    across, up = (72 * length / ax.figure.dpi for length in (extent.width, extent.height))
    wide, high = view[1] - view[0]
    # Axes with equal units: the view fills one of their sides.
    unit = min(across / wide, up / high)
    cells = np.array([high, wide]) * unit / CELL
    return np.clip(np.ceil(cells), 1, MOST_CELLS).astype(int)
