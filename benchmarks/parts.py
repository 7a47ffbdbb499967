"""Tell what each part of PatchIsomap gives to pictures of images: the graph, and the scaling.

    python -m benchmarks.parts [--data digits fashion-mnist mnist] [--seeds 81 82 83] [--k 15]

An image is named right if its seven nearest neighbours in the plane tell its class, by five folds.
Isomap has its own graph and classical scaling; PatchIsomap has the graph of patches and least
stress. Between them stand both mixed forms. Of Fashion-MNIST and MNIST the seeds draw 5000 images.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import Isomap
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.real import IMAGES, K, points
from patchfold import PatchIsomap
from patchfold.evaluation.comparison import NEAREST
from patchfold.evaluation.sampling import folds

METHODS = {
    "Isomap": lambda k: Isomap(n_neighbors=k),
    "Isomap's graph, least stress": lambda k: PatchIsomap(
        n_neighbors=k, divergence="euclidean", scaling="stress"
    ),
    "graph of patches, classical scaling": lambda k: PatchIsomap(
        n_neighbors=k, scaling="classical"
    ),
    "PatchIsomap()": lambda k: PatchIsomap(n_neighbors=k),
}


def accuracies(name, seed, k):
    """Return the accuracy of every method on one sample."""
    X, y = load_digits(return_X_y=True) if name == "digits" else points(name, "image", seed)
    return [
        cross_val_score(
            KNeighborsClassifier(NEAREST), make(k).fit_transform(X), y, cv=folds(y, 5)
        ).mean()
        for make in METHODS.values()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parts", description=__doc__)
    parser.add_argument(
        "--data", choices=("digits", *IMAGES), nargs="+", default=("digits", *IMAGES)
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[81, 82, 83])
    parser.add_argument("--k", type=int, default=K)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in asked.data:
        seeds = asked.seeds[:1] if name == "digits" else asked.seeds
        values = np.array([accuracies(name, seed, asked.k) for seed in seeds])
        drawn = "" if name == "digits" else f", 5000 images, seeds {seeds}"
        print(f"{name}{drawn}, k = {asked.k}: accuracy in the plane")
        for method, found in zip(METHODS, values.T, strict=True):
            more = (found - values[:, 0]).mean()
            print(f"{method:38}{found.mean():.3f}  {more:+.3f} over Isomap", flush=True)


if __name__ == "__main__":
    main()
