"""Colours of classes, as on the page of the explorer."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from patchfold.base.types import Doubles, Indices

# Okabe and Ito's colours, then shades between them.
CLASS_COLORS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a5ca8"),
    *("#004b75", "#8c5f00", "#00634a", "#8f4573", "#8fd0f5", "#f2a07b", "#9c9c5c", "#b9a6dc"),
)
# From linear light to the responses of three cones, and from their cube roots to lightness and two
# differences: OKLab (Ottosson 2020).
CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
SEEN = np.array(
    [
        [0.2104542553, 0.793617785, -0.0040720468],
        [1.9779984951, -2.428592205, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.808675766],
    ]
)


@cache
def class_colors(count: int) -> tuple[str, ...]:
    """Return colours for ``count`` classes: each further one as far from all others as can be.

    Examples
    --------
    >>> class_colors(3)
    ('#0072b2', '#e69f00', '#009e73')
    >>> len(set(class_colors(40)))
    40
    """
    if count <= len(CLASS_COLORS):
        return CLASS_COLORS[:count]
    code = np.arange(4096)
    levels = 17 * np.column_stack([code >> 8, (code >> 4) & 15, code & 15])
    seen = _perceived(levels)
    chroma = np.hypot(seen[:, 1], seen[:, 2])
    # Neither so dark or light that it fades into the ground, nor grey, nor glaring.
    good = (seen[:, 0] > 0.38) & (seen[:, 0] < 0.84) & (chroma > 0.06) & (chroma < 0.22)
    levels, seen = levels[good], seen[good]
    given = np.array([[int(name[i : i + 2], 16) for i in (1, 3, 5)] for name in CLASS_COLORS])
    gaps = np.linalg.norm(seen[:, None] - _perceived(given), axis=2).min(axis=1)
    chosen = list(CLASS_COLORS)
    while len(chosen) < count:
        best = int(gaps.argmax())
        chosen.append("#{:02x}{:02x}{:02x}".format(*levels[best]))
        gaps = np.minimum(gaps, np.linalg.norm(seen - seen[best], axis=1))
    return tuple(chosen)


def _perceived(levels: Indices) -> Doubles:
    """Return colours of levels from 0 to 255 where distances are those that are seen."""
    share = levels / 255
    light = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.cbrt(light @ CONES.T) @ SEEN.T)
