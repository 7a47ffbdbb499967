"""Patches as ellipses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from array_api_compat import array_namespace

from patchfold.base.arrays import to_doubles
from patchfold.base.types import NodeName
from patchfold.base.validation import check_choice, check_count, check_positive
from patchfold.plotting._axes import (
    CURVE_COLOR,
    DOT_COLOR,
    check_edges,
    draw_colorbar,
    draw_edges,
    new_axes,
    require_matplotlib,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from patchfold.base.arrays import Array
    from patchfold.base.types import Doubles, Indices
    from patchfold.patches.gaussians import Patches

# How opaque ellipses are, so that they are seen among edges.
WASH = 0.12


def plot_patches(
    patches: Patches,
    *,
    edges: tuple[Any, Any] | None = None,
    values: Any = None,
    features: Sequence[int] = (0, 1),
    colors: Any = None,
    n_ellipses: int | None = 50,
    n_std: float = 1.0,
    nodes: NodeName = "points",
    cmap: Any = "magma_r",
    norm: Any = None,
    label: str = "divergence",
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw patches as ellipses over their points, and edges coloured by divergence.

    Parameters
    ----------
    patches : Patches
        n patches with two features or more.
    edges : (i, j) or None
        Two arrays of integers of shape (n_edges,), as for :func:`patchfold.divergences.paired`.
    values : array of shape (n_edges,) or None
        The divergence of each edge. Larger ones are drawn wider, and over smaller ones.
    features : two ints, default=(0, 1)
        The features on the horizontal and the vertical axis.
    colors : color, sequence of n colors, or None
        The colours of dots and ellipses, in any form that matplotlib knows.
    n_ellipses : int or None, default=50
        Draw the ellipses of this many patches, chosen to cover the plane. None draws all of them.
    n_std : float, default=1.0
        Half axes of the ellipses, in standard deviations.
    nodes : {"points", "means"}, default="points"
        What the dots are and edges join: the points, or the means of their patches. Ellipses are
        centred at the means.
    cmap : str or Colormap, default="magma_r"
        Colours of the edges.
    norm : Normalize, str or None
        Scale of the colours, as matplotlib takes it. None means about linear between the 5% and
        the 95% quantile of the values, and logarithmic from there to the largest one.
    label : str, default="divergence"
        What the colour bar says.
    colorbar : bool, default=True
        Whether edges get a colour bar.
    ax : Axes or None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold import GaussianPatch, divergences
    >>> from patchfold.neighbors import find_neighbors
    >>> X = load_iris().data
    >>> near = find_neighbors(X, 10)
    >>> patches = GaussianPatch().fit(X, near)
    >>> edges = near.sources, near.indices
    >>> ax = plot_patches(
    ...     patches, edges=edges, values=divergences.paired(patches, *edges), features=(2, 3)
    ... )
    >>> ax.figure.savefig("iris.png")  # doctest: +SKIP
    """
    require_matplotlib()
    plane = _check_features(features, patches.n_features)
    check_choice("nodes", nodes, get_args(NodeName))
    n_std = check_positive("n_std", n_std)
    rgba = _check_colors(colors, len(patches))
    links = check_edges(edges, values, len(patches))
    centers = _plane(patches.means, plane)
    chosen = _spread_out(centers, n_ellipses)
    ax = new_axes() if ax is None else ax
    at = _plane(patches.points, plane) if nodes == "points" else centers
    dots = DOT_COLOR if rgba is None else rgba
    ax.scatter(at[:, 0], at[:, 1], s=5, c=dots, linewidths=0, zorder=2)
    if links is not None:
        lines = draw_edges(ax, at, *links, cmap, norm)
        if colorbar:
            draw_colorbar(ax, lines, label)
    if len(chosen):
        outline = CURVE_COLOR if rgba is None else rgba[chosen]
        _draw_ellipses(ax, centers[chosen], _spread(patches, plane)[chosen], n_std, outline)
    ax.autoscale_view()
    ax.set_xlabel(f"feature {plane[0]}")
    ax.set_ylabel(f"feature {plane[1]}")
    return ax


