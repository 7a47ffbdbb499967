"""Compare models of a patch: ``python -m benchmarks.patch_models [--pipeline default|papers]``.

``default`` is PatchIsomap with the patch of its recipe made another model. ``papers`` is ISOMAP-KL:
plain patches, edges as long as the divergence, classical scaling. Scores are the rank correlation
of the embedding with the true geodesics (rolls, heavy tails, geometry), and the accuracy of seven
nearest neighbours in the plane (modes, tables). A row shows how much a model gains or loses against
Gaussians with ``"kl"``, in the mean and with its standard error over data sets.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

from benchmarks.geometry import MANIFOLDS, observed
from benchmarks.geometry.__main__ import truth
from benchmarks.patch_models import models
from patchfold import GaussianPatch, PatchIsomap, datasets
from patchfold.datasets import make_manifold
from patchfold.datasets.loading import at_hand
from patchfold.evaluation.comparison import NEAREST
from patchfold.evaluation.sampling import folds
from patchfold.graph.short_circuits import recommended_patch
from patchfold.metrics import rank_correlation

K, SEEDS = 15, (700, 701)
LARGEST, SMALLEST, EVERY, WIDEST = 600, 60, 3, 30
PLACES, COMPONENTS = ("burster", "dipeptide", "turntable"), 12

kernel_cs = models.cauchy_schwarz(models.kernel_overlaps)
kernel_kl = models.variational_kl(models.kernel_kls)
mixture_cs = models.cauchy_schwarz(models.mixture_overlaps)
mixture_kl = models.variational_kl(models.mixture_kls)
MODELS = {
    "Gaussian, kl": (GaussianPatch, {}, "kl"),
    "Gaussian, cauchy-schwarz": (GaussianPatch, {}, "cauchy-schwarz"),
    "graphical lasso, kl": (GaussianPatch, {"covariance": "graphical-lasso"}, "kl"),
    "kernels, cauchy-schwarz": (models.KernelPatch, {}, kernel_cs),
    "kernels, kl": (models.KernelPatch, {}, kernel_kl),
    "two Gaussians, cauchy-schwarz": (models.MixturePatch, {}, mixture_cs),
    "two Gaussians, kl": (models.MixturePatch, {}, mixture_kl),
    "heavy tails, kl": (
        models.GeneralizedGaussianPatch,
        {"number": 0.5},
        models.generalized_kl(0.5),
    ),
    "light tails, kl": (models.GeneralizedGaussianPatch, {"number": 2.0}, models.generalized_kl(2)),
}


def embedded(X, model, pipeline, d):
    kind, more, divergence = MODELS[model]
    if pipeline == "papers":
        how = {"patch": kind(**more), "lengths": "divergence", "scaling": "classical"}
    else:
        how = {"patch": kind(**(recommended_patch(len(X)).get_params() | more))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PatchIsomap(d, n_neighbors=K, divergence=divergence, **how).fit_transform(X)


def by_rank(true):
    known = np.isfinite(true)
    return lambda plane: rank_correlation(pdist(plane)[known], true[known])


def by_class(y):
    knn = KNeighborsClassifier(NEAREST)
    return lambda plane: cross_val_score(knn, plane, y, cv=folds(y, 5)).mean()


def rolls():
    for noise in (0.5, 1.0):
        for seed in SEEDS:
            roll = make_manifold("swiss-roll", 1000, noise, seed)
            yield roll.X, by_rank(squareform(roll.geodesics(), checks=False)), 2


def tails():
    """Yield rolls and S-curves with noise of Student's t, and with outliers."""
    for name, width in (("swiss-roll", 0.3), ("s-curve", 0.03)):
        for seed in SEEDS:
            random = np.random.default_rng(seed)
            clean = make_manifold(name, 1000, 0.0, seed)
            noise = width * random.standard_t(1.5, clean.X.shape)
            yield clean.X + noise, by_rank(squareform(clean.geodesics(), checks=False)), 2
            noisy = make_manifold(name, 1000, width, seed, outliers=0.05)
            yield noisy.X, by_rank(squareform(noisy.geodesics(), checks=False)), 2


def modes():
    """Yield classes made of tight groups of six points: a neighbourhood has two or three."""
    for seed in (*SEEDS, 702, 703):
        random = np.random.default_rng(seed)
        of_group = np.repeat(np.arange(4), 30)
        centres = random.normal(size=(4, 10))[of_group] + 0.7 * random.normal(size=(120, 10))
        X = np.repeat(centres, 6, axis=0) + 0.1 * random.normal(size=(720, 10))
        yield X, by_class(np.repeat(of_group, 6)), 2


def tables():
    names = [
        entry.name
        for entry in at_hand().values()
        if SMALLEST <= entry.shape[0] <= LARGEST and entry.shape[1] <= WIDEST
    ]
    for name in names[::EVERY]:
        data = datasets.load(name)
        yield scale(np.asarray(data.X, dtype=float)), by_class(np.asarray(data.y)), 2


def geometry():
    """Yield manifolds of physics, by their leading principal components."""
    for name in PLACES:
        X = observed(name, "high", SEEDS[0])
        X = PCA(min(COMPONENTS, X.shape[1]), random_state=0).fit_transform(X)
        yield X, by_rank(truth(name, SEEDS[0])), MANIFOLDS[name].components


DATA = {f.__name__: f for f in (rolls, tails, modes, geometry, tables)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.patch_models", description=__doc__)
    parser.add_argument("--pipeline", choices=("default", "papers"), default="default")
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    asked = parser.parse_args()
    for name in asked.data:
        scores, seconds = {model: [] for model in MODELS}, dict.fromkeys(MODELS, 0.0)
        for X, score, d in DATA[name]():
            for model, found in scores.items():
                start = time.process_time()
                plane = embedded(X, model, asked.pipeline, d)
                seconds[model] += time.process_time() - start
                found.append(score(plane))
        base, count = np.array(scores["Gaussian, kl"]), len(scores["Gaussian, kl"])
        print(f"\n{name}, {asked.pipeline}: {count} data sets, k = {K}")
        for model, found in scores.items():
            gains = np.array(found) - base
            change = f"{gains.mean():+.3f} ±{gains.std(ddof=1) / count**0.5:.3f}"
            print(
                f"{model:32}{np.mean(found):7.3f}   {change}   at worst {gains.min():+.3f}"
                f"{seconds[model] / count:8.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
