"""Short circuits of a graph whose edges lie in parts (:mod:`patchfold.graph.short_circuits`).

The steps are those of one place. Ways around edges are those of
:mod:`patchfold.engines.cluster.ways`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import getitem
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.engines.cluster.components import components
from patchfold.engines.cluster.halo import taken
from patchfold.engines.cluster.ways import edges_at, grown_regions, least_ways
from patchfold.graph import short_circuits, trusting
from patchfold.graph.components import spanning_tree
from patchfold.graph.trusting import joined_by_two

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.engines.cluster.halo import Exchange
    from patchfold.engines.cluster.learning import Evidence
    from patchfold.engines.cluster.links import Links, Mirror
    from patchfold.engines.cluster.ways import Walked

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]
    Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Judge:
    """Decides which edges are short circuits.

    Parameters
    ----------
    exchange : Exchange
    mirror : Mirror
    links, evidence : lists of futures
    quiet, typical : float
        How far distances can be relied on, and the length of a typical edge.
    """

    exchange: Exchange
    mirror: Mirror
    links: list[Any]
    evidence: list[Any]
    quiet: float
    typical: float

    def factors(self) -> list[Any]:
        """Return futures of the factors of edges, infinite for short circuits."""
        cluster = self.exchange.cluster
        regions, requests = grown_regions(cluster, self.links, self.evidence)
        judged = partial(self._judged, regions, requests, self._tree())
        asked, own, every = (
            cluster.each(_which, self.evidence, name=name) for name in ("asked", "own", "all")
        )
        first = judged(asked)
        counted = cluster.each(
            _lengths, self.links, self.evidence, first, asked, typical=self.typical
        )
        lengths = np.sum(cluster.get(counted), axis=0)
        short = lengths.sum()
        if short:
            left = self._short(judged(asked, kin=True), asked)
            if left <= short_circuits.share_left(lengths) * short:
                return judged(every, kin=True)
        if not all(cluster.get(cluster.each(np.array_equal, asked, own))):
            first = judged(own)
        if not short:
            return first
        most = short_circuits.MANY_MORE * self._short(first, own)
        for counts in short_circuits.SUSPICIONS:
            strictly = judged(own, counts=counts)
            if self._short(strictly, own) <= most:
                return cluster.each(np.maximum, first, strictly)
        return first

    def _short(self, factors: list[Any], some: list[Any]) -> int:
        cluster = self.exchange.cluster
        return int(sum(cluster.get(cluster.each(_n_short, self.links, factors, some))))

    def _judged(
        self,
        regions: list[Any],
        requests: list[list[tuple[int, Any]]],
        tree: list[Any],
        some: list[Any],
        kin: bool = False,
        counts: float = 1.0,
    ) -> list[Any]:
        """Judge some edges by so many times their disagreement.

        With ``kin``, edges whose ends share neighbours are trusted from the start.
        """
        cluster = self.exchange.cluster
        how = {"counts": counts, "doubt": short_circuits.doubt_of(self.quiet)}
        trusted = cluster.each(_trusted, self.evidence, some, kin=kin, counts=counts)
        while True:
            others = [[trusted[side] for side, _ in asked] for asked in requests]
            edges = [[at for _, at in asked] for asked in requests]
            known = self.links, regions, self.evidence, some, trusted, others, edges
            found = cluster.each(_detours, *known)
            count = sum(cluster.get(cluster.each(np.count_nonzero, found)))
            if not count:
                break
            trusted = self.mirror.fill(cluster.each(np.logical_or, trusted, found))
        labels, sizes = components(self.exchange, self.links, trusted)
        large = np.flatnonzero(sizes >= short_circuits.PART)
        judged = cluster.each(
            _without_ways,
            self.links,
            self.evidence,
            some,
            trusted,
            tree,
            labels,
            large=large,
            within=1.0 if kin else short_circuits.CEILING,
            typical=self.typical,
            **how,
        )
        factors = cluster.each(getitem, judged, [0] * len(judged))
        short = cluster.each(getitem, judged, [1] * len(judged))
        if sum(cluster.get(cluster.each(len, short))):
            held = cluster.each(_held, self.evidence, trusted, tree, some)
            ways = least_ways(self.exchange, self.links, held, short)
            factors = cluster.each(_with_ways, factors, self.evidence, short, ways, **how)
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


def _trusted(evidence: Evidence, some: Mask, kin: bool, counts: float) -> Mask:
    """Tell which of some edges are trusted from the start."""
    trusted = counts * evidence.disagreement <= 1.0
    if kin:
        trusted |= evidence.shared >= short_circuits.SHARED
    return trusted & some


def is_doubtful(evidence: Evidence) -> Mask:
    """Tell which edges are not trusted by the strictest measure."""
    return max(short_circuits.SUSPICIONS) * evidence.disagreement > 1.0


def _close(evidence: Evidence) -> Mask:
    return evidence.own & ~is_doubtful(evidence)


def _which(evidence: Evidence, name: str) -> Mask:
    if name == "all":
        return np.ones(len(evidence.own), dtype=bool)
    return evidence.asked if name == "asked" else evidence.own


def _n_short(links: Links, factors: Floats, some: Mask) -> int:
    return int(np.count_nonzero(np.isinf(factors) & some & links.mine))


def _lengths(
    links: Links, evidence: Evidence, factors: Floats, some: Mask, typical: float
) -> Indices:
    short = np.isinf(factors) & some & links.mine
    return short_circuits.counted_lengths(evidence.distances[short], typical)


def _marked(links: Links, edges: Indices) -> Mask:
    marked = np.zeros(len(links.i), dtype=bool)
    marked[edges] = True
    return marked


def _lightest(links: Links, evidence: Evidence, labels: Indices) -> tuple[Any, ...]:
    """Return the edges between components that may belong to the tree, one for each pair."""
    far = links.mine & evidence.own & is_doubtful(evidence)
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


def _detours(
    links: Links,
    region: Walked,
    evidence: Evidence,
    some: Mask,
    trusted: Mask,
    others: list[Mask],
    edges: list[Indices],
) -> Mask:
    """Tell which edges that are not trusted yet are no shortcut.

    ``others`` are the trusted edges of other parts, and ``edges`` those of them in the region.
    """
    found = np.zeros(len(links.i), dtype=bool)
    open_ = np.flatnonzero(some & ~trusted & links.mine)
    if not len(open_):
        return found
    every = np.arange(len(links.table.own))
    own = trusted[edges_at(links, every)]
    graph = region.graph(np.concatenate([own, *taken(others, edges)]))
    ids = links.table.nodes.ids
    bounds = trusting.NO_SHORTCUT * evidence.distances[open_].astype(np.float64)
    i, j = (np.searchsorted(region.ids, ids[end[open_]]) for end in (links.i, links.j))
    found[open_[joined_by_two(graph, graph, i, j, bounds, n_jobs=1)]] = True
    return found


def _without_ways(
    links: Links,
    evidence: Evidence,
    some: Mask,
    trusted: Mask,
    tree: Mask,
    labels: Indices,
    large: Indices,
    within: float,
    typical: float,
    counts: float,
    doubt: float,
) -> tuple[Floats, Indices]:
    """Return the factors of edges as far as no way around is asked for, and which ask for one."""
    disagreement = counts * evidence.disagreement
    big = np.isin(labels, large)
    i, j = links.i, links.j
    between = (labels[i] != labels[j]) & big[i] & big[j]
    settled = trusted | tree | short_circuits.is_far(evidence.distances, typical)
    factors = short_circuits.bounded_stretch(disagreement, settled, between, doubt, within)
    short = short_circuits.suspects(disagreement, settled, between)
    return factors, np.flatnonzero(short & some & links.mine)


def _with_ways(
    factors: Floats,
    evidence: Evidence,
    short: Indices,
    ways: Floats,
    counts: float,
    doubt: float,
) -> Floats:
    disagreement, distances = counts * evidence.disagreement[short], evidence.distances[short]
    long = short_circuits.is_long(ways, disagreement, distances.astype(np.float64), doubt)
    found = factors.copy()
    found[short[long]] = np.inf
    return found


def _held(evidence: Evidence, trusted: Mask, tree: Mask, some: Mask) -> Floats:
    """Return the lengths of edges that are trusted or of the tree, infinite for others."""
    lengths = evidence.distances
    return np.where((trusted | tree) & some, lengths, np.asarray(np.inf, dtype=lengths.dtype))
