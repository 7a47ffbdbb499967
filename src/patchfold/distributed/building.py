"""From rows on a cluster to the graph of their patches: the steps, one after the other."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from patchfold.base.validation import warn_user
from patchfold.distributed.graph import ClusterGraph
from patchfold.distributed.patches import patches_of_rows
from patchfold.distributed.searching import Search
from patchfold.distributed.weighing import Weighing, check_edges
from patchfold.neighbors.search import exact_suits
from patchfold.patches.fitting import (
    block_sums,
    column_means,
    largest_deviation,
    mean_squares,
    mean_variance,
)

if TYPE_CHECKING:
    from patchfold.base.types import Stage
    from patchfold.distributed.connection import Cluster
    from patchfold.distributed.rows import Shared
    from patchfold.graph.patch_graph import GraphSetting


# Recall of an approximate search below which a fit warns.
LOW_RECALL = 0.9


def build_on_cluster(
    cluster: Cluster,
    shared: Shared,
    setting: GraphSetting,
    stage: Stage = lambda _: nullcontext(),
) -> ClusterGraph:
    """Build the graph of rows, as :func:`patchfold.graph.building.build_graph` does.

    ``stage(name)`` is entered while a stage runs: progress and times.
    """
    n, m = shared.n, shared.given.n_features
    k = setting.reach(n)
    check_edges(cluster, n, setting)
    exact = k is None or exact_suits(setting.knn, n, m)
    with stage("neighbours"):
        scale = scale_of(cluster, shared.points, n, shared.given.dtype)
        there = cluster, shared.firsts, shared.points
        search = Search(*there, k=k, radius=setting.radius, exact=exact)
        found = search.own()
        cluster.wait(found)
        recall = search.recall(found)
    if recall < LOW_RECALL:
        warn_user(
            f"the approximate search found {recall:.0%} of the nearest rows; knn='exact' finds all."
        )
    patches = None
    if setting.patch is not None:
        with stage("patches"):
            patches = patches_of_rows(cluster, shared, setting, found, scale, exact)
            cluster.wait(patches.members)
    weighing = Weighing(cluster, shared, setting, patches)
    chosen, weighted = weighing.weighted(found, stage)
    weighted = weighing.joined(weighted, stage)
    return ClusterGraph(setting, cluster, shared, scale, recall, search, patches, chosen, weighted)


def scale_of(cluster: Cluster, points: list[Any], n: int, dtype: Any) -> float:
    """Return the mean variance of the features of ``n`` rows in parts."""
    mean = column_means(cluster.get(cluster.each(block_sums, points)), n)
    largest = max(cluster.get(cluster.each(largest_deviation, points, mean=mean)))
    parts = cluster.each(mean_squares, points, mean=mean, largest=largest, n=n)
    squares = [square for part in cluster.get(parts) for square in part]
    return float(mean_variance(largest, squares, dtype))
