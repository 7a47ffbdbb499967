"""Manifolds whose geodesics are known, with noise of several kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from patchfold.base.types import Doubles, Mask
from patchfold.base.validation import check_choice, check_count

# In scikit-learn's units: a roll from radius 4.7 to 14.1, 21 wide, whose sheets are 6.3 apart.
ROLL_WIDTH = 21.0
# The hole of a roll, in its angle and width; scikit-learn's, the middle of three by three parts.
HOLE = ((2.5 * np.pi, 3.5 * np.pi), (7.0, 14.0))
S_RADIUS = 5.0
SPHERE_RADIUS = 10.0
# The sphere ends at this share of its radius: a cap is missing.
SPHERE_TOP = 0.85
# A helix around a torus: its two radii, and how often it winds.
TORUS_RADII, WINDINGS = (10.0, 5.0), 5
# Length along the helix is summed over HELIX_PIECES pieces: to 1e-8 of it.
HELIX_PIECES = 200_000
# Two rolls in each other: from this angle on, and half as far apart as one roll's sheets.
TWO_ROLLS_START, TWO_ROLLS_GROWTH, TWO_ROLLS_WIDTH = np.pi, 2.0, 12.0


@dataclass(frozen=True, eq=False)
class Manifold:
    """Points near a manifold, and what is known about it.

    Attributes
    ----------
    X : array of shape (n, m)
        The points, noise included.
    coordinates : array of shape (n, d)
        Where they come from: coordinates in the manifold itself.
    inliers : array of bool of shape (n,)
        False for points that were thrown in anywhere.
    """

    X: Doubles
    coordinates: Doubles
    inliers: Mask
    _distances: Callable[[Doubles], Doubles]

    def geodesics(self) -> Doubles:
        """Return the distances in the manifold, before noise, of all pairs: shape (n, n).

        NaN where there is none: from outliers, and between separate parts.
        """
        distances = self._distances(self.coordinates)
        distances[~self.inliers] = np.nan
        distances[:, ~self.inliers] = np.nan
        return distances


def make_manifold(
    name: str,
    n: int = 1000,
    noise: float = 0.0,
    random_state: Any = None,
    *,
    uneven: float = 0.0,
    outliers: float = 0.0,
    noise_dimensions: int = 0,
) -> Manifold:
    """Sample a manifold.

    Parameters
    ----------
    name : str
        ``"swiss-roll"`` (the points of scikit-learn's ``make_swiss_roll``),
        ``"swiss-roll-with-hole"``, ``"s-curve"``, ``"punctured-sphere"``, ``"toroidal-helix"``, or
        ``"two-rolls"``, one in the other.
    n : int, default=1000
        Number of points.
    noise : float, default=0.0
        Deviation of Gaussian noise. Sheets of the roll are 6.3 apart, those of two rolls as well.
    random_state : int, RandomState or None
    uneven : float, default=0.0
        How uneven the density is: 0 for none, 1 for one that falls to zero at one end.
    outliers : float, default=0.0
        Share of points that lie anywhere in the box around the others instead.
    noise_dimensions : int, default=0
        Further columns that have nothing but noise.

    Returns
    -------
    Manifold

    Examples
    --------
    >>> roll = make_manifold("swiss-roll", 500, noise=0.5, random_state=0, outliers=0.05)
    >>> roll.X.shape, roll.coordinates.shape, int(roll.inliers.sum())
    ((500, 3), (500, 2), 475)
    >>> roll.geodesics().shape
    (500, 500)
    """
    check_choice("name", name, MANIFOLDS)
    n = check_count("n", n)
    noise_dimensions = check_count("noise_dimensions", noise_dimensions, minimum=0)
    for parameter, value, top in (
        ("noise", noise, np.inf),
        ("uneven", uneven, np.inf),
        ("outliers", outliers, 1.0),
    ):
        if not 0 <= value < top:
            allowed = "not negative" if np.isinf(top) else f"from 0 to below {top:g}"
            raise ValueError(f"{parameter}={value!r} must be {allowed}.")
    random = check_random_state(random_state)

    def uniform() -> Doubles:
        return np.asarray(random.uniform(size=n) ** (1 + uneven))

    X, coordinates, distances = MANIFOLDS[name](n, uniform)
    X = X + noise * random.standard_normal(size=X.T.shape).T
    if noise_dimensions:
        X = np.column_stack([X, noise * random.standard_normal((n, noise_dimensions))])
    inliers = np.ones(n, dtype=bool)
    inliers[random.permutation(n)[: round(outliers * n)]] = False
    low, high = X.min(axis=0), X.max(axis=0)
    X[~inliers] = random.uniform(low, high, (int((~inliers).sum()), X.shape[1]))
    return Manifold(X, coordinates, inliers, distances)


# ---------------------------------------------------------------- the manifolds

Sampled = tuple[Doubles, Doubles, Callable[[Doubles], Doubles]]


def _swiss_roll(n: int, uniform: Callable[[], Doubles]) -> Sampled:
    angle = 1.5 * np.pi * (1 + 2 * uniform())
    width = ROLL_WIDTH * uniform()
    return _rolled(angle, width), np.column_stack([spiral_length(angle), width]), _flat


def _swiss_roll_with_hole(n: int, uniform: Callable[[], Doubles]) -> Sampled:
    parts = np.array([(a, w) for a in range(3) for w in range(3) if (a, w) != (1, 1)], dtype=float)
    part = parts[np.minimum((8 * uniform()).astype(int), 7)]
    angle = np.pi * (1.5 + part[:, 0] + uniform())
    width = ROLL_WIDTH / 3 * (part[:, 1] + uniform())
    hole = spiral_length(np.array(HOLE[0])), np.array(HOLE[1])
    flat = np.column_stack([spiral_length(angle), width])
    return _rolled(angle, width), flat, lambda c: around_rectangle(c, *hole)


def _s_curve(n: int, uniform: Callable[[], Doubles]) -> Sampled:
    angle = 3 * np.pi * (uniform() - 0.5)
    width = ROLL_WIDTH * uniform()
    across, up = np.sin(angle), np.sign(angle) * (np.cos(angle) - 1)
    X = np.column_stack([S_RADIUS * across, width, S_RADIUS * up])
    return X, np.column_stack([S_RADIUS * angle, width]), _flat


def _punctured_sphere(n: int, uniform: Callable[[], Doubles]) -> Sampled:
    angle = 2 * np.pi * uniform()
    height = (1 + SPHERE_TOP) * uniform() - 1
    return SPHERE_RADIUS * _on_sphere(angle, height), np.column_stack([angle, height]), _great


def _toroidal_helix(n: int, uniform: Callable[[], Doubles]) -> Sampled:
    angle = 2 * np.pi * (np.arange(n) + uniform()) / n
    grid = np.linspace(0, 2 * np.pi, HELIX_PIECES + 1)
    pieces = np.linalg.norm(np.diff(_on_torus(grid), axis=0), axis=1)
    length = np.concatenate([[0.0], np.cumsum(pieces)])

    def distances(coordinates: Doubles) -> Doubles:
        apart = _flat(coordinates)
        return np.asarray(np.minimum(apart, length[-1] - apart))

    return _on_torus(angle), np.interp(angle, grid, length)[:, None], distances


def _two_rolls(n: int, uniform: Callable[[], Doubles]) -> Sampled:
    angle = TWO_ROLLS_START * (1 + 2 * uniform())
    width = TWO_ROLLS_WIDTH * uniform()
    second = np.arange(n) % 2
    # The second is the first, turned by half a turn.
    sign = (1.0 - 2.0 * second)[:, None] * np.array([TWO_ROLLS_GROWTH, 0.0, TWO_ROLLS_GROWTH])
    X = _rolled(angle, width) * (sign + np.array([0.0, 1.0, 0.0]))
    coordinates = np.column_stack([TWO_ROLLS_GROWTH * spiral_length(angle), width, second])

    def distances(coordinates: Doubles) -> Doubles:
        apart = coordinates[:, None, 2] != coordinates[None, :, 2]
        return np.where(apart, np.nan, _flat(coordinates[:, :2]))

    return X, coordinates, distances


MANIFOLDS: dict[str, Callable[[int, Callable[[], Doubles]], Sampled]] = {
    "swiss-roll": _swiss_roll,
    "swiss-roll-with-hole": _swiss_roll_with_hole,
    "s-curve": _s_curve,
    "punctured-sphere": _punctured_sphere,
    "toroidal-helix": _toroidal_helix,
    "two-rolls": _two_rolls,
}


def spiral_length(angle: Doubles) -> Doubles:
    """Return the length of a spiral whose radius is its angle, from its centre.

    Examples
    --------
    >>> spiral_length(np.array([0.0, 1.0])).round(4)
    array([0.    , 1.1478])
    """
    return np.asarray((angle * np.sqrt(1 + angle**2) + np.arcsinh(angle)) / 2)


def around_rectangle(points: Doubles, across: Doubles, up: Doubles) -> Doubles:
    """Return the lengths of the shortest ways between points of the plane around a rectangle.

    A way is straight, or goes by corners of the rectangle. Points (n, 2) lie outside of it; its
    extent is ``across`` and ``up``, two numbers each.

    Examples
    --------
    >>> side = np.array([0.0, 2.0])
    >>> around_rectangle(np.array([[-1.0, 1.0], [3.0, 1.0]]), side, side)[0, 1].round(4)
    np.float64(4.8284)
    """
    corners = np.array([(x, y) for x in across for y in up])
    low, high = np.array([across[0], up[0]]), np.array([across[1], up[1]])
    # Along the sides; opposite corners are two sides apart.
    sides = np.abs(corners[:, None] - corners[None]).sum(axis=2)
    to_corners = _unless_crossing(points, corners, low, high)
    ways = [
        _unless_crossing(points, points, low, high),
        *(
            to_corners[:, i, None] + sides[i, j] + to_corners[None, :, j]
            for i in range(4)
            for j in range(4)
        ),
    ]
    return np.asarray(np.minimum.reduce(ways))


def _unless_crossing(a: Doubles, b: Doubles, low: Doubles, high: Doubles) -> Doubles:
    """Return the distances of ``a`` from ``b``, infinite where a rectangle lies between."""
    enter, leave = np.zeros((len(a), len(b))), np.ones((len(a), len(b)))
    for axis in range(2):
        start, step = a[:, None, axis], b[None, :, axis] - a[:, None, axis]
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = (low[axis] - start) / step, (high[axis] - start) / step
        outside = (start <= low[axis]) | (start >= high[axis])
        # What does not move along an axis is beside the rectangle always, or never.
        still = step == 0
        never = np.where(outside, np.inf, -np.inf)
        enter = np.maximum(enter, np.where(still, never, np.minimum(first, second)))
        leave = np.minimum(leave, np.where(still, -never, np.maximum(first, second)))
    # What touches a side or a corner does not cross.
    return np.where(leave - enter > 1e-9, np.inf, cdist(a, b))


def _flat(coordinates: Doubles) -> Doubles:
    return np.asarray(cdist(coordinates, coordinates))


def _great(coordinates: Doubles) -> Doubles:
    """Return distances along great circles, by the chord: exact for close points, too."""
    on_sphere = _on_sphere(*coordinates.T)
    chords = cdist(on_sphere, on_sphere)
    return np.asarray(2 * SPHERE_RADIUS * np.arcsin(np.minimum(chords / 2, 1.0)))


def _rolled(angle: Doubles, width: Doubles) -> Doubles:
    return np.column_stack([angle * np.cos(angle), width, angle * np.sin(angle)])


def _on_sphere(angle: Doubles, height: Doubles) -> Doubles:
    radius = np.sqrt(1 - height**2)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])


def _on_torus(angle: Doubles) -> Doubles:
    large, small = TORUS_RADII
    radius = large + small * np.cos(WINDINGS * angle)
    height = small * np.sin(WINDINGS * angle)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])
