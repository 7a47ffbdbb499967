"""The figures of the papers that show results, drawn from what is computed here.

ISOMAP-KL, PELLE and ELAP print maps, X-space a grid of settings, and ELAP two cuts of one graph.
The schemes (ISOMAP-KL 1, X-space 1 and 2, ELAP 2) show no result and are not drawn. Of all figures
we know caption and text only, not the picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from sklearn.neighbors import NearestNeighbors

from patchfold import datasets, papers
from patchfold.base.validation import collected_warnings, require
from patchfold.datasets.loading import at_hand
from patchfold.embedding import PatchEigenmaps
from patchfold.evaluation import document
from patchfold.evaluation.criteria import Setting, energy
from patchfold.evaluation.document import Block
from patchfold.papers.reproduction import baselines, elap, experiment, isomap_kl, pelle, xspace
from patchfold.plotting import CHOICE_COLOR, CURVE_COLOR, plot_embedding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from patchfold.base.types import Doubles, Floats, LaplacianName, Mask

    # A drawn figure, and a table of its numbers: the header, then the rows.
    Drawn = tuple[Figure, list[tuple[str, ...]]]

PAGE = "figures.md"
DPI = 110
# Inches of a panel with a map, and of the legend beside the last one.
SIDE, LEGEND = 3.3, 0.9

# X-space's Figure 3: its ranges of m and of the neighbourhood size, and the restarts of k-means.
RANGE = range(3, 26)
RESTARTS = 50

# ELAP's Figure 1 has no data set. Ours: a dense and a sparse group, so many points in each.
GROUP = 60
SPREADS, APART = (0.5, 1.2), 2.6
NEIGHBORS, T = 8, 0.25


@dataclass(frozen=True)
class Plate:
    """One figure of a paper."""

    name: str  # as in the file's name
    title: str
    data: tuple[str, ...]  # the data sets it needs
    paper: str  # what the paper's shows
    ours: str  # whether ours agrees
    draw: Callable[[], Drawn]


def draw_all(folder: Path, names: Sequence[str] | None = None, *, quick: bool = False) -> list[str]:
    """Draw the figures whose data sets are at hand, and write the page about them.

    With ``names`` of data sets it is the figures of these, fetched if need be; a ``quick`` run
    leaves out those with more than :data:`~.experiment.QUICK_ROWS` points. Return the names of the
    files written, the page first.
    """
    require("matplotlib", "drawing figures", extra="plot")
    wanted = {
        name
        for name, entry in at_hand(names).items()
        if not (quick and entry.shape[0] > experiment.QUICK_ROWS)
    }
    shown = [
        plate for plate in PLATES if wanted.issuperset(plate.data) and (plate.data or names is None)
    ]
    blocks = [
        document.heading(1, "The papers' figures"),
        document.code("patchfold reproduce figures"),
        document.text(INTRODUCTION),
    ]
    pictures = []
    for plate in shown:
        with collected_warnings():  # graphs in parts, kernels without weight: part of the pictures
            figure, (header, *rows) = plate.draw()
        file = f"figure-{plate.name}.png"
        figure.savefig(folder / file, dpi=DPI, metadata={"Software": None})
        pictures.append(file)
        blocks += [
            document.heading(2, plate.title),
            document.text(f"The paper: {plate.paper}"),
            Block(f"![{document.plain(plate.title)}]({file})", ""),
            document.grid(header, rows),
            document.text(f"Ours: {plate.ours}"),
        ]
    left_out = [plate.title for plate in PLATES if plate not in shown]
    if left_out:
        blocks.append(document.text(f"Not drawn: {'; '.join(left_out)}."))
    (folder / PAGE).write_text(document.to_markdown(blocks), encoding="utf-8")
    return [PAGE, *pictures]


# ---------------------------------------------------------------- maps


def overlap(plane: Floats, y: Any) -> float:
    """Return the share of points whose nearest other point has another class.

    Examples
    --------
    >>> overlap(np.array([[0.0], [1.0], [5.0], [5.5]]), np.array([0, 0, 0, 1]))
    0.5
    """
    nearest = NearestNeighbors(n_neighbors=1).fit(plane).kneighbors(return_distance=False)[:, 0]
    return float(np.mean(y[nearest] != y))


def maps(planes: Sequence[tuple[str, Floats]], y: Any) -> Drawn:
    """Draw maps of the same points side by side, coloured by class."""
    figure = _figure(len(planes) * SIDE + LEGEND, SIDE + 0.2)
    rows: list[tuple[str, ...]] = [("map", "silhouette", "nearest point of another class")]
    for place, (title, plane) in enumerate(planes):
        ax = figure.add_subplot(1, len(planes), place + 1)
        plot_embedding(plane, y, ax=ax)
        if place < len(planes) - 1 and (legend := ax.get_legend()) is not None:
            legend.remove()  # the last one's serves all
        ax.set_title(title, fontsize=10)
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
        rows.append((title, f"{silhouette_score(plane, y):.3f}", f"{overlap(plane, y):.1%}"))
    return figure, rows


def _isomap_kl(name: str, k: int) -> Drawn:
    X, y = isomap_kl.points(name)
    planes = [
        (f"Isomap, K = {k}", baselines.embed("ISO", X, n_neighbors=k)),
        ("ISOMAP-KL, authors' program", isomap_kl.published_isomap_kl(X, k)),
        ("ISOMAP-KL, equations", papers.isomap_kl(k).fit_transform(X)),
    ]
    return maps(planes, y)


def _corral(k: int) -> Drawn:
    X, y = experiment.standardised("corral")
    planes = [
        (f"LLE, K = {k}", experiment.baseline("LLE", X, k)),
        ("PELLE, authors' program", pelle.published(X, k)),
        ("PELLE, equations", papers.pelle(k).fit_transform(X)),
    ]
    return maps(planes, y)


def _parity(k: int) -> Drawn:
    X, y = experiment.standardised("parity5")
    planes = [
        (f"Laplacian eigenmaps, K = {k}", experiment.baseline("LAP", X, k)),
        ("ELAP, authors' program", elap.published(X, k)),
        ("ELAP, equations", papers.elap(k).fit_transform(X)),
    ]
    return maps(planes, y)


# ---------------------------------------------------------------- X-space's Figure 3


def energy_and_loss(
    name: str,
    sizes: Sequence[int] = RANGE,
    neighbors: Sequence[int] = RANGE,
    divergence: str = xspace.DIVERGENCES[0],
) -> tuple[Doubles, Doubles]:
    """Return X-LEM's energy and the loss of k-means, one row per m, a column per neighbourhood.

    The loss is the sum of squares within clusters, the eigenvectors being of unit length.
    """
    classes = len(datasets.load(name).labels)
    gained, lost = np.empty((2, len(sizes), len(neighbors)))
    for row, size in enumerate(sizes):
        D = xspace.distances(name, divergence, size)
        for column, k in enumerate(neighbors):
            estimator = PatchEigenmaps(
                classes - 1,
                n_neighbors=k,
                divergence="precomputed",
                kernel="exponential",
                bandwidth="median",
                laplacian="random-walk",
            ).fit(D)
            gained[row, column] = energy(estimator, D, Setting())
            places = estimator.embedding_ / np.linalg.norm(estimator.embedding_, axis=0)
            clusters = KMeans(classes, n_init=RESTARTS, random_state=0).fit(places)
            lost[row, column] = clusters.inertia_
    return gained, lost


def _energies(names: Sequence[str]) -> Drawn:
    figure = _figure(9.0, 7.4)
    header = ("data", "rank correlation", "least loss at", "settings with less energy there")
    rows: list[tuple[str, ...]] = [(*header, "mean loss, m <= 8", "mean loss, m >= 20")]
    for column, name in enumerate(names):
        gained, lost = energy_and_loss(name)
        for row, (words, values) in enumerate((("energy", gained), ("k-means loss", lost))):
            ax = figure.add_subplot(2, len(names), row * len(names) + column + 1)
            ends = (RANGE[0] - 0.5, RANGE[-1] + 0.5)
            picture = ax.imshow(values, origin="lower", extent=(*ends, *ends), aspect="auto")
            figure.colorbar(picture, ax=ax).outline.set_visible(False)
            ax.set_title(f"{name}: {words}", fontsize=10)
            ax.set(xlabel="neighbourhood size of LEM", ylabel="m, points in a patch")
        sizes = np.array(RANGE)
        m, k = np.unravel_index(lost.argmin(), lost.shape)
        rows.append(
            (
                name,
                f"{spearmanr(gained.ravel(), lost.ravel()).statistic:.2f}",
                f"m = {sizes[m]}, {sizes[k]} neighbours",
                f"{np.mean(gained < gained[m, k]):.0%}",
                f"{lost[sizes <= 8].mean():.3f}",
                f"{lost[sizes >= 20].mean():.3f}",
            )
        )
    return figure, rows


# ---------------------------------------------------------------- ELAP's Figure 1


def two_groups() -> Doubles:
    """Return the points of a dense group, then those of a sparse one."""
    draw = np.random.default_rng(0)
    dense, sparse = (draw.normal(0.0, spread, (GROUP, 2)) for spread in SPREADS)
    return np.vstack([dense, sparse + np.array([APART, 0.0])])


def halved(X: Doubles, laplacian: LaplacianName) -> tuple[Mask, float, float]:
    """Cut the graph of points by the sign of the Fiedler vector of a Laplacian.

    Return one side with its RCut (eq. 27) and NCut (eq. 34).
    """
    estimator = PatchEigenmaps(
        1,
        n_neighbors=NEIGHBORS,
        divergence="euclidean",
        kernel="gaussian",
        bandwidth=T,
        laplacian=laplacian,
    ).fit(X)
    W = csr_array(estimator.graph_, copy=True)
    W.data = np.exp(-(W.data**2) / T)
    side = np.asarray(estimator.embedding_[:, 0] > 0)
    between, degrees = float(W[side][:, ~side].sum()), np.asarray(W.sum(axis=1)).ravel()
    ratio, normalised = (
        between * (1 / sizes[side].sum() + 1 / sizes[~side].sum()) / 2
        for sizes in (np.ones(len(X)), degrees)
    )
    return side, float(ratio), float(normalised)


def _cuts() -> Drawn:
    X = two_groups()
    figure = _figure(2 * SIDE + LEGEND, SIDE)
    rows: list[tuple[str, ...]] = [("Laplacian", "smaller side", "RCut", "NCut")]
    kinds: tuple[tuple[str, LaplacianName], ...] = (
        ("unnormalised", "unnormalized"),
        ("normalised", "random-walk"),
    )
    for place, (words, laplacian) in enumerate(kinds):
        side, ratio, normalised = halved(X, laplacian)
        small = side if side.sum() * 2 <= len(X) else ~side
        ax = figure.add_subplot(1, 2, place + 1)
        for who, color, size in ((~small, CURVE_COLOR, 12), (small, CHOICE_COLOR, 22)):
            ax.scatter(X[who, 0], X[who, 1], s=size, c=color, linewidths=0)
        ax.set_title(f"{words} Laplacian", fontsize=10)
        ax.set(xticks=[], yticks=[], aspect="equal")
        rows.append((words, f"{small.sum()} of {len(X)}", f"{ratio:.4f}", f"{normalised:.4f}"))
    return figure, rows


def _figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure((width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


# ---------------------------------------------------------------- what is said

INTRODUCTION = (
    "Of the papers' figures we know captions and text, not the pictures. Maps are coloured by "
    "class; the program's map is what printed numbers come from, the equations' map what the paper "
    "describes. A nearest point of another class is a sign of overlap."
)

PLATES = (
    Plate(
        "isomap-kl-2",
        "ISOMAP-KL, Figure 2: mfeat-fourier",
        ("mfeat-fourier",),
        "scatter plots of mfeat-fourier in the plane, Isomap above, ISOMAP-KL below. Clusters of "
        "ISOMAP-KL show less overlapping.",
        "agrees. Isomap lays all classes but two over each other; ISOMAP-KL takes much of "
        "3, 6, 7 and 8 apart as well. The rest still overlaps. Program and equations give nearly "
        "the same map.",
        partial(_isomap_kl, "mfeat-fourier", 40),
    ),
    Plate(
        "isomap-kl-3",
        "ISOMAP-KL, Figure 3: texture",
        ("texture",),
        "scatter plots of texture in the plane, Isomap above, ISOMAP-KL below. Clusters of "
        "ISOMAP-KL show less overlapping.",
        "agrees. Isomap lays most classes over each other along a bow; ISOMAP-KL takes 6, 12 and "
        "13 apart. The graph has two parts, of which one is class 7. The program sets distances "
        "without a path to zero, so class 7 falls among the others; by the equations it lies as "
        "far off as its closest pair.",
        partial(_isomap_kl, "texture", 40),
    ),
    Plate(
        "xspace-3",
        "X-space, Figure 3: energy and loss",
        ("iris", "wine"),
        "the energy of X-LEM, and the loss of k-means on its map, over m and the neighbourhood "
        "size, for iris and wine. Regions of high energy overlap with regions of least loss, and "
        "small m give the better defined clusters.",
        "agrees in part. The least loss is at a small m, where the energy is high, on both data "
        "sets. But the loss is not low wherever the energy is high: over all settings the two go "
        "together on iris only. Small m have the lower loss on wine; on iris they have the least "
        "and the greatest. The paper names neither the divergence nor sigma; ours are Jeffreys' "
        "and the median of the edges.",
        partial(_energies, ("iris", "wine")),
    ),
    Plate(
        "pelle-1",
        "PELLE, Figure 1: corral",
        ("corral",),
        "corral in the plane, LLE above, PELLE with K = 14 below. The two classes overlap less "
        "with PELLE.",
        "agrees. With LLE more points lie beside a point of the other class. The program's map is "
        "the clearest, but no divergence is left in it: all its weights are equal. By the "
        "equations one cluster stays mixed.",
        partial(_corral, 14),
    ),
    Plate(
        "elap-1",
        "ELAP, Figure 1: two Laplacians, two cuts",
        (),
        "a scheme: the normalised and the unnormalised Laplacian approximate different minimum "
        "cuts. It has no data set.",
        "agrees, on data of our own: a dense group and a sparse one. The unnormalised Laplacian "
        "cuts off a single point and has the smaller RCut; the normalised one tells the groups "
        "apart and has the smaller NCut.",
        _cuts,
    ),
    Plate(
        "elap-3",
        "ELAP, Figure 3: parity5",
        ("parity5",),
        "parity5 in the plane, Laplacian eigenmaps and ELAP with K = 2. Classes are told apart "
        "more clearly with ELAP, because clusters overlap less.",
        "agrees with the program's map alone. It tells the classes apart without an error, "
        "because pairs that are no neighbours have the weight 1. By the equations nearly all "
        "edges lose their weight, and 28 of the 32 points fall on one place.",
        partial(_parity, 2),
    ),
)
