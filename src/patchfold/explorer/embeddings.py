"""Embeddings for a page: fitted over methods, divergences and k, or taken from estimators."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.sparse import triu
from sklearn.decomposition import PCA

from patchfold.base.arrays import to_numpy
from patchfold.embedding import PatchSpace
from patchfold.embedding.methods import METHODS, divergence_parameters
from patchfold.explorer.columns import unused
from patchfold.explorer.given import coordinates
from patchfold.explorer.views import ellipses, placed
from patchfold.neighbors import SharedNeighbors, find_neighbors
from patchfold.selection import select_n_neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from patchfold.base.types import Doubles, Floats, Indices, RowMetricName
    from patchfold.explorer.loadings import Loadings
    from patchfold.graph.patch_graph import PatchGraph
    from patchfold.patches.gaussians import Patches

    Step = Callable[[str], None]  # is told what comes next

# The slider where the caller names no k: (largest number of points, values). Each step is a fit and
# a share of the page, so there are fewer for many points.
SLIDER = ((20_000, (6, 10, 15, 20, 30)), (100_000, (10, 15, 20)), (np.inf, (15,)))
# The divergence that colours edges where the lengths are of none.
COLOURING = "kl"
# Patches of more than MOST_BYTES, of about DIRECTIONS directions each, are made of components.
DIRECTIONS, MOST_BYTES, COMPONENTS = 16, 2**30, 100
# What patches know is shown of data of at most MOST_KNOWN values.
MOST_KNOWN = 5_000_000
# Neighbours of the patches behind coordinates of others, fewer for few points, and what is said.
GIVEN_NEIGHBORS = 15
GIVEN_NOTE = "coordinates as given; edges and patches are of X, with {k} neighbours"
# What is said of a fit by another metric.
METRIC_NOTE = "trust is by the {metric} metric, as the fit"


@dataclass(frozen=True, eq=False)
class Fitted:
    """One embedding, as an estimator found it, and what a pane of the page shows of it."""

    # What the page's switches call it; None where there is nothing to switch.
    method: str
    divergence: str | None
    k: int | None
    plane: Doubles  # the embedding, as `placed` puts it
    graph: csr_array  # the edges above the diagonal, with their lengths
    measure: str  # what edges are coloured by
    # The divergence of the patches at the ends of each edge, or its length where there are none.
    colours: Floats
    ellipses: Doubles | None  # the patches in the plane, (n, 5)
    notes: tuple[str, ...] = ()  # what the fit had to say
    # What patches know of every point; empty where another embedding of the page has it.
    known: dict[str, Doubles] = field(default_factory=dict)
    given: bool = False  # whether others have computed the coordinates
    metric: RowMetricName = "euclidean"  # by which points are neighbours, for the trust
    trust: Doubles = field(default_factory=lambda: np.empty(0))  # from 0 to 1, when it is known
    loadings: Loadings | None = None


def choose_k(X: Doubles, methods: Sequence[str], divergences: Sequence[str], **common: Any) -> int:
    """Choose the number of neighbours for the first method and the first divergence of patches."""
    estimator = _estimator(methods[0], _of_patches(divergences, "euclidean"), **common)
    return int(select_n_neighbors(estimator, X).n_neighbors)


def fit_all(
    X: Doubles,
    methods: Sequence[str],
    divergences: Sequence[str],
    ks: Sequence[int],
    step: Step,
    **common: Any,
) -> list[Fitted]:
    """Fit one estimator per method, divergence and k.

    All share neighbours. Those whose patches are alike share these, and the divergences of pairs.
    """
    # t-SNE has smaller patches: its fits come last. What has patches comes before the classical
    # method, which shows the same, and the largest k first: what it finds serves the others.
    grid = sorted(
        product(methods, divergences, ks),
        key=lambda fit: (fit[0] == "tsne", -fit[2], fit[1] == "euclidean"),
    )
    shared = SharedNeighbors()
    colouring = _of_patches(divergences, COLOURING)
    fitted: list[Fitted] = []
    alike: list[tuple[PatchGraph, list[int]]] = []
    graph, of = None, (False, 0)
    for method, divergence, k in grid:
        step(f"{method}, {divergence}, k = {k}")
        estimator = _estimator(method, divergence, n_neighbors=k, knn=shared, **common)
        notes = _fit(estimator, X)
        if estimator.patch_graph_.patches is not None:
            graph, of = estimator.patch_graph_, (method == "tsne", k)
        elif graph is None or of != (method == "tsne", k):
            graph = _graph_of_patches(
                X, n_neighbors=k, divergence=colouring, knn=shared, n_jobs=common["n_jobs"]
            )
            of = method == "tsne", k
        if not alike or alike[-1][0].patches is not graph.patches:
            alike.append((graph, []))
        alike[-1][1].append(len(fitted))
        measure = colouring if divergence == "euclidean" else divergence
        lengths = replace(graph.lengths, divergence=measure)
        compare = partial(lengths.divergences, knn=shared)
        found = _found(estimator.embedding_, estimator.graph_, measure, compare)
        known = {} if any(one.known for one in fitted) else known_of(estimator, X)
        fitted.append(Fitted(method, divergence, k, *found, None, notes, known))
    step("patches")
    for graph, rows in alike:
        planes = [fitted[row].plane for row in rows]
        for row, drawn in zip(rows, _drawn(graph, planes, common["n_jobs"]), strict=True):
            fitted[row] = replace(fitted[row], ellipses=drawn)
    order: dict[Any, int] = {
        fit: place for place, fit in enumerate(product(ks, methods, divergences))
    }
    return sorted(fitted, key=lambda one: order[one.k, one.method, one.divergence])


def fit_beside(
    embeddings: Mapping[Any, Any],
    X: Doubles,
    methods: Sequence[str],
    divergences: Sequence[str],
    n_neighbors: int | str | None,
    step: Step,
    **common: Any,
) -> tuple[dict[Any, Any], tuple[str, ...]]:
    """Fit one estimator per method; the first of them stands before the embeddings of others.

    Each has the first divergence of patches. Return all of them, and what the fits had to say.
    """
    k = min(GIVEN_NEIGHBORS, max(len(X) // 2, 1)) if n_neighbors is None else n_neighbors
    divergence = _of_patches(divergences, "euclidean")
    fits: dict[Any, Any] = {}
    notes: list[str] = []
    for method in methods:
        step(f"{method}, {divergence}, k = {k}")
        label = unused(METHODS[method].__name__, embeddings, " (fitted)")
        fits[label] = _estimator(method, divergence, n_neighbors=k, **common)
        notes += [f"{label}: {note}" for note in _fit(fits[label], X)]
    # The first two are shown side by side: one of each.
    first = {**dict([*fits.items()][:1]), **dict([*embeddings.items()][:1])}
    return {**first, **fits, **embeddings}, tuple(notes)


def _estimator(method: str, divergence: str, **parameters: Any) -> Any:
    return METHODS[method](**parameters, **divergence_parameters(method, divergence))


def _of_patches(divergences: Sequence[str], otherwise: str) -> str:
    """Return the first divergence that compares patches."""
    return next((name for name in divergences if name != "euclidean"), otherwise)


def compressed(X: NDArray[Any]) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return points whose patches fit into little memory, and what was done to them.

    Patches keep as many directions as they have points, each as long as a point: 70 000 images of
    784 pixels would have 7 GB of them. Where they would have more than 1 GB, the points are their
    leading 100 principal components.
    """
    n, m = X.shape
    if n * m * DIRECTIONS * X.itemsize <= MOST_BYTES or m <= COMPONENTS:
        return X, ()
    pca = PCA(COMPONENTS, svd_solver="covariance_eigh")
    points = np.ascontiguousarray(pca.fit_transform(X))
    share = float(pca.explained_variance_ratio_.sum())
    note = (
        f"fitted to the leading {COMPONENTS} principal components of the {m} features, which hold "
        f"{share:.0%} of the variance; trust is of all features"
    )
    return points, (note,)


