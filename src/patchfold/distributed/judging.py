"""Short circuits of a graph whose edges lie in parts: :mod:`patchfold.graph.short_circuits`.

The decisions are the functions of that module, on the edges of a part. What is global, the parts of
the graph, the tree and the verdict, works on small summaries here.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import getitem
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.distributed.components import components
from patchfold.distributed.ways import least_ways
from patchfold.graph import short_circuits
from patchfold.graph.components import spanning_tree
from patchfold.graph.short_circuits import RECIPE

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices, Mask
    from patchfold.distributed.halo import Exchange
    from patchfold.distributed.links import Links, Mirror
    from patchfold.graph.short_circuits import Evidence


@dataclass(frozen=True)
class Judge:
    """Decides which edges are short circuits.

    Parameters
    ----------
    exchange : Exchange
    mirror : Mirror
    links, evidence : lists of futures
    kinship : float
        How many near neighbours kin share at least.
    """

    exchange: Exchange
    mirror: Mirror
    links: list[Any]
    evidence: list[Any]
    kinship: float

    def factors(self) -> list[Any]:
        """Return futures of the factors of edges, infinite for short circuits."""
        cluster = self.exchange.cluster
        tree = self._tree()
        first = self._look(tree, RECIPE.ordinary)
        reach = self.exchange.fill(cluster.each(_reaches, self.links, self.evidence))
        found = cluster.each(_counted, self.links, self.evidence, first, reach)
        short, own, *suspects = np.sum(cluster.get(found), axis=0).tolist()
        removed, stretched = suspects[:2], suspects[2:]
        if short_circuits.is_bend(*(removed if removed[0] else stretched)):
            return self._look(tree, RECIPE.ordinary, self.kinship)
        if not short:
            return first
        stricter = self._look(tree, 1.0)
        found = cluster.each(_counted, self.links, self.evidence, stricter, reach)
        if sum(count[1] for count in cluster.get(found)) > RECIPE.many * own:
            return first
        return cluster.each(np.maximum, first, stricter)

    def _look(self, tree: list[Any], unit: float, shared: float = np.inf) -> list[Any]:
        """Judge edges by their disagreement in a unit; ends that share as much are kin."""
        cluster = self.exchange.cluster
        trusted = cluster.each(_trusted, self.evidence, unit=unit, shared=shared)
        labels, sizes = components(self.exchange, self.links, trusted)
        held = cluster.each(np.logical_or, trusted, tree)
        large = sizes >= RECIPE.nearest
        judged = cluster.each(
            _without_ways, self.links, self.evidence, held, labels, large=large, unit=unit
        )
        factors = cluster.each(getitem, judged, [0] * len(judged))
        asked = cluster.each(getitem, judged, [1] * len(judged))
        if sum(cluster.get(cluster.each(len, asked))):
            lengths = cluster.each(_held_lengths, self.evidence, held)
            ways = least_ways(self.exchange, self.links, lengths, asked)
            factors = cluster.each(_with_ways, factors, self.evidence, asked, ways, unit=unit)
        return self.mirror.fill(factors)

    # ---------------------------------------------------------------- the tree

    def _tree(self) -> list[Any]:
        """Return which edges the minimum spanning tree has, of those that may not be trusted."""
        cluster = self.exchange.cluster
        close = cluster.each(_close, self.evidence)
        labels, sizes = components(self.exchange, self.links, close)
        few = cluster.get(cluster.each(_lightest, self.links, self.evidence, labels))
        owners = np.repeat(np.arange(len(few)), [len(found[0]) for found in few])
        a, b, weights, i, j, edges = (np.concatenate(c) for c in zip(*few, strict=True))
        order = np.lexsort((j, i, weights))
        chosen = order[_spanning(a[order], b[order], len(sizes))]
        picked = [edges[chosen[owners[chosen] == part]] for part in range(len(few))]
        return self.mirror.fill(cluster.each(_marked, self.links, picked))


def _spanning(a: Indices, b: Indices, n: int) -> Indices:
    """Return which edges a minimum spanning tree has, of edges that come lightest first."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    _, first = np.unique(low * n + high, return_index=True)
    first.sort()
    tree = spanning_tree(low[first], high[first], np.arange(0.0, len(first)), n)
    return first[tree]


