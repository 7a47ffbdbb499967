"""Draw the pictures that the README and the pages of the site show, and print their numbers.

``python examples/pictures.py`` draws all of them into ``docs/``, ``python examples/pictures.py
digits`` the one of the README.
"""

from __future__ import annotations

import argparse
import warnings
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from PIL import Image
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits, load_wine, make_swiss_roll
from sklearn.manifold import Isomap
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from patchfold import GaussianPatch, PatchIsomap, divergences
from patchfold.evaluation.sampling import folds
from patchfold.metrics import rank_correlation
from patchfold.neighbors import find_neighbors
from patchfold.plotting import CLASS_COLORS, plot_embedding, plot_loadings

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DOCS = Path(__file__).resolve().parents[1] / "docs"

INK, SHEET, JUMP = "#334155", "#94a3b8", "#d62728"

DIGIT_COLORS = np.array(CLASS_COLORS[:10])

# Digits at the ends of a line through the plane.
WALK = (2, 5)


def main() -> None:
    """Draw the pictures that are named, or all."""
    parser = argparse.ArgumentParser(description="Draw the pictures of README and site.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    names = parser.parse_args().names
    if unknown := set(names) - set(PICTURES):
        parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(PICTURES)}")
    for name in names or PICTURES:
        path, draw = PICTURES[name]
        figure = draw()
        save(figure, DOCS / path)
        print(f"{name}: {DOCS / path}")


def digits() -> Figure:
    """Draw handwritten digits in the plane, by Isomap and by PatchIsomap."""
    X, y = load_digits(return_X_y=True)
    figure = Figure(figsize=(10, 4.9), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12)
    for ax, method in zip(
        figure.subplots(1, 2),
        (Isomap(n_neighbors=15), PatchIsomap(n_neighbors=15)),
        strict=True,
    ):
        Y = method.fit_transform(X)
        named = cross_val_score(KNeighborsClassifier(7), Y, y, cv=folds(y, 5)).mean()
        print(f"{type(method).__name__}: seven neighbours in the plane name {named:.2f} of digits")
        ax.scatter(*Y.T, c=DIGIT_COLORS[y], s=7, linewidths=0)
        for digit in range(10):
            _numeral(ax, Y[y == digit], digit)
        ax.set_title(
            f"{type(method).__name__}: {named:.0%} named by their neighbours",
            fontsize=14,
            color=INK,
        )
        bare(ax)
    return figure


def _numeral(ax: Axes, places: Floats, digit: int) -> None:
    """Write a digit into the middle of its points."""
    frame = {"boxstyle": "circle,pad=0.18", "fc": "white", "lw": 1.6}
    ax.text(
        *np.median(places, axis=0),
        str(digit),
        ha="center",
        va="center",
        fontsize=13,
        weight="bold",
        color="black",
        bbox={**frame, "ec": DIGIT_COLORS[digit]},
    )


def wine() -> Figure:
    """Draw wines in the plane, as the start page does."""
    data = load_wine()
    model = PatchIsomap().fit(StandardScaler().fit_transform(data.data))
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    growers = np.array(["grower 1", "grower 2", "grower 3"])
    plot_embedding(model.embedding_, growers[data.target], ax=figure.subplots())
    return figure


def roll(n: int = 1000, noise: float = 0.5, seed: int = 1) -> tuple[Floats, Floats, Floats]:
    """Return a noisy swiss roll, the angle of its points, and their true distances."""
    X, t = make_swiss_roll(n, noise=noise, random_state=seed)
    # Along its spiral, whose arc length is known, and across, without the noise.
    arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    height = make_swiss_roll(n, noise=0.0, random_state=seed)[0][:, 1]
    return X, t, pdist(np.column_stack([arc, height]))


def several_k() -> Figure:
    """Draw the roll at three k, with and without patches."""
    X, t, true = roll()
    figure = Figure(figsize=(10, 5.6), layout="constrained")
    for row, method in zip(figure.subplots(2, 3), (Isomap, PatchIsomap), strict=True):
        for ax, k in zip(row, (6, 15, 30), strict=True):
            Y = method(n_neighbors=k).fit_transform(X)
            agreement = rank_correlation(pdist(Y), true)
            print(f"{method.__name__}, k = {k}: rank correlation {agreement:.3f}")
            ax.scatter(*Y.T, c=t, cmap="viridis", s=5, linewidths=0)
            ax.set_title(f"{method.__name__}, k = {k}: {agreement:.2f}", fontsize=12, color=INK)
            bare(ax)
    X, _, true = roll(seed=0)
    agreement = rank_correlation(pdist(PatchIsomap().fit_transform(X)), true)
    print(f"PatchIsomap, k = 15, seed 0 instead of 1: {agreement:.3f}")
    return figure


