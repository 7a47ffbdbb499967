"""Embeddings, by class or by number."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from patchfold._validation import check_points
from patchfold.plotting._axes import (
    CURVE_COLOR,
    DOT_COLOR,
    Floats,
    double,
    host,
    new_axes,
    require_matplotlib,
)
from patchfold.plotting._edges import check_edges, draw_colorbar, draw_edges

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Classes, as on the page of the explorer: Okabe and Ito's colours, then shades between them.
CLASS_COLORS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a5ca8"),
    *("#004b75", "#8c5f00", "#00634a", "#8f4573", "#8fd0f5", "#f2a07b", "#9c9c5c", "#b9a6dc"),
)

# A plot shows all points, unless the square around them is so many times as wide as that around
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


def plot_embedding(
    embedding: Any,
    y: Any = None,
    *,
    edges: tuple[Any, Any] | None = None,
    values: Any = None,
    cmap: Any = "viridis",
    edge_cmap: Any = "magma_r",
    label: str = "divergence",
    ax: Axes | None = None,
) -> Axes:
    """Draw an embedding, coloured by classes or numbers, and edges coloured by divergence.

    Where a few points lie so far out that all others would fall on one dot, the view is a square
    around the others, from the 1 % to the 99 % quantile of both components. Triangles at its border
    show where the points beyond lie, and a note in the corner counts them.

    Parameters
    ----------
    embedding : array of shape (n, n_components)
        The first two components are drawn.
    y : array of shape (n,) or None
        Text, or few different whole numbers, are classes and get a legend, the commonest 15 of
        more than 16 and the others together, beside the axes in a figure that has a layout; other
        numbers get a colour bar. Missing ones are grey.
    edges, values, label
        As for :func:`plot_patches`.
    cmap, edge_cmap : str or Colormap
        Colours of numbers, and of edges.
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
    >>> ax = plot_embedding(isomap.embedding_, y, edges=graph.coords, values=graph.data)
    >>> ax.figure.savefig("embedding.png")  # doctest: +SKIP
    """
    require_matplotlib()
    at = double(check_points(host(embedding), name="embedding", min_samples=1))
    if at.shape[1] < 2:
        at = np.column_stack([at, np.zeros(len(at))])
    at = at[:, :2]
    links = check_edges(edges, values, len(at))
    groups, numbers = _classes_or_numbers(y, len(at))
    ax = new_axes() if ax is None else ax
    # Many points are drawn small.
    size = float(np.clip(6000 / len(at), 1.0, 12.0))
    if links is not None:
        draw_colorbar(ax, draw_edges(ax, at, *links, edge_cmap, None), label)
    across, up = at[:, 0], at[:, 1]
    colors = np.empty((len(at), 4))
    for name, who, color in groups:
        dots = ax.scatter(across[who], up[who], s=size, c=color, linewidths=0, zorder=2, label=name)
        colors[who] = dots.get_facecolor()
    if numbers is not None:
        known = np.isfinite(numbers)
        dots = ax.scatter(across[~known], up[~known], s=size, c=DOT_COLOR, linewidths=0, zorder=2)
        colors[~known] = dots.get_facecolor()
        dots = ax.scatter(
            across[known], up[known], s=size, c=numbers[known], cmap=cmap, linewidths=0, zorder=2
        )
        bar = ax.figure.colorbar(dots, ax=ax, label=str(getattr(y, "name", None) or ""), pad=0.02)
        bar.outline.set_visible(False)
        colors[known] = dots.to_rgba(numbers[known])
    elif y is not None:
        draw_legend(ax)
    view = _view(at)
    if view is None:
        ax.autoscale_view()
        ax.set_aspect("equal", adjustable="datalim")
    else:
        ax.set(xlim=view[:, 0], ylim=view[:, 1])
        # The limits stay as they are, and the border where the triangles are.
        ax.set_aspect("equal", adjustable="box")
        _mark_beyond(ax, at, view, colors)
    ax.set_xlabel("component 0")
    ax.set_ylabel("component 1")
    return ax


def _view(at: Floats) -> Floats | None:
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


def _mark_beyond(ax: Axes, at: Floats, view: Floats, colors: Floats) -> None:
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


def draw_legend(ax: Axes, title: str | None = None) -> None:
    """Name what is drawn beside the axes, where the figure makes room, and never over dots."""
    place: dict[str, Any] = {"loc": "best"}
    if ax.figure.get_layout_engine() is not None:
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2}
    ax.legend(frameon=False, markerscale=2, handletextpad=0.2, title=title, **place)


def _classes_or_numbers(
    y: Any, n: int
) -> tuple[list[tuple[str | None, npt.NDArray[np.bool_], str]], Floats | None]:
    """Return classes as (name, who, colour), or numbers; one class without a name for no ``y``."""
    if y is None:
        return [(None, np.ones(n, dtype=bool), CURVE_COLOR)], None
    given = host(y)
    if given.shape != (n,):
        raise ValueError(f"y has shape {given.shape} for {n} points; give one value a point.")
    numeric = given.dtype.kind in "iuf"
    if numeric:
        missing = ~np.isfinite(given)
        different = np.unique(given[~missing])
        if len(different) > len(CLASS_COLORS) or (different != np.round(different)).any():
            return [], double(given)
        words = np.array(
            ["" if lost else str(int(v)) for v, lost in zip(given, missing, strict=True)]
        )
    else:
        cells = given.tolist()
        missing = np.array([cell is None or cell != cell for cell in cells])  # noqa: PLR0124
        words = np.array([str(cell) for cell in cells])
    counts = Counter(words[~missing].tolist())
    own = len(CLASS_COLORS) - (len(counts) > len(CLASS_COLORS))
    names = sorted((name for name, _ in counts.most_common(own)), key=int if numeric else str)
    groups: list[tuple[str | None, npt.NDArray[np.bool_], str]] = [
        (name, (words == name) & ~missing, color)
        for name, color in zip(names, CLASS_COLORS, strict=False)
    ]
    others = ~missing & ~np.isin(words, names)
    if others.any():
        groups.append((f"{len(counts) - len(names)} others", others, DOT_COLOR))
    if missing.any():
        groups.append(("missing", missing, DOT_COLOR))
    return groups, None
