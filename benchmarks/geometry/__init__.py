"""Manifolds of physically known geometry, with true geodesics, at three levels of noise.

    from benchmarks.geometry import MANIFOLDS, TUNING, HELD_OUT, sample

    sampled = sample("statue", "medium", seed=0)
    sampled.X, sampled.geodesics

``python -m benchmarks.geometry`` compares methods on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.geometry import images, machines, places, spectra
from benchmarks.geometry.manifold import LEVELS, Domain, Manifold, Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "HELD_OUT",
    "LEVELS",
    "MANIFOLDS",
    "TUNING",
    "Domain",
    "Manifold",
    "Sample",
    "coordinates",
    "observed",
    "sample",
]

# By dimension and kind, so that every other one makes two halves alike. Constants of the library
# may be chosen by looking at TUNING; HELD_OUT is for reports only. The split was made before any
# method was run. Do not change it. Shapes, sizes and noise of both halves were then set by looking
# at classical Isomap on seed 0, so that it is neither perfect nor lost everywhere.
_ORDER = (
    *("burster", "fermentation"),  # 1 dimension: limit cycle, time
    *("gait", "turntable"),  # 1: pictures of a cycle
    *("statue", "dipeptide"),  # 2: cylinder of pictures, torus of a molecule
    *("wifi", "gallery"),  # 2: walls
    *("grid-cells", "kinetics"),  # 2: counts
    *("canopy", "rat"),  # 3
    *("drone", "vowels"),  # 3 and 2: sound
    *("arm", "bead"),  # 4
)
_KNOWN = {
    manifold.name: manifold
    for module in (images, spectra, machines, places)
    for manifold in module.MANIFOLDS
}
MANIFOLDS: dict[str, Manifold] = {name: _KNOWN[name] for name in _ORDER}
TUNING, HELD_OUT = _ORDER[::2], _ORDER[1::2]


def sample(name: str, level: str, seed: int) -> Sample:
    """Sample a manifold.

    The parameters, and with them the truth, depend on the seed alone: levels of noise share them.

    Parameters
    ----------
    name : str
        One of ``MANIFOLDS``.
    level : {"low", "medium", "high"}
    seed : int

    Returns
    -------
    Sample
    """
    manifold = MANIFOLDS[name]
    parameters = coordinates(name, seed)
    return Sample(
        X=observed(name, level, seed),
        geodesics=manifold.truth(parameters),
        dimension=manifold.dimension,
        components=manifold.components,
        coordinates=parameters,
        description=manifold.what,
    )


def coordinates(name: str, seed: int) -> Floats:
    """Return the parameters of the points of a sample."""
    return MANIFOLDS[name].draw(np.random.default_rng(seed), MANIFOLDS[name].n)


def observed(name: str, level: str, seed: int) -> Floats:
    """Return the points of a sample, noise included."""
    strength = MANIFOLDS[name].levels[LEVELS.index(level)]
    random = np.random.default_rng([seed, 1])
    return MANIFOLDS[name].observe(coordinates(name, seed), strength, random)
