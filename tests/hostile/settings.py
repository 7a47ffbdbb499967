"""Settings of estimators, written as one word each: ``isomap.kl.ridge.pruned.cut.krr.auto``.

The word names the estimator, the divergence, the covariance, how edges are made, the supervision,
the map for new points and the search. A word is all that is needed to make the estimator again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsTransformer

from patchfold import (
    GaussianPatch,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchSpace,
    PatchTSNE,
)

if TYPE_CHECKING:
    Random = np.random.Generator

ESTIMATORS: dict[str, Any] = {
    "isomap": PatchIsomap,
    "lle": PatchLLE,
    "eigenmaps": PatchEigenmaps,
    "space": PatchSpace,
    "tsne": PatchTSNE,
}
# t-SNE takes many times as long as the others, and depends on rounding.
OFTEN = ("isomap", "lle", "eigenmaps", "space") * 4 + ("tsne",)

DIVERGENCES = (
    "kl",
    "jeffreys",
    "bhattacharyya",
    "hellinger",
    "jeffreys-riemann",
    "bhattacharyya-riemann",
    "wasserstein",
    "cauchy-schwarz",
    "fisher-rao",
    "calvo-oller",
    "euclidean",
)
COVARIANCES: dict[str, GaussianPatch | None] = {
    "recommended": None,
    "empirical": GaussianPatch(covariance="empirical", size=12),
    "ridge": GaussianPatch(covariance="ridge"),
    "ridge-if-singular": GaussianPatch(covariance="ridge-if-singular", size=6),
    "shrinkage": GaussianPatch(covariance="shrinkage"),
    "diagonal-shrinkage": GaussianPatch(covariance="diagonal-shrinkage"),
    "ledoit-wolf": GaussianPatch(covariance="ledoit-wolf"),
    "oas": GaussianPatch(covariance="oas"),
    "low-rank": GaussianPatch(covariance="low-rank", rank=2),
    "hazan": GaussianPatch(covariance="hazan", rank=12),
    "denoised": GaussianPatch(denoise=True),
    "adaptive": GaussianPatch(size="adaptive"),
}
DEGREE = 9
EDGES: dict[str, dict[str, Any]] = {
    "pruned": {"lengths": "pruned"},
    "lengths": {"lengths": "divergence"},
    "under": {"lengths": "divergence", "graph": "divergence"},
    "all": {},  # k = n - 1
    "over": {},  # k = n + 5
    "few": {"n_neighbors": 2},
    "radius": {},  # isolates half of the points
    "auto": {"n_neighbors": "auto"},
}
SUPERVISION = ("none", "dissimilarity", "cut", "min-sum")
MAPS: dict[str, Any] = {
    "nystrom": "nystrom",
    "krr": "krr",
    "grnn": "grnn",
    "linear": LinearRegression(),
}
SEARCHES: dict[str, Any] = {
    "auto": "auto",
    "exact": "exact",
    "approximate": "approximate",
    "given": KNeighborsTransformer(n_neighbors=40, mode="distance"),
}

# Values that no estimator can work with.
BAD_PARAMETERS: dict[str, tuple[Any, ...]] = {
    "n_components": (0, -1, 1.5, "two", None, True, np.nan),
    "n_neighbors": (0, -5, 2.5, "all", None, True, np.inf, [5]),
    "divergence": ("kll", None, 3, "", ["kl"]),
    "patch": ("ridge", 15, GaussianPatch, {"size": 3}),
    "lengths": ("long", None, 1),
    "graph": ("knn", None, 0),
    "radius": (0.0, -1.0, np.nan, "wide"),
    "supervision": ("cutt", 3, object()),
    "out_of_sample": ("nystroem", None, 3, GaussianPatch()),
    "knn": ("brute", None, 5, KNeighborsTransformer(n_neighbors=2), object()),
    "engine": ("gpu", None, 3),
    "n_jobs": (0, 1.5, "2", True),
    "random_state": ("seed", -1, 1.5),
    "landmarks": (0, 1, -3, 2.5, "all"),
    "weights": ("uniform", None),
    "reg": (0.0, -1.0, np.nan, "auto"),
    "kernel": ("rbf", None),
    "bandwidth": (0.0, -1.0, np.nan, "mean"),
    "laplacian": ("normalised", None),
    "perplexity": (0.0, -1.0, np.nan, "auto"),
    "n_iter": (-1, 2.5, "many"),
    "learning_rate": (0.0, -1.0, "fast"),
    "early_exaggeration": (0.0, -1.0, np.nan, "no"),
    "patch__size": (0, -1, 2.5, "adaptiv"),
    "patch__covariance": ("full", None, "low-rank"),
    "patch__gamma": (-1.0, np.nan, "automatic"),
    "patch__center": ("median", None),
    "patch__rank": (0, -1, 1.5, "one"),
}


def draw(random: Random, *, precomputed: bool = False, supervised: bool | None = None) -> str:
    """Return the word of a setting drawn at random; None leaves labels to chance, one in four."""

    def one(names: Any) -> str:
        return str(random.choice(list(names)))

    # Half of all settings have the default of an axis: defaults are what people use.
    def usually(names: Any) -> str:
        names = list(names)
        return names[0] if random.random() < 0.5 else one(names)

    estimator = one(OFTEN)
    divergence = "precomputed" if precomputed else one(DIVERGENCES)
    covariance = usually(COVARIANCES) if divergence not in {"euclidean", "precomputed"} else "-"
    edges = usually(EDGES)
    if supervised is None:
        supervised = random.random() < 0.25
    supervision = one(SUPERVISION[1:]) if supervised else "none"
    mapping = "-" if estimator == "space" else "nystrom" if precomputed else usually(MAPS)
    search = "-" if precomputed else usually(SEARCHES)
    return f"{estimator}.{divergence}.{covariance}.{edges}.{supervision}.{mapping}.{search}"


def build(word: str, X: Any) -> Any:
    """Return the estimator that a word names, for points ``X``, which numbers of edges follow."""
    estimator, divergence, covariance, edges, supervision, mapping, search = word.split(".")
    parameters: dict[str, Any] = {"n_neighbors": DEGREE, "divergence": divergence}
    parameters |= EDGES[edges]
    if estimator == "isomap" and (divergence == "euclidean" or edges in {"lengths", "under"}):
        parameters["scaling"] = "classical"  # as these methods were published
    n = _rows(X)
    if edges == "all":
        parameters["n_neighbors"] = max(n - 1, 1)
    if edges == "over":
        parameters["n_neighbors"] = n + 5
    if edges == "radius":
        parameters["radius"] = _isolating_radius(X)
    if covariance != "-":
        parameters["patch"] = COVARIANCES[covariance]
    if supervision != "none":
        parameters["supervision"] = supervision
    if mapping != "-":
        parameters["out_of_sample"] = MAPS[mapping]
    if search != "-":
        parameters["knn"] = SEARCHES[search]
    if estimator == "tsne":
        parameters |= {"n_iter": 10, "perplexity": 5.0}
    return ESTIMATORS[estimator](**parameters, random_state=0)


def _rows(X: Any) -> int:
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X) if hasattr(X, "__len__") else 2


def _isolating_radius(X: Any) -> float:
    """Return a radius within which about half of the points have no neighbour; 1 for no points."""
    try:
        distances = pdist(np.asarray(X, dtype=np.float64))
    except (TypeError, ValueError):
        return 1.0
    positive = distances[(distances > 0) & np.isfinite(distances)]
    return float(np.quantile(positive, 1 / len(X))) if len(positive) else 1.0
