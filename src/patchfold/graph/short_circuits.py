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

Steps are functions on arrays of edges; :mod:`patchfold.graph.pruning` calls them. An edge of a new
point is left out unless it is trusted (:func:`trusted_of_new`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from patchfold.graph.components import n_components, spanning_tree
from patchfold.graph.detour_bounds import landmark_ways
from patchfold.graph.edges import EdgeList
from patchfold.patches.gaussian_patch import GaussianPatch

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices, Mask
    from patchfold.neighbors.neighborhoods import Neighborhoods


@dataclass(frozen=True)
class Recipe:
    """The tuned numbers of the default graph, in the order in which the page tells them.

    The twelfth is what ``gamma="auto"`` means, ``patchfold.patches.covariances.AUTO_RIDGE``.

    Chosen on seeds 100 to 129 of the swiss roll, 100 to 103 of the other manifolds in
    docs/evidence/stability.md, 100 to 105 of closed surfaces, and 100 to 103 of the tuning half of
    benchmarks/geometry; on every other table of benchmarks/real.py, digits, and 2500 images of
    MNIST, Fashion-MNIST, optdigits and pendigits (samples 100 and 101).
    ``python -m benchmarks.ablation`` shows what each is worth on other data.
    """

    points: int = 20  # neighbours of a patch, at most ...
    roots: float = 0.6  # ... and at most this many times the root of the number of points
    directions: int = 10  # of largest variance, which a patch keeps
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
    def of(cls, *values: Floats) -> Typical:
        """Learn what is typical from the distances and divergences of T."""
        # Copies of a point, at zero, say nothing about the rest.
        above = [some[some > 0] for some in values]
        return cls(*(float(np.median(some)) if len(some) else 1.0 for some in above))

    def disagreement(self, divergences: Floats) -> Floats:
        """Return divergences in units of the typical one."""
        return np.asarray(divergences.astype(np.float64) / self.divergence)


class Candidates(NamedTuple):
    """Edges ``(i, j)`` that may be short circuits, each given once in order: arrays (n_edges,)."""

    i: Indices
    j: Indices
    own: Mask  # which of them the graph has; the others tell what is typical
    nearest: Mask  # which lead to one of the ten nearest points (T above)
    common: Indices  # how many of their ten nearest points both ends have in common


class Judgement(NamedTuple):
    """What becomes of edges: arrays of shape (n_edges,)."""

    factors: Floats  # how many times as long each has to be, infinitely for a short circuit
    trusted: Mask
    between: Mask  # which join two large parts of the graph of trusted edges
    held: Mask  # trusted, or of the minimum spanning tree


def least_shared(common: Indices) -> float:
    """Return how many of their nearest points kin share at least, given how many those of T do."""
    return RECIPE.kin * max(1.0, float(np.median(common)))


def reaches(i: Indices, j: Indices, distances: Floats, n: int) -> Floats:
    """Return the tenth shortest distance at every point, or the longest, given edges of T."""
    rows, lengths = np.concatenate([i, j]), np.concatenate([distances, distances])
    order = np.lexsort((lengths, rows))
    rows = rows[order]
    few = np.arange(len(rows)) < np.searchsorted(rows, rows) + RECIPE.nearest
    reach = np.zeros(n, dtype=lengths.dtype)
    reach[rows[few]] = lengths[order[few]]  # of several at a point, the last stays
    return reach


def is_bend(suspects: int, mutual: int) -> bool:
    """Tell whether suspects lie across a bend of the manifold, and are no short circuits."""
    return suspects > 0 and mutual >= RECIPE.mutual * suspects


def verdict(
    candidates: Candidates,
    distances: Floats,
    disagreement: Floats,
    n: int,
    n_jobs: int | None = None,
    *,
    renumbered: int = RENUMBERED,
    device: str | None = None,
) -> Judgement:
    """Decide about all edges between ``n`` points, as told at the top of this module.

    ``distances`` are those of the patches at both ends of each candidate, ``disagreement`` their
    divergence in units of the typical one.

    A second look changes ``factors`` only. From ``renumbered`` edges on, points are numbered along
    the graph, and a ``device`` of torch may find the paths: results depend on neither.

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
    >>> edges = Candidates(i, j, every, every, 0 * i)
    >>> short = np.isinf(verdict(edges, np.full(41, 0.16), disagreement, 40).factors)
    >>> i[short], j[short]
    (array([5]), array([25]))
    """
    i, j, own, nearest, common = candidates
    edges = EdgeList(i, j, np.asarray(distances, dtype=np.float64), n, device=device)
    if len(i) >= renumbered:
        edges = edges.renumbered()
    tree = np.zeros(len(i), dtype=bool)
    tree[own] = spanning_tree(i[own], j[own], disagreement[own], n)

    def judge(unit: float, kin: Mask | None = None) -> Judgement:
        return _judge(edges, disagreement / unit, tree, kin, n_jobs)

    first = judge(RECIPE.ordinary)
    short = np.isinf(first.factors)
    suspects = nearest & (short if (short & nearest).any() else first.factors > 1)
    at = np.zeros(n, dtype=bool)  # their ends, the only points whose reach is asked for
    at[i[suspects]] = at[j[suspects]] = True
    known = nearest & (at[i] | at[j])
    reach = reaches(i[known], j[known], distances[known], n)
    mutual = distances[suspects] <= np.minimum(reach[i[suspects]], reach[j[suspects]])
    if is_bend(len(mutual), int(mutual.sum())):
        return judge(RECIPE.ordinary, common >= least_shared(common[nearest]))
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
    trusted = np.asarray(disagreement <= 1.0)
    if kin is not None:
        trusted |= kin
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
    how: dict[str, Any] = {"names": edges.names, "device": edges.device}
    return landmark_ways(edges.graph(held), *ends, RECIPE.landmarks, n_jobs, **how)


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


def trusted_of_new(
    near: Neighborhoods, disagreement: Floats, distances: Floats, graph: csr_array
) -> Mask:
    """Tell which edges of new points to fitted ones are trusted.

    An edge is trusted if its patches agree, if it is the best edge of its point, or if a trusted
    edge and an edge of the graph lead around it in at most ``RECIPE.ordinary`` times its length.
    """
    rows, ends = near.sources, near.indices
    order = np.lexsort((disagreement, rows))
    trusted = disagreement <= RECIPE.ordinary
    trusted[order[np.diff(rows[order], prepend=-1) > 0]] = True
    sure, open_ = np.flatnonzero(trusted), np.flatnonzero(~trusted)
    starts = np.searchsorted(rows[sure], np.arange(len(near) + 1))
    counts = np.diff(starts)[rows[open_]]
    # The place of each edge in the graph, from one on; zero stands for none.
    places = csr_array((np.arange(1, graph.nnz + 1), graph.indices, graph.indptr), graph.shape)
    lengths = np.insert(graph.data, 0, np.inf)
    for which in range(counts.max(initial=0)):
        asked = open_[counts > which]
        by = sure[starts[rows[asked]] + which]  # a trusted edge of the same point
        ways = distances[by] + lengths[places[ends[by], ends[asked]]]
        trusted[asked] |= ways <= RECIPE.ordinary * distances[asked]
    return trusted
