"""How far the place of a point moves when the embedding is fitted again, to samples of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Doubles, Indices


# The share of the points that a refit leaves out.
LEFT_OUT = 0.2

# Refits of which every point takes part in at least one.
FEWEST_REFITS = 2


def turn(plane: Doubles, reference: Doubles) -> Doubles:
    """Return the matrix that turns ``plane`` onto ``reference`` (orthogonal Procrustes).

    With ``plane' reference = U S V'`` the sum of squared distances between the points of
    ``plane @ T`` and those of ``reference`` is least for the rotation or reflection ``T = U V'``.
    """
    u, _, vt = np.linalg.svd(plane.T @ reference)
    return np.asarray(u @ vt)


def laid_over(places: Any, reference: Any) -> Doubles:
    """Move places over others, bring them to the same size, and turn them (Procrustes).

    They are not shrunk further where they have little in common, as least squares would.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> turned = 3 * square @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 7
    >>> np.allclose(laid_over(turned, square), square)
    True
    """
    onto, size, middle = _normalised(reference)
    moved, _, _ = _normalised(places)
    return np.asarray((moved @ turn(moved, onto)) * size + middle)


def stability_of(
    refit: Callable[[Indices], Any], embedding: Any, *, n_refits: int, random_state: Any = None
) -> Doubles:
    """Return how well every point keeps its place when the embedding is fitted to samples.

    ``refit(rows)`` fits an embedding to these rows and returns their places; this is done
    ``n_refits`` times, at least twice.

    Each refit leaves out a fifth of the points, in turn, and its places are laid over those of the
    embedding. A point that moves by ``r``, root mean square over the refits that have it, has the
    stability ``1 - r / R``, at least 0, where ``R`` is the root mean square distance of two points
    of the embedding. So 1 is a point that does not move, and 0 one whose place is random.

    Examples
    --------
    >>> places = np.array([[0.0], [1.0], [2.0], [4.0], [8.0]])
    >>> stability_of(lambda rows: -3 * places[rows], places, n_refits=3, random_state=0).round(6)
    array([1., 1., 1., 1., 1.])
    """
    places, _, _ = _normalised(embedding)
    n = len(places)
    squares, count = np.zeros(n), np.zeros(n)
    for kept in _samples(n, n_refits, random_state):
        moved = laid_over(refit(kept), places[kept])
        squares[kept] += ((moved - places[kept]) ** 2).sum(axis=1)
        count[kept] += 1
    # Two points are at a mean squared distance of 2 where that from the centre is 1.
    return np.asarray(np.clip(1 - np.sqrt(squares / count / 2), 0.0, 1.0))


def _normalised(places: Any) -> tuple[Doubles, float, Doubles]:
    """Centre places, at a mean squared distance of one; return them, their size and the centre."""
    found = np.asarray(places, dtype=np.float64)
    middle = found.mean(axis=0)
    found = found - middle
    unit = float(np.abs(found).max()) or 1.0  # in this unit squares neither overflow nor vanish
    found /= unit
    size = float(np.sqrt((found**2).sum(axis=1).mean())) or 1.0
    return found / size, size * unit, middle


def _samples(n: int, n_refits: int, random_state: Any) -> list[Indices]:
    """Draw the rows of every refit; all rows are left out equally often, to within one refit."""
    random = check_random_state(random_state)
    out = max(1, round(LEFT_OUT * n))
    needed = n_refits * out
    order = np.concatenate([random.permutation(n) for _ in range(-(-needed // n))])
    return [
        np.setdiff1d(np.arange(n), order[start : start + out]) for start in range(0, needed, out)
    ]