def _draw_ellipses(
    ax: Axes, center: Doubles, covariance: Doubles, n_std: float, color: Any
) -> None:
    from matplotlib.collections import EllipseCollection
    from matplotlib.colors import to_rgba_array

    variances, axes = np.linalg.eigh(covariance)
    diameters = 2 * n_std * np.sqrt(np.clip(variances, 0.0, None))
    ellipses = EllipseCollection(
        diameters[:, 1],
        diameters[:, 0],
        np.degrees(np.arctan2(axes[:, 1, 1], axes[:, 0, 1])),
        units="xy",
        offsets=center,
        offset_transform=ax.transData,
        facecolors=to_rgba_array(color, WASH),
        edgecolors=color,
        linewidths=0.8,
        zorder=3,
    )
    ax.add_collection(ellipses, autolim=False)
    # matplotlib takes an ellipse's centre for its extent, which cuts those at the border.
    reach = n_std * np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    ax.update_datalim(np.concatenate([center - reach, center + reach]))


def _spread(patches: Patches, plane: tuple[int, int]) -> Doubles:
    """Return the covariances of two features, (n, 2, 2), without forming the others."""
    xp = array_namespace(patches.means)
    factor = patches.directions if patches.factored else patches.roots
    rows = xp.stack([factor[:, feature, :] for feature in plane], axis=1)
    if not patches.factored:
        return to_doubles(rows @ xp.matrix_transpose(rows))
    covariance = to_doubles((rows * patches.variances[:, None, :]) @ xp.matrix_transpose(rows))
    return covariance + to_doubles(patches.ridge)[:, None, None] * np.eye(2)


def _plane(points: Array, plane: tuple[int, int]) -> Doubles:
    return np.stack([to_doubles(points[:, feature]) for feature in plane], axis=1)


def _spread_out(at: Doubles, count: int | None) -> Indices:
    """Choose points that cover the plane: each is the one farthest from those before it."""
    n = len(at)
    if count is None or check_count("n_ellipses", count, minimum=0) >= n:
        return np.arange(n)
    extent = np.ptp(at, axis=0)
    at = (at - at.mean(axis=0)) / np.where(extent > 0, extent, 1.0)
    chosen = np.empty(count, dtype=np.intp)
    gap = np.sum(at**2, axis=1)
    for place in range(count):
        chosen[place] = np.argmax(gap)
        apart = np.sum((at - at[chosen[place]]) ** 2, axis=1)
        gap = apart if place == 0 else np.minimum(gap, apart)
    return chosen


def _check_features(features: Sequence[int], m: int) -> tuple[int, int]:
    given = list(features) if isinstance(features, Iterable) else [features]
    if len(given) != 2:
        raise ValueError(
            f"features={features!r} names {len(given)} feature(s), a plot has two axes; "
            "give two, e.g. features=(0, 1)."
        )
    first, second = (check_count("features", feature, minimum=0) for feature in given)
    if max(first, second) >= m:
        raise ValueError(
            f"features={features!r} is out of range, the patches have {m} feature(s); "
            + (f"choose from 0 to {m - 1}." if m > 1 else "a plot needs at least two.")
        )
    if first == second:
        raise ValueError(f"features={features!r} names one feature twice; give two different ones.")
    return first, second


def _check_colors(colors: Any, n: int) -> Doubles | None:
    from matplotlib.colors import to_rgba_array

    if colors is None:
        return None
    try:
        rgba = to_rgba_array(colors)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"colors are not colours of matplotlib ({error}); map labels or numbers to colours "
            "first, e.g. matplotlib.colormaps['tab10'](labels)."
        ) from error
    if len(rgba) not in {1, n}:
        raise ValueError(f"colors has {len(rgba)} entries for {n} patches; give one, or {n}.")
    return np.broadcast_to(rgba, (n, 4))
