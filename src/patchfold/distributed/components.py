"""Components of a graph whose edges lie in parts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from patchfold.distributed.halo import take_rows

if TYPE_CHECKING:
    from patchfold.base.types import Indices, Mask
    from patchfold.distributed.halo import Exchange
    from patchfold.distributed.links import Links


def components(exchange: Exchange, links: list[Any], kept: list[Any]) -> tuple[list[Any], Indices]:
    """Return the component of every row of the tables, as futures, and their sizes.

    ``kept`` are futures of masks: which edges join. This process holds one number for every
    component that a part has by itself.
    """
    cluster = exchange.cluster
    labels = cluster.each(_own_components, links, kept)
    everywhere = exchange.fill(labels)
    sizes = cluster.get(cluster.each(np.bincount, labels))
    starts = np.cumsum([0, *(len(size) for size in sizes)])
    pairs = cluster.get(cluster.each(_joined, links, kept, everywhere, starts=starts))
    i, j = np.concatenate([np.empty((2, 0), dtype=np.intp), *pairs], axis=1)
    total = int(starts[-1])
    graph = csr_array((np.ones(len(i)), (i, j)), shape=(total, total))
    known = connected_components(graph, directed=False)[1].astype(np.intp)
    new = [known[first:last] for first, last in pairwise(starts.tolist())]
    renamed = exchange.fill(cluster.each(take_rows, new, labels))
    return renamed, np.bincount(known, weights=np.concatenate(sizes)).astype(np.intp)


def _own_components(links: Links, kept: Mask) -> Indices:
    """Return the components of own rows by the edges between them, numbered from 0."""
    n = len(links.table)
    own = links.table.is_own
    inner = kept & own[links.i] & own[links.j]
    ends = links.i[inner], links.j[inner]
    graph = csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
    labels = connected_components(graph, directed=False)[1][links.table.own]
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def _joined(links: Links, kept: Mask, labels: Indices, starts: Indices) -> Indices:
    """Return which components of this part and others have an edge in common, (2, n_pairs)."""
    homes = links.table.nodes.homes
    between = kept & links.mine & (homes[links.i] != homes[links.j])
    ends = [starts[homes[end[between]]] + labels[end[between]] for end in (links.i, links.j)]
    return np.unique(np.stack(ends), axis=1)
