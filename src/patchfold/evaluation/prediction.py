"""How well the targets of new points follow from their seven nearest neighbours."""

from __future__ import annotations

from typing import Any

from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

# As many as the papers' classifier has.
NEAREST = 7


def accuracy(points: Any, y: Any, new: Any, truth: Any) -> float:
    """Return the share of new points whose class their nearest neighbours tell.

    Neighbours are sought among ``points`` of classes ``y``; ``truth`` are the classes of ``new``.

    Examples
    --------
    >>> accuracy([[0.0]] * 7 + [[1.0]] * 7, [0] * 7 + [1] * 7, [[0.1], [0.8]], [0, 0])
    0.5
    """
    return float(KNeighborsClassifier(n_neighbors=NEAREST).fit(points, y).score(new, truth))


def r_squared(points: Any, y: Any, new: Any, truth: Any) -> float:
    """Return R squared of the mean value of the nearest neighbours, for new points.

    Parameters are those of :func:`accuracy`, with values instead of classes.
    """
    return float(KNeighborsRegressor(n_neighbors=NEAREST).fit(points, y).score(new, truth))
