"""Spectral clustering on patches beside scikit-learn's, on the papers' smaller tables.

    python -m benchmarks.clusters

Prints the adjusted Rand index of the clusters with the classes, as many clusters as classes, for
every standardised data set of the papers with 60 to 720 points, and the means. Data sets come from
PATCHFOLD_DATA.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score

from patchfold import PatchEigenmaps, papers
from patchfold.datasets.loading import at_hand
from patchfold.papers.reproduction import experiment, ranking

NEIGHBORS = 15


def clusterings(X, n_clusters):
    for laplacian in ("random-walk", "unnormalized"):
        maps = PatchEigenmaps(laplacian=laplacian)
        yield papers.spectral_clusters(X, n_clusters, estimator=maps, random_state=0)
    peer = SpectralClustering(
        n_clusters, affinity="nearest_neighbors", n_neighbors=NEIGHBORS, random_state=0
    )
    yield peer.fit_predict(X)


def main() -> None:
    warnings.simplefilter("ignore")  # of graphs in parts, which are clusters of their own
    print(f"{'':34}{'normalised':>14}{'unnormalised':>14}{'scikit-learn':>14}")
    scores = []
    for name, entry in at_hand().items():
        if not entry.papers or not ranking.LEAST_ROWS <= entry.shape[0] <= ranking.MOST_ROWS:
            continue
        X, y = experiment.standardised(name)
        found = clusterings(X, len(np.unique(y)))
        scores.append([adjusted_rand_score(y, labels) for labels in found])
        print(f"{name:34}" + "".join(f"{score:14.3f}" for score in scores[-1]))
    means = "".join(f"{score:14.3f}" for score in np.mean(scores, axis=0))
    print(f"{f'mean of {len(scores)}':34}{means}")


if __name__ == "__main__":
    main()
