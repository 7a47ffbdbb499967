"""A tree of planes that shares rows out to parts of space.

It is fitted to a sample: each plane halves the sample along the direction in which it varies most.
So all parts have about as many rows, and near rows are together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices


# Steps towards the direction in which a sample varies most; it need not be exact.
STEPS = 20


class Plane(NamedTuple):
    """An inner node of the tree: rows up to ``cut`` along ``axis`` go to ``low``."""

    axis: Floats
    cut: float
    low: Any
    high: Any


def grown(sample: Floats, parts: int, first: int) -> tuple[Any, int]:
    """Return a tree with so many leaves, numbered from ``first`` on, and the next number."""
    if parts == 1:
        return first, first + 1
    axis = _widest(sample - sample.mean(axis=0)) if len(sample) else np.zeros(sample.shape[1])
    along = (sample * axis).sum(axis=1)
    cut = float(np.median(along)) if len(along) else 0.0
    low, after = grown(sample[along <= cut], parts // 2, first)
    high, after = grown(sample[along > cut], parts // 2, after)
    return Plane(axis, cut, low, high), after


def _widest(centred: Floats) -> Floats:
    """Return a direction in which rows vary almost most, by steps from the longest row."""
    axis: Floats = centred[np.argmax(np.square(centred).sum(axis=1))]
    for _ in range(STEPS):
        length = float(np.linalg.norm(axis))
        if length == 0:
            break
        axis = centred.T @ (centred @ (axis / length))
    return axis / (float(np.linalg.norm(axis)) or 1.0)


def renumbered(tree: Any, numbers: dict[int, int]) -> Any:
    """Return a tree whose leaves have other numbers; those without any get a number beside them."""
    if not isinstance(tree, Plane):
        return numbers.get(tree)
    low, high = renumbered(tree.low, numbers), renumbered(tree.high, numbers)
    if low is None or high is None:
        return high if low is None else low
    return Plane(tree.axis, tree.cut, low, high)


def part_of(X: Floats, tree: Any) -> Indices:
    """Return the part that each row belongs to."""
    parts = np.empty(len(X), dtype=np.intp)
    _descend(X, np.arange(len(X)), tree, parts)
    return parts


def _descend(X: Floats, rows: Indices, tree: Any, parts: Indices) -> None:
    if not isinstance(tree, Plane):
        parts[rows] = tree
        return
    # Row by row: a product of matrices has bits that depend on the machine and the other rows, and
    # a task that is run again has to give the same.
    low = (X[rows] * tree.axis).sum(axis=1) <= tree.cut
    _descend(X, rows[low], tree.low, parts)
    _descend(X, rows[~low], tree.high, parts)


def near_parts(X: Floats, tree: Any, margin: float) -> dict[int, Indices]:
    """Return the rows that are in each part, or at most ``margin`` beyond one of its planes."""
    found: dict[int, Indices] = {}
    _spread(X, np.arange(len(X)), tree, margin, found)
    return found


def _spread(X: Floats, rows: Indices, tree: Any, margin: float, found: dict[int, Indices]) -> None:
    if not len(rows):
        return
    if not isinstance(tree, Plane):
        found[tree] = rows
        return
    beyond = (X[rows] * tree.axis).sum(axis=1) - tree.cut
    _spread(X, rows[beyond <= margin], tree.low, margin, found)
    _spread(X, rows[beyond >= -margin], tree.high, margin, found)
