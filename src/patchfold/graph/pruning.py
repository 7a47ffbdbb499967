"""Lengths without short circuits: which edges may be some, and what the verdict makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patchfold.base.threads import map_blocks
from patchfold.graph import edges
from patchfold.graph.short_circuits import RECIPE, Candidates, verdict

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from patchfold.base.types import Floats, Indices
    from patchfold.graph.patch_graph import GraphSetting
    from patchfold.neighbors.neighborhoods import Neighborhoods


def candidates(
    chosen: tuple[Indices, Indices], found: Neighborhoods, setting: GraphSetting
) -> Candidates:
    """Return the chosen edges of a graph, and those to the nearest of the points that were found.

    The edges to the nearest points tell what is typical, whatever the degree of the graph.
    """
    n = len(found)
    # Others may be found as candidates for the nearest patches.
    few = RECIPE.nearest if setting.degree is None else max(setting.degree, setting.patch_size)
    a, b, _ = edges.undirected(found.nearest(min(RECIPE.nearest, few)))
    i, j, own, nearest = edges.united(chosen, (a, b), n)
    beside = edges.symmetric(a, b, np.ones(len(a), dtype=np.int32), n)
    return Candidates(i, j, own, nearest, common_neighbors(beside, i, j, setting.n_jobs))


def common_neighbors(
    beside: csr_array, i: Indices, j: Indices, n_jobs: int | None = None
) -> Indices:
    """Return how many neighbours both ends of edges have, given a matrix of ones."""

    def common(block: slice) -> Indices:
        return np.asarray(beside[i[block]].multiply(beside[j[block]]).sum(axis=1), dtype=np.intp)

    widest = int(np.diff(beside.indptr).max(initial=1))
    parts = map_blocks(common, len(i), 64 * widest, n_jobs)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.intp)


def pruned_lengths(
    asked: Candidates,
    distances: Floats,
    disagreement: Floats,
    unit: float,
    n: int,
    n_jobs: int | None = None,
    device: str | None = None,
) -> Floats:
    """Return the lengths of the graph's own edges in a unit, infinite for short circuits.

    Other arguments are those of :func:`~patchfold.graph.short_circuits.verdict`.
    """
    judged = verdict(asked, distances, disagreement, n, n_jobs, device=device)
    factors = judged.factors[asked.own]
    own = distances[asked.own]
    return np.asarray((own / unit) * factors.astype(own.dtype))
