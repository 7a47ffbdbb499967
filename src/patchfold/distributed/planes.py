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


def grown(sample: Floats, parts: int, first: int = 0) -> Any:
    """Return a tree with ``parts`` leaves (a power of two), numbered from ``first`` on."""
    if parts == 1:
        return first
    axis = _widest(sample - sample.mean(axis=0)) if len(sample) else np.zeros(sample.shape[1])
    along = (sample * axis).sum(axis=1)
    cut = float(np.median(along)) if len(along) else 0.0
    half = parts // 2
    low, high = (
        grown(sample[along <= cut], half, first),
        grown(sample[along > cut], half, first + half),
    )
    return Plane(axis, cut, low, high)


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
    # Row by row: a product of matrices has bits that depend on the other rows, and copies of a row
    # have to come into the same part.
    low = (X[rows] * tree.axis).sum(axis=1) <= tree.cut
    _descend(X, rows[low], tree.low, parts)
    _descend(X, rows[~low], tree.high, parts)
