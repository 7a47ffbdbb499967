"""The recipe of the default graph: which edges are short circuits, on one page.

A neighbour graph short-circuits a manifold where an edge jumps from one sheet to another. By its
length such an edge looks like any other. Two facts give it away together: its patches disagree more
than those of neighbours usually do, and the way around it is long::

    size = min(20, 0.6 sqrt(n));  z = mean of each point and its size nearest
    patch = Gaussian of the size nearest z: 10 directions and a ridge
    c = z + Sigma (x - z) / max eigenvalue of Sigma
    e = |c_i - c_j|;  d = KL of the two patches
    T = edges to the 10 nearest;  e0, d0 = medians of e and d over T;  r = d / d0
    tree = minimum spanning tree of the graph's edges by r

    judge(unit, kin):
        trusted = r <= unit or kin
        held = trusted or tree
        between = joins two trusted parts of 10 points or more
        remove an edge that is neither held nor between
                if way > 1.5 e  and  (r / unit) * way / e > 25,
                where way is how long the way around it over held edges is at least
        stretch an edge that is between and not held by (r / unit)^2, at most 4 times

    verdict = judge(1.5)
    suspects = removed edges of T, or, if there are none, stretched edges of T
    if 35 % of the suspects are among the 10 shortest edges of T at both ends:    # a bend
        verdict = judge(1.5, kin = edges whose ends share two thirds as many points of T as usual)
    else if anything is removed:                                            # a second look
        stricter = judge(1);  take the harder verdict of both for each edge,
                              unless it removes 3.5 times as many edges of the graph
    length = e / e0, stretched;  removed edges are left out

Steps are functions on arrays of edges. :mod:`patchfold.graph.building` calls them for one machine,
:mod:`patchfold.distributed.weighing` for a cluster. Edges of new points follow
:func:`patchfold.graph.lengths.trusted_of_new`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from patchfold.base.threads import map_blocks
from patchfold.graph.components import n_components, spanning_tree
from patchfold.graph.detour_bounds import landmark_ways
from patchfold.graph.edges import EdgeList
from patchfold.patches.covariances import AUTO_RIDGE
from patchfold.patches.gaussian_patch import GaussianPatch

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from patchfold.base.types import Floats, Indices, Mask


@dataclass(frozen=True)
class Recipe:
    """Every tuned number of the default graph, in the order in which the page tells it.

    Chosen on seeds 100 to 129 of the swiss roll, 100 to 103 of the other manifolds in
    docs/evidence/stability.md, 100 to 105 of closed surfaces, and 100 to 103 of the tuning half of
    benchmarks/geometry; on every other table of benchmarks/real.py, digits, and 2500 images of
    MNIST, Fashion-MNIST, optdigits and pendigits (samples 100 and 101).
    ``python -m benchmarks.ablation`` shows what each is worth on other data.
    """

    points: int = 20  # neighbours of a patch, at most ...
    roots: float = 0.6  # ... and at most this many times the root of the number of points
    directions: int = 10  # of largest variance, which a patch keeps
    ridge: float = AUTO_RIDGE  # that gamma="auto" adds to covariances, in mean variances
    # Edges to this many neighbours tell what is typical. Smaller parts of the graph are no parts.
    nearest: int = 10
    # Typical divergences up to which an edge is trusted; lengths of an edge that a way may have
    ordinary: float = 1.5
    landmarks: int = 16  # points whose shortest paths tell how long ways are at least
    product: float = 25.0  # an edge is a short circuit if disagreement times detour is larger
    ceiling: float = 4.0  # times that an edge between parts is stretched, at most
    mutual: float = 0.35  # a bend, if this share of suspects is among the shortest at both ends
    kin: float = 2 / 3  # of the usual neighbours in common: ends that are trusted across a bend
    many: float = 3.5  # times as many short circuits: the stricter look has taken noise for them


RECIPE = Recipe()


def recommended_patch(n_samples: int, *, sized: bool = True) -> GaussianPatch:
    """Return the patch that ``patch=None`` means for ``n_samples`` points.

    It has ``0.6 sqrt(n)`` neighbours, at most 20, at most 10 directions and a ridge, and is fitted
    to denoised points. ``sized=False`` leaves the size to the neighbourhoods.

    Examples
    --------
    >>> recommended_patch(100).size, recommended_patch(10_000).size
    (6, 20)
    """
    size = min(RECIPE.points, round(RECIPE.roots * n_samples**0.5), n_samples - 1)
    return GaussianPatch(
        max(1, size) if sized else None,
        covariance="low-rank",
        rank=RECIPE.directions,
        denoise=True,
    )


# Edges from which points are renumbered: paths through a smaller graph find it in the cache.
RENUMBERED = 10**6


@dataclass(frozen=True)
class Typical:
    """What is typical of neighbours: the medians of distance and divergence, both positive."""

    distance: float
    divergence: float

    @classmethod
    def of(cls, distances: Floats, values: Floats) -> Typical:
        """Learn what is typical from the edges of near neighbours, each given once."""
        return cls(_positive_median(distances), _positive_median(values))

    def disagreement(self, values: Floats) -> Floats:
        """Return divergences in units of the typical one."""
        return np.asarray(values.astype(np.float64) / self.divergence)


class Evidence(NamedTuple):
    """Edges ``(i, j)``, each given once in order, and what tells whether they are short circuits.

    Arrays of shape (n_edges,): the disagreement of the patches, their distance, how many near
    neighbours both ends have in common, which edges the graph has, and which lead to near points.
    """

    i: Indices
    j: Indices
    disagreement: Floats
    distances: Floats
    common: Indices
    own: Mask
    near: Mask


class Judgement(NamedTuple):
    """What becomes of edges: arrays of shape (n_edges,)."""

    factors: Floats  # how many times as long each has to be, infinitely for a short circuit
    trusted: Mask
    between: Mask  # which join two large parts of the graph of trusted edges
    held: Mask  # trusted, or of the minimum spanning tree


def least_shared(common: Indices) -> float:
    """Return how many near neighbours kin share at least, learned from the edges to these."""
    usual = float(np.median(common)) if len(common) else 0.0
    return RECIPE.kin * max(1.0, usual)


def reaches(i: Indices, j: Indices, distances: Floats, n: int) -> Floats:
    """Return the tenth shortest distance at every point, or the longest, given near edges."""
    rows, lengths = np.concatenate([i, j]), np.concatenate([distances, distances])
    order = np.lexsort((lengths, rows))
    ends = np.cumsum(np.bincount(rows, minlength=n))
    starts = np.concatenate([[0], ends[:-1]])
    reach = np.zeros(n, dtype=lengths.dtype)
    some = ends > starts
    reach[some] = lengths[order[np.minimum(starts + RECIPE.nearest, ends)[some] - 1]]
    return reach


def is_mutual(i: Indices, j: Indices, distances: Floats, reach: Floats) -> Mask:
    """Tell which edges are among the shortest near edges at both of their ends."""
    return np.asarray(distances <= np.minimum(reach[i], reach[j]))


def is_bend(suspects: int, mutual: int) -> bool:
    """Tell whether suspects lie across a bend of the manifold, and are no short circuits."""
    return suspects > 0 and mutual >= RECIPE.mutual * suspects


def verdict(
    evidence: Evidence, n: int, n_jobs: int | None = None, *, renumbered: int = RENUMBERED
) -> Judgement:
    """Decide about all edges of the evidence, as told at the top of this module.

    A second look changes ``factors`` only; the rest is that of the first. From ``renumbered`` edges
    on, points are numbered along the graph meanwhile; results do not depend on it.

    Examples
    --------
    Forty points around a circle are joined to those beside them, and 5 to 25 by an edge as long as
    the others. Its patches disagree, and the way around it is half the circle.

    >>> import numpy as np
    >>> i = np.concatenate([np.arange(39), [0, 5]])
    >>> j = np.concatenate([np.arange(1, 40), [39, 25]])
    >>> order = np.argsort(i, kind="stable")
    >>> i, j = i[order], j[order]
    >>> disagreement = np.where(j - i == 20, 8.0, 0.5)
    >>> every = np.ones(41, dtype=bool)
    >>> edges = Evidence(i, j, disagreement, np.full(41, 0.16), 0 * i, every, every)
    >>> short = np.isinf(verdict(edges, 40).factors)
    >>> i[short], j[short]
    (array([5]), array([25]))
    """
    i, j, disagreement, distances, common, own, near = evidence
    edges = EdgeList(i, j, np.asarray(distances, dtype=np.float64), n)
    if len(i) >= renumbered:
        edges = edges.renumbered()
    tree = np.zeros(len(i), dtype=bool)
    tree[own] = spanning_tree(i[own], j[own], disagreement[own], n)

    def judge(unit: float, kin: Mask | None = None) -> Judgement:
        return _judge(edges, disagreement / unit, tree, kin, n_jobs)

    first = judge(RECIPE.ordinary)
    short = np.isinf(first.factors)
    suspects = short & near
    if not suspects.any():
        suspects = (first.factors > 1) & near
    at = np.zeros(n, dtype=bool)  # their ends, the only points whose reach is asked for
    at[i[suspects]] = at[j[suspects]] = True
    known = near & (at[i] | at[j])
    reach = reaches(i[known], j[known], distances[known], n)
    mutual = is_mutual(i[suspects], j[suspects], distances[suspects], reach)
    if is_bend(len(mutual), int(mutual.sum())):
        return judge(RECIPE.ordinary, common >= least_shared(common[near]))
    if not short.any():
        return first
    stricter = judge(1.0)
    if np.isinf(stricter.factors[own]).sum() > RECIPE.many * short[own].sum():
        return first
    return first._replace(factors=np.maximum(first.factors, stricter.factors))


def _judge(
    edges: EdgeList, disagreement: Floats, tree: Mask, kin: Mask | None, n_jobs: int | None
) -> Judgement:
    """Judge edges by their disagreement, ordinary up to 1; ``kin`` are trusted from the start."""
    trusted = is_trusted(disagreement, kin)
    parts = n_components(edges.graph(trusted))[1]
    between = is_between(parts, np.bincount(parts) >= RECIPE.nearest, edges.i, edges.j)
    held = trusted | tree
    factors = stretches(disagreement, held, between)
    asked = np.flatnonzero(~held & ~between)
    if len(asked):
        ways = ways_around(edges, held, asked, n_jobs)
        removed = is_removed(disagreement[asked], ways, edges.lengths[asked])
        factors[asked[removed]] = np.inf
    return Judgement(factors, trusted, between, held)


def ways_around(edges: EdgeList, held: Mask, asked: Indices, n_jobs: int | None = None) -> Floats:
    """Return a lower bound of the length of the way around each edge that is asked for.

    Ways lead over edges that are held; the shortest paths of some landmarks bound them.
    """
    ends = edges.i[asked], edges.j[asked]
    return landmark_ways(edges.graph(held), *ends, RECIPE.landmarks, n_jobs, names=edges.names)


def is_trusted(disagreement: Floats, kin: Mask | None = None) -> Mask:
    """Tell which edges are trusted from the start."""
    return np.asarray(disagreement <= 1.0 if kin is None else (disagreement <= 1.0) | kin)


def is_between(parts: Indices, large: Mask, i: Indices, j: Indices) -> Mask:
    """Tell which edges join two different large parts."""
    return np.asarray((parts[i] != parts[j]) & large[parts[i]] & large[parts[j]])


def stretches(disagreement: Floats, held: Mask, between: Mask) -> Floats:
    """Return how many times as long edges become that are not removed."""
    factors = np.clip(np.square(disagreement), 1.0, RECIPE.ceiling)
    return np.where(between & ~held, factors, 1.0)


def is_removed(disagreement: Floats, ways: Floats, distances: Floats) -> Mask:
    """Tell which edges are short circuits, given the ways around them."""
    long = ways > RECIPE.ordinary * distances
    return np.asarray(long & (disagreement * ways > RECIPE.product * distances))


def common_neighbors(near: csr_array, i: Indices, j: Indices, n_jobs: int | None = None) -> Indices:
    """Return how many near neighbours both ends of edges have, given a matrix of ones."""

    def common(block: slice) -> Indices:
        return np.asarray(near[i[block]].multiply(near[j[block]]).sum(axis=1), dtype=np.intp)

    widest = int(np.diff(near.indptr).max(initial=1))
    parts = map_blocks(common, len(i), 64 * widest, n_jobs)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.intp)


def _positive_median(values: Floats) -> float:
    """Return the median of those above zero: copies of a point say nothing about the rest."""
    above = values[values > 0]
    return float(np.median(above)) if len(above) else 1.0
