"""Compiled: move points to where their distances fit best those that are known (stress).

The stress of a point at ``z`` is the sum of ``(d_j - |z - t_j|)^2`` over targets at ``t_j``, with
known distances ``d_j``. Every target pulls the point towards, or pushes it away to, the place at
distance ``d_j`` in the point's direction. The mean of these places has less stress, or as much if
the point is where it belongs (de Leeuw, 1977). A step of up to twice the length never has more, and
gets there sooner (de Leeuw and Heiser, 1980).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patchfold.base.compiling import compiled_freely
from patchfold.solvers.scaling import FIRST_STEP, NO_DIRECTION, STEP

if TYPE_CHECKING:
    from patchfold.base.types import Floats


@compiled_freely
def _pulled(known: Floats, targets: Floats, place: Floats, ratios: Floats, pulled: Floats) -> float:
    """Write the mean pull of all targets on one point, ``d_j (z - t_j) / |z - t_j|``.

    Return its stress. ``ratios`` is room for a number per target.
    """
    d, n = targets.shape
    ratios[:] = 0.0
    for axis in range(d):
        z = place[axis]
        for j in range(n):
            ratios[j] += (z - targets[axis, j]) * (z - targets[axis, j])
    stress = 0.0
    for j in range(n):
        distance = np.sqrt(ratios[j])
        stress += (known[j] - distance) * (known[j] - distance)
        ratios[j] = known[j] / distance if distance > NO_DIRECTION else 0.0
    for axis in range(d):
        z = place[axis]
        total = 0.0
        for j in range(n):
            total += ratios[j] * (z - targets[axis, j])
        pulled[axis] = total / n
    return stress


@compiled_freely
def pull(known: Floats, targets: Floats, places: Floats, pulled: Floats, stress: Floats) -> None:
    """Write the mean pull on every point (n_points, n_components), and its stress.

    ``known`` (n_points, n_targets) are distances, in units of the longest, and ``targets`` have the
    shape (n_components, n_targets).
    """
    ratios = np.empty(targets.shape[1])
    for i in range(len(known)):
        stress[i] = _pulled(known[i], targets, places[i], ratios, pulled[i])


@compiled_freely
def settle(known: Floats, targets: Floats, places: Floats, passes: int, close: float) -> None:
    """Move every point to a place of least stress, while the targets stay.

    A point stops where a plain step is no longer than ``close``.
    """
    d, n = targets.shape
    ratios, pulled, centre = np.empty(n), np.empty(d), np.empty(d)
    for axis in range(d):
        centre[axis] = targets[axis].mean()
    for i in range(len(known)):
        place, step = places[i], FIRST_STEP
        for _ in range(passes):
            _pulled(known[i], targets, place, ratios, pulled)
            length = 0.0
            for axis in range(d):
                pulled[axis] += centre[axis] - place[axis]
                length += pulled[axis] * pulled[axis]
                place[axis] += step * pulled[axis]
            if length <= close * close:
                break
            step = STEP
