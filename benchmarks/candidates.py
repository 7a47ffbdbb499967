"""Recall of neighbours under the divergence when they are sought in a Euclidean candidate pool.

``graph="divergence"`` compares all pairs while these fit in memory; beyond that it looks among
the 10 k nearest points. Here both are done, and the share of the true neighbours
that the pool contains is reported, for pools of several sizes.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_swiss_roll

from patchfold import GaussianPatch, divergences
from patchfold.neighbors import find_neighbors
from patchfold.neighbors.given import nearest_by_value

N_SAMPLES, K = 1000, 15
POOLS = (2, 5, 10, 20)
NAMES = ("kl", "hellinger", "bhattacharyya-riemann")


def data() -> dict[str, np.ndarray]:
    sets = {
        "swiss roll": make_swiss_roll(N_SAMPLES, noise=0.5, random_state=0)[0],
        "digits": load_digits().data[:N_SAMPLES],
    }
    folder = os.environ.get("PATCHFOLD_DATA")
    if folder:
        for name in ("pendigits", "mnist"):
            with np.load(Path(folder) / "scale" / f"{name}.npz") as stored:
                sets[name] = stored["X"][:N_SAMPLES].reshape(N_SAMPLES, -1).astype(np.float64)
    return sets


def main() -> None:
    heads = "".join(f"{f'{pool} k':>8}" for pool in POOLS)
    print(f"recall of the {K} nearest patches; pool of Euclidean neighbours:")
    print(f"{'data':14}{'divergence':24}{heads}")
    for title, X in data().items():
        near = find_neighbors(X, max(POOLS) * K)
        patches = GaussianPatch(size=K).fit(X, near)
        for name in NAMES[:1] if X.shape[1] > 100 else NAMES:
            true = nearest_by_value(divergences.pairwise(patches, name), K, own=True)
            wanted = true.matrix(len(X)).astype(bool)
            shares = []
            for pool in POOLS:
                found = near.nearest(pool * K)
                inside = found.matrix(len(X)).astype(bool)
                shares.append((wanted.multiply(inside)).sum() / len(true.indices))
            print(f"{title:14}{name:24}" + "".join(f"{share:8.3f}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
