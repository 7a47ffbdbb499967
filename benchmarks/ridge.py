"""How large the automatic ridge should be: the swiss roll over noise, k and seeds.

For each share of the data's mean variance as ridge: the rank correlation of the geodesics of the
``kl`` graph with the true ones, mean over seeds, beside those of Isomap's graph. What
``gamma="auto"`` takes (``patchfold.covariances.AUTO_RIDGE``) was chosen by this table.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.stats import rankdata
from sklearn.datasets import make_swiss_roll

from patchfold import GaussianPatch, PatchSpace
from patchfold.covariances import AUTO_RIDGE
from patchfold.geodesics import shortest_paths

N = 1000
NOISES, DEGREES, SEEDS = (0.0, 0.25, 0.5, 0.75, 1.0), (6, 8, 10, 15, 20, 30), (0, 1, 2)
SHARES = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
GOOD = 0.95


def correlations(noise: float, k: int, seed: int) -> list[float]:
    """Return the rank correlation for Isomap and for every share."""
    X, t = make_swiss_roll(N, noise=noise, random_state=seed)
    smooth, _ = make_swiss_roll(N, noise=0.0, random_state=seed)
    arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    true = rankdata(pdist(np.column_stack([arc, smooth[:, 1]])))
    variance = X.var(axis=0).mean()
    estimators = [PatchSpace(n_neighbors=k, divergence="euclidean")] + [
        PatchSpace(n_neighbors=k, patch=GaussianPatch(gamma=share * variance)) for share in SHARES
    ]
    values = []
    for estimator in estimators:
        geodesics = shortest_paths(estimator.fit(X).graph_)
        ranks = rankdata(squareform((geodesics + geodesics.T) / 2, checks=False))
        values.append(float(np.corrcoef(ranks, true)[0, 1]))
    return values


def main() -> None:
    print(f"swiss roll, n = {N}, mean of seeds {SEEDS}; ridge as a share of the mean variance")
    print(f"{'noise':>6}{'k':>4}{'Isomap':>9}" + "".join(f"{share:9.0e}" for share in SHARES))
    grid = []
    for noise in NOISES:
        for k in DEGREES:
            cell = np.mean([correlations(noise, k, seed) for seed in SEEDS], axis=0)
            grid.append(cell)
            print(f"{noise:6.2f}{k:4d}" + "".join(f"{value:9.3f}" for value in cell), flush=True)
    table = np.array(grid)
    print(f"{'mean':>10}" + "".join(f"{value:9.3f}" for value in table.mean(axis=0)))
    print(f"{'>= 0.95':>10}" + "".join(f"{int(v):9d}" for v in (table >= GOOD).sum(axis=0)))
    print(f"gamma='auto' takes {AUTO_RIDGE:g}")


if __name__ == "__main__":
    main()
