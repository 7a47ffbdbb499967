"""Embeddings, by class or by number, and suspicious edges over them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.arrays import to_doubles
from patchfold.base.validation import check_count, check_points
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
from patchfold.plotting.palette import CLASS_COLORS, class_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from patchfold.analysis.bridges import Bridges
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
# Letters of labels on the map. A class is named where it has this share of the nearest points.
LABEL_SIZE, AROUND, OWN = 9, 15, 0.6
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
    labels: bool = False,
    ax: Axes | None = None,
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
    labels : bool, default=False
        Whether classes are named on the map, too, as far as their names do not overlap.
    ax : Axes or None
        Where to draw. None makes a new figure.

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
    found = getattr(embedding, "embedding_", embedding)
    if hasattr(found, "get_params"):
        raise ValueError(f"embedding is a {type(found).__name__} without embedding_; fit it first.")
    at = to_doubles(check_points(host(found), name="embedding", min_samples=1))
    if at.shape[1] < 2:
        at = np.column_stack([at, np.zeros(len(at))])
    solid = at.shape[1] == 3 and edges is None and (ax is None or ax.name == "3d")
    at = at[:, : 3 if solid else 2]
    links = check_edges(edges, values, len(at))
    groups, numbers = _classes_or_numbers(y, len(at))
    ax = new_axes("3d" if solid else None) if ax is None else ax
    if links is not None:
        draw_colorbar(ax, draw_edges(ax, at, *links, edge_cmap, None), label)
    colors = _draw_dots(ax, at, groups, numbers, cmap, str(getattr(y, "name", None) or ""))
    if numbers is None and y is not None:
        draw_legend(ax, scale=IN_LEGEND / np.sqrt(_size(ax, len(at))))
    view = None if solid else _view(at)
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
    if labels and not solid and y is not None:
        _label_classes(ax, at, groups)
    return ax


def _draw_dots(
    ax: Any, at: Doubles, groups: Groups, numbers: Doubles | None, cmap: Any, name: str
) -> Doubles:
    """Draw the points, and the bar of their numbers; return their colours."""
    look: dict[str, Any] = {
        "s": _size(ax, len(at)),
        "linewidths": 0,
        "zorder": 2,
        "alpha": OPACITY if len(at) > CROWD else None,
    }
    colors = np.empty((len(at), 4))
    for word, who, color in groups:
        dots = ax.scatter(*at[who].T, c=color, label=word, **look)
        colors[who] = dots.get_facecolor()[:1]
    if numbers is not None:
        known = np.isfinite(numbers)
        dots = ax.scatter(*at[~known].T, c=DOT_COLOR, **look)
        colors[~known] = dots.get_facecolor()[:1]
        dots = ax.scatter(*at[known].T, **look, c=numbers[known], cmap=cmap)
        bar = ax.figure.colorbar(dots, ax=ax, label=name, pad=0.02)
        bar.set_alpha(1)
        bar.outline.set_visible(False)
        colors[known] = dots.to_rgba(numbers[known])
    colors[:, 3] = 1  # what stands for many points is plain to see
    return colors


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


def _label_classes(ax: Axes, at: Doubles, groups: Groups) -> None:
    """Name classes where they are among themselves, as far as names do not overlap."""
    from matplotlib import patheffects
    from matplotlib.colors import to_rgb

    ax.figure.canvas.draw()  # the places of words are known then
    taken: list[Any] = []
    named = [group for group in groups if group[2] != DOT_COLOR and group[1].any()]
    for name, who, color in sorted(named, key=lambda group: -int(group[1].sum())):
        some = at[who]
        place = some[np.abs(some - np.median(some, axis=0)).sum(axis=1).argmin()]
        around = np.argsort(np.abs(at - place).sum(axis=1))[:AROUND]
        if who[around].mean() < OWN:
            continue  # it lies among others, whom its name would cover
        text = ax.text(
            place[0],
            place[1],
            str(name),
            fontsize=LABEL_SIZE,
            fontweight="bold",
            color=[0.55 * value for value in to_rgb(color)],
            ha="center",
            va="center",
            zorder=5,
            clip_on=True,
            path_effects=[patheffects.withStroke(linewidth=3, foreground="white")],
        )
        box = text.get_window_extent()
        if any(box.overlaps(other) for other in taken):
            text.remove()
        else:
            taken.append(box)


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
    ax.legend(frameon=False, markerscale=scale, handletextpad=0.2, title=title, **place)


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


def plot_bridges(
    places: Any,
    bridges: Bridges,
    y: Any = None,
    *,
    most: int | None = None,
    cmap: Any = "viridis",
    ax: Axes | None = None,
) -> Axes:
    """Draw points, and the suspicious edges between them, wider and darker by their score.

    Parameters
    ----------
    places : array of shape (n, n_components)
        Where the fitted points are drawn, by the first two columns: an embedding, or columns of
        the data.
    bridges : Bridges
        What ``bridges()`` of a fitted estimator returns.
    y : array of shape (n,) or None
        Classes or numbers to colour points by, as in :func:`plot_embedding`.
    most : int or None
        Draw at most this many edges, the most suspicious ones.
    cmap : str or Colormap
        Colours of numbers.
    ax : Axes or None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from patchfold import PatchIsomap
    >>> from patchfold.datasets import make_manifold
    >>> roll = make_manifold("swiss-roll", 500, random_state=0)
    >>> isomap = PatchIsomap(n_neighbors=40).fit(roll.X)
    >>> ax = plot_bridges(isomap.embedding_, isomap.bridges(), most=100)
    >>> ax.figure.savefig("bridges.png")  # doctest: +SKIP
    """
    shown = bridges if most is None else bridges[: check_count("most", most)]
    return plot_embedding(
        places,
        y,
        edges=(shown.source, shown.target),
        values=shown.score,
        cmap=cmap,
        label="score of suspicious edges",
        ax=ax,
    )