def from_estimators(
    estimators: Mapping[Any, Any], X: Doubles, step: Step, n_jobs: int | None = None
) -> list[Fitted]:
    """Take what estimators of any library have found, or coordinates.

    What has no patches gets the recommended ones of ``X``, fitted once for all.
    """
    step("patches")
    fitted: list[Fitted] = []
    space = None
    for label, estimator in estimators.items():
        places = coordinates(label, estimator, X)
        notes: tuple[str, ...] = ()
        own = hasattr(estimator, "embedding_") and hasattr(estimator, "patch_graph_")
        metric: RowMetricName = estimator.patch_graph_.setting.metric if own else "euclidean"
        if own:
            knowing, points = estimator, X
            notes = () if metric == "euclidean" else (METRIC_NOTE.format(metric=metric),)
        else:
            if space is None:
                fewer, said = compressed(X)
                k = max(min(GIVEN_NEIGHBORS, len(X) // 2), 1)
                space = PatchSpace(
                    n_neighbors=k, divergence=COLOURING, n_jobs=n_jobs, random_state=0
                )
                _fit(space, fewer)
                said = (GIVEN_NOTE.format(k=space.n_neighbors_), *said)
            knowing, points, notes = space, fewer, said
        graph, measure = _shown(knowing, points)
        compare = None if graph is None else graph.lengths.divergences
        found = _found(places, knowing.graph_, measure, compare)
        drawn = None if graph is None else _drawn(graph, [found[0]], n_jobs)[0]
        known = {} if any(one.known for one in fitted) else known_of(knowing, points)
        fitted.append(Fitted(str(label), None, None, *found, drawn, notes, known, not own, metric))
    return fitted


def known_of(estimator: Any, X: Doubles) -> dict[str, Doubles]:
    """Return what the patches of a fitted estimator know of every point, by name.

    The local dimension, the logarithm of the density, and how strange a point is among its
    neighbours: minus :meth:`score_samples`. Nothing where there are no patches of neighbours, too
    many values to be quick, or other features than those of the fit.
    """
    patches = estimator.patches_
    if patches is None or patches.sample is None or X.size > MOST_KNOWN:
        return {}
    if X.shape[1] != estimator.n_features_in_:
        return {}
    dimension = to_numpy(patches.dimension(estimator.n_jobs))
    typical = max(1, round(float(np.median(dimension))))  # as log_density has it by itself
    return {
        "local dimension": dimension,
        "log density": to_numpy(patches.log_density(typical)),
        "strangeness": -np.asarray(estimator.score_samples(X)),
    }


def _shown(estimator: Any, X: Doubles) -> tuple[PatchGraph | None, Any]:
    """Return the graph whose patches a page shows of an estimator, and their divergence.

    None where distances were given.
    """
    if estimator.divergence == "precomputed":
        return None, "distance"
    if estimator.patches_ is not None:
        return estimator.patch_graph_, estimator.divergence
    own = {name: getattr(estimator, name) for name in ("patch", "radius", "n_jobs")}
    k = estimator.n_neighbors_ or 1
    return _graph_of_patches(X, n_neighbors=k, divergence=COLOURING, **own), COLOURING


def _graph_of_patches(X: Doubles, **parameters: Any) -> PatchGraph:
    """Return the graph of patches that are shown beside a graph without them."""
    space = PatchSpace(**parameters)
    _fit(space, X)
    return space.patch_graph_


def _found(
    embedding: Any,
    lengths: csr_array,
    measure: Any,
    compare: Callable[[Indices, Indices], Floats] | None,
) -> tuple[Doubles, csr_array, str, Floats]:
    """Return what a page shows of an embedding: plane, graph, measure and colours of edges.

    ``compare`` gives the divergences of the patches at both ends of edges.
    """
    plane = placed(embedding)
    # Explicit zeros are edges, which triu keeps.
    graph = triu(lengths, k=1, format="csr")
    graph.sort_indices()
    name = measure if isinstance(measure, str) else getattr(measure, "__name__", "divergence")
    if compare is None:
        return plane, graph, name, graph.data
    # Lengths need not be divergences: classes or the scale of the neighbourhood may stretch them.
    ends = np.repeat(np.arange(len(plane)), np.diff(graph.indptr)), graph.indices.astype(np.intp)
    colours = compare(*ends)
    if np.allclose(colours, graph.data, rtol=1e-6, atol=0):
        colours = graph.data  # the page keeps equal arrays once
    return plane, graph, name, colours


def _drawn(graph: PatchGraph, planes: list[Doubles], n_jobs: int | None) -> list[Doubles]:
    """Return the patches of a graph as ellipses in planes."""
    patches, setting = cast("Patches", graph.patches_of_rows), graph.setting
    if patches.sample is not None:
        members = patches.sample.members
        if graph.copies is not None:
            members = graph.copies.named(members)
    else:  # out of a file
        size = None if setting.radius is not None else setting.patch_size
        points = graph.lengths.points
        found = find_neighbors(points, size, radius=setting.radius, n_jobs=n_jobs)
        members = setting.members(found)
    return ellipses(patches, members, planes, n_jobs)


def slider(n: int) -> tuple[int, ...]:
    """Return the values of k for ``n`` points: at most half of them.

    Patches of nearly all points would nearly be the same.

    Examples
    --------
    >>> slider(1000), slider(25), slider(7)
    ((6, 10, 15, 20, 30), (6, 10), (3,))
    """
    values = next(values for most, values in SLIDER if n <= most)
    return tuple(k for k in values if k <= n // 2) or (max(n // 2, 1),)


def _fit(estimator: Any, X: Doubles) -> tuple[str, ...]:
    """Fit an estimator and return its warnings, which the page shows beside the embedding."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        estimator.fit(X)
    return tuple(dict.fromkeys(str(warning.message) for warning in caught))