def new_data() -> Figure:
    """Draw fitted digits in grey, and new ones by class."""
    X, y = load_digits(return_X_y=True)
    model = PatchIsomap().fit(X[:1000])
    new = model.transform(X[1000:])
    named = KNeighborsClassifier(7).fit(model.embedding_, y[:1000]).score(new, y[1000:])
    print(f"seven fitted neighbours on the plane name {named:.2f} of the new digits")
    figure = Figure(figsize=(7, 4.6), layout="constrained")
    ax = figure.subplots()
    ax.scatter(*model.embedding_.T, c="#cbd5e1", s=12, linewidths=0)
    ax.scatter(*new.T, c=DIGIT_COLORS[y[1000:]], s=9, linewidths=0)
    for digit in range(10):
        _numeral(ax, new[y[1000:] == digit], digit)
    bare(ax)
    return figure


def going_back() -> Figure:
    """Draw digits in the plane, a line through them, and the digits that belong to its places."""
    X, y = load_digits(return_X_y=True)
    model = PatchIsomap().fit(X)
    places = model.embedding_
    ends = [np.median(places[y == digit], axis=0) for digit in WALK]
    line = np.linspace(*ends, 12)
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    grid = figure.add_gridspec(2, len(line), height_ratios=(5, 1))
    ax = figure.add_subplot(grid[0, :])
    ax.scatter(*places.T, c=DIGIT_COLORS[y], s=7, linewidths=0)
    for digit in range(10):
        _numeral(ax, places[y == digit], digit)
    ax.plot(*line.T, "-o", c=INK, lw=1.5, ms=5, zorder=2)
    bare(ax)
    for number, image in enumerate(model.inverse_transform(line)):
        ax = figure.add_subplot(grid[1, number])
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("#cbd5e1")
    return figure


def loadings() -> Figure:
    """Draw the strongest features of wines as arrows over them."""
    data = load_wine(as_frame=True).data
    model = PatchIsomap().fit(StandardScaler().set_output(transform="pandas").fit_transform(data))
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    plot_loadings(model, ax=figure.subplots())
    return figure


