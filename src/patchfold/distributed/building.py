"""From rows on a cluster to the graph of their patches: the steps, one after the other."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from patchfold.base.validation import warn_user
from patchfold.distributed import fitting, judging, learning, links, refining, rows
from patchfold.distributed.components import components
from patchfold.distributed.graph import ClusterGraph, Fitted
from patchfold.distributed.halo import Exchange
from patchfold.distributed.joining import joined
from patchfold.distributed.searching import Search
from patchfold.graph.short_circuits import RECIPE
from patchfold.neighbors.search import exact_suits

if TYPE_CHECKING:
    from patchfold.base.types import Stage
    from patchfold.distributed.connection import Cluster
    from patchfold.graph.patch_graph import GraphSetting
    from patchfold.graph.short_circuits import Evidence, Typical
    from patchfold.patches.recipe import GaussianPatch


# Recall of an approximate search below which a fit warns.
LOW_RECALL = 0.9


def build_on_cluster(
    cluster: Cluster,
    shared: rows.Shared,
    setting: GraphSetting,
    stage: Stage = lambda _: nullcontext(),
) -> ClusterGraph:
    """Build the graph of rows, as :func:`patchfold.graph.building.build_graph` does.

    Parameters
    ----------
    cluster : Cluster
    shared : Shared
        The rows of every part.
    setting : GraphSetting
    stage : callable
        ``stage(name)`` is entered while a stage runs: progress and times.
    """
    n, degree, chunks = shared.n, setting.degree or 0, shared.chunks
    reach = max(min(degree, n - 1), setting.patch_size)
    if reach >= n:
        raise ValueError(
            f"patch size={reach} needs more than {reach} samples, got {n}; lower the size."
        )
    exact = exact_suits(setting.knn, n, chunks.n_features)
    with stage("neighbours"):
        scale = rows.mean_variance_of(cluster, chunks)
        search = Search(cluster, shared.ids, shared.points, shared.tree, exact=exact)
        found = search.own(reach)
        cluster.wait(found)
        recall = search.recall(found, reach)
    if recall < LOW_RECALL:
        warn_user(
            f"the approximate search found {recall:.0%} of the nearest rows; knn='exact' finds all."
        )
    fitted = Fitted(cluster, shared, search, scale, recall)
    patches = None
    if setting.recipe is not None:
        with stage("patches"):
            patches = _patches(fitted, found, setting)
    with stage("divergences"):
        count = max(degree, min(reach, RECIPE.nearest)) if setting.pruned else degree
        known = links.linked(cluster, shared.ids, found, count, chunks.dtype)
        lengths, typical = _lengths(fitted, known, patches, setting)
        cluster.wait(lengths)
    graph = ClusterGraph(setting, fitted, found, patches, known, lengths, typical)
    return _connected(graph, stage)


def _patches(fitted: Fitted, found: list[Any], setting: GraphSetting) -> fitting.PartPatches:
    """Fit the patches of all rows where they are, with a halo of neighbours."""
    cluster, ids, recipe = fitted.cluster, fitted.ids, cast("GaussianPatch", setting.recipe)
    numbers = range(len(ids))
    members = cluster.each(_nearest, found, k=setting.patch_size)
    exchange = Exchange(cluster, cluster.each(fitting.table_of_found, numbers, ids, members))
    halo = exchange.fetch(fitted.points)
    places, search = None, None
    moved: list[Any] = [None] * len(ids)
    if recipe.denoise:
        moved = cluster.each(
            fitting.denoised_rows, exchange.tables, fitted.points, halo, members, scale=fitted.scale
        )
        tree, exact = fitted.shared.tree, fitted.search.exact
        places, search = moved, Search(cluster, ids, moved, tree, exact=exact)
        if exact:
            members = search.own(setting.patch_size)
            tables = cluster.each(fitting.table_of_found, numbers, ids, members)
            exchange = Exchange(cluster, tables)
            halo = exchange.fetch(moved)
        else:
            exchange, members, halo = _refined(exchange, ids, members, moved)
    known = exchange.tables, fitted.points, halo, members, moved
    packed = cluster.each(fitting.fitted_patches, *known, recipe=recipe, scale=fitted.scale)
    n, m = fitted.shared.n, fitted.shared.chunks.n_features
    used = cluster.get(cluster.each(fitting.used, packed))
    rank = cluster.get([cluster.run(fitting.full_rank, members[0], recipe)])[0]
    width = fitting.width_of(used, n, m, rank)
    return fitting.PartPatches(packed, width, places, search)


def _refined(
    exchange: Exchange, ids: list[Any], members: list[Any], moved: list[Any]
) -> tuple[Exchange, list[Any], list[list[Any]]]:
    """Refine the neighbours of rows that have moved, as one process does.

    Return the exchange of wider tables, the new neighbours, and where the rows of halos are.
    """
    cluster, numbers = exchange.cluster, range(len(ids))
    around = exchange.fetch(members, refining.neighbours_at)
    wider = Exchange(cluster, cluster.each(refining.wider_table, numbers, ids, members, around))
    halo = wider.fetch(moved)
    known = exchange.tables, wider.tables, members, around, moved, halo
    return wider, cluster.each(refining.refined_rows, *known), halo


def _nearest(found: Any, k: int) -> Any:
    return found.nearest(k)


def _lengths(
    fitted: Fitted, known: list[Any], patches: fitting.PartPatches | None, setting: GraphSetting
) -> tuple[list[Any], Typical | None]:
    """Return the lengths of all edges, infinite for short circuits, and what is typical."""
    cluster = fitted.cluster
    if patches is None:
        return cluster.each(_distances, known), None
    exchange = Exchange(cluster, cluster.each(_table, known))
    halo = exchange.fetch(patches.packed, fitting.Packed.at)
    how = {"width": patches.width, "divergence": setting.divergence}
    if not setting.pruned:
        values = cluster.each(links.edge_divergences, known, patches.packed, halo, **how)
        return values, None
    near = exchange.fetch(fitted.points)
    args = known, fitted.points, near, patches.packed, halo
    compared = cluster.each(links.compared_edges, *args, **how)
    del args, near, halo  # workers forget the halos, many times the table, as they are done with
    cluster.wait(compared)
    degree = setting.degree or 0
    typical, kinship, evidence = learning.learned(exchange, known, compared, degree)
    mirror = links.Mirror(cluster, known, exchange)
    factors = judging.Judge(exchange, mirror, known, evidence, kinship).factors()
    return cluster.each(_pruned, evidence, factors, unit=typical.distance), typical


def _table(known: links.Links) -> Any:
    return known.table


def _distances(known: links.Links) -> Any:
    return known.distances


def _pruned(evidence: Evidence, factors: Any, unit: float) -> Any:
    distances = evidence.distances
    lengths = (distances / unit) * factors.astype(distances.dtype)
    return np.where(evidence.own, lengths, np.asarray(np.inf, dtype=distances.dtype))


def _connected(graph: ClusterGraph, stage: Stage) -> ClusterGraph:
    """Join components, each by the closest pair, and say so."""
    cluster = graph.fitted.cluster
    exchange = Exchange(cluster, cluster.each(_table, graph.links))
    finite = cluster.each(np.isfinite, graph.edge_lengths)
    labels, sizes = components(exchange, graph.links, finite)
    if len(sizes) == 1:
        return graph
    if not graph.setting.joined:
        return graph
    warn_user(
        f"the neighbourhood graph has {len(sizes)} components; they were joined by their "
        "closest pairs. A larger n_neighbors may connect them, or treat them separately."
    )
    with stage("joining components"):
        own = cluster.each(_own_labels, graph.links, labels)
        return joined(graph, own, sizes)


def _own_labels(known: links.Links, labels: Any) -> Any:
    return labels[known.table.own]
