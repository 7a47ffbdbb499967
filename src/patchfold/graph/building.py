"""From points, or given distances, to one frozen graph: neighbours, patches, edges, components."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import sklearn

from patchfold.base.arrays import to_numpy
from patchfold.base.validation import is_sparse, warn_user
from patchfold.gpu.devices import put
from patchfold.graph import components, edges
from patchfold.graph.lengths import Lengths
from patchfold.graph.patch_graph import GraphSetting, PatchGraph
from patchfold.graph.pruning import candidates, pruned_lengths
from patchfold.graph.short_circuits import Typical
from patchfold.neighbors.approximate import ApproximateNeighbors
from patchfold.neighbors.exact import ExactNeighbors
from patchfold.neighbors.fitted_rows import RowTable
from patchfold.neighbors.given import GivenNeighbors, given_neighbors, nearest_by_value
from patchfold.neighbors.protocol import check_found
from patchfold.neighbors.search import SharedNeighbors, neighbor_search
from patchfold.patches.denoising import fit_denoised
from patchfold.patches.sample import Sample
from patchfold.patches.span import DIRECTIONS, Span

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from patchfold.base.types import Floats, Indices, Stage
    from patchfold.graph.short_circuits import Candidates
    from patchfold.neighbors.copies import DistinctNeighbors
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.neighbors.protocol import NeighborSearch
    from patchfold.patches.denoising import Denoised
    from patchfold.patches.gaussian_patch import GaussianPatch
    from patchfold.patches.gaussians import Patches
    from patchfold.supervision import Codes


# Multiplications that comparing all patches of a table with more columns than rows may take: about
# half a minute of one core. 900 rows of 5000 columns need as many.
MOST_WORK = 2e11

# Labels make an edge of more than STRETCH median lengths: nothing else shows beside it.
STRETCH = 1e6


def build_graph(
    X: Any,
    setting: GraphSetting,
    codes: Codes | None = None,
    stage: Stage = lambda _: nullcontext(),
    rows: RowTable | None = None,
) -> PatchGraph:
    """Build the graph of points: search, fit patches, measure edges, join components.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, m)
        Points; patches of sparse ones are fitted in the span of their leading directions. For
        ``divergence="precomputed"`` square distances, or a sparse graph of them.
    setting : GraphSetting
    codes : array of shape (n,) or None
        The class of every point, -1 where it is not known.
    stage : callable
        ``stage(name)`` is entered while a stage runs: progress and times.
    rows : RowTable or None
        That of the points, where it is known.

    Returns
    -------
    PatchGraph

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> setting = GraphSetting(degree=1, divergence="euclidean")
    >>> build_graph(X, setting).matrix.toarray()
    array([[0., 1., 0., 0.],
           [1., 0., 2., 0.],
           [0., 2., 0., 4.],
           [0., 0., 4., 0.]])
    """
    searched = _search(X, setting, stage)
    points, span = X, None
    if is_sparse(X) and not setting.precomputed:
        with stage("leading directions"):
            span = Span.of(X)
        if setting.patch is not None:
            points = span(X)
            span.warn()
    patches, denoised = None, None
    if setting.patch is not None:
        with stage("patches"):
            patches, denoised = _fit_patches(points, searched, setting, setting.patch)
    lengths = Lengths(points, patches, setting.divergence, setting.n_jobs, setting.rule, codes)
    chosen = _choose_edges(searched, lengths, setting, stage)
    check_degrees(chosen, setting)
    i, j, pairs = edges.undirected(chosen)
    if patches is not None and setting.pruned:
        plain, lengths = _prune(i, j, searched, lengths, setting, stage)
    else:
        with stage("divergences"):
            plain = edges.shortest(chosen, pairs) if patches is None else lengths.plain(i, j)
    if patches is not None and len(plain) and not plain.any() and np.ptp(points, axis=0).any():
        warn_user(
            "all divergences are zero although the points differ: every patch has the same "
            "points. Lower n_neighbors, or the size of the patch."
        )
    stays = np.isfinite(plain)  # short circuits have an infinite length
    labelled = plain.copy()
    labelled[stays] = lengths.labelled(plain[stays], i[stays], j[stays])
    near = edges.with_lengths(chosen, labelled[pairs])
    kept = np.isfinite(labelled)
    near, matrix = _join(near, (i[kept], j[kept], labelled[kept]), lengths, setting, stage)
    if setting.supervision is not None and stays.any():
        _warn_of_stretch(matrix, lengths, float(np.median(plain[stays])), setting)
    # A shared search holds the neighbours of every estimator that shares it: do not keep it.
    if isinstance(setting.knn, SharedNeighbors):
        setting = replace(setting, knn=setting.knn.knn)
    graph = PatchGraph(
        replace(setting, device=None),
        # A point whose own edges were all removed gets the points that list it as a neighbour.
        neighborhoods=edges.with_incoming(near, matrix),
        matrix=matrix,
        lengths=lengths.without_points() if setting.precomputed else lengths,
        search=getattr(searched.search, "origin", searched.search),
        reach=searched.reach,
        pooled=searched.pooled,
        denoised=denoised,
        span=span,
        rows=RowTable(X) if rows is None and not setting.precomputed else rows,
        removed=np.column_stack([i[~stays], j[~stays]]),
    )
    return graph if setting.device is None else graph.on(None)


@dataclass(frozen=True, eq=False)
class _Searched:
    """The neighbours that patches and edges are made of, and the search that found them."""

    neighborhoods: Neighborhoods
    search: NeighborSearch | None = None
    reach: int | None = None
    pooled: bool = False


def _search(X: Any, setting: GraphSetting, stage: Stage) -> _Searched:
    """Search the Euclidean neighbours, or read those that are given."""
    if setting.precomputed:
        return _Searched(given_neighbors(X, setting.degree, setting.radius, own=True))
    n = X.shape[0]
    m = min(X.shape[1], DIRECTIONS) if is_sparse(X) else X.shape[1]
    pooled = setting.by_divergence and not all_pairs_suit(setting, n, m, X.dtype.itemsize)
    reach = setting.reach(n, pooled=pooled)
    with stage("neighbours"):
        search = search_for(X, setting, reach).build(X)
        near = check_found(search, search.query(), n, n)
    if reach is None:
        return _Searched(near, search, reach, pooled)
    fewest = int(near.degrees.min())
    # An approximate search of ours may miss some neighbours of a few points.
    if fewest < reach and not isinstance(setting.knn, str | SharedNeighbors):
        given = isinstance(setting.knn, GivenNeighbors)
        which = "(indices, distances) has" if given else f"{type(setting.knn).__name__} found"
        raise ValueError(
            f"knn={which} only {fewest} neighbours of a point, and {reach} are needed "
            f"(n_neighbors={setting.degree}, size of patches {setting.patch_size}); give as many, "
            "or lower both."
        )
    return _Searched(near.nearest(reach), search, reach, pooled)


def all_pairs_suit(
    setting: GraphSetting, n: int, m: int, itemsize: int, *, most_work: float = MOST_WORK
) -> bool:
    """Tell whether to compare the patches of all pairs of ``n`` points: there is room, and time.

    The room is scikit-learn's working memory. Time is short only in tables with more columns than
    rows, where one comparison takes long.
    """
    if n * n * itemsize > sklearn.get_config()["working_memory"] * 2**20:
        return False
    rank = min(setting.patch_size, m)
    if setting.patch is not None and setting.patch.rank is not None:
        rank = min(rank, setting.patch.rank)
    return m <= n or n * n / 2 * m * rank**2 <= most_work


def search_for(X: Floats, setting: GraphSetting, n_neighbors: int | None) -> NeighborSearch:
    """Return a search that suits points like these."""
    if setting.device is not None:
        return ExactNeighbors(n_neighbors or 0).on(setting.device)
    return neighbor_search(
        setting.knn,
        n_neighbors=n_neighbors,
        radius=setting.radius,
        n_samples=X.shape[0],
        n_features=X.shape[1],
        n_jobs=setting.n_jobs,
        random_state=setting.random_state,
    )


def _fit_patches(
    X: Floats, searched: _Searched, setting: GraphSetting, patch: GaussianPatch
) -> tuple[Patches, Denoised | None]:
    """Fit the patches; with a shared search, take equal ones that another estimator has fitted."""
    members = setting.members(searched.neighborhoods)
    make = partial(_make_patches, X, members, searched, setting, patch)
    if isinstance(setting.knn, SharedNeighbors) and setting.knn.has(X):
        return setting.knn.once("patches", (repr(patch), int(members.degrees.max())), make)
    return make()


def _make_patches(
    X: Floats,
    members: Neighborhoods,
    searched: _Searched,
    setting: GraphSetting,
    patch: GaussianPatch,
) -> tuple[Patches, Denoised | None]:
    if setting.device is not None:
        X = put(X, setting.device)
    search = None
    # Refining the neighbours of the points is as accurate as a second search, and faster.
    origin = getattr(searched.search, "origin", searched.search)
    approximate = isinstance(origin, ApproximateNeighbors | GivenNeighbors)
    if patch.denoise and not approximate:
        size = None if setting.radius is not None else int(members.degrees.max())
        search = search_for(X, setting, size)
    denoised = None
    if patch.denoise:
        patches, denoised = fit_denoised(patch, X, members, search, setting.n_jobs)
    else:
        patches = patch.gaussians(X, members, n_jobs=setting.n_jobs)
    return patches.fitted_to(Sample(to_numpy(X), np.arange(len(patches)), members)), denoised


def _choose_edges(
    searched: _Searched, lengths: Lengths, setting: GraphSetting, stage: Stage
) -> Neighborhoods:
    """Choose the edges of the graph: the nearest points, or the nearest patches."""
    k, near = setting.degree, searched.neighborhoods
    if k is None or (setting.precomputed and is_sparse(lengths.points)):
        return near
    # Without patches the search has ranked by length; only labels can change the ranking.
    ranked = lengths.patches is None and setting.supervision is None
    if not setting.by_divergence or ranked:
        return near.nearest(k)
    with stage("neighbours under the divergence"):
        if searched.pooled:
            return edges.nearest_among(near, k, lengths.plain, lengths.order)
        order = None if setting.supervision is None else lengths.order_of_rows
        return nearest_by_value(lengths.matrix(), k, own=True, order=order)


def _prune(
    i: Indices,
    j: Indices,
    searched: _Searched,
    lengths: Lengths,
    setting: GraphSetting,
    stage: Stage,
) -> tuple[Floats, Lengths]:
    """Return the lengths of edges, infinite for short circuits, and what measures other pairs."""
    with stage("divergences"):
        typical, asked, distances, disagreement = _compare(i, j, searched, lengths, setting)
    with stage("short circuits"):
        n, judged = len(searched.neighborhoods), (asked, distances, disagreement)
        how = setting.n_jobs, setting.device
        plain = pruned_lengths(*judged, typical.distance, n, *how)
    return plain, lengths.pruned(typical)


def _compare(
    i: Indices, j: Indices, searched: _Searched, lengths: Lengths, setting: GraphSetting
) -> tuple[Typical, Candidates, Floats, Floats]:
    """Return what is typical of edges, those to judge, their distances and disagreement."""
    asked = candidates((i, j), searched.neighborhoods, setting)
    values = lengths.divergences(asked.i, asked.j, setting.knn)
    distances = lengths.apart(asked.i, asked.j, setting.knn)
    typical = Typical.of(distances[asked.nearest], values[asked.nearest])
    return typical, asked, distances, typical.disagreement(values)


def compared(graph: PatchGraph) -> tuple[Candidates, Floats, Floats]:
    """Return the edges that a fitted graph of patches chose from, their distances and disagreement.

    The edges are those before short circuits were removed, found by the same search. Copies of a
    row are one point, and have one number.
    """
    search, lengths = cast("NeighborSearch", graph.search), graph.lengths.of_distinct(graph.copies)
    if graph.copies is not None:
        search = cast("DistinctNeighbors", search).search
    found = search.query()
    found = found if graph.reach is None else found.nearest(graph.reach)
    searched = _Searched(found, search, graph.reach, graph.pooled)
    chosen = _choose_edges(searched, lengths, graph.setting, lambda _: nullcontext())
    i, j, _ = edges.undirected(chosen)
    return _compare(i, j, searched, lengths, graph.setting)[1:]


def _join(
    near: Neighborhoods,
    kept: tuple[Indices, Indices, Floats],
    lengths: Lengths,
    setting: GraphSetting,
    stage: Stage,
) -> tuple[Neighborhoods, csr_array]:
    """Join components, each by the closest pair, and say so where labels do not explain it."""
    i, j, values = kept
    n = len(near)
    matrix = edges.symmetric(i, j, values, n)
    if not setting.joined and setting.supervision is None:
        return near, matrix
    count, labels = components.n_components(matrix)
    if count == 1:
        return near, matrix
    if setting.precomputed and is_sparse(lengths.points):
        under = "" if setting.supervision is None else f" under supervision={setting.supervision!r}"
        raise ValueError(
            f"the given graph has {count} components{under}; add edges until it is connected, "
            "or pass all distances as a dense matrix."
        )
    warn_of_components(count, setting)
    with stage("joining components"):
        if joins_points(setting, n, lengths.points.shape[1], lengths.points.dtype.itemsize):
            closest = components.closest_points(lengths.points, setting.n_jobs)
        else:
            closest = components.closest_by_gaps(lengths.gaps)
        a, b = components.joining_edges(labels, closest)
    extra = lengths.order(lengths.plain(a, b), a, b).astype(values.dtype, copy=False)
    ends = np.concatenate([i, a]), np.concatenate([j, b])
    matrix = edges.symmetric(*ends, np.concatenate([values, extra]), n)
    return edges.with_edges(near, a, b, extra), matrix


def warn_of_components(count: int, setting: GraphSetting) -> None:
    """Say that components are joined, where labels do not explain why there are several."""
    if setting.supervision is None:
        which = "n_neighbors" if setting.radius is None else "radius"
        warn_user(
            f"the neighbourhood graph has {count} components; they were joined by their closest "
            f"pairs. A larger {which} may connect them, or treat them separately."
        )


def joins_points(setting: GraphSetting, n: int, m: int, itemsize: int) -> bool:
    """Tell whether the closest points join components, of ``n`` points in ``m`` dimensions.

    Else the pair is the closest in what the length of an edge is: under the divergence of patches,
    the labelled or the given distance. Points join them where short circuits are removed, or where
    there is no room for the divergences of all pairs.
    """
    if setting.patch is None:
        return setting.supervision is None and not setting.precomputed
    return setting.pruned or not all_pairs_suit(setting, n, m, itemsize)


def check_degrees(near: Neighborhoods, setting: GraphSetting) -> None:
    """Refuse points with fewer neighbours than are needed, before labels remove any."""
    name, least = setting.needs
    fewest = int(near.degrees.min())
    if fewest < least:
        which, remedy = "the search found", "search more"
        if setting.radius is not None:
            which, remedy = f"radius={setting.radius} leaves", "enlarge radius"
        elif setting.precomputed:
            which, remedy = "the given graph has", "add edges"
        raise ValueError(
            f"{name}={least} needs at least as many neighbours of every point, "
            f"{which} a point with {fewest}; {remedy} or lower {name}."
        )


def _warn_of_stretch(
    matrix: csr_array, lengths: Lengths, plain: float, setting: GraphSetting
) -> None:
    """Warn when labels make an edge longer than STRETCH times the median.

    ``plain`` is the median length before.
    """
    longest = int(np.argmax(matrix.data))
    i = np.searchsorted(matrix.indptr, longest, side="right") - 1
    before = float(lengths.plain(*np.array([[i], [matrix.indices[longest]]]))[0])
    length, typical = float(matrix.data[longest]), float(np.median(matrix.data))
    if length > STRETCH * typical > 0 and length * plain > 10 * before * typical:
        remedy = ""  # most divergences have no unit that X could change
        if lengths.patches is None:
            remedy = "multiply X by a small number, or "
        elif setting.pruned:
            remedy = "use lengths='divergence', or "
        warn_user(
            f"supervision={setting.supervision!r} stretches edges to {length:.2g}, where "
            f"{typical:.2g} is the median, so that nothing else shows in the embedding; "
            f"{remedy}give Dissimilarity(beta=...) a larger beta."
        )
