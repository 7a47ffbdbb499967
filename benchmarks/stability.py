"""Does k matter? Manifolds over noise, k and seeds: how well embeddings keep the true geodesics.

    python -m benchmarks.stability [--quick] [--manifolds A ...] [--methods B ...] [--seeds 0 1 ...]
                                   [--jobs N] [--picture FILE]

The score is the rank correlation of distances in the embedding with the true geodesics. Ranks do
not see scales, so two numbers stand beside it: the stress of the true geodesics, and the share of
points that a plot of the first two components tells apart. Finished cells are kept in
``studies/stability-6/``, and a run that was stopped goes on; raise the number when something here
or in the methods changes. ``--quick`` takes three noises, three k and two seeds. UMAP and PHATE
take part where they are installed. ``--picture`` draws heat maps of the swiss roll.
"""

from __future__ import annotations

import argparse
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import pdist, squareform

from benchmarks.kept import kept_by_k
from patchfold import GaussianPatch, PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE
from patchfold.datasets import make_manifold
from patchfold.evaluation.comparison import umap as umap_of
from patchfold.metrics import rank_correlation, stress, visible_share

FOLDER = Path("studies/stability-6")
N = 1000
NOISES, DEGREES, SEEDS = (0.0, 0.25, 0.5, 0.75, 1.0), (6, 8, 10, 15, 20, 30), (0, 1, 2)
QUICK = {"noises": (0.0, 0.5, 1.0), "degrees": (6, 15, 30), "seeds": (0, 1)}
GOOD, POOR = 0.95, 0.9
CORRELATION = "rank correlation"
MEASURES = (CORRELATION, "stress", "visible")

MANIFOLDS = {
    "swiss-roll": {},
    "swiss-roll, 5 % outliers": {"outliers": 0.05},
    "swiss-roll, 10 noise dimensions": {"noise_dimensions": 10},
    "swiss-roll, uneven": {"uneven": 1.0},
    "swiss-roll-with-hole": {},
    "s-curve": {},
    "punctured-sphere": {},
    "toroidal-helix": {},
    "two-rolls": {},
}


def umap(k, d):
    return umap_of(d, k, 0)


def phate(k, d):
    from phate import PHATE

    return PHATE(n_components=d, knn=k, random_state=0, verbose=0)


CLASSICAL = {"divergence": "euclidean", "scaling": "classical"}
PLAIN = {"patch": GaussianPatch(), "lengths": "divergence", "scaling": "classical"}
METHODS = {
    "Isomap": lambda k, d: PatchIsomap(d, n_neighbors=k, **CLASSICAL),
    "UMAP": umap,
    "PHATE": phate,
    "Laplacian eigenmaps": lambda k, d: PatchEigenmaps(d, n_neighbors=k, divergence="euclidean"),
    "Isomap of kl": lambda k, d: PatchIsomap(d, n_neighbors=k, **PLAIN),
    "Isomap of hellinger": lambda k, d: PatchIsomap(
        d, n_neighbors=k, **PLAIN, divergence="hellinger"
    ),
    "PatchIsomap": lambda k, d: PatchIsomap(d, n_neighbors=k),
    "PatchEigenmaps": lambda k, d: PatchEigenmaps(d, n_neighbors=k),
    "PatchLLE": lambda k, d: PatchLLE(d, n_neighbors=k),
    "PatchTSNE": lambda k, d: PatchTSNE(d, n_neighbors=k, random_state=0),
}
PACKAGES = {"UMAP": "umap", "PHATE": "phate"}
PICTURED = ("Isomap", "UMAP", "Isomap of kl", "PatchIsomap")


def score(manifold, method, noise, k, seed):
    """Return the measures of one embedding, by name: two of them against the true geodesics."""
    sampled = make_manifold(manifold.split(",")[0], N, noise, seed, **MANIFOLDS[manifold])
    geodesics = sampled.geodesics()
    true = squareform(geodesics, checks=False)
    # Two separate parts need a dimension to lie apart in.
    d = 3 if manifold == "two-rolls" else 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        embedding = np.asarray(METHODS[method](k, d).fit_transform(sampled.X), dtype=float)
    known = np.isfinite(true)
    correlation = rank_correlation(pdist(embedding)[known], true[known])
    values = correlation, stress(geodesics, embedding), visible_share(embedding)
    return dict(zip(MEASURES, map(float, values), strict=True))


