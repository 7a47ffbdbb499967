"""Names on a map: each where its group is densest, and none over another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from patchfold.base.types import Doubles, Mask

# Letters of names. A group is named where it has this share of the nearest points.
SIZE, AROUND, OWN = 9, 15, 0.6
# Where a name goes if its place is taken, in lines of so many heights of letters: above and below.
ASIDE, LINE = (0.0, 1.1, -1.1, 2.2, -2.2), 1.2
# So many points are looked at.
MOST = 50_000


def name_groups(ax: Axes, at: Doubles, groups: Sequence[tuple[str, Mask, str]]) -> None:
    """Name groups, given as (name, who, colour), where they are among themselves.

    The largest comes first. A name that finds no room is left out, and so is that of a group that
    lies among others.
    """
    from matplotlib.colors import to_rgb

    words = Words(ax)
    every = max(1, len(at) // MOST)
    sample = at[::every]
    for name, who, color in sorted(groups, key=lambda group: -int(group[1].sum())):
        some = sample[who[::every]]
        if not len(some):
            continue
        place = some[np.abs(some - np.median(some, axis=0)).sum(axis=1).argmin()]
        gaps = np.abs(sample - place).sum(axis=1)
        around = np.argpartition(gaps, min(AROUND, len(gaps)) - 1)[:AROUND]
        if who[::every][around].mean() < OWN:
            continue  # it lies among others, whom its name would cover
        words.write(
            name,
            place,
            [(0, lines * SIZE * LINE) for lines in ASIDE],
            fontsize=SIZE,
            color=[0.55 * value for value in to_rgb(color)],
            ha="center",
            va="center",
            annotation_clip=True,
        )


class Words:
    """Words over a picture, none over another."""

    def __init__(self, ax: Axes) -> None:
        self._ax, self._taken = ax, list[Any]()
        ax.figure.canvas.draw()  # the places of words are known then

    def write(
        self, words: str, at: Doubles, asides: Sequence[tuple[float, float]], **look: Any
    ) -> None:
        """Write words at the first place that is free: beside ``at``, in points; else nowhere."""
        from matplotlib.patheffects import withStroke

        text = self._ax.annotate(
            words,
            (at[0], at[1]),
            textcoords="offset points",
            xytext=asides[0],
            fontweight="bold",
            zorder=6,
            path_effects=[withStroke(linewidth=3, foreground="white")],
            **look,
        )
        for aside in asides:
            text.set_position(aside)
            box = text.get_window_extent()
            if not any(box.overlaps(other) for other in self._taken):
                self._taken.append(box)
                return
        text.remove()
