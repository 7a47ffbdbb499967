"""What all pictures share: colours, axes, numbers as matplotlib takes them, coloured edges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from array_api_compat import is_array_api_obj

from patchfold.base.arrays import to_doubles, to_numpy
from patchfold.base.validation import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.colors import AsinhNorm, Normalize

    from patchfold.base.types import Doubles, Indices


DOT_COLOR = "#8a9099"
CURVE_COLOR = "#1f5fa8"
CHOICE_COLOR = "#d55e00"


def require_matplotlib() -> None:
    require("matplotlib", "plotting", extra="plot")


def new_axes(projection: str | None = None) -> Axes:
    from matplotlib import pyplot as plt

    return plt.figure(layout="constrained").add_subplot(projection=projection)


def host(x: Any) -> npt.NDArray[Any]:
    return to_numpy(x) if is_array_api_obj(x) else np.asarray(x)


# ---------------------------------------------------------------- edges

# From thin to wide with the divergence: a handful of short circuits among thousands of edges is
# seen by its width where it is too short to be seen by its colour.
LINE_WIDTHS = (0.3, 1.8)
# Colours start at the first quantile, are linear in the divergence up to the second and logarithmic
# beyond. So ordinary edges stay pale, zeros among large values do not make all of them dark, and a
# few huge values do not make all others look equal.
LINEAR_QUANTILES = (0.05, 0.95)
# The logarithmic part spans no more than this factor, also where nearly all values are zero.
LARGEST_RATIO = 1e6
# Values that differ by a smaller share than this are equal: no scale is stretched over rounding.
EQUAL = 1e-6
# Ticks of the colour bar stand at least this share of its height apart.
TICK_GAP = 0.07


def check_edges(edges: Any, values: Any, n: int) -> tuple[Indices, Indices, Doubles] | None:
    if edges is None:
        if values is not None:
            raise ValueError("values are given without edges; pass edges=(i, j) as well.")
        return None
    if values is None:
        raise ValueError(
            "edges are given without values, and are coloured by them; "
            "pass values=divergences.paired(patches, i, j)."
        )
    ends = [host(end) for end in edges] if isinstance(edges, Iterable) else []
    if len(ends) != 2:
        raise ValueError(
            f"edges is a {type(edges).__name__} with {len(ends)} entries; give two arrays (i, j), "
            "such as sources and indices of neighborhoods, or the two columns of an edge list."
        )
    lengths = host(values)
    i, j = ends
    if i.ndim != 1 or not i.shape == j.shape == lengths.shape:
        raise ValueError(
            f"edges and values have shapes {i.shape}, {j.shape} and {lengths.shape}; "
            "give one entry per edge in each."
        )
    for name, end in zip("ij", ends, strict=True):
        if end.size and (end.dtype.kind not in "iu" or end.min() < 0 or end.max() >= n):
            raise ValueError(
                f"edges: {name} has {end.dtype} values from {end.min()} to {end.max()}; "
                f"give integers from 0 to {n - 1}, the indices of patches."
            )
    good = np.isfinite(lengths) & (lengths >= 0)
    if not good.all():
        raise ValueError(
            f"values has {lengths[~good][0]} at edge {np.argmin(good)}; divergences are finite and "
            "not negative, leave such edges out."
        )
    if not lengths.size:
        return None
    return i.astype(np.intp), j.astype(np.intp), to_doubles(lengths)


def draw_edges(
    ax: Axes, at: Doubles, i: Indices, j: Indices, values: Doubles, cmap: Any, norm: Any
) -> LineCollection:
    from matplotlib.collections import LineCollection

    order = np.argsort(values, kind="stable")
    i, j, values = i[order], j[order], values[order]
    lines = LineCollection(
        list(np.stack([at[i], at[j]], axis=1)),
        array=values,
        cmap=cmap,
        norm=_robust_norm(values) if norm is None else norm,
        capstyle="round",
        zorder=1,
    )
    thin, wide = LINE_WIDTHS
    share = np.clip(np.ma.filled(lines.norm(values), 0.0), 0.0, 1.0)
    lines.set_linewidth(list(thin + (wide - thin) * share))
    ax.add_collection(lines, autolim=False)
    return lines


def draw_colorbar(ax: Axes, lines: LineCollection, label: str) -> None:
    from matplotlib.colors import AsinhNorm

    scale = lines.norm
    extend = "min" if np.any(np.asarray(lines.get_array()) < np.asarray(scale.vmin)) else "neither"
    bar = ax.figure.colorbar(lines, ax=ax, label=label, extend=extend, aspect=30, pad=0.02)
    bar.outline.set_visible(False)
    if isinstance(scale, AsinhNorm):
        ticks = _round_ticks(scale)
        bar.set_ticks(ticks, labels=[f"{tick:.3g}" for tick in ticks])
        bar.minorticks_off()


def _robust_norm(values: Doubles) -> Normalize:
    """Scale colours linearly for ordinary values and logarithmically for large ones."""
    from matplotlib.colors import AsinhNorm

    largest = float(values.max()) or 1.0
    low, high = (float(value) for value in np.quantile(values, LINEAR_QUANTILES))
    if largest - low <= EQUAL * largest:
        low = 0.0
    return AsinhNorm(max(high, largest / LARGEST_RATIO), vmin=low, vmax=largest, clip=True)


def _round_ticks(scale: AsinhNorm) -> list[float]:
    """Choose round numbers and the largest value, with room between them."""
    from matplotlib.ticker import MaxNLocator

    low, largest = float(scale.vmin or 0.0), float(scale.vmax or 1.0)
    # Fine steps for a narrow range; for a wide one 1, 2 and 5 times powers of ten.
    decades = 10.0 ** np.arange(np.floor(np.log10(largest)) - 6, np.log10(largest) + 1)
    series = np.outer(decades, [1.0, 2.0, 5.0]).ravel()
    candidates = MaxNLocator(6).tick_values(low, largest) if largest < 3 * low else [0.0, *series]
    ticks = [largest]
    for tick in sorted(candidates, reverse=True):
        if low <= tick < largest and float(scale(tick)) < float(scale(ticks[0])) - TICK_GAP:
            ticks.insert(0, float(tick))
    return ticks
