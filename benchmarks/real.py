"""Tell whether the default pictures of real data are readable and separate classes.

    python -m benchmarks.real [--tables | --images | --edges] [--datasets A ...] [--methods A ...]
                              [--seed N] [--k N] [--jobs N] [--picture FILE]

Every data set at hand, raw and standardised, is embedded with k = 15 by the classical methods and
by this library's defaults; of larger sets 2000 points. Beside each other stand the visible share
(``metrics.visible_share``), the accuracy of seven nearest neighbours in the plane, by five folds,
and the trustworthiness of ten neighbours. ``--images`` takes digits at k = 10, 15, 20 and 30, and
5000 images of MNIST and Fashion-MNIST, drawn by ``--seed``, at ``--k`` neighbours, and UMAP beside
them, where it is installed. Finished cells are kept in ``studies/real-5/``, and a run that was
stopped goes on; raise the number when something here or in the methods changes. ``--edges`` tells
how many edges of these images join two classes, before and after short circuits are removed.
``--picture`` draws four data sets.
"""

from __future__ import annotations

import argparse
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_digits
from sklearn.manifold import Isomap, LocallyLinearEmbedding, SpectralEmbedding, trustworthiness
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

from benchmarks.kept import kept
from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE, datasets
from patchfold.datasets.loading import at_hand
from patchfold.evaluation.comparison import NEAREST
from patchfold.evaluation.comparison import umap as umap_of
from patchfold.evaluation.sampling import draw as draw_rows
from patchfold.evaluation.sampling import folds
from patchfold.metrics import visible_share

FOLDER = Path("studies/real-5")
K, MOST, LEAST = 15, 2000, 60
IMAGES, MOST_IMAGES, IMAGE_SEED = ("fashion-mnist", "mnist"), 5000, 1  # seen while tuning
DIGITS_DEGREES = (10, 15, 20, 30)

METHODS = {
    "Isomap": lambda k: Isomap(n_neighbors=k),
    "PatchIsomap": lambda k: PatchIsomap(n_neighbors=k),
    "SpectralEmbedding": lambda k: SpectralEmbedding(n_neighbors=k, random_state=0),
    "PatchEigenmaps": lambda k: PatchEigenmaps(n_neighbors=k),
    "LLE": lambda k: LocallyLinearEmbedding(n_neighbors=k, eigen_solver="dense"),
    "PatchLLE": lambda k: PatchLLE(n_neighbors=k),
    "t-SNE": lambda k: PatchTSNE(n_neighbors=k, divergence="euclidean", random_state=0),
    "PatchTSNE": lambda k: PatchTSNE(n_neighbors=k, random_state=0),
}
# Those whose pictures a new user sees first.
USUAL = ("Isomap", "PatchIsomap", "SpectralEmbedding", "PatchEigenmaps")
TRUSTED = 10


def umap(k):
    return umap_of(2, k, 0)


# Which method each is compared with.
CLASSICAL = {
    "PatchIsomap": "Isomap",
    "PatchEigenmaps": "SpectralEmbedding",
    "PatchLLE": "LLE",
    "PatchTSNE": "t-SNE",
}
MEASURES = ("visible", "accuracy", "trust")


