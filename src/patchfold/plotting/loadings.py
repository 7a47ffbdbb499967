"""Loadings: the strongest features as arrows over an embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.arrays import to_doubles
from patchfold.base.validation import check_count
from patchfold.plotting._axes import DOT_COLOR, new_axes
from patchfold.plotting.embedding import draw_legend, plot_embedding
from patchfold.plotting.palette import CLASS_COLORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from patchfold.base.types import Doubles, Indices

# Arrows of a place: at most PER_PLACE, none shorter than SHORTEST times its longest, nor than TINY
# times the longest of all.
PER_PLACE, SHORTEST, TINY = 3, 0.35, 0.1

# A place has at least FEWEST points, and LEAST_SHARE of those it would have if all had as many.
FEWEST, LEAST_SHARE = 3, 0.25

# The longest arrow, as a share of the distance of two places; and how wide arrows are, as a share
# of the width of the axes.
LONGEST, WIDTH = 0.8, 0.006


def plot_loadings(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    n_features: int = 5,
    n_places: int = 5,
    ax: Axes | None = None,
) -> Axes:
    """Draw the strongest features as arrows over an embedding: where more of them moves a point.

    The plane is divided into squares. In every square with enough points, an arrow shows where the
    mean of its points moves if a feature grows by its standard deviation
    (``model.local_loadings()``). All arrows have one scale, which makes the longest 0.8 times as
    long as a square is wide; short ones are left out. A feature has the same
    colour everywhere, and the legend names the features, the strongest first.

    Parameters
    ----------
    model : fitted embedding
        Such as :class:`patchfold.PatchIsomap`. The first two components are drawn.
    feature_names : list of str or None
        None takes the columns of the frame that the model was fitted to, or numbers.
    n_features : int, default=5
        How many features are drawn: those with the longest arrows on average.
    n_places : int, default=5
        Squares along a side of the plane.
    ax : Axes or None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold import PatchIsomap
    >>> iris = load_iris()
    >>> isomap = PatchIsomap(n_neighbors=30).fit(iris.data)
    >>> ax = plot_loadings(isomap, iris.feature_names)
    >>> ax.figure.savefig("loadings.png")  # doctest: +SKIP
    """
    n_features = check_count("n_features", n_features)
    n_places = check_count("n_places", n_places)
    slopes = to_doubles(model.local_loadings())[:, :2]
    names = _names(model, feature_names, slopes.shape[2])
    at = to_doubles(model.embedding_)[:, :2]
    if at.shape[1] < 2:
        at, slopes = (np.pad(part, [(0, 0), (0, 1), (0, 0)][: part.ndim]) for part in (at, slopes))
    ax = plot_embedding(at, ax=new_axes() if ax is None else ax)
    for dots in ax.collections:
        dots.set(color=DOT_COLOR, alpha=0.5)
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    seen = ((at >= low) & (at <= high)).all(axis=1)
    places, means, side = _places(at[seen], slopes[seen], n_places)
    arrows = means * to_doubles(model.patch_graph_.lengths.points).std(axis=0)
    lengths = np.linalg.norm(arrows, axis=1)
    strongest = np.argsort(-lengths.mean(axis=0), kind="stable")[:n_features]
    shown = _shown(lengths[:, strongest])
    strongest, shown = strongest[shown.any(axis=0)], shown[:, shown.any(axis=0)]
    longest = float(lengths[:, strongest].max(initial=0.0, where=shown)) or 1.0
    arrows *= LONGEST * side / longest
    for number, feature in enumerate(strongest):
        who = shown[:, number]
        ax.quiver(
            *places[who].T,
            *arrows[who, :, feature].T,
            angles="xy",
            scale_units="xy",
            scale=1.0,
            width=WIDTH,
            color=CLASS_COLORS[number % len(CLASS_COLORS)],
            zorder=3,
            label=names[feature],
        )
        ax.update_datalim(places[who] + arrows[who, :, feature])
    ax.autoscale_view()  # to the tips of the arrows, unless the view is a part of the points
    if len(strongest):
        draw_legend(ax, title="one deviation more of")
    return ax


def _names(model: Any, given: Sequence[str] | None, m: int) -> list[str]:
    if given is None:
        given = getattr(model, "feature_names_in_", [f"feature {number}" for number in range(m)])
    names = [str(name) for name in given]
    if len(names) != m:
        raise ValueError(
            f"feature_names has {len(names)} names for {m} features; give one name per feature."
        )
    return names


def _places(at: Doubles, slopes: Doubles, count: int) -> tuple[Doubles, Doubles, float]:
    """Return the means of points and slopes in the squares with enough points, and their side.

    Squares are nearly square: a whole number of them covers the points in both directions.
    """
    low, extent = at.min(axis=0), np.ptp(at, axis=0)
    side = float(extent.max()) / count or 1.0
    counts = np.maximum(np.round(extent / side), 1)
    cells: Indices = np.floor((at - low) / np.where(extent > 0, extent, 1.0) * counts)
    cells = np.minimum(cells, counts - 1).astype(np.intp) @ [count, 1]
    numbers, cell_of, sizes = np.unique(cells, return_inverse=True, return_counts=True)
    enough = sizes >= min(sizes.max(), max(FEWEST, LEAST_SHARE * len(at) / len(numbers)))
    kept = np.flatnonzero(enough)
    places = np.stack([at[cell_of == cell].mean(axis=0) for cell in kept])
    means = np.stack([slopes[cell_of == cell].mean(axis=0) for cell in kept])
    return places, means, side


def _shown(lengths: Doubles) -> Any:
    """Tell which arrows are drawn: the longest of every place, and not the short ones beside it."""
    rank = np.argsort(np.argsort(-lengths, axis=1, kind="stable"), axis=1, kind="stable")
    longest = lengths.max(axis=1, keepdims=True)
    long = np.maximum(SHORTEST * longest, TINY * longest.max())
    return (rank < PER_PLACE) & (lengths >= long) & (lengths > 0)
