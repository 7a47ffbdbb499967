"""The ten kinds of data on which ORC-ManL was tried, with noise, and which edges are bad.

Shapes and noise are those of the authors' repository, see :mod:`benchmarks.curvature`. Noise is
Gaussian, the same in all directions, and drawn again where it is longer than a limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

INNER_CIRCLE = 0.385
# A Cassini oval, just before it falls into two.
OVAL = 1.01
OVAL_PIECES = 200_000
CENTRES = ((-0.5, 0.0), (0.5, 0.0), (0.0, 0.86))
TORUS_RADII = (5.0, 1.5)
# The radius of the inner hyperboloid, in that of the outer.
INNER_HYPERBOLOID = 0.6
ROLL_WIDTH = 21.0


@dataclass(frozen=True, eq=False)
class Sample:
    """Points with noise, and the truth about them.

    Attributes
    ----------
    X : array of shape (n, m)
    parts : array of int of shape (n,)
        The part of every point. Where there are several, an edge between two of them is bad.
    components : int
        Dimensions of a map.
    places : array of shape (n, d) or None
        Coordinates in the manifold; None where geodesics are not known.
    period : float or None
        The length of a closed curve.
    """

    X: Floats
    parts: NDArray[np.intp]
    components: int
    places: Floats | None = None
    period: Floats | None = None

    def geodesics(self) -> Floats:
        """Return the distances in the manifold without noise of all pairs, NaN between parts."""
        apart = cdist(self.places, self.places)
        if self.period is not None:
            apart = np.minimum(apart, self.period[:, None] - apart)
        return np.where(self.parts[:, None] == self.parts, apart, np.nan)

    def geodesics_of(self, i, j) -> Floats:
        """Return the distances in the manifold without noise of some pairs in one part."""
        apart = np.linalg.norm(self.places[i] - self.places[j], axis=1)
        return apart if self.period is None else np.minimum(apart, self.period[i] - apart)


@dataclass(frozen=True)
class Kind:
    """How to draw the points of a kind of data.

    ``noise`` is the deviation and the greatest length of noise. ``scale`` tells which edges within
    a part are bad: those whose geodesic is ``scale`` times as long as the longest edge of an end.
    """

    draw: Callable[[np.random.Generator, int], Sample]
    noise: tuple[float, float]
    scale: float | None = None


def sample(name: str, n: int, seed: int, attempt: int = 0) -> Sample:
    """Draw a sample of one of ``KINDS``; another attempt draws another sample."""
    kind, random = KINDS[name], np.random.default_rng([seed, attempt])
    clean = kind.draw(random, n)
    return replace(clean, X=clean.X + noise(random, clean.X.shape, *kind.noise))


def noise(random: np.random.Generator, shape: tuple[int, int], deviation: float, most: float):
    """Draw Gaussian noise, again where it is longer than ``most``."""
    drawn = random.normal(0.0, deviation, shape)
    while len(long := np.flatnonzero(np.linalg.norm(drawn, axis=1) > most)):
        drawn[long] = random.normal(0.0, deviation, (len(long), shape[1]))
    return drawn


def bad_edges(name: str, sampled: Sample, i, j, lengths):
    """Tell which edges are bad: between parts, or short circuits of one part."""
    scale = KINDS[name].scale
    if scale is None:
        return sampled.parts[i] != sampled.parts[j]
    longest = np.zeros(len(sampled.X))
    for ends in (i, j):
        np.maximum.at(longest, ends, lengths)
    return sampled.geodesics_of(i, j) > scale * np.maximum(longest[i], longest[j])


def circles(random, n):
    parts = np.arange(n) % 2
    angle, radius = random.uniform(0, 2 * np.pi, n), np.where(parts, INNER_CIRCLE, 1.0)
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return Sample(X, parts, 3, (angle * radius)[:, None], 2 * np.pi * radius)


def moons(random, n):
    parts, angle = np.arange(n) % 2, random.uniform(0, np.pi, n)
    outer = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.where(parts[:, None], [1.0, 0.5] - outer, outer)
    return Sample(X, parts, 2, angle[:, None])


def s_curve(random, n):
    t = 3 * np.pi * (random.random(n) - 0.5)
    X = np.column_stack([np.sin(t), np.sign(t) * (np.cos(t) - 1)])
    return Sample(X, np.zeros(n, dtype=np.intp), 2, t[:, None])


def cassini(random, n):
    def oval(angle):
        cosine = np.cos(2 * angle)
        radius = np.sqrt(cosine + np.sqrt(OVAL**4 - 1 + cosine**2))
        return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

    angle, grid = random.uniform(0, 2 * np.pi, n), np.linspace(0, 2 * np.pi, OVAL_PIECES + 1)
    pieces = np.linalg.norm(np.diff(oval(grid), axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(pieces)])
    places = np.interp(angle, grid, along)[:, None]
    return Sample(oval(angle), np.zeros(n, dtype=np.intp), 2, places, np.full(n, along[-1]))


def gaussians(random, n):
    parts = np.repeat(np.arange(3), n // 3)
    return Sample(np.array(CENTRES)[parts], parts, 2)


def tori(random, n):
    """Two linked tori, uniform by area."""
    large, small = TORUS_RADII
    angle = accepted(random, n, 0.0, 2 * np.pi, lambda a: 1 + small / large * np.cos(a))
    turn, parts = random.uniform(0, 2 * np.pi, n), np.arange(n) % 2
    ring = large + small * np.cos(angle)
    x, y, z = ring * np.cos(turn), ring * np.sin(turn), small * np.sin(angle)
    other = np.column_stack([x + large, z, -y])
    return Sample(np.where(parts[:, None], other, np.column_stack([x, y, z])), parts, 3)


def hyperboloids(random, n):
    """Two hyperboloids of one sheet, one in the other."""
    X, parts = hyperboloid(random, n, 2.0, 1.0), np.arange(n) % 2
    X[:, :2] *= np.where(parts, INNER_HYPERBOLOID, 1.0)[:, None]
    return Sample(X, parts, 3)


def paraboloid_and_hyperboloid(random, n):
    """A hyperboloid that lies below a paraboloid."""
    x, y, z = hyperboloid(random, n // 2, 0.6, 2.0).T
    X = np.vstack([paraboloid(random, n // 2, 2.0, 0.75, 1.75), np.column_stack([x, -z, y])])
    return Sample(X, np.repeat([0, 1], n // 2), 3)


def paraboloids(random, n):
    """A paraboloid above another, upside down."""
    above, below = (paraboloid(random, n // 2, 4.0, 0.1, 0.75) for _ in range(2))
    return Sample(np.vstack([above, -below]), np.repeat([0, 1], n // 2), 3)


def swiss_roll(random, n):
    t, width = 1.5 * np.pi * (1 + 2 * random.random(n)), ROLL_WIDTH * random.random(n)
    X = np.column_stack([t * np.cos(t), width, t * np.sin(t)])
    along = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return Sample(X, np.zeros(n, dtype=np.intp), 2, np.column_stack([along, width]))


def hyperboloid(random, n, radius, top):
    """Draw points of ``x^2 + y^2 = radius^2 (z^2 + 1)``, ``|z| < top``, uniform by area."""

    def density(z):
        return np.sqrt(radius**2 * z**2 + z**2 + 1)

    z, turn = accepted(random, n, -top, top, density), random.uniform(0, 2 * np.pi, n)
    ring = radius * np.sqrt(z**2 + 1)
    return np.column_stack([ring * np.cos(turn), ring * np.sin(turn), z])


def paraboloid(random, n, rim, bend, height):
    """Draw points of ``z = bend (x^2 + y^2) + height``, denser at the middle."""
    turn, ring = random.uniform(0, 2 * np.pi, n), rim * random.random(n)
    return np.column_stack([ring * np.cos(turn), ring * np.sin(turn), bend * ring**2 + height])


def accepted(random, n, low, high, density):
    """Draw numbers between two ends with a density that is largest at an end."""
    most, found = max(density(np.array([low, high]))), np.empty(0)
    while len(found) < n:
        tried = random.uniform(low, high, n)
        found = np.append(found, tried[random.uniform(0, most, n) < density(tried)])
    return found[:n]


KINDS = {
    "concentric circles": Kind(circles, (0.09, 0.275)),
    "moons": Kind(moons, (0.2, 0.1925)),
    "S-curve": Kind(s_curve, (0.28, 0.52), 12.0),
    "Cassini oval": Kind(cassini, (0.05, 0.135), 20.0),
    "mixture of Gaussians": Kind(gaussians, (0.175, 0.45)),
    "chained tori": Kind(tori, (0.4, 0.75)),
    "hyperboloids": Kind(hyperboloids, (0.2, 0.25)),
    "paraboloid and hyperboloid": Kind(paraboloid_and_hyperboloid, (0.4, 0.475)),
    "paraboloids": Kind(paraboloids, (0.6, 0.7)),
    "swiss roll": Kind(swiss_roll, (6.25, 2.25), 10.0),
}
