"""What tests of plots share: patches to draw, and a look at what was drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold import Patches

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PLANE = np.random.default_rng(0).standard_normal((40, 3))
CURVE = np.array([0.8, 0.4, 0.05, 0.04])


def full(n: int = 12, m: int = 4) -> Patches:
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((n, m, m))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(m)
    return Patches.from_moments(rng.standard_normal((n, m)), covariances)


def factored(n: int = 12, m: int = 6, r: int = 2) -> Patches:
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.standard_normal((n, m, r)))[0]
    means, variances = rng.standard_normal((n, m)), rng.uniform(1, 2, (n, r))
    return Patches.from_factors(means, directions, variances, rng.uniform(0.01, 0.1, n))


def ring(n: int) -> tuple[Any, Any]:
    return np.arange(n), (np.arange(n) + 1) % n


def drawn(ax: Axes, kind: type) -> Any:
    """Return the only collection of a kind, after everything has been rendered."""
    ax.figure.canvas.draw()
    (found,) = [artist for artist in ax.collections if type(artist) is kind]
    return found
