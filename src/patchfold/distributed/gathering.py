"""A fit on a cluster, brought into this process."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.memory import check_memory
from patchfold.graph.all_rows import expanded
from patchfold.graph.building import search_for
from patchfold.mapping.nystrom import Triangulation
from patchfold.neighbors.approximate import ApproximateNeighbors
from patchfold.neighbors.copies import Copies
from patchfold.neighbors.fitted_rows import RowTable
from patchfold.patches.denoising import Denoised
from patchfold.patches.gaussians import Patches
from patchfold.patches.sample import Sample

if TYPE_CHECKING:
    from patchfold.distributed.estimators import Embedded
    from patchfold.distributed.graph import ClusterGraph
    from patchfold.graph.patch_graph import PatchGraph


def gather(estimator: Any) -> Any:
    """Return a fit on a cluster as one in this process, which needs the cluster no more.

    It can be saved, and has what only a fit in one process has: patches, trust, bridges and the
    rest. Its rows, patches and edges have to fit into memory.

    Parameters
    ----------
    estimator : PatchIsomap, PatchLLE, PatchEigenmaps or PatchTSNE
        Fitted on a cluster; it stays as it is.

    Returns
    -------
    estimator
        Another one with ``engine="auto"``, and an ``embedding_`` of numpy.
    """
    embedded: Embedded | None = estimator._on_cluster
    if embedded is None:
        raise ValueError(f"this {type(estimator).__name__} was not fitted on a cluster.")
    graph, point = embedded.graph, embedded.graph.distinct
    learned, copies = {} if embedded.here is None else vars(embedded.here), None
    here = estimator._copied(**learned | {"engine": "auto", "_on_cluster": None, "_kept": {}})
    here.patch_graph_ = found = _graph(graph)
    if len(graph) < len(point):
        copies = Copies(np.unique(point, return_index=True)[1], point)
        codes = None if found.lengths.codes is None else found.lengths.codes[point]
        X = found.lengths.points[point]
        here.patch_graph_ = expanded(found, copies, X, RowTable(X), codes)
    if embedded.here is None:
        here.embedding_ = np.asarray(estimator.embedding_)
        here._placing = Triangulation(_in_order(graph, embedded.paths)[point], **embedded.frame)
        return here
    if copies is not None:
        here._expand(copies)
    return here


def _in_order(graph: ClusterGraph, values: list[Any]) -> Any:
    """Return what the distinct rows have, in the order of the table."""
    return np.concatenate(graph.cluster.get(values))[graph.numbers]


def _graph(graph: ClusterGraph) -> PatchGraph:
    """Return the graph of the distinct rows in this process."""
    setting, shared, dtype = graph.setting, graph.shared, np.dtype(graph.dtype)
    n, reach, patches, denoised = len(graph), setting.reach(len(graph)), None, None
    nbytes = n * shared.given.n_features * dtype.itemsize * (4 + (reach or 0))
    check_memory(nbytes, f"a fit of {n} rows in this process", "leave it on the cluster")
    collected, points = graph.collected(), _in_order(graph, shared.points)
    search = search_for(points, setting, reach).build(points)
    fitted = graph.row_patches
    if fitted is not None:
        near = search.query()
        members = setting.members(near if reach is None else near.nearest(reach))
        patches = Patches.concatenated(graph.cluster.get(fitted.of_parts()))[graph.numbers]
        patches = patches.fitted_to(Sample(points, np.arange(n), members))
    if fitted is not None and fitted.denoised is not None:
        denoised = Denoised(_in_order(graph, fitted.denoised), None, members)
        if not isinstance(search, ApproximateNeighbors):
            again = search_for(points, setting, setting.patch_size or None)
            denoised = Denoised(denoised.points, again.build(denoised.points))
    lengths = replace(
        collected.lengths,
        points=points,
        patches=patches,
        n_jobs=setting.n_jobs,
        rule=setting.rule,
        codes=None if shared.codes is None else _in_order(graph, shared.codes),
        known_mean=graph.learned[1],
    )
    rows = RowTable(points)
    return replace(
        collected, lengths=lengths, search=search, reach=reach, denoised=denoised, rows=rows
    )
