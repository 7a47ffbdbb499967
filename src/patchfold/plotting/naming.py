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
# Where a name goes if its place is taken, in heights of a line: above and below.
ASIDE = (0.0, 1.1, -1.1, 2.2, -2.2)
# So many points are looked at.
MOST = 50_000


def name_groups(ax: Axes, at: Doubles, groups: Sequence[tuple[str, Mask, str]]) -> None:
    """Name groups, given as (name, who, colour), where they are among themselves.

    The largest comes first. A name that finds no room is left out, and so is that of a group that
    lies among others.
    """
    from matplotlib import patheffects
    from matplotlib.colors import to_rgb

    ax.figure.canvas.draw()  # the places of words are known then
    taken: list[Any] = []
    every = max(1, len(at) // MOST)
    sample = at[::every]
    line = SIZE * 1.2 * ax.figure.dpi / 72  # in pixels
    for name, who, color in sorted(groups, key=lambda group: -int(group[1].sum())):
        some = sample[who[::every]]
        if not len(some):
            continue
        place = some[np.abs(some - np.median(some, axis=0)).sum(axis=1).argmin()]
        gaps = np.abs(sample - place).sum(axis=1)
        around = np.argpartition(gaps, min(AROUND, len(gaps)) - 1)[:AROUND]
        if who[::every][around].mean() < OWN:
            continue  # it lies among others, whom its name would cover
        text = ax.text(
            place[0],
            place[1],
            name,
            fontsize=SIZE,
            fontweight="bold",
            color=[0.55 * value for value in to_rgb(color)],
            ha="center",
            va="center",
            zorder=5,
            clip_on=True,
            path_effects=[patheffects.withStroke(linewidth=3, foreground="white")],
        )
        x, y = ax.transData.transform(place)
        for aside in ASIDE:
            left, up = ax.transData.inverted().transform((x, y + aside * line))
            text.set_position((left, up))
            box = text.get_window_extent()
            if not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
        else:
            text.remove()