# ---------------------------------------------------------------- which edges


def _trusted(evidence: Evidence, unit: float, shared: float) -> Mask:
    """Tell which edges are trusted from the start."""
    kin = evidence.common >= shared
    return short_circuits.is_trusted(evidence.disagreement / unit, kin)


def _close(evidence: Evidence) -> Mask:
    return evidence.own & short_circuits.is_trusted(evidence.disagreement)


def _reaches(links: Links, evidence: Evidence) -> Floats:
    """Return the reach of own rows, all of whose near edges are known here."""
    near = evidence.near
    ends, distances = (links.i[near], links.j[near]), evidence.distances[near]
    return short_circuits.reaches(*ends, distances, len(links.table))[links.table.own]


def _counted(
    links: Links, evidence: Evidence, factors: Floats, reach: Floats
) -> tuple[int, int, int, int, int, int]:
    """Count the edges that are removed, and own ones; then near ones that are removed or stretched.

    Of the near ones, all and those that are mutual.
    """
    short, longer = (which & links.mine for which in (np.isinf(factors), factors > 1))
    every, own = (int(which.sum()) for which in (short, short & evidence.own))
    near, mutual = zip(
        *(_mutual(links, evidence, reach, which & evidence.near) for which in (short, longer)),
        strict=True,
    )
    return every, own, near[0], mutual[0], near[1], mutual[1]


def _mutual(links: Links, evidence: Evidence, reach: Floats, which: Mask) -> tuple[int, int]:
    """Return how many edges there are, and how many of them are mutual."""
    distances = evidence.distances[which]
    mutual = short_circuits.is_mutual(links.i[which], links.j[which], distances, reach)
    return len(mutual), int(mutual.sum())


def _marked(links: Links, edges: Indices) -> Mask:
    marked = np.zeros(len(links.i), dtype=bool)
    marked[edges] = True
    return marked


def _lightest(links: Links, evidence: Evidence, labels: Indices) -> tuple[Any, ...]:
    """Return the edges between components that may belong to the tree, one for each pair."""
    far = links.mine & evidence.own & ~short_circuits.is_trusted(evidence.disagreement)
    edges = np.flatnonzero(far & (labels[links.i] != labels[links.j]))
    edges = edges[np.argsort(evidence.disagreement[edges], kind="stable")]
    a, b = labels[links.i[edges]], labels[links.j[edges]]
    names, places = np.unique(np.concatenate([a, b]), return_inverse=True)
    one, other = np.split(places, 2)
    kept = _spanning(one, other, len(names)) if len(edges) else np.arange(0)
    edges, ids = edges[kept], links.table.nodes.ids
    ends = ids[links.i[edges]], ids[links.j[edges]]
    return a[kept], b[kept], evidence.disagreement[edges], *ends, edges


# ---------------------------------------------------------------- verdicts


def _without_ways(
    links: Links, evidence: Evidence, held: Mask, labels: Indices, large: Mask, unit: float
) -> tuple[Floats, Indices]:
    """Return the factors of edges as far as no way around is asked for, and which ask for one."""
    between = short_circuits.is_between(labels, large, links.i, links.j)
    factors = short_circuits.stretches(evidence.disagreement / unit, held, between)
    return factors, np.flatnonzero(~held & ~between & links.mine)


def _with_ways(
    factors: Floats, evidence: Evidence, asked: Indices, ways: Floats, unit: float
) -> Floats:
    distances = evidence.distances[asked].astype(np.float64)
    removed = short_circuits.is_removed(evidence.disagreement[asked] / unit, ways, distances)
    found = factors.copy()
    found[asked[removed]] = np.inf
    return found


def _held_lengths(evidence: Evidence, held: Mask) -> Floats:
    """Return the lengths of edges that are trusted or of the tree, infinite for others."""
    lengths = evidence.distances
    return np.where(held, lengths, np.asarray(np.inf, dtype=lengths.dtype))
