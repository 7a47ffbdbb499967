"""How large the automatic ridge should be: the swiss roll over noise, k and seeds.

For each share of the data's mean variance as ridge: the rank correlation of the true geodesics with
those of the ``kl`` graph, and with the distances in its Isomap embedding; mean over seeds, beside
the same for Euclidean lengths. What ``gamma="auto"`` takes (``AUTO_RIDGE``)
was chosen by these tables.
"""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import pdist
from sklearn.datasets import make_swiss_roll

from patchfold import GaussianPatch, PatchIsomap
from patchfold.graph.geodesics import shortest_paths
from patchfold.metrics import rank_correlation
from patchfold.patches.covariances import AUTO_RIDGE

N = 1000
NOISES, DEGREES, SEEDS = (0.0, 0.25, 0.5, 0.75, 1.0), (6, 8, 10, 15, 20, 30), (0, 1, 2)
SHARES = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
GOOD = 0.95


def correlations(noise: float, k: int, seed: int) -> list[tuple[float, float]]:
    """Return the rank correlations, by graph and by embedding, for Isomap and every share."""
    X, t = make_swiss_roll(N, noise=noise, random_state=seed)
    smooth, _ = make_swiss_roll(N, noise=0.0, random_state=seed)
    arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    true = pdist(np.column_stack([arc, smooth[:, 1]]))
    variance = X.var(axis=0).mean()
    shared = {"n_neighbors": k, "scaling": "classical"}
    estimators = [PatchIsomap(divergence="euclidean", **shared)] + [
        PatchIsomap(patch=GaussianPatch(gamma=share * variance), lengths="divergence", **shared)
        for share in SHARES
    ]
    values = []
    for estimator in estimators:
        estimator.fit(X)
        by_graph = rank_correlation(shortest_paths(estimator.graph_), true)
        by_place = rank_correlation(pdist(estimator.embedding_), true)
        values.append((by_graph, by_place))
    return values


def main() -> None:
    cells = [(noise, k) for noise in NOISES for k in DEGREES]
    jobs = (delayed(correlations)(*cell, seed) for cell in cells for seed in SEEDS)
    values = np.array(Parallel(n_jobs=-1)(jobs)).reshape(len(cells), len(SEEDS), -1, 2)
    print(f"swiss roll, n = {N}, mean of seeds {SEEDS}; ridge as a share of the mean variance")
    for measure, title in enumerate(("geodesics of the graph", "distances in the embedding")):
        table = values[..., measure].mean(axis=1)
        print(f"\nrank correlation of the true geodesics with the {title}")
        print(f"{'noise':>6}{'k':>4}{'Isomap':>9}" + "".join(f"{share:9.0e}" for share in SHARES))
        for (noise, k), row in zip(cells, table, strict=True):
            print(f"{noise:6.2f}{k:4d}" + "".join(f"{value:9.3f}" for value in row))
        print(f"{'mean':>10}" + "".join(f"{value:9.3f}" for value in table.mean(axis=0)))
        print(f"{'>= 0.95':>10}" + "".join(f"{int(v):9d}" for v in (table >= GOOD).sum(axis=0)))
    print(f"\ngamma='auto' takes {AUTO_RIDGE:g}")


if __name__ == "__main__":
    main()
