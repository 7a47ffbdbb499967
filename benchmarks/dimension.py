"""Intrinsic dimensions of manifolds of 1 to 10 dimensions, beside estimators of scikit-dimension.

    python -m benchmarks.dimension [--samples N] [--picture FILE]

Spheres, cubes and swiss rolls of 2000 points, without noise, turned into 15 features: the mean over
all points of ``patches_.dimension()``, as the default patch has it, the maximum likelihood estimate
of Levina and Bickel, and TwoNN. A star marks what is more than a tenth off. ``--picture`` draws
what patches know of two data sets: their dimension and their density.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

from patchfold import PatchSpace
from patchfold.datasets import make_manifold
from patchfold.graph.short_circuits import recommended_patch

SAMPLES, FEATURES, OFF = 2000, 15, 0.1
METHODS = ("patchfold", "MLE", "TwoNN")
DIMENSIONS = range(1, 11)


def sphere(n, d, random):
    points = random.standard_normal((n, d + 1))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def cube(n, d, random):
    return random.uniform(size=(n, d))


def roll(n, d, random):
    """Return the swiss roll: a spiral, 21 wide in every further dimension."""
    angle = 1.5 * np.pi * (1 + 2 * random.uniform(size=n))
    widths = 21 * random.uniform(size=(n, d - 1))
    return np.column_stack([angle * np.cos(angle), angle * np.sin(angle), widths])


def turned(X, random):
    """Turn points into a space of 15 features."""
    turn = np.linalg.qr(random.standard_normal((FEATURES, FEATURES)))[0]
    return X @ turn[: X.shape[1]]


MANIFOLDS = {"sphere": sphere, "cube": cube, "roll": roll}


def estimates(X):
    """Return the dimension by each estimator."""
    import skdim

    return {
        "patchfold": float(recommended_patch(len(X)).fit(X).dimension().mean()),
        "MLE": float(skdim.id.MLE().fit(X).dimension_),
        "TwoNN": float(skdim.id.TwoNN().fit(X).dimension_),
    }


def shapes_of_three_dimensions(n, random):
    """Return a line, a sheet and a ball beside each other."""
    third, flat = n // 3, np.zeros(n // 3)
    line = np.column_stack([random.uniform(-3, -1, third), flat, flat])
    sheet = np.column_stack([random.uniform(1, 3, third), random.uniform(-1, 1, third), flat])
    ball = sphere(third, 2, random) * random.uniform(size=(third, 1)) ** (1 / 3)
    return np.concatenate([line, sheet, ball])


def draw(path):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    shapes = shapes_of_three_dimensions(3000, np.random.default_rng(0))
    uneven = make_manifold("swiss-roll", 2000, random_state=0, uneven=1.0).X
    figure = plt.figure(figsize=(9, 3.8), layout="constrained")
    dimension = PatchSpace().fit(shapes).patches_.dimension()
    density = PatchSpace().fit(uneven).patches_.log_density()
    panels = [
        (shapes, dimension, "dimension of a line, a ball and a sheet"),
        (uneven, density, "log density in an uneven swiss roll"),
    ]
    for place, (X, values, title) in enumerate(panels, start=1):
        ax = figure.add_subplot(1, 2, place, projection="3d")
        low, high = np.quantile(values, [0.01, 0.99])
        dots = ax.scatter(*X.T, c=values, s=4, vmin=low, vmax=high, cmap="viridis")
        ax.set_title(title, fontsize=11, y=1.0)
        ax.set_box_aspect(np.ptp(X, axis=0), zoom=1.0 if place == 1 else 1.2)
        ax.set_axis_off()
        ax.view_init(*((20, -70) if place == 1 else (10, -80)))
        figure.colorbar(dots, ax=ax, shrink=0.7, pad=0.0)
    figure.savefig(path, dpi=110)
    print(path)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dimension", description=__doc__)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--picture", type=Path)
    asked, _ = parser.parse_known_args()
    if asked.picture:
        draw(asked.picture)
        return
    print(f"{asked.samples} points; * more than {OFF:.0%} off")
    print(f"{'manifold':10}{'d':>3}" + "".join(f"{method:>12}" for method in METHODS))
    off = dict.fromkeys(METHODS, 0)
    for name, make in MANIFOLDS.items():
        for d in DIMENSIONS:
            random = np.random.default_rng(d)
            X = turned(make(asked.samples, d, random), random)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = estimates(X)
            line = f"{name:10}{d:>3}"
            for method, value in found.items():
                wrong = abs(value / d - 1) > OFF
                off[method] += wrong
                line += f"{value:>11.2f}{'*' if wrong else ' '}"
            print(line, flush=True)
    total = len(MANIFOLDS) * len(DIMENSIONS)
    counts = ", ".join(f"{method} {count} of {total}" for method, count in off.items())
    print(f"more than a tenth off: {counts}")


if __name__ == "__main__":
    main()
