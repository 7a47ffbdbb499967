"""Embeddings, by class or by number: dots, or for very many points shades."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.arrays import to_doubles
from patchfold.base.validation import check_points
from patchfold.plotting._axes import (
    CURVE_COLOR,
    DOT_COLOR,
    check_edges,
    draw_colorbar,
    draw_edges,
    host,
    new_axes,
    require_matplotlib,
)
from patchfold.plotting.naming import name_groups
from patchfold.plotting.palette import CLASS_COLORS, class_colors
from patchfold.plotting.shading import shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from patchfold.base.types import Doubles, Mask

    # Classes: name, who, colour.
    Groups = list[tuple[str | None, Mask, str]]

# Classes with a colour of their own, at most, and in one column of the legend.
MOST_CLASSES, IN_COLUMN = 60, 20
# A plot shows all points, unless the square around them is FAR times as wide as that around
# what lies between the two quantiles in both components. The square of normal points is at most
# 2.2 times as wide, for a million of them.
FAR, QUANTILES = 3.0, (0.01, 0.99)
# With fewer points none is said to lie far out.
FEWEST = 20
# Points that lie less than this share of that square's width beyond it are shown all the same.
REACH = 0.5
# Room around the points, as a share of the width of the view, and how far within its border those
# beyond are marked.
MARGIN, INSET = 0.05, 0.012
# The part of the view, across and up, that the note takes.
NOTE = np.array([0.3, 0.08])
# The diameter of a dot in points, as on the page: less for many points, and in small axes, whose
# shorter side has less than SIDE points.
LARGEST, SMALLEST, SIDE = 6.75, 1.5, 260.0
# Of more dots, those beneath others shine through.
CROWD, OPACITY = 5000, 0.6
# More points than this are shades.
MOST_DOTS = 100_000
# Labels of points that are in no group, and the colours of the names of groups and of the frame.
NOBODY, INK, FRAME = {"", "None", "nan", "-1", "noise"}, "#33383f", "#cbd5e1"
# The diameter of dots in the legend, in points.
IN_LEGEND = 6.0


def plot_embedding(
    embedding: Any,
    y: Any = None,
    *,
    edges: tuple[Any, Any] | None = None,
    values: Any = None,
    cmap: Any = "viridis",
    edge_cmap: Any = "magma_r",
    label: str = "divergence",
    labels: Any = False,
    title: str | None = None,
    size: float | None = None,
    alpha: float | None = None,
    ax: Axes | None = None,
    **look: Any,
) -> Axes:
    """Draw an embedding, coloured by classes or numbers, and edges coloured by divergence.

    Three components are drawn in space, unless there are edges or axes of a plane.

    Where a few points lie so far out that all others would fall on one dot, the view is a square
    around the others, from the 1 % to the 99 % quantile of both components. Triangles at its border
    show where the points beyond lie, and a note in the corner counts them.

    Parameters
    ----------
    embedding : array of shape (n, n_components), or fitted estimator
        The first two components are drawn, or all of three. Of an estimator, its ``embedding_``.
    y : array of shape (n,) or None
        Text, or few different whole numbers, are classes and get a legend, the commonest 59 of
        more than 60 and the others together, beside the axes in a figure that has a layout; other
        numbers get a colour bar. Missing ones are grey.
    edges, values, label
        As for :func:`plot_patches`.
    cmap, edge_cmap : str or Colormap
        Colours of numbers, and of edges.
    labels : bool or array of shape (n,), default=False
        Names on the map, as far as they do not overlap: True names the classes of ``y``, an array
        the groups that it has, such as clusters. None, an empty text and -1 are in no group.
    title : str or None
    size : float or None
        Diameter of a dot in points (1/72 inch). None takes less for more points.
    alpha : float or None
        Opacity of the dots. None takes 1, and 0.6 for more than 5000 of them.
    ax : Axes or None
        Where to draw. None makes a new figure.
    **look
        Further keywords of :meth:`matplotlib.axes.Axes.scatter`, such as ``marker``.

        More than 100 000 points are shades, unless ``size`` or such keywords are given: each pixel
        has the mean colour of its points, the stronger the more there are.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold import PatchIsomap
    >>> X, y = load_iris(return_X_y=True)
    >>> isomap = PatchIsomap(n_neighbors=30).fit(X)
    >>> graph = isomap.graph_.tocoo()
    >>> ax = plot_embedding(isomap, y, edges=graph.coords, values=graph.data)
    >>> ax.figure.savefig("embedding.png")  # doctest: +SKIP
    """
    require_matplotlib()
    at = _places(embedding)
    solid = at.shape[1] == 3 and edges is None and (ax is None or ax.name == "3d")
    at = at[:, : 3 if solid else 2]
    links = check_edges(edges, values, len(at))
    groups, numbers = _classes_or_numbers(y, len(at))
    named = _named_groups(labels, groups if y is not None else [], len(at))
    shaded = len(at) > MOST_DOTS and not (solid or look or size)
    ax = new_axes("3d" if solid else None) if ax is None else ax
    if links is not None:
        draw_colorbar(ax, draw_edges(ax, at, *links, edge_cmap, None), label)
    diameter = np.sqrt(_size(ax, len(at))) if size is None else size
    if alpha is None and len(at) > CROWD and not shaded:
        alpha = OPACITY
    look = {"s": diameter**2, "alpha": alpha, "linewidths": 0, "zorder": 2} | look
    drawn = at[:0] if shaded else at  # shades have dots in the legend alone
    name = str(getattr(y, "name", None) or "")
    colors = _draw_dots(ax, drawn, at, groups, numbers, cmap, name, look)
    if numbers is None and y is not None:
        draw_legend(ax, scale=IN_LEGEND / diameter)
    view = None if solid else _view(at)
    if shaded:
        shade(ax, at, colors[:, :3], _whole(at) if view is None else view, alpha or 1.0)
    if solid:
        _frame_solid(ax, at)
    elif view is None:
        ax.autoscale_view()
        ax.set_aspect("equal", adjustable="datalim")
    else:
        ax.set(xlim=view[:, 0], ylim=view[:, 1])
        # The limits stay as they are, and the border where the triangles are.
        ax.set_aspect("equal", adjustable="box")
        _mark_beyond(ax, at, view, colors)
    ax.set_xlabel("component 0")
    ax.set_ylabel("component 1")
    if not solid:
        # A component has no unit: only distances count.
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color(FRAME)
        name_groups(ax, at, named)
    if title is not None:
        ax.set_title(title)
    return ax


def _places(embedding: Any) -> Doubles:
    """Return the coordinates of points, two of each at least."""
    found = getattr(embedding, "embedding_", embedding)
    if hasattr(found, "get_params"):
        raise ValueError(f"embedding is a {type(found).__name__} without embedding_; fit it first.")
    at = to_doubles(check_points(host(found), name="embedding", min_samples=1))
    return np.column_stack([at, np.zeros(len(at))]) if at.shape[1] < 2 else at


def _draw_dots(
    ax: Any,
    drawn: Doubles,
    at: Doubles,
    groups: Groups,
    numbers: Doubles | None,
    cmap: Any,
    name: str,
    look: dict[str, Any],
) -> Doubles:
    """Draw the points, all or none, and the bar of their numbers; return the colours of all."""
    from matplotlib.colors import to_rgba

    colors = np.empty((len(at), 4))
    every = len(drawn) == len(at)

    def dots(who: Mask, color: Any, label: str | None = None, **words: Any) -> Any:
        some = {"c": color} | look | words
        return ax.scatter(*(at[who] if every else drawn).T, label=label, **some)

    for word, who, color in groups:
        dots(who, color, word)
        colors[who] = to_rgba(look.get("c", color))
    if numbers is not None:
        known = np.isfinite(numbers)
        if not known.all():
            plain = {key: None for key in ("norm", "vmin", "vmax") if key in look}
            dots(~known, DOT_COLOR, **plain)
        colors[~known] = to_rgba(DOT_COLOR)
        shown = dots(known, numbers[known] if every else [], cmap=cmap)
        if not every:
            shown.set_clim(numbers[known].min(initial=np.inf), numbers[known].max(initial=-np.inf))
        bar = ax.figure.colorbar(shown, ax=ax, label=name, pad=0.02)
        bar.set_alpha(1)
        bar.outline.set_visible(False)
        colors[known] = shown.to_rgba(numbers[known])
    colors[:, 3] = 1  # what stands for many points is plain to see
    return colors


def _whole(at: Doubles) -> Doubles:
    """Return the corners of a view of all points, with some room around."""
    room = MARGIN * (float(np.ptp(at, axis=0).max()) or 1.0)
    return np.stack([at.min(axis=0) - room, at.max(axis=0) + room])


def _named_groups(labels: Any, classes: Groups, n: int) -> list[tuple[str, Mask, str]]:
    """Return the groups to name: classes, or those that an array has."""
    if isinstance(labels, bool | np.bool_):
        some = [(str(name), who, color) for name, who, color in classes if color != DOT_COLOR]
        return some if labels else []
    given = host(labels)
    if given.shape != (n,):
        raise ValueError(
            f"labels has shape {given.shape} for {n} points; give one per point, or True."
        )
    groups, _ = _classes_or_numbers(given.astype(str), n)
    return [
        (str(name), who, INK)
        for name, who, color in groups
        if str(name) not in NOBODY and color != DOT_COLOR
    ]


def _size(ax: Axes, n: int) -> float:
    """Return the area of a dot in square points."""
    extent = ax.get_window_extent()
    side = min(extent.width, extent.height) * 72 / ax.figure.dpi
    diameter = min(21 / n**0.2, LARGEST) * min(side / SIDE, 1.0)
    return float(max(diameter, SMALLEST) ** 2)


def _frame_solid(ax: Any, at: Doubles) -> None:
    """Give three axes one scale, and quiet walls."""
    middle, half = (at.min(axis=0) + at.max(axis=0)) / 2, float(np.ptp(at, axis=0).max()) / 2 or 1.0
    limits = np.stack([middle - half, middle + half], axis=1)
    ax.set(xlim=limits[0], ylim=limits[1], zlim=limits[2], zlabel="component 2")
    ax.set_box_aspect((1, 1, 1))
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_pane_color((1, 1, 1, 0))
        axis.line.set_color("0.8")
    ax.tick_params(labelsize=7, colors="0.5")


def _view(at: Doubles) -> Doubles | None:
    """Return the corners of a square around most points; None where it is not far from that of all.

    The quantiles are taken inwards: at least one point on each side may lie beyond.
    """
    if len(at) < FEWEST:
        return None
    low = np.quantile(at, QUANTILES[0], axis=0, method="higher")
    high = np.quantile(at, QUANTILES[1], axis=0, method="lower")
    side = float((high - low).max())
    if side == 0 or float(np.ptp(at, axis=0).max()) <= FAR * side:
        return None
    off = np.abs(at - (low + high) / 2).max(axis=1)
    near = at[off <= side * (0.5 + REACH)]
    low, high = near.min(axis=0), near.max(axis=0)
    middle, half = (low + high) / 2, float((high - low).max()) * (0.5 + MARGIN)
    return np.stack([middle - half, middle + half])


def _mark_beyond(ax: Axes, at: Doubles, view: Doubles, colors: Doubles) -> None:
    """Draw points beyond the view as triangles at its border, and say how many there are."""
    inset = INSET * (view[1] - view[0])
    # How far each point lies beyond the left, the lower, the right and the upper border.
    past = np.concatenate([view[0] - at, at - view[1]], axis=1)
    side = np.where(past.max(axis=1) > 0, past.argmax(axis=1), -1)
    border = np.clip(at, view[0] + inset, view[1] - inset)
    for number, marker in enumerate("<v>^"):
        who = side == number
        if who.any():
            across, up = border[who].T
            ax.scatter(across, up, s=28, c=colors[who], marker=marker, linewidths=0, zorder=4)
    count = int((side >= 0).sum())
    places = (border - view[0]) / (view[1] - view[0])
    # Above before below, left before right, where corners are as empty.
    corners = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    crowds = [(np.abs(places - corner) < NOTE).all(axis=1).sum() for corner in corners]
    right, top = corners[int(np.argmin(crowds))].astype(bool)
    ax.annotate(
        f"{count} point{'s lie' if count > 1 else ' lies'} beyond",
        xy=(int(right), int(top)),
        xycoords="axes fraction",
        xytext=(-8 if right else 8, -8 if top else 8),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top" if top else "bottom",
        fontsize=8,
        color="0.35",
    )


def draw_legend(ax: Axes, title: str | None = None, scale: float = 2.0) -> None:
    """Name what is drawn beside the axes, where the figure makes room, and never over dots."""
    place: dict[str, Any] = {"loc": "best"}
    if ax.figure.get_layout_engine() is not None:
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2}
    count = len(ax.get_legend_handles_labels()[0])
    if count > IN_COLUMN:
        place |= {"ncols": -(-count // IN_COLUMN), "fontsize": "x-small", "columnspacing": 0.8}
    legend = ax.legend(frameon=False, markerscale=scale, handletextpad=0.2, title=title, **place)
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_alpha(1)  # pale dots would have no colour there


def _classes_or_numbers(y: Any, n: int) -> tuple[Groups, Doubles | None]:
    """Return classes as (name, who, colour), or numbers; one class without a name for no ``y``."""
    if y is None:
        return [(None, np.ones(n, dtype=bool), CURVE_COLOR)], None
    given = host(y)
    if given.shape != (n,):
        raise ValueError(f"y has shape {given.shape} for {n} points; give one value per point.")
    numeric = given.dtype.kind in "iuf"
    if numeric:
        missing = ~np.isfinite(given)
        different = np.unique(given[~missing])
        if len(different) > len(CLASS_COLORS) or (different != np.round(different)).any():
            return [], to_doubles(given)
        words = np.array(
            ["" if lost else str(int(v)) for v, lost in zip(given, missing, strict=True)]
        )
    else:
        cells = given.tolist()
        missing = np.array([cell is None or cell != cell for cell in cells])  # noqa: PLR0124
        words = np.array([str(cell) for cell in cells])
    counts = Counter(words[~missing].tolist())
    own = MOST_CLASSES - (len(counts) > MOST_CLASSES)
    names = sorted((name for name, _ in counts.most_common(own)), key=int if numeric else str)
    groups: Groups = [
        (name, (words == name) & ~missing, color)
        for name, color in zip(names, class_colors(len(names)), strict=True)
    ]
    others = ~missing & ~np.isin(words, names)
    if others.any():
        groups.append((f"{len(counts) - len(names)} others", others, DOT_COLOR))
    if missing.any():
        groups.append(("missing", missing, DOT_COLOR))
    return groups, None
