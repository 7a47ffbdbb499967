"""Hostile tables: what people hand to an estimator, and what has to become of it.

``TABLES`` names them all. A table says which plain array it has to be equal to (``plain``), or how
it has to be refused, or neither: then its result has to be sound by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .representations import REFUSED, ROUNDED, SAME

if TYPE_CHECKING:
    from collections.abc import Callable

    Random = np.random.Generator
    Points = np.ndarray[Any, Any]

# Rows of an ordinary table, and of those that come as new points.
ROWS, NEW = 60, 5


@dataclass(frozen=True)
class Table:
    """Points to fit, labels for them, new points, and what is expected."""

    X: Any
    y: Any
    new: Any
    plain: tuple[Points, Points] | None = None  # the same table as float64
    refused: bool = False
    exact: bool = True  # equal to the plain table, or only alike (another precision or unit)


def sheet(random: Random, n: int = ROWS + NEW, noise: float = 0.02) -> Points:
    """Return points of a bent sheet, about twice as long as wide, in three dimensions."""
    u, v = random.uniform(0, 2.3, n), random.uniform(0, 1, n)
    points = np.column_stack([u, v, 0.3 * u**2])
    return points + noise * random.standard_normal(points.shape)


def classes(n: int) -> Points:
    return np.arange(n) % 3


# ------------------------------------------------------------------------------------------ values


def _lattice(random: Random) -> Points:
    grid = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    return np.concatenate([grid, random.uniform(0, 7, (NEW, 2))])


def _copies(share: float) -> Callable[[Random], Points]:
    def make(random: Random) -> Points:
        points = sheet(random, 100 + NEW)
        distinct = max(1, round(100 * (1 - share)))
        points[:100] = points[random.integers(0, distinct, 100)]
        return points

    return make


def _far(distance: float) -> Callable[[Random], Points]:
    def make(random: Random) -> Points:
        points = sheet(random)
        points[7, 1] = distance
        return points

    return make


def _collinear(random: Random) -> Points:
    return np.outer(random.uniform(-1, 1, ROWS + NEW), [1.0, -2.0, 0.5])


def _clusters(random: Random) -> Points:
    n = ROWS + NEW
    return 1e6 * (np.arange(n) % 6)[:, None] + random.standard_normal((n, 3))


def _constant_column(random: Random) -> Points:
    return np.column_stack([sheet(random), np.full(ROWS + NEW, 7.0)])


def _unequal_units(random: Random) -> Points:
    return sheet(random) * [1e-9, 1.0, 1e9]


def _grid_of_bits(random: Random) -> Points:
    return random.integers(0, 2, (ROWS + NEW, 4)).astype(float)


def _normal(n: int, m: int) -> Callable[[Random], Points]:
    return lambda random: random.standard_normal((n + NEW, m))


VALUES: dict[str, Callable[[Random], Points]] = {
    "two-rows": _normal(2, 3),
    "three-rows": _normal(3, 2),
    "four-rows": _normal(4, 5),
    "one-column": _normal(ROWS, 1),
    "wide": _normal(40, 90),
    "very-wide": _normal(40, 2000),
    "m-5000": _normal(30, 5000),
    "constant": lambda _: np.ones((40 + NEW, 3)),
    "zeros": lambda _: np.zeros((40 + NEW, 2)),
    "collinear": _collinear,
    "equidistant": lambda _: np.eye(30 + NEW),
    "lattice": _lattice,
    "bits": _grid_of_bits,
    "half-copies": _copies(0.5),
    "copies-90": _copies(0.9),
    "copies-99": _copies(0.99),
    "far-point": _far(1e12),
    "farther-point": _far(1e200),
    "clusters": _clusters,
    "constant-column": _constant_column,
    "unequal-units": _unequal_units,
    "denormals": lambda random: sheet(random) * 1e-310,
    "beyond-squares": lambda random: sheet(random) * 1e170,
    "at-the-limit": lambda random: sheet(random) * 5e307,
    "float32-denormals": lambda random: (sheet(random) * 1e-41).astype(np.float32),
    "float32-large": lambda random: (sheet(random) * 1e37).astype(np.float32),
    "shifted-far": lambda random: sheet(random) + 1e15,
}

# Units in which a sheet has to have the same embedding.
UNITS = (1e-150, 1e-100, 1e-30, 1e30, 1e100, 1e150)


def _same(wrap: Callable[[Points], Any]) -> Callable[[Random], Table]:
    def make(random: Random) -> Table:
        points = sheet(random)
        X, new = points[:ROWS], points[ROWS:]
        return Table(wrap(X), classes(ROWS), wrap(new), plain=(X, new))

    return make


def _rounded(wrap: Callable[[Points], Any]) -> Callable[[Random], Table]:
    def make(random: Random) -> Table:
        points = sheet(random)
        both = wrap(points)
        X, new = both[:ROWS], both[ROWS:]
        plain = tuple(np.asarray(part, dtype=np.float64) for part in (X, new))
        return Table(X, classes(ROWS), new, plain=plain)

    return make


def _refused(wrap: Callable[[Points], Any]) -> Callable[[Random], Table]:
    def make(random: Random) -> Table:
        points = sheet(random)
        return Table(wrap(points[:ROWS]), classes(ROWS), points[ROWS:], refused=True)

    return make


def _value(make_points: Callable[[Random], Points]) -> Callable[[Random], Table]:
    def make(random: Random) -> Table:
        points = make_points(random)
        n = len(points) - NEW
        return Table(points[:n], classes(n), points[n:])

    return make


def _unit(unit: float) -> Callable[[Random], Table]:
    def make(random: Random) -> Table:
        points = sheet(random)
        X, new = points[:ROWS], points[ROWS:]
        plain = (X, new)
        return Table(X * unit, classes(ROWS), new * unit, plain=plain, exact=False)

    return make


TABLES: dict[str, Callable[[Random], Table]] = {
    **{name: _same(wrap) for name, wrap in SAME.items()},
    **{name: _rounded(wrap) for name, wrap in ROUNDED.items()},
    **{name: _refused(wrap) for name, wrap in REFUSED.items()},
    **{name: _value(points) for name, points in VALUES.items()},
    **{f"unit-{unit:g}": _unit(unit) for unit in UNITS},
}