def points(name, kind, image_seed=IMAGE_SEED):
    """Return the points and classes of a data set, or of a sample of it."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        data = datasets.load(name)
        X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    most, seed = (MOST_IMAGES, image_seed) if kind == "image" else (MOST, 0)
    if len(X) > most:
        rows = draw_rows(len(X), most, seed)
        X, y = X[rows], y[rows]
    return (scale(X) if kind == "standardised" else X), y


def measured(name, kind, method, k, image_seed=IMAGE_SEED):
    """Return the visible share and the accuracy of one embedding, computed once."""

    def compute():
        X, y = points(name, kind, image_seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plane = {**METHODS, "UMAP": umap}[method](min(k, len(X) - 1)).fit_transform(X)
            knn = KNeighborsClassifier(NEAREST)
            accuracy = cross_val_score(knn, plane, y, cv=folds(y, 5)).mean()
        trust = trustworthiness(X, plane, n_neighbors=TRUSTED)
        values = visible_share(plane), float(accuracy), float(trust)
        return dict(zip(MEASURES, values, strict=True))

    drawn = f"-{image_seed}" if kind == "image" else ""
    return kept(FOLDER / f"{name}-{kind}{drawn}-{method}-{k}.json", compute)


def tables(jobs, chosen, methods):
    names = [entry.name for entry in at_hand().values() if entry.shape[0] >= LEAST]
    cells = [
        (name, kind, method, K)
        for name in names
        if chosen is None or name in chosen
        for kind in ("raw", "standardised")
        for method in methods
    ]
    values = Parallel(n_jobs=jobs)(delayed(measured)(*cell) for cell in cells)
    found = {cell[:3]: value for cell, value in zip(cells, values, strict=True)}
    sets = list(dict.fromkeys(cell[:2] for cell in cells))
    print(f"{len(sets)} data sets (raw and standardised counted apart), k = {K}")
    for method in methods:
        means = {name: np.mean([found[*one, method][name] for one in sets]) for name in MEASURES}
        print(f"{method:20}" + "".join(f"{name} {mean:.4f}  " for name, mean in means.items()))
    for method, classical in CLASSICAL.items():
        if not {method, classical} <= set(methods):
            continue
        shares = {
            one: found[*one, method]["visible"] / found[*one, classical]["visible"] for one in sets
        }
        low = {one: share for one, share in shares.items() if share < 0.5}
        print(f"{method}: less than half of {classical}'s visible share on {len(low)} data sets")
        for (name, kind), share in sorted(low.items(), key=lambda item: item[1]):
            X, _ = points(name, kind)
            distinct = f"{len(np.unique(X, axis=0))} of {len(X)} rows are distinct"
            print(f"    {name}, {kind}: {share:.2f}; {distinct}")


def images(jobs, seed, methods, k_images):
    methods = [method for method in methods if method != "UMAP" or find_spec("umap") is not None]
    cells = [
        ("digits", kind, method, k)
        for kind in ("raw", "standardised")
        for method in methods
        for k in DIGITS_DEGREES
    ]
    there = at_hand()
    cells += [
        (name, "image", method, k_images) for name in IMAGES if name in there for method in methods
    ]
    values = Parallel(n_jobs=jobs)(delayed(measured)(*cell, seed) for cell in cells)
    for (name, kind, method, k), value in zip(cells, values, strict=True):
        print(
            f"{name:14}{kind:14}{method:20}k = {k:<4}"
            f"accuracy {value['accuracy']:.3f}  visible {value['visible']:.2f}"
            f"  trust {value['trust']:.3f}"
        )


def edges(seed):
    """Print how many edges join two classes: of all, of those that are removed, of those left."""
    print(f"share of edges that join two classes, k = {K}   all  removed  left   removed, of all")
    for name, kind in (("digits", "raw"), *((name, "image") for name in IMAGES)):
        X, y = points(name, kind, seed)
        isomap = PatchIsomap(n_neighbors=K).fit(X)
        i, j = isomap.patch_graph_.removed.T
        apart = y[i] != y[j]
        i, j = isomap.graph_.nonzero()
        left = (y[i] != y[j])[i < j]
        n = len(left) + len(apart)
        shares = (left.sum() + apart.sum()) / n, apart.mean(), left.mean(), len(apart) / n
        print(f"{name:45}{shares[0]:.3f}{shares[1]:9.3f}{shares[2]:7.3f}{shares[3]:17.3f}")


def draw(path):
    """Draw four data sets, a column each, by Isomap, PatchIsomap and, where it is there, UMAP."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from patchfold.plotting import plot_embedding

    shown = {name: METHODS[name] for name in ("Isomap", "PatchIsomap")}
    if find_spec("umap") is not None:
        shown["UMAP"] = umap
    sets = (("wine", "standardised"), ("digits", "raw"), *((name, "image") for name in IMAGES))
    figure, axes = plt.subplots(len(shown), len(sets), figsize=(3 * len(sets), 3 * len(shown)))
    for column, (name, kind) in zip(axes.T, sets, strict=True):
        X, y = points(name, kind)
        for ax, (method, make) in zip(column, shown.items(), strict=True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                plot_embedding(make(K).fit_transform(X), y.astype(str), ax=ax)
            if ax.get_legend() is not None:
                ax.get_legend().remove()
            for dots in ax.collections:
                dots.set_sizes([60 / np.sqrt(len(X))])
            ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
            ax.set_title(f"{method}: {name}", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print(path)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real", description=__doc__)
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--images", action="store_true")
    parser.add_argument("--edges", action="store_true")
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, "UMAP"])
    parser.add_argument("--seed", type=int, default=IMAGE_SEED, help="of the images drawn")
    parser.add_argument("--k", type=int, default=K, help="of MNIST and Fashion-MNIST")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--picture", type=Path)
    asked, _ = parser.parse_known_args()
    every = not (asked.tables or asked.images or asked.edges or asked.picture)
    if asked.tables or every:
        tables(asked.jobs, asked.datasets, asked.methods or USUAL)
    if asked.images or every:
        images(asked.jobs, asked.seed, asked.methods or (*USUAL, "UMAP"), asked.k)
    if asked.edges:
        edges(asked.seed)
    if asked.picture:
        draw(asked.picture)


if __name__ == "__main__":
    main()
