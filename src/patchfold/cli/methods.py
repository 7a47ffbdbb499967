"""What ``patchfold compare`` compares: the classical methods, and this library's estimators."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import triu
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, Isomap, LocallyLinearEmbedding, SpectralEmbedding

from patchfold.embedding import PatchIsomap, PatchSpace
from patchfold.embedding.methods import METHODS, divergence_parameters, supervised_parameters
from patchfold.evaluation.comparison import PASSTHROUGH, Method, umap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scipy.sparse import csr_array

# The name of the method without an embedding.
ALL_COLUMNS = "all columns"
# Neighbours in the graph whose geodesics all planes are held against.
PATH_NEIGHBORS = 15
# Where only the graph is looked at, the embedding may be coarse.
FEW_LANDMARKS = 50
# scikit-learn's perplexity of t-SNE; few rows have a smaller one, as in PatchTSNE.
PERPLEXITY = 30.0


def methods(
    n_train: int,
    *,
    divergences: Sequence[str],
    n_neighbors: Any = 15,
    classes: bool = True,
    random_state: int = 0,
    installed: Callable[[str], object] = find_spec,
) -> list[Method]:
    """List the methods to compare.

    Each of this library's estimators is there once for each divergence. With ``n_neighbors="auto"``
    they choose, and the others have 15. ``n_train`` is the number of rows in a training half;
    without ``classes`` there is no supervised method. Methods of packages that are not
    ``installed`` are left out.

    Examples
    --------
    >>> found = methods(75, divergences=["kl"])
    >>> [method.name for method in found if not method.maps]
    ['spectral embedding', 't-SNE']
    """
    plain = n_neighbors if isinstance(n_neighbors, int) else min(15, n_train - 1)
    found = _classical(n_train, plain, random_state)
    if installed("umap"):
        found.append(Method("UMAP", "", umap(2, plain, random_state)))
    shared = {"n_neighbors": n_neighbors, "random_state": random_state}
    for name, kind in METHODS.items():
        if name == "tsne" and not installed("openTSNE"):
            continue
        for divergence in divergences:
            estimator = kind(**divergence_parameters(name, divergence), **shared)
            found.append(Method(kind.__name__, divergence, estimator))
    if classes:
        for divergence in divergences:
            # Lengths and map as in the paper of SA-Isomap.
            own = supervised_parameters("isomap") | {"supervision": "dissimilarity"}
            estimator = PatchIsomap(divergence=divergence, **own, **shared)
            found.append(Method("PatchIsomap, supervised", divergence, estimator, supervised=True))
    return found


def euclidean_graph(prepare: Any, features: Any) -> csr_array:
    """Return the Euclidean graph of all rows, whose geodesics planes are held against.

    It joins the nearest neighbours, all others where there are fewer, and components by their
    closest pairs. It is the graph of none of the methods. ``prepare``, unfitted, makes points of
    features.
    """
    points = clone(prepare).fit_transform(features)
    space = PatchSpace(n_neighbors=min(PATH_NEIGHBORS, len(points) - 1), divergence="euclidean")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of components, which it joins
        return space.fit(points).graph_


def equal_rows(scores: Sequence[Any], points: Callable[[], Any], n_neighbors: int) -> list[str]:
    """Say which rows of a comparison are equal, and that nothing was stretched where it is so.

    ``points()`` gives the points of all rows; it is called only where rows are equal.
    """
    groups: dict[tuple[Any, ...], list[str]] = {}
    for score in scores:
        if score.divergence and not score.error:
            key = (score.name, score.mean, score.low, score.trust, score.stress)
            groups.setdefault(key, []).append(score.divergence)
    equal = [(key[0], names) for key, names in groups.items() if len(names) > 1]
    if not equal:
        return []
    rows = points()
    quiet = {
        name: changed_edges(rows, name, n_neighbors) == 0
        for name in sorted({name for _, names in equal for name in names})
    }
    reason = ", because these divergences find no short circuit here and stretch nothing"
    return [
        f"{method}: the rows of {', '.join(names)} are equal"
        + (reason if all(quiet[name] for name in names) else "")
        for method, names in equal
    ]


def changed_edges(points: Any, divergence: str, n_neighbors: int) -> int:
    """Count the edges that a divergence stretches or removes in the graph of a PatchIsomap.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> points = load_wine().data / load_wine().data.std(axis=0)
    >>> changed_edges(points, "hellinger", 15), changed_edges(points, "kl", 15) > 0
    (0, True)
    """
    count = min(n_neighbors, len(points) - 1)
    graphs = []
    for name in (divergence, "euclidean"):
        estimator = PatchIsomap(n_neighbors=count, divergence=name, landmarks=FEW_LANDMARKS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graphs.append(estimator.set_params(random_state=0).fit(points).patch_graph_)
    patched, plain = graphs
    upper = triu(patched.matrix, k=1).tocoo()
    ends = [np.asarray(end, dtype=np.intp) for end in upper.coords]
    lengths = patched.lengths.plain(*ends)
    removed = (plain.matrix.nnz - patched.matrix.nnz) // 2
    return int(removed + (upper.data > lengths * (1 + 1e-6)).sum())


def _classical(n_train: int, k: int, seed: int) -> list[Method]:
    spectral = SpectralEmbedding(affinity="nearest_neighbors", n_neighbors=k, random_state=seed)
    tsne = TSNE(random_state=seed, perplexity=min(PERPLEXITY, max(1.0, (n_train - 1) / 3)))
    return [
        Method(ALL_COLUMNS, "", PASSTHROUGH),
        Method("PCA", "", PCA(2, random_state=seed)),
        Method("Isomap", "", Isomap(n_neighbors=k)),
        Method("LLE", "", LocallyLinearEmbedding(n_neighbors=k, random_state=seed)),
        Method("spectral embedding", "", spectral),
        Method("t-SNE", "", tsne),
    ]
