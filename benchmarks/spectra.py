"""See whether maps of a reaction's spectra follow time, prepared by the command and otherwise.

    python -m benchmarks.spectra

A becomes B becomes C in 240 spectra of 350 wavenumbers. Every spectrum is a mixture of the three;
its intensity varies by 15 % and its offset by 0.02, beside noise of 0.01. Printed are rank
correlations of distances on the map of ``PatchIsomap`` with differences of time. "cosine" divides
every spectrum by its length, "correlation" takes away its mean before (``metric=``). What
recognises a curve was chosen on other tables (sonar, a fermentation), and is reported on these.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from patchfold import PatchIsomap
from patchfold.tables import preprocessor, select
from patchfold.tables.one_unit import unit_of

ROWS, COLUMNS, SEEDS = 240, 350, range(11, 16)
RATES, VARIES, OFFSET, NOISE = (0.08, 0.04), 0.15, 0.02, 0.01


def reaction(seed):
    """Return spectra, with wavenumbers as names, and their times in minutes."""
    rng = np.random.default_rng(seed)
    time, place = np.sort(rng.uniform(0, 60, ROWS)), np.linspace(400, 1800, COLUMNS)
    first, second = RATES
    a = np.exp(-first * time)
    b = first / (second - first) * (a - np.exp(-second * time))
    pure = [
        sum(
            rng.uniform(0.2, 1)
            * np.exp(-(((place - rng.uniform(420, 1780)) / rng.uniform(12, 50)) ** 2))
            for _ in range(n)
        )
        for n in (6, 5, 7)
    ]
    mixed = np.column_stack([a, b, 1 - a - b]) @ pure * np.exp(VARIES * rng.normal(size=(ROWS, 1)))
    mixed += OFFSET * rng.normal(size=(ROWS, 1)) + NOISE * rng.normal(size=mixed.shape)
    return pd.DataFrame(mixed, columns=place.round(1).astype(str)), time


def ways(frame):
    """Return the points of every way to prepare spectra."""
    features = select(frame).features
    table = features.to_numpy()
    scaled = {
        name: preprocessor(features, scale=name).fit_transform(features)
        for name in ("standardize", "raw")
    }
    return {
        "standardised": scaled["standardize"],
        "the command": scaled["raw" if unit_of(features) == "grid" else "standardize"],
        "cosine": table,
        "correlation": table,
    }


def main():
    found = {}
    for seed in SEEDS:
        frame, time = reaction(seed)
        apart = pdist(time[:, None])
        for name, points in ways(frame).items():
            metric = name if name in {"cosine", "correlation"} else "euclidean"
            places = PatchIsomap(metric=metric).fit_transform(points)
            found.setdefault(name, []).append(spearmanr(pdist(places), apart).statistic)
    print(f"{'':20}" + "".join(f"{f'seed {seed}':>9}" for seed in SEEDS) + f"{'mean':>9}")
    for name, values in found.items():
        print(f"{name:20}" + "".join(f"{value:9.2f}" for value in [*values, np.mean(values)]))


if __name__ == "__main__":
    main()
