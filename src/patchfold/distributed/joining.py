"""Components of a graph on a cluster, joined one closest pair at a time.

The pairs are those of :func:`patchfold.graph.components.joining_edges`: the minimum spanning tree
between components under the order (distance, rows).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from patchfold.distributed.fitting import unpacked
from patchfold.distributed.halo import Nodes, table_of
from patchfold.distributed.links import Links
from patchfold.graph.components import FEW
from patchfold.neighbors.points import SearchedPoints, k_nearest

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.fitting import Packed, Width
    from patchfold.distributed.graph import ClusterGraph


class Queries(NamedTuple):
    """Rows of all components but the largest: who they are, where, and of which component."""

    nodes: Nodes
    points: Floats
    labels: Indices


class Pair(NamedTuple):
    """Two rows of different components and their distance, the first row first."""

    gap: float
    i: tuple[int, ...]
    j: tuple[int, ...]

    @property
    def key(self) -> tuple[float, int, int]:
        """What pairs are ordered by."""
        return self.gap, self.i[0], self.j[0]


def joined(graph: ClusterGraph, labels: list[Any], sizes: Indices) -> ClusterGraph:
    """Join components; return the graph with the edges that do.

    Parameters
    ----------
    graph : ClusterGraph
    labels : list of futures of arrays
        The component of every row of a part.
    sizes : array of shape (n_components,)
    """
    fitted = graph.fitted
    cluster, parts = fitted.cluster, range(len(fitted.ids))
    groups = np.arange(len(sizes))
    pairs: set[Pair] = set()
    while groups.max() > 0:
        counts = np.bincount(groups, weights=sizes).astype(np.intp)
        now = {"groups": groups, "counts": counts}
        asked = cluster.each(queries_of, fitted.ids, fitted.points, labels, parts, **now)
        best: dict[int, Pair] = {}
        for part in parts:
            there = fitted.ids, fitted.points, labels, [asked[part]] * len(parts), parts
            answers = cluster.each(outside, *there, **now)
            for pair, ends in cluster.get([cluster.run(closest, asked[part], answers)])[0]:
                for end in ends:
                    kept = best.get(end, pair)
                    best[end] = min(kept, pair, key=lambda one: one.key)
        pairs |= set(best.values())
        found = cluster.get(cluster.each(_labels_at, labels, parts, pairs=sorted(pairs)))
        at = {row: label for part in found for row, label in part.items()}
        ends = [(at[pair.i[0]], at[pair.j[0]]) for pair in pairs]
        i, j = np.array(ends, dtype=np.intp).T
        between = csr_array((np.ones(len(i)), (i, j)), shape=(len(sizes), len(sizes)))
        groups = connected_components(between, directed=False)[1].astype(np.intp)
    return _with_bridges(graph, sorted(pairs, key=lambda pair: (pair.i[0], pair.j[0])))


def queries_of(
    ids: Indices, points: Floats, labels: Indices, part: int, groups: Indices, counts: Indices
) -> Queries:
    """Return the rows of a part that are not of the largest component."""
    own = groups[labels]
    some = np.flatnonzero(own != int(np.argmax(counts)))
    nodes = Nodes(ids[some], np.full(len(some), part), some)
    return Queries(nodes, points[some], own[some])


def outside(
    ids: Indices,
    points: Floats,
    labels: Indices,
    queries: Queries,
    part: int,
    groups: Indices,
    counts: Indices,
) -> tuple[Floats, Nodes]:
    """Return the nearest row of this part that is of another component, of each query."""
    n, own = len(queries.labels), groups[labels]
    gaps, places = np.full(n, np.inf), np.zeros(n, dtype=np.intp)
    sizes = counts[queries.labels]
    few = np.flatnonzero(sizes <= FEW)
    if len(few):
        k = min(int(sizes[few].max()) + 1, len(own))
        space = SearchedPoints(points, 1)
        near = k_nearest(space, queries.points[few], k, own=False)
        others = own[near.indices.reshape(-1, k)] != queries.labels[few, None]
        first = np.argmax(others, axis=1)
        found = np.flatnonzero(others.any(axis=1))
        at = near.indices.reshape(-1, k)[found, first[found]]
        gaps[few[found]] = space.distances(queries.points[few], found, at) / space.scale
        places[few[found]] = at
    for label in np.unique(queries.labels[sizes > FEW]):
        some, others = np.flatnonzero(queries.labels == label), np.flatnonzero(own != label)
        if len(others):
            space = SearchedPoints(points[others], 1)
            near = k_nearest(space, queries.points[some], 1, own=False)
            exact = space.distances(queries.points[some], near.sources, near.indices)
            gaps[some], places[some] = exact / space.scale, others[near.indices]
    return gaps, Nodes(ids[places], np.full(n, part), places)


def closest(
    queries: Queries, answers: list[tuple[Floats, Nodes]]
) -> list[tuple[Pair, tuple[int, ...]]]:
    """Return the closest pair of every component that has a query, and that component."""
    best: dict[int, Pair] = {}
    gaps = np.stack([gap for gap, _ in answers])
    ids = np.stack([nodes.ids for _, nodes in answers])
    for query, label in enumerate(queries.labels.tolist()):
        part = min(range(len(answers)), key=lambda one: (gaps[one, query], ids[one, query]))
        here = tuple(int(field[query]) for field in queries.nodes)
        there = tuple(int(field[query]) for field in answers[part][1])
        low, high = sorted((here, there))
        pair = Pair(float(gaps[part, query]), low, high)
        best[label] = min(best.get(label, pair), pair, key=lambda one: one.key)
    return [(pair, (label,)) for label, pair in best.items()]


def _labels_at(labels: Indices, part: int, pairs: list[Pair]) -> dict[int, int]:
    """Return the components of the rows of a part that are an end of a pair."""
    ends = [end for pair in pairs for end in (pair.i, pair.j) if end[1] == part]
    return {number: int(labels[place]) for number, _, place in ends}


# ---------------------------------------------------------------- their edges


def _with_bridges(graph: ClusterGraph, pairs: list[Pair]) -> ClusterGraph:
    fitted, patches = graph.fitted, graph.parted
    run = fitted.cluster.run
    lengths = []
    for pair in pairs:
        ends = [(fitted.points[part], place) for _, part, place in (pair.i, pair.j)]
        if patches is None:
            lengths.append(run(_distance, *ends))
            continue
        both = [run(_patch, patches.packed[part], place) for _, part, place in (pair.i, pair.j)]
        how = graph.setting.divergence, patches.width, graph.typical
        lengths.append(run(_length, *both, *how))
    values = fitted.cluster.get(lengths)
    links, new = [], []
    for part, (known, old) in enumerate(zip(graph.links, graph.edge_lengths, strict=True)):
        some = [
            (pair.i, pair.j, value)
            for pair, value in zip(pairs, values, strict=True)
            if part in (pair.i[1], pair.j[1])
        ]
        both = run(with_extra, part, fitted.ids[part], known, old, some)
        links.append(run(_first, both))
        new.append(run(_second, both))
    bridges = [(pair.i[0], pair.j[0], float(v)) for pair, v in zip(pairs, values, strict=True)]
    return graph.with_bridges(links, new, bridges)


def _distance(one: tuple[Any, int], other: tuple[Any, int]) -> float:
    (a, i), (b, j) = one, other
    return float(np.linalg.norm(a[[i]] - b[[j]], axis=1)[0])


def _patch(patches: Packed, place: int) -> Packed:
    return patches.at(np.array([place]))


def _length(one: Packed, other: Packed, divergence: Any, width: Width, typical: Any) -> float:
    table = table_of(0, np.array([0]), Nodes(np.array([1]), np.array([1]), np.array([0])))
    both = unpacked(one, [other], table, width)
    if typical is None:
        zero = np.array([0])
        return float(width.divergences(both, zero, zero + 1, divergence)[0])
    apart = np.linalg.norm(both.points[[0]] - both.points[[1]], axis=1)
    return float((apart / typical.distance)[0])


def with_extra(
    part: int, ids: Indices, links: Links, lengths: Floats, extra: list[Any]
) -> tuple[Links, Floats]:
    """Add edges to those of a part, given by their ends and lengths."""
    if not extra:
        return links, lengths
    old = links.table.nodes
    ends = np.array([end for i, j, _ in extra for end in (i, j)], dtype=np.intp)
    added = Nodes(*ends.T)
    nodes = Nodes(*(np.concatenate(both) for both in zip(old, added, strict=True)))
    table = table_of(part, ids, nodes)
    a = np.concatenate([old.ids[links.i], added.ids[::2]])
    b = np.concatenate([old.ids[links.j], added.ids[1::2]])
    values = np.array([value for _, _, value in extra], dtype=lengths.dtype)
    both = np.concatenate([lengths, values])
    i, j = table.find(a), table.find(b)
    # An edge of two own rows that was a short circuit before is there twice.
    order = np.lexsort((both, j, i))
    i, j, both = i[order], j[order], both[order]
    first = np.flatnonzero(np.diff(i * len(table) + j, prepend=-1))
    ranks = np.concatenate([links.ranks, np.zeros(len(extra), dtype=np.intp)])[order]
    distances = np.concatenate([links.distances, values])[order]
    new = Links(table, i[first], j[first], ranks[first], distances[first])
    return new, both[first]


def _first(both: tuple[Any, Any]) -> Any:
    return both[0]


def _second(both: tuple[Any, Any]) -> Any:
    return both[1]
