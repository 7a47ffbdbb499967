"""Tell what limits the accuracy of PatchIsomap's plane on images: edges, or two components.

    python -m benchmarks.limits [--data fashion-mnist] [--seeds 71 72 73] [--k 15]

An image is named right if its seven nearest neighbours in the plane tell its class, by five folds.
Beside Isomap and PatchIsomap stand planes that nobody can have without labels, and others that keep
the graph and change what is made of it:

- a quarter, half or all of the edges that join two classes are removed from PatchIsomap's graph, by
  the labels, but for a minimum spanning tree, so that the graph stays in one piece;
- classical scaling of PatchIsomap's geodesics keeps 3, 4 or 10 components;
- it scales powers of the geodesics. Beside them stands, for the same powers, how far neighbours in
  the plane are neighbours by the true geodesics of a swiss roll without noise (trustworthiness).
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy.sparse import csr_array
from sklearn.manifold import Isomap, trustworthiness
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.real import IMAGES, K, points
from patchfold import PatchIsomap
from patchfold.datasets import make_manifold
from patchfold.engines.scaling import classical_mds
from patchfold.evaluation.prediction import NEAREST
from patchfold.evaluation.sampling import folds
from patchfold.graph.components import spanning_tree
from patchfold.graph.geodesics import shortest_paths

SHARES = (0.25, 0.5, 1.0)
COMPONENTS = (3, 4, 10)
POWERS = (0.75, 0.5)


def scaled(geodesics, d=2):
    values, vectors, _ = classical_mds(geodesics.copy(), d)
    return vectors * np.sqrt(np.maximum(values, 0))


def accuracy(plane, y):
    return cross_val_score(KNeighborsClassifier(NEAREST), plane, y, cv=folds(y, 5)).mean()


def without(graph, y, share, seed):
    """Return the graph without a share of the edges that join two classes, still in one piece."""
    i, j = graph.nonzero()
    once = i < j
    i, j, lengths = i[once], j[once], graph.data[once]
    apart = y[i] != y[j]
    # Within classes first, then by length: as few edges between classes as hold the graph together.
    kept = spanning_tree(i, j, lengths + apart * lengths.sum(), len(y))
    kept |= ~(apart & (np.random.default_rng(seed).random(len(i)) < share))
    half = csr_array((lengths[kept], (i[kept], j[kept])), shape=graph.shape)
    return csr_array(half + half.T)


def measured(name, seed, k):
    """Return the accuracies of one sample."""
    X, y = points(name, "image", seed)
    isomap = PatchIsomap(n_neighbors=k).fit(X)
    geodesics = shortest_paths(isomap.graph_)
    found = {
        "Isomap": accuracy(Isomap(n_neighbors=k).fit_transform(X), y),
        "PatchIsomap": accuracy(isomap.embedding_, y),
    }
    for share in SHARES:
        some = shortest_paths(without(isomap.graph_, y, share, seed))
        found[f"{share:.0%} of edges between classes removed"] = accuracy(scaled(some), y)
    every = scaled(geodesics, max(COMPONENTS))
    for d in COMPONENTS:
        found[f"{d} components"] = accuracy(every[:, :d], y)
    for power in POWERS:
        found[f"geodesics to the power {power}"] = accuracy(scaled(geodesics**power), y)
    return found


def roll(power, seed):
    """Return how far neighbours in the plane of a swiss roll are neighbours in truth."""
    data = make_manifold("swiss-roll", 1000, random_state=seed)
    plane = scaled(shortest_paths(PatchIsomap().fit(data.X).graph_) ** power)
    return trustworthiness(data.geodesics(), plane, n_neighbors=K, metric="precomputed")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__)
    parser.add_argument("--data", choices=IMAGES, default=IMAGES[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[71, 72, 73])
    parser.add_argument("--k", type=int, default=K)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [measured(asked.data, seed, asked.k) for seed in asked.seeds]
    print(f"{asked.data}, 5000 images, seeds {asked.seeds}, k = {asked.k}: accuracy in the plane")
    for name in rows[0]:
        values = np.array([row[name] for row in rows])
        more = (values - [row["Isomap"] for row in rows]).mean()
        spread = f"{values.min():.3f} to {values.max():.3f}"
        print(f"{name:42}{values.mean():.3f}  {spread}  {more:+.3f} over Isomap")
    for power in (1.0, *POWERS):
        mean = np.mean([roll(power, seed) for seed in asked.seeds])
        print(f"swiss roll, geodesics to the power {power:<8}{mean:.3f} trustworthiness")


if __name__ == "__main__":
    main()
