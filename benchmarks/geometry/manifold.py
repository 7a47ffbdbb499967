"""What a manifold of known geometry consists of, and what a sample of it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.spatial.distance import squareform

from benchmarks.geometry.truth import arc_lengths, geodesics

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEVELS = ("low", "medium", "high")


@dataclass(frozen=True)
class Domain:
    """A box of parameters, some of which may close to a circle."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    periodic: tuple[bool, ...]

    def uniform(self, random: np.random.Generator, n: int) -> Floats:
        """Draw parameters uniformly."""
        return random.uniform(self.low, self.high, (n, len(self.low)))


@dataclass(frozen=True)
class Manifold:
    """A manifold, how to sample it, and how its truth is made.

    Attributes
    ----------
    name, title, what : str
        What ``sample`` is asked for; a name for tables; what is measured, over which parameters.
    dimension, components : int
        Intrinsic dimension, and that of the embedding to be scored: the smallest that can hold the
        geodesics roughly, 2 for a loop, 3 for a cylinder, 4 for a torus.
    n : int
        Number of points.
    noise : str
        Where noise comes from.
    levels : tuple of three floats
        Its strength at the levels ``"low"``, ``"medium"`` and ``"high"``.
    draw : callable
        ``draw(random, n)`` returns parameters of shape (n, d).
    clean : callable
        ``clean(parameters)`` returns points without noise.
    observe : callable
        ``observe(parameters, strength, random)`` returns points with noise.
    domain : Domain or None
        Where parameters lie. The truth is the geodesic distance of the metric that ``clean``
        induces there.
    distances : callable or None
        ``distances(parameters)`` returns the truth where it is a physical fact instead.
    """

    name: str
    title: str
    what: str
    dimension: int
    components: int
    n: int
    noise: str
    levels: tuple[float, float, float]
    draw: Callable[[np.random.Generator, int], Floats]
    clean: Callable[[Floats], Floats]
    observe: Callable[[Floats, float, np.random.Generator], Floats]
    domain: Domain | None = None
    distances: Callable[[Floats], Floats] | None = None

    def truth(self, parameters: Floats, **density: int) -> Floats:
        """Return the true distances of all pairs of points: shape (n, n).

        ``density`` is that of :func:`benchmarks.geometry.truth.geodesics`.
        """
        if self.distances is not None:
            return self.distances(parameters)
        if self.dimension == 1:
            return arc_lengths(self.clean, parameters, self.domain)
        return geodesics(self.clean, parameters, self.domain, **density)


@dataclass(frozen=True, eq=False)
class Sample:
    """Points near a manifold, and the true distances within it.

    Attributes
    ----------
    X : array of shape (n, m)
    geodesics : array of shape (n, n)
    dimension, components : int
    coordinates : array of shape (n, d)
        The parameters of the points.
    description : str
    """

    X: Floats
    geodesics: Floats
    dimension: int
    components: int
    coordinates: Floats
    description: str

    def condensed(self) -> Floats:
        """Return the geodesics of pairs in the order of ``pdist``."""
        return squareform(self.geodesics, checks=False)
