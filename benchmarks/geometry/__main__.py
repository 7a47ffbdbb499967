"""How well do embeddings keep geodesics that physics knows? Manifolds over noise, k and seeds.

    python -m benchmarks.geometry [--half tuning|held-out|all] [--manifolds A ...]
                                  [--methods B ...] [--k 8 ...] [--seeds 0 1 ...] [--jobs N]

The score is the rank correlation of distances in the embedding with the true geodesics. Stress,
after the best common scale, is kept beside it. Finished cells are kept in ``studies/geometry-4/``,
and a run that was stopped goes on; raise the number when something here or in the methods changes.
The truths are kept there, too: those in four dimensions take minutes. UMAP takes part where it is
installed, the fermentation where chemotools is. Choose constants by the tuning half only.
"""

from __future__ import annotations

import argparse
import io
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import LocallyLinearEmbedding, SpectralEmbedding

from benchmarks.geometry import HELD_OUT, LEVELS, MANIFOLDS, TUNING, coordinates, observed
from benchmarks.kept import kept_by_k
from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE
from patchfold.base.files import write_whole
from patchfold.metrics import rank_correlation, stress

FOLDER = Path("studies/geometry-4")
DEGREES, SEEDS = (8, 15, 30), (0, 1)
HALVES = {"tuning": TUNING, "held-out": HELD_OUT, "all": tuple(MANIFOLDS)}


def umap(k, d):
    from umap import UMAP

    return UMAP(n_neighbors=k, n_components=d, random_state=0, n_jobs=1)


def lle(k, d):
    return LocallyLinearEmbedding(n_neighbors=k, n_components=d, eigen_solver="dense")


def spectral(k, d):
    return SpectralEmbedding(d, affinity="nearest_neighbors", n_neighbors=k, random_state=0)


METHODS = {
    "Isomap": lambda k, d: PatchIsomap(
        d, n_neighbors=k, divergence="euclidean", scaling="classical"
    ),
    "UMAP": umap,
    "PatchIsomap": lambda k, d: PatchIsomap(d, n_neighbors=k),
    "LLE": lle,
    "PatchLLE": lambda k, d: PatchLLE(d, n_neighbors=k),
    "SpectralEmbedding": spectral,
    "PatchEigenmaps": lambda k, d: PatchEigenmaps(d, n_neighbors=k),
}
USUAL = ("Isomap", "UMAP", "PatchIsomap")
# What others are compared with.
BASE = "Isomap"
LOSS = 0.05  # by which a single fit is worse, to be counted
PACKAGES = {"UMAP": "umap", "fermentation": "chemotools"}


def truth(name, seed):
    """Return the true geodesics of pairs in the order of ``pdist``, computed once."""
    path = FOLDER / f"truth-{name}-{seed}.npy"
    if not path.exists():
        distances = MANIFOLDS[name].truth(coordinates(name, seed))
        content = io.BytesIO()
        np.save(content, squareform(distances, checks=False).astype(np.float32))
        write_whole(path, content.getvalue())
    return np.load(path).astype(float)


def scores(name, level, method, k, seed):
    """Return the rank correlation and the stress of one embedding."""
    true = truth(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        embedding = METHODS[method](k, MANIFOLDS[name].components).fit_transform(
            observed(name, level, seed)
        )
    embedding = np.asarray(embedding, dtype=float)
    return {
        "rank": float(rank_correlation(pdist(embedding), true)),
        "stress": float(stress(squareform(true), embedding)),
    }


def measured(name, level, method, seed, degrees):
    """Return the scores of one sample by k, computing and writing those that are not there."""
    path = FOLDER / f"{name}-{level}-{method}-{seed}.json"
    by_k = kept_by_k(path, degrees, lambda k: scores(name, level, method, k, seed))
    return [(one["rank"], one["stress"]) for one in by_k]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.geometry", description=__doc__)
    parser.add_argument("--half", choices=HALVES, default="all")
    parser.add_argument("--manifolds", nargs="+", choices=MANIFOLDS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(USUAL))
    parser.add_argument("--k", nargs="+", type=int, default=list(DEGREES))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    names, methods = asked.manifolds or HALVES[asked.half], asked.methods
    for missing in (n for n in (*names, *methods) if n in PACKAGES and not find_spec(PACKAGES[n])):
        print(f"{missing} is left out: {PACKAGES[missing]} is not installed")
        names, methods = ([n for n in some if n != missing] for some in (names, methods))
    Parallel(n_jobs=asked.jobs)(delayed(truth)(n, seed) for n in names for seed in asked.seeds)
    cells = [
        (n, level, m, s) for n in names for level in LEVELS for m in methods for s in asked.seeds
    ]
    values = Parallel(n_jobs=asked.jobs)(delayed(measured)(*cell, asked.k) for cell in cells)
    shape = len(names), len(LEVELS), len(methods), len(asked.seeds), len(asked.k), 2
    # Manifold, level, method, seed, k, and the two scores.
    every = np.reshape(values, shape)
    report(names, methods, every.mean(axis=3), asked.k)
    if BASE in methods:
        ranks = np.moveaxis(every[..., 0], 2, 0).reshape(len(methods), -1)
        for method, values in zip(methods, ranks - ranks[methods.index(BASE)], strict=True):
            if method != BASE:
                worse, better = (values < -LOSS).sum(), (values > LOSS).sum()
                print(
                    f"{method}: of {len(values)} single fits, {worse} are more than {LOSS} below "
                    f"{BASE}, and {better} are as much above"
                )


def report(names, methods, table, degrees):
    """Print the rank correlation by manifold and level, its mean over k and worst k; a summary."""
    ranks = table[..., 0]
    width = max(map(len, methods)) + 2
    print(
        f"\nRank correlation with the true geodesics, mean over k = {degrees}, and at the worst k"
    )
    print(f"{'':22}" + "".join(f"{m:>{2 * width}}" for m in methods))
    for name, by_level in zip(names, ranks, strict=True):
        for level, rows in zip(LEVELS, by_level, strict=True):
            columns = "".join(f"{r.mean():{width}.3f}{r.min():{width}.3f}" for r in rows)
            print(f"{name:14}{level:8}{columns}")
    print(f"\n{'':22}" + "".join(f"{m:>{width}}" for m in methods))

    def line(title, numbers):
        print(f"{title:22}" + "".join(f"{number:{width}.3f}" for number in numbers), flush=True)

    line("mean", ranks.mean(axis=(0, 1, 3)))
    line("mean at the worst k", ranks.min(axis=3).mean(axis=(0, 1)))
    for i, level in enumerate(LEVELS):
        line(f"mean, {level} noise", ranks[:, i].mean(axis=(0, 2)))
    line("mean stress", table[..., 1].mean(axis=(0, 1, 3)))
    if BASE in methods:
        gains = ranks - ranks[:, :, [methods.index(BASE)]]
        for m, method in enumerate(methods):
            if method != BASE:
                i, level, k = np.unravel_index(gains[:, :, m].argmin(), gains[:, :, m].shape)
                over_k = gains[:, :, m].mean(axis=2)
                where, noise = np.unravel_index(over_k.argmin(), over_k.shape)
                print(
                    f"{method} against {BASE}: at worst {gains[i, level, m, k]:+.3f} "
                    f"({names[i]}, {LEVELS[level]}, k={degrees[k]}); mean over k at worst "
                    f"{over_k.min():+.3f} ({names[where]}, {LEVELS[noise]})"
                )


if __name__ == "__main__":
    main()
