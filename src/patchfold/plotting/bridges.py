"""Suspicious edges over the points that they join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.validation import check_count
from patchfold.plotting._axes import CHOICE_COLOR, DOT_COLOR
from patchfold.plotting.embedding import plot_embedding
from patchfold.plotting.naming import Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from patchfold.analysis.bridges import Bridges

# How wide lines are, in points: the least and the most suspicious.
WIDTHS = (0.8, 3.0)
# Points are pale, so that lines stand out; points without classes are grey.
PALE = 0.35
# What the picture shows, below it.
MEANING = ": neighbours in the data,\nbut their surroundings differ, and the way around is long"
# So many edges are named by their ends, the most suspicious ones.
NAMED = 3


def plot_bridges(
    places: Any,
    bridges: Bridges,
    y: Any = None,
    *,
    names: Sequence[Any] | None = None,
    most: int | None = None,
    cmap: Any = "viridis",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw points, and the suspicious edges between them, wider by their score.

    Below the picture stands how many there are and what a line means. The ends of the three most
    suspicious edges are named.

    Parameters
    ----------
    places : array of shape (n, n_components)
        Where the fitted points are drawn, by the first two columns: an embedding, or columns of
        the data.
    bridges : Bridges
        What ``bridges()`` of a fitted estimator returns.
    y : array of shape (n,) or None
        Classes or numbers to colour points by, as in :func:`plot_embedding`.
    names : sequence of n names, or None
        What the points are called; None takes the numbers of their rows.
    most : int or None
        Draw so many edges at most, the most suspicious ones.
    cmap : str or Colormap
        Colours of numbers.
    title : str or None
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
    from matplotlib.collections import LineCollection

    shown = bridges if most is None else bridges[: check_count("most", most)]
    look: dict[str, Any] = {} if y is not None else {"c": DOT_COLOR}
    ax = plot_embedding(places, y, cmap=cmap, title=title, alpha=PALE, ax=ax, **look)
    at = np.asarray(places)[:, :2]
    names = None if names is None else list(names)  # of a series by place, not by its index
    if names is not None and len(names) != len(at):
        raise ValueError(f"names has {len(names)} names for {len(at)} points; give one each.")
    count = len(shown)
    kind = "suspicious edge" + "s" * (count != 1)
    of = "" if count == len(bridges) else f" of {len(bridges)}"
    ax.set_xlabel(f"{count}{of} {kind}{MEANING if count else ''}", fontsize=8, color="0.3")
    ax.set_ylabel("")
    if not count:
        return ax
    score = np.asarray(shown.score)
    share = (score - score.min()) / (np.ptp(score) or 1.0)
    rising = np.argsort(score, kind="stable")  # the most suspicious on top
    lines = LineCollection(
        list(np.stack([at[shown.source], at[shown.target]], axis=1)[rising]),
        colors=CHOICE_COLOR,
        linewidths=list((WIDTHS[0] + (WIDTHS[1] - WIDTHS[0]) * share)[rising]),
        capstyle="round",
        zorder=3,
    )
    ax.add_collection(lines, autolim=False)
    ends = np.unique(np.concatenate([shown.source, shown.target]))
    x, up = at[ends].T
    ax.scatter(x, up, s=14, color=CHOICE_COLOR, edgecolors="white", linewidths=0.6, zorder=4)
    words, worst = Words(ax), shown[:NAMED]
    for row in dict.fromkeys(np.stack([worst.source, worst.target], axis=1).ravel().tolist()):
        name = str(row if names is None else names[row])
        words.write(name, at[row], [(5, 4)], fontsize=8)
    return ax