def distances() -> Figure:
    """Draw distances on the map over the true ones."""
    X, _, true = roll()
    some = np.random.default_rng(0).choice(len(true), 4000, replace=False)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for ax, method in zip(
        figure.subplots(1, 2), (Isomap(n_neighbors=15), PatchIsomap()), strict=True
    ):
        found = pdist(method.fit_transform(X))
        agreement = rank_correlation(found, true)
        print(f"{type(method).__name__}: rank correlation {agreement:.3f}")
        ax.scatter(
            true[some], found[some] * np.median(true) / np.median(found), s=3, c=INK, linewidths=0
        )
        ax.set(xlabel="true distance along the roll", ylabel="distance on the map, rescaled")
        ax.set_title(f"{type(method).__name__}: {agreement:.2f}", fontsize=12, color=INK)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def islands() -> Figure:
    """Draw two groups, with and without points between them."""
    rng = np.random.default_rng(0)
    groups = np.vstack([rng.normal(0, 0.4, (150, 3)), rng.normal([5, 0, 0], 0.4, (150, 3))])
    bridge = np.column_stack([np.linspace(1, 4, 12), rng.normal(0, 0.1, (12, 2))])
    colors = np.repeat(["#0072b2", "#d55e00"], 150)
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    for ax, between in zip(figure.subplots(1, 2), (bridge[:0], bridge), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that there are two components
            Y = PatchIsomap().fit_transform(np.vstack([groups, between]))
        ax.scatter(*Y[:300].T, c=colors, s=8, linewidths=0)
        ax.scatter(*Y[300:].T, c=INK, s=14, linewidths=0)
        ax.set_title(f"{len(between)} points between the groups", fontsize=12, color=INK)
        bare(ax)
    return figure


def labels() -> Figure:
    """Draw wine without labels, and by two rules for them."""
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    for ax, rule in zip(figure.subplots(1, 3), (None, "cut", "dissimilarity"), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that labels cut the graph
            Y = PatchIsomap(supervision=rule).fit_transform(X, y)
        ax.scatter(*Y.T, c=np.array(CLASS_COLORS[:3])[y], s=12, linewidths=0)
        ax.set_title(f"supervision={rule!r}", fontsize=12, color=INK)
        bare(ax)
    return figure


def memory() -> Figure:
    """Draw the roll by all geodesics, and by those of landmarks."""
    X, t, true = roll(2000, 0.2)
    figure = Figure(figsize=(9, 3), layout="constrained")
    for ax, landmarks in zip(figure.subplots(1, 2), (None, 200), strict=True):
        Y = PatchIsomap(landmarks=landmarks, random_state=0).fit_transform(X)
        agreement = rank_correlation(pdist(Y), true)
        ax.scatter(*Y.T, c=t, cmap="viridis", s=5, linewidths=0)
        which = "all 2000 points" if landmarks is None else f"{landmarks} landmarks"
        print(f"{which}: rank correlation {agreement:.3f}")
        ax.set_title(f"{which}: {agreement:.3f}", fontsize=12, color=INK)
        bare(ax)
    return figure


def beyond_one_machine() -> Figure:
    """Draw the rows of a roll by the part of a cluster that holds them, and their embedding."""
    import dask.array as da

    from distributed import Client

    X, t = make_swiss_roll(600, noise=0.3, random_state=0)
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        rows = da.from_array(X, chunks=(200, 3))
        model = PatchIsomap(landmarks=100, random_state=0).fit(rows)
        Y = model.embedding_.compute()
        parts = [part.result() for part in model.patch_graph_.shared.ids]
    figure = Figure(figsize=(9, 3), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2, width_ratios=(1, 2))
    for part, color in zip(parts, CLASS_COLORS, strict=False):
        left.scatter(X[part, 0], X[part, 2], s=6, color=color, linewidths=0)
    left.set_title(f"the roll in {len(parts)} parts", fontsize=12, color=INK)
    right.scatter(*Y.T, c=t, cmap="viridis", s=6, linewidths=0)
    right.set_title("its map", fontsize=12, color=INK)
    for ax in (left, right):
        bare(ax)
    return figure


def spiral() -> Floats:
    """Return points near a spiral in the plane: a manifold that can be drawn as it is."""
    rng = np.random.default_rng(4)
    t = np.sqrt(np.linspace(2.0, 13.0**2, 300))
    return np.column_stack([t * np.cos(t), t * np.sin(t)]) + rng.normal(0, 0.75, (300, 2))


def steps() -> Figure:
    """Draw the steps from points to patches to a graph without short circuits."""
    X = spiral()
    near = find_neighbors(X, 15)
    model = PatchIsomap().fit(X)
    kept = model.graph_.tocoo()
    figure = Figure(figsize=(10, 10), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    for ax in panels:
        ax.scatter(*X.T, s=8, c=INK, linewidths=0, zorder=3)
        bare(ax)
    panels[0].set_title("1. Neighbours: 15 nearest of every point", fontsize=13, color=INK)
    draw_edges(panels[0], X, near.sources, near.indices, SHEET)
    panels[1].set_title("2. Patches: the Gaussian of each neighbourhood", fontsize=13, color=INK)
    draw_patches(panels[1], model.patches_, range(0, len(X), 6))
    panels[2].set_title(
        "3. Divergences: dark edges join patches that differ", fontsize=13, color=INK
    )
    values = np.log(divergences.paired(model.patches_, near.sources, near.indices, "kl") + 1)
    draw_edges(
        panels[2], X, near.sources, near.indices, mpl.colormaps["magma_r"](values / values.max())
    )
    panels[3].set_title("4. Graph: short circuits are gone", fontsize=13, color=INK)
    draw_edges(panels[3], X, kept.row, kept.col, SHEET)
    return figure


def draw_edges(ax: Axes, X: Floats, i: Any, j: Any, colors: Any) -> None:
    """Draw edges between points."""
    ax.add_collection(LineCollection(X[np.stack([i, j], axis=1)], colors=colors, linewidths=0.7))


def draw_patches(ax: Axes, patches: Any, which: Any) -> None:
    """Draw patches as ellipses of two standard deviations."""
    covariances = patches.covariances()
    for one in which:
        values, vectors = np.linalg.eigh(covariances[one])
        angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
        width, height = 4 * np.sqrt(values[::-1])
        ax.add_patch(
            Ellipse(
                patches.means[one], width, height, angle=angle, fc="#0072b233", ec="#0072b2", lw=1.2
            )
        )


def lengths() -> Figure:
    """Draw the edges of the roll by their length and by their divergence."""
    X, t, _ = roll(seed=0)
    near = find_neighbors(X, 15)
    patches = GaussianPatch().fit(X, near)
    i, j = np.unique(np.sort(np.stack([near.sources, near.indices], axis=1), axis=1), axis=0).T
    length = divergences.paired(patches, i, j, "euclidean")
    divergence = divergences.paired(patches, i, j, "kl")
    jumps = np.abs(t[i] - t[j]) > np.pi
    for name, value in {"length": length, "divergence": divergence}.items():
        top = jumps[np.argsort(-value)[: jumps.sum()]].sum()
        print(f"of the {jumps.sum()} edges of greatest {name}, {top} jump between sheets")
    figure = Figure(figsize=(7, 4), layout="constrained")
    ax = figure.subplots()
    for chosen, color, size, label in (
        (~jumps, SHEET, 5, "along the roll"),
        (jumps, JUMP, 26, "short circuits"),
    ):
        ax.scatter(length[chosen], divergence[chosen], c=color, s=size, linewidths=0, label=label)
    ax.set(xlabel="length of the edge", ylabel="divergence of its patches (kl)", yscale="log")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return figure


def trust() -> Figure:
    """Draw digits by class, by the trust in their neighbours, and by how stable their place is."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:1000], y[:1000]
    model = PatchIsomap(random_state=0).fit(X)
    panels = {"digit": y, "trust": model.trust(), "stability": model.stability()}
    related = np.corrcoef(panels["trust"], panels["stability"])[0, 1]
    print(f"correlation of trust and stability: {related:.2f}")
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    for ax, (name, values) in zip(figure.subplots(1, 3), panels.items(), strict=True):
        shared = {"s": 6, "linewidths": 0}
        if name == "digit":
            ax.scatter(*model.embedding_.T, c=DIGIT_COLORS[values], **shared)
            for digit in range(10):
                _numeral(ax, model.embedding_[y == digit], digit)
        else:
            low = np.quantile(values, 0.05)
            twos = values[y == 2].mean()
            print(f"{name}: mean {values.mean():.2f}, one in 20 below {low:.2f}, twos {twos:.2f}")
            dots = ax.scatter(*model.embedding_.T, c=values, vmin=0, vmax=1, **shared)
            figure.colorbar(dots, ax=ax, shrink=0.7)
        ax.set_title(name, fontsize=12, color=INK)
        bare(ax)
    return figure


def cells() -> Figure:
    """Draw a simulated differentiation with doublets by type and by bridges, and blood cells."""
    import scanpy as sc
    from anndata import AnnData

    from patchfold import anndata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are not unique
        alone, blood = sc.datasets.krumsiek11(), sc.datasets.pbmc68k_reduced()
        types = alone.obs["cell_type"].astype(str).to_numpy()
        rows = np.random.default_rng(0).permutation(np.flatnonzero(types != "progenitor"))
        doublets = alone.X[rows[:80].reshape(2, 40)].mean(axis=0)
        fates = AnnData(np.vstack([alone.X, doublets]))
        fates.obs["cell_type"] = [*types, *["doublet"] * 40]
        anndata.isomap(fates)
        found = anndata.bridges(fates, "cell_type")
        anndata.tsne(blood)
    figure = Figure(figsize=(13, 3.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.1, 1, 1.25])
    places = fates.obsm["X_patch_isomap"]
    plot_embedding(places, fates.obs["cell_type"], ax=left).set_title("isomap: types of cells")
    worst = fates.obs["patch_bridge"]
    plot_embedding(places, worst, ax=middle).set_title("bridges: worst edge of a cell")
    types = blood.obs["bulk_labels"].astype(str).str.split("/").str[-1]
    plot_embedding(blood.obsm["X_patch_tsne"], types, ax=right).set_title("tsne: blood cells")
    for ax in (left, middle, right):
        bare(ax)
        ax.set(xlabel="", ylabel="")
    print(f"{len(found)} bridges")
    return figure


def bare(ax: Axes) -> None:
    """Take away ticks, and keep equal axes."""
    ax.set(xticks=[], yticks=[])
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.04)
    ax.spines[:].set_color("#cbd5e1")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG of 256 colours, which takes a third of the space."""
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=120)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.open(drawn).convert("RGB").quantize(256, kmeans=3).save(path, optimize=True)


PICTURES: dict[str, tuple[str, Callable[[], Figure]]] = {
    "digits": ("digits.png", digits),
    "wine": ("start-wine.png", wine),
    "k": ("guide/k.png", several_k),
    "new-data": ("guide/new-data.png", new_data),
    "going-back": ("guide/going-back.png", going_back),
    "loadings": ("guide/loadings.png", loadings),
    "distances": ("guide/distances.png", distances),
    "islands": ("guide/islands.png", islands),
    "labels": ("guide/labels.png", labels),
    "memory": ("guide/memory.png", memory),
    "beyond-one-machine": ("guide/beyond-one-machine.png", beyond_one_machine),
    "trust": ("guide/trust.png", trust),
    "cells": ("guide/single-cells.png", cells),
    "method": ("method/steps.png", steps),
    "lengths": ("method/lengths.png", lengths),
}

if __name__ == "__main__":
    main()