def measured(manifold, method, noise, seed, degrees):
    """Return the measures of one sample by k, computing and writing those that are not there."""
    name = f"{manifold}-{method}-{noise}-{seed}.json".replace(", ", "-").replace(" ", "_")
    by_k = kept_by_k(FOLDER / name, degrees, lambda k: score(manifold, method, noise, k, seed))
    return [[scores[measure] for measure in MEASURES] for scores in by_k]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stability", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--manifolds", nargs="+", choices=MANIFOLDS, default=list(MANIFOLDS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--picture", type=Path)
    asked, _ = parser.parse_known_args()
    grid = QUICK if asked.quick else {"noises": NOISES, "degrees": DEGREES, "seeds": SEEDS}
    if asked.seeds:
        grid = {**grid, "seeds": tuple(asked.seeds)}
    methods = [name for name in asked.methods if name not in PACKAGES or find_spec(PACKAGES[name])]
    for name in set(asked.methods) - set(methods):
        print(f"{name} is not installed")
    for manifold in asked.manifolds:
        cells = [
            (m, noise, seed) for m in methods for noise in grid["noises"] for seed in grid["seeds"]
        ]
        values = Parallel(n_jobs=asked.jobs)(
            delayed(measured)(manifold, m, noise, seed, grid["degrees"]) for m, noise, seed in cells
        )
        shape = len(methods), len(grid["noises"]), len(grid["seeds"]), len(grid["degrees"]), -1
        every = np.reshape(values, shape)
        means = np.moveaxis(every.mean(axis=2), -1, 0)
        tables = {
            measure: dict(zip(methods, table, strict=True))
            for measure, table in zip(MEASURES, means, strict=True)
        }
        report(manifold, tables, grid)
        report_fits(methods, every[..., 0].reshape(len(methods), -1))
        if asked.picture and manifold == "swiss-roll":
            draw(asked.picture, tables[CORRELATION], grid)


def report(manifold, tables, grid):
    """Print one line a noise and method: the mean over seeds for every k; then all measures."""
    print(f"\n{manifold}, n = {N}, mean of {len(grid['seeds'])} seeds")
    columns = "".join(f"{f'k={k}':>8}" for k in grid["degrees"])
    print(f"{CORRELATION:22}{'noise':>6}{columns}")
    for method, scores in tables[CORRELATION].items():
        for noise, row in zip(grid["noises"], scores, strict=True):
            print(f"{method:22}{noise:6.2f}" + "".join(f"{value:8.3f}" for value in row))
    print(
        f"{'':22}{'mean':>8}{'least':>8}{f'>= {GOOD}':>9} of {scores.size}"
        f"{'stress':>9}{'most':>8}{'visible':>9}{'least':>8}"
    )
    for method, scores in tables[CORRELATION].items():
        good = int((scores >= GOOD).sum())
        strain, seen = (tables[measure][method] for measure in MEASURES[1:])
        print(
            f"{method:22}{scores.mean():8.3f}{scores.min():8.3f}{good:9d}"
            f"{'':{len(f' of {scores.size}')}}{strain.mean():9.3f}{strain.max():8.3f}"
            f"{seen.mean():9.3f}{seen.min():8.3f}",
            flush=True,
        )


def report_fits(methods, correlations):
    """Print how many single fits fail, and the worst of them: a mean hides these."""
    print(f"{'single fits':22}{f'< {GOOD}':>8}{f'< {POOR}':>8}{'of':>6}{'least':>8}")
    for method, values in zip(methods, correlations, strict=True):
        low, poor = (int((values < limit).sum()) for limit in (GOOD, POOR))
        print(f"{method:22}{low:8d}{poor:8d}{len(values):6d}{values.min():8.3f}", flush=True)


def draw(path, table, grid):
    """Draw heat maps of the methods side by side."""
    from patchfold.plotting import plot_stability

    shown = {name: table[name] for name in PICTURED if name in table}
    label = "rank correlation with the true geodesics"
    figure = plot_stability(shown, grid["noises"], grid["degrees"], label=label, limits=(0.3, 1.0))
    figure.savefig(path, dpi=150, bbox_inches="tight")
    print(path)


if __name__ == "__main__":
    main()
