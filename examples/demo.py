"""Map handwritten digits, unroll a noisy swiss roll, look at patches, and say what was found.

Writes ``digits.png``, ``roll.png``, ``patches.png`` and ``explorer.html``, a page to explore the
digits with, into ``demo/``.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits, load_wine, make_swiss_roll
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from patchfold import GaussianPatch, Patches, PatchIsomap, divergences, explore
from patchfold.evaluation.sampling import folds
from patchfold.graph.geodesics import shortest_paths
from patchfold.metrics import rank_correlation
from patchfold.neighbors import find_neighbors
from patchfold.plotting import plot_embedding, plot_patches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from patchfold.explorer import Explorer

ROOT = Path(__file__).resolve().parents[1]

N_NEIGHBORS, ROLL_SEED = 15, 1
# A turn of the roll is 2 pi of its parameter t. Neighbours on one sheet differ by a fraction of a
# turn, an edge to the next sheet by about a whole one.
HALF_TURN = np.pi

CLASS_COLORS = ("#0072b2", "#009e73", "#d55e00")


@dataclass(frozen=True)
class PatchGraph:
    """Patches and the edges between neighbours, each pair once, measured in two ways."""

    patches: Patches
    i: npt.NDArray[np.intp]
    j: npt.NDArray[np.intp]
    divergence: npt.NDArray[np.float64]
    length: npt.NDArray[np.float64]

    @classmethod
    def of(cls, X: npt.NDArray[np.float64]) -> PatchGraph:
        """Fit patches to the nearest neighbours of every point and compare them along edges."""
        near = find_neighbors(X, N_NEIGHBORS)
        patches = GaussianPatch().fit(X, near)
        ends = np.sort(np.stack([near.sources, near.indices], axis=1), axis=1)
        i, j = np.unique(ends, axis=0).T
        return cls(
            patches,
            i,
            j,
            divergence=divergences.paired(patches, i, j, "kl"),
            length=divergences.paired(patches, i, j, "euclidean"),
        )


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description="Map digits, unroll a roll, look at patches.")
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "demo",
        help="the folder for the pictures (default: demo of the repository)",
    )
    output: Path = parser.parse_args().output

    figures = {}
    figures["digits.png"] = Figure(figsize=(10, 5), layout="constrained")
    map_digits(figures["digits.png"])
    print()
    X, t = make_swiss_roll(1000, noise=0.5, random_state=ROLL_SEED)
    figures["roll.png"] = Figure(figsize=(10, 3.4), layout="constrained")
    unroll(X, t, figures["roll.png"])
    print()
    figures["patches.png"] = Figure(figsize=(10, 4.6), layout="constrained")
    left, right = figures["patches.png"].subplots(1, 2)
    swiss_roll(X, t, left)
    print()
    wine(right)
    print()
    for name, figure in figures.items():
        try:
            save(figure, output / name)
        except OSError as error:
            sys.exit(f"demo: cannot write {output / name}: {error.strerror}")
        print(f"Picture: {output / name}")
    page = explore_digits()
    try:
        path = page.save(output / "explorer.html")
    except OSError as error:
        sys.exit(f"demo: cannot write {output / 'explorer.html'}: {error.strerror}")
    print(f"Page:    {path}")
    print("         Open it in a browser: point at a digit, click two, move k, select an island.")


def map_digits(figure: Figure) -> None:
    """Map handwritten digits by Isomap and by PatchIsomap; say how well digits stand apart."""
    X, y = load_digits(return_X_y=True)
    print(f"Handwritten digits: {len(X)} images of 8 x 8 pixels, {N_NEIGHBORS} neighbours")
    print("  named by their seven neighbours on the map")
    methods = Isomap(n_neighbors=N_NEIGHBORS), PatchIsomap(n_neighbors=N_NEIGHBORS)
    for ax, method in zip(figure.subplots(1, 2), methods, strict=True):
        places = method.fit_transform(X)
        named = cross_val_score(KNeighborsClassifier(7), places, y, cv=folds(y, 5)).mean()
        name = type(method).__name__
        print(f"  {name:42}{named:6.0%}")
        plot_embedding(places, y.astype(str), ax=ax)
        decorate(ax, f"{name}: {named:.0%} of digits named by their neighbours", "", "")
        ax.set(xticks=[], yticks=[])


def unroll(X: npt.NDArray[np.float64], t: npt.NDArray[np.float64], figure: Figure) -> None:
    """Embed the roll by Isomap and by PatchIsomap, and compare with the true geodesics."""
    isomap = Isomap(n_neighbors=N_NEIGHBORS).fit(X)
    patches = PatchIsomap(n_neighbors=N_NEIGHBORS).fit(X)
    # On the roll without noise: along its spiral, whose arc length is known, and across.
    arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    height = make_swiss_roll(len(X), noise=0.0, random_state=ROLL_SEED)[0][:, 1]
    true = pdist(np.column_stack([arc, height]))
    print(f"Swiss roll, noise 0.5: {len(X)} points, {N_NEIGHBORS} neighbours")
    print("  rank correlation with the true geodesics   graph   embedding")
    panels = zip(
        figure.subplots(1, 2),
        ("Isomap", "PatchIsomap"),
        (isomap.dist_matrix_, shortest_paths(patches.graph_)),
        (isomap.embedding_, patches.embedding_),
        strict=True,
    )
    for ax, name, geodesics, embedding in panels:
        by_graph = rank_correlation(geodesics, true)
        by_place = rank_correlation(pdist(embedding), true)
        print(f"  {name:42}{by_graph:6.3f}{by_place:12.3f}")
        ax.scatter(*embedding.T, s=6, c=t, cmap="viridis", linewidths=0)
        decorate(ax, f"{name}: rank correlation of geodesics {by_graph:.2f}", "", "")
        ax.set(xticks=[], yticks=[])
    print("  This is one roll; docs/evidence/stability.md has ten, over noise and k.")


def explore_digits() -> Explorer:
    """Make a page of the digits, with their images, mapped with and without patches over k."""
    X, y = load_digits(return_X_y=True)
    return explore(X, y.astype(str), n_neighbors=[10, 15, 30], title="Handwritten digits")


def swiss_roll(X: npt.NDArray[np.float64], t: npt.NDArray[np.float64], ax: Axes) -> None:
    """Look for edges that jump between the sheets of a swiss roll."""
    graph = PatchGraph.of(X)
    jumps = np.abs(t[graph.i] - t[graph.j]) > HALF_TURN
    report(
        "Swiss roll, noise 0.5",
        graph,
        jumps,
        "jump between sheets: their ends are more than half a turn of the roll apart",
        ("jumping", "others"),
    )

    plot_patches(
        graph.patches,
        edges=(graph.i, graph.j),
        values=graph.divergence,
        features=(0, 2),
        label="divergence of an edge (kl)",
        ax=ax,
    )
    decorate(ax, f"Swiss roll: {jumps.sum()} of {jumps.size} edges jump between sheets", "x", "z")


def wine(ax: Axes) -> None:
    """Look for edges that join wines of different classes."""
    X, y = load_wine(return_X_y=True)
    # All components are kept: a rotation, which changes neither distances nor divergences, and the
    # first two can be drawn.
    graph = PatchGraph.of(PCA().fit_transform(StandardScaler().fit_transform(X)))
    crossing = y[graph.i] != y[graph.j]
    report(
        "Wine, standardised",
        graph,
        crossing,
        "join wines of different classes",
        ("between classes", "within a class"),
    )

    plot_patches(
        graph.patches,
        edges=(graph.i, graph.j),
        values=graph.divergence,
        colors=[CLASS_COLORS[label] for label in y],
        n_ellipses=30,
        label="divergence of an edge (kl)",
        ax=ax,
    )
    decorate(
        ax,
        f"Wine: {crossing.sum()} of {crossing.size} edges join different classes",
        "first principal component",
        "second principal component",
    )
    dots = [Line2D([], [], color=color, marker="o", linestyle="") for color in CLASS_COLORS]
    ax.legend(
        dots,
        [f"class {label}" for label in range(3)],
        frameon=False,
        loc="lower left",
        handletextpad=0,
    )


def report(
    title: str,
    graph: PatchGraph,
    special: npt.NDArray[np.bool_],
    what: str,
    names: tuple[str, str],
) -> None:
    """Print how well divergence and length tell special edges from the others."""
    n, m = graph.patches.means.shape
    count = int(special.sum())
    measures = (graph.divergence, graph.length)
    rows = [
        (f"median, {names[0]}", [f"{np.median(v[special]):.2f}" for v in measures]),
        (f"median, {names[1]}", [f"{np.median(v[~special]):.2f}" for v in measures]),
        (
            "ROC AUC (1: told apart, 0.5: chance)",
            [f"{roc_auc_score(special, v):.4f}" for v in measures],
        ),
        (f"{names[0]}, of the {count} largest", [str(top(v, special)) for v in measures]),
    ]
    print(f"{title}: {n} points, {m} features, {N_NEIGHBORS} neighbours")
    print(f"  patches  {form(graph.patches)}")
    print(f"  edges    {count} of {special.size} {what}")
    print(f"  {'':40}{'kl':>10}{'Euclidean':>12}")
    for name, (divergence, length) in rows:
        print(f"  {name:40}{divergence:>10}{length:>12}")


def form(patches: Patches) -> str:
    """Say how the covariances are kept."""
    if patches.factored:
        return f"covariances of rank {patches.directions.shape[2]} and a ridge"
    return f"full {patches.n_features} x {patches.n_features} covariances"


def top(values: npt.NDArray[np.float64], special: npt.NDArray[np.bool_]) -> int:
    """Count the special edges among as many edges with the largest values."""
    return int(special[np.argsort(-values, kind="stable")[: special.sum()]].sum())


def decorate(ax: Axes, title: str, xlabel: str, ylabel: str) -> None:
    """Give a panel its words and take away what carries no information."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_title(title, loc="left", fontsize=11)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.spines[["top", "right"]].set_visible(False)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, whole or not at all."""
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=160)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.stem}-{os.getpid()}.png")
    try:
        # A palette of 256 colours takes a third of the space and looks the same.
        Image.open(drawn).convert("RGB").quantize(256, kmeans=3).save(part, optimize=True)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
