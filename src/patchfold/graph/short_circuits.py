"""Short circuits: edges whose patches disagree and whose way around is long.

A neighbour graph short-circuits a manifold where an edge jumps from one sheet to another. By its
length such an edge looks like any other. Two facts give it away together: its two patches disagree
more than those of neighbours usually do, and the way around it, through edges that are trusted, is
long. Disagreement alone is no evidence (bends, corners and sparse regions have it, too), and an
edge that nothing goes around cannot be a short circuit.

Where a closed manifold bends, all edges across a line may disagree, and the way around them is the
whole manifold. The ends of such edges have neighbours in common, as those of short circuits rarely
have. If what is shared explains nearly all short circuits, there are none.

A short circuit gets an infinite length; :mod:`patchfold.graph.building` leaves such edges out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from patchfold.graph.components import n_components, spanning_tree
from patchfold.graph.edges import EdgeList
from patchfold.graph.trusting import NO_SHORTCUT, trust_detours
from patchfold.graph.ways import landmark_ways

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]
    Mask = NDArray[np.bool_]

# Disagreement from which an edge that is not trusted is stretched: much where distances can be
# relied on, little where they are mostly noise. 5 instead of 4 makes two tables more readable and
# costs 0.02 on noisy rolls with many neighbours (seeds 5 to 9 and 20 to 31).
QUIET_DOUBT, NOISY_DOUBT = 4.0, 1.5

# An edge is stretched at most so many times. Chosen with SUSPICION below: with 5, digits lose 0.01
# of their accuracy in the plane, with 3, manifolds of known geometry 0.005 of their correlation.
CEILING = 4.0

# By its length a short circuit looks like any other edge. One of more than so many times what is
# typical is neither removed nor stretched: it is long already. Nor is any stretched beyond that, so
# that clusters far apart do not shrink to dots. Chosen on the tables of benchmarks/real.py, digits,
# MNIST and Fashion-MNIST: without it, five tables show less than half of what Isomap's picture
# shows; with 8, digits and Fashion-MNIST lose 0.02 of their accuracy. No short circuit of the rolls
# in docs/stability.md (seed 4) is longer than 5.3 times the typical edge.
LONGEST = 12.0

# A short circuit disagrees at least so much, and its way around is so many times as long: less, in
# proportion, where it disagrees more than doubt needs, but longer than what is no shortcut.
SHORT_DISAGREES, LONG_WAY = 1.25, 10.0

# Trusted edges may leave the graph in parts. No trusted way joins two parts, so edges between parts
# of at least so many points are no short circuits. A smaller part is a few strays. Chosen on the
# tables of benchmarks/real.py and rolls with outliers, seeds 0 to 2: with 15, PatchEigenmaps shows
# less than half of what spectral embedding does on five tables, with 8 on two; with 3, strays
# bridge the sheets of noisy rolls.
PART = 8

# Ends that share this part of their nearest points, three of eleven, may be neighbours though their
# patches disagree. They are taken for neighbours if at most this part of all short circuits is left
# then; otherwise there are sheets so close to each other that they share points, too. Sheets are
# further apart than neighbours: where short circuits are longer than so many typical edges, less
# may be left, by the fifth power. Chosen on 259 samples of closed surfaces (tori, spheres, Klein's
# bottle, waves in up to 50 dimensions; 400 and 1000 points), the tuning half of benchmarks/geometry
# at seeds 0 to 5, seeds 100 to 113 of the manifolds in docs/stability.md, and images, of which 0.29
# to 0.59 is left. Four of eleven, whatever the length, cuts twice as many of those manifolds open.
SHARED, LEFT, ORDINARY = 0.25, 0.2, 1.8

# Where there are short circuits, edges are judged a second time, by so many times the disagreement:
# less is trusted, and groups are told apart. The harder verdict holds. Chosen on digits, MNIST and
# Fashion-MNIST (5000 images, seeds 1 and 31 to 36), the tables of benchmarks/real.py, the tuning
# half of benchmarks/geometry at seeds 0 and 1, and seeds 0 to 2, 4 to 6 and 100 to 103 of the
# manifolds in docs/stability.md. Without, MNIST has 0.62 of its classes right in the plane, not
# 0.80; with 1.5 alone, noisy rolls lose 0.01 at large k; with 2.25, rolls with a hole lose 0.01.
SUSPICIONS = (1.7, 1.5)

# A stricter measure finds a few short circuits more. One that finds more than so many times as many
# has taken noise for them; then the next is tried. Chosen, by the last measure, on the rolls of
# docs/stability.md (seed 4: at most 2.9 times as many), digits, MNIST and Fashion-MNIST (2.8), and
# the tuning half of benchmarks/geometry (seed 1: 4.4 to 44, but 2.8 for gait).
MANY_MORE = 3.5


def stretches(
    i: Indices,
    j: Indices,
    disagreement: Floats,
    distances: Floats,
    n: int,
    *,
    shared: Floats | None = None,
    own: Mask | None = None,
    asked: Mask | None = None,
    quiet: float = 1.0,
    typical: float = np.inf,
    n_jobs: int | None = None,
) -> Floats:
    """Return how many times as long each edge has to be: infinitely, if it is a short circuit.

    - An edge is *trusted* if its patches agree, or if two trusted edges lead around it and are
      together hardly longer. It keeps its length.
    - An edge of the minimum spanning tree of disagreement keeps its length, too: nothing goes
      around it, and the graph stays connected.
    - Any other edge is a *short circuit* if its way around is long; the more its patches disagree,
      the shorter that way may be.
    - An edge that is many times as long as a typical one keeps its length: it hides nothing.
    - What is left, such as edges between clusters, is stretched by the square of its disagreement,
      once that is beyond doubt, up to a ceiling.
    - If hardly a short circuit is left once edges whose ends share neighbours are trusted, too,
      they are, and of the others only those between parts that no trusted way joins are stretched.
    - If short circuits are left, all edges are judged once more, by the strictest measure that does
      not find many times as many. The harder verdict holds.

    Parameters
    ----------
    i, j : arrays of shape (n_edges,)
        The ends of undirected edges, each given once, sorted by ``i``.
    disagreement : array of shape (n_edges,)
        Of the patches at their ends, up to 1 where it is ordinary
        (:mod:`patchfold.graph.disagreement`).
    distances : array of shape (n_edges,)
        Lengths before stretching.
    n : int
        Number of points.
    shared : array of shape (n_edges,) or None
        The share of their nearest points that both ends have in common.
    own : array of bool of shape (n_edges,) or None
        Which edges are those of the graph, None for all.
    asked : array of bool of shape (n_edges,) or None
        Which edges tell whether what is shared explains the short circuits, None for all.
    quiet : float, default=1.0
        How far distances can be relied on, from 0 to 1.
    typical : float, default=inf
        Length of a typical edge. One of more than :data:`LONGEST` times that keeps its length, and
        the longer short circuits are, the less is explained by what is shared.
    n_jobs : int or None

    Returns
    -------
    array of shape (n_own,)
        The factors of the graph's own edges, at least 1.

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
    >>> factors = stretches(i, j, disagreement, np.full(41, 0.16), 40)
    >>> i[np.isinf(factors)], j[np.isinf(factors)]
    (array([5]), array([25]))
    """
    judgement, judged = judged_edges(
        i,
        j,
        disagreement,
        distances,
        n,
        shared=shared,
        own=own,
        asked=asked,
        quiet=quiet,
        typical=typical,
        n_jobs=n_jobs,
    )
    factors = judgement.factors if own is None else judgement.factors[own[judged]]
    return np.asarray(factors, dtype=distances.dtype)


class Judgement(NamedTuple):
    """What becomes of edges: arrays of shape (n_edges,)."""

    factors: Floats  # how many times as long each has to be
    trusted: Mask
    between: Mask  # which join two large parts of the graph of trusted edges
    held: Mask  # trusted, or of the minimum spanning tree


def is_far(distances: Floats, typical: float) -> Mask:
    """Tell which edges are too long for short circuits."""
    return np.asarray(distances > LONGEST * typical)


def counted_lengths(distances: Floats, typical: float) -> Indices:
    """Return how many edges are 0, 1, 2 ... hundredths of a typical edge long, at least."""
    most = int(100 * LONGEST)
    hundredths = np.minimum(100 * np.asarray(distances, dtype=np.float64) / typical, most)
    return np.bincount(hundredths.astype(np.intp), minlength=most + 1)


def share_left(lengths: Indices) -> float:
    """Return which share of short circuits of counted lengths may be left, if there are none."""
    middle = np.searchsorted(np.cumsum(lengths), lengths.sum() / 2) / 100
    return float(LEFT / max(1.0, middle / ORDINARY) ** 5)


def doubt_of(quiet: float) -> float:
    """Return the disagreement from which an edge that is not trusted is stretched."""
    return NOISY_DOUBT + quiet * (QUIET_DOUBT - NOISY_DOUBT)


def judged_edges(
    i: Indices,
    j: Indices,
    disagreement: Floats,
    distances: Floats,
    n: int,
    *,
    shared: Floats | None,
    own: Mask | None,
    asked: Mask | None,
    quiet: float,
    typical: float,
    n_jobs: int | None,
) -> tuple[Judgement, Mask]:
    """Judge the graph's own edges, or all, where others are needed to trust what is shared.

    Parameters are those of :func:`stretches`. Returns the judgement, and which edges are judged.
    """
    lengths = np.asarray(distances, dtype=np.float64)
    far = is_far(distances, typical)
    every = np.ones(len(i), dtype=bool)
    own, asked = (every if some is None else some for some in (own, asked))
    tree = np.zeros(len(i), dtype=bool)
    tree[own] = spanning_tree(i[own], j[own], disagreement[own], n)

    def judged(some: Mask, kin: Mask | None = None, counts: float = 1.0) -> Judgement:
        """Judge some edges; if given, those of ``kin`` are trusted from the start."""
        parts = EdgeList(i[some], j[some], lengths[some], n)
        values = counts * disagreement[some]
        trusted = values <= 1.0 if kin is None else (values <= 1.0) | kin[some]
        within = CEILING if kin is None else 1.0
        doubt, marks = doubt_of(quiet), (trusted, tree[some], far[some])
        return _judged(parts, values, marks, doubt, within, n_jobs)

    first = judged(asked)
    suspected = counted_lengths(lengths[asked][np.isinf(first.factors)], typical)
    short = suspected.sum()
    if short and shared is not None:
        kin = shared >= SHARED
        if np.isinf(judged(asked, kin).factors).sum() <= share_left(suspected) * short:
            return judged(every, kin), every
    if not (asked == own).all():
        first = judged(own)
    if short:
        most = MANY_MORE * np.isinf(first.factors).sum()
        for counts in SUSPICIONS:
            strictly = judged(own, counts=counts)
            if np.isinf(strictly.factors).sum() <= most:
                first = first._replace(factors=np.maximum(first.factors, strictly.factors))
                break
    return first, own


def _judged(
    edges: EdgeList,
    disagreement: Floats,
    marks: tuple[Mask, Mask, Mask],
    doubt: float,
    within: float,
    n_jobs: int | None,
) -> Judgement:
    """Judge edges.

    ``marks`` tell which are trusted from the start, of the tree, and too long for short circuits;
    ``within`` is the ceiling of those that do not join two parts.
    """
    trusted, tree, far = marks
    trusted = trusted.copy()
    trust_detours(edges, trusted, n_jobs)
    between = _between_parts(edges, trusted)
    settled = trusted | tree
    factors = bounded_stretch(disagreement, settled | far, between, doubt, within)
    short = np.flatnonzero(suspects(disagreement, settled | far, between))
    if len(short):
        ways = landmark_ways(edges.graph(settled), edges.i[short], edges.j[short], n_jobs)
        factors[short[is_long(ways, disagreement[short], edges.lengths[short], doubt)]] = np.inf
    return Judgement(factors, trusted, between, settled)


def bounded_stretch(
    disagreement: Floats, settled: Mask, between: Mask, doubt: float, within: float
) -> Floats:
    """Return the factors of edges that are no short circuits.

    ``settled`` are those that keep their length, ``between`` those that join two parts; ``within``
    is the ceiling of the others.
    """
    factors = np.clip(np.square(disagreement / doubt), 1.0, np.where(between, CEILING, within))
    factors[settled] = 1.0
    return np.asarray(factors)


def stretched_lengths(distances: Floats, factors: Floats, typical: float) -> Floats:
    """Return the lengths of stretched edges in units of the typical distance.

    Short circuits stay infinite; no other edge is stretched beyond :data:`LONGEST`.
    """
    plain = distances / typical
    lengths = plain * np.asarray(factors, dtype=distances.dtype)
    bounded = np.minimum(lengths, np.maximum(plain, LONGEST))
    return np.asarray(np.where(np.isinf(lengths), lengths, bounded), dtype=distances.dtype)


def detours(edges: EdgeList, judgement: Judgement, n_jobs: int | None = None) -> Floats:
    """Return how many times as long as an edge the way around it is, at least.

    1 for trusted edges, infinite between two large parts that no trusted way joins. Ways lead
    through trusted edges and those of the minimum spanning tree of disagreement, and are bounded
    from below.

    Parameters
    ----------
    edges : EdgeList
    judgement : Judgement
        Of these edges.
    n_jobs : int or None

    Returns
    -------
    array of shape (n_edges,)
    """
    found = np.ones(len(edges.i))
    found[judgement.between & ~judgement.trusted] = np.inf
    open_ = np.flatnonzero(~judgement.trusted & ~judgement.between)
    if len(open_):
        held = edges.graph(judgement.held)
        ways = landmark_ways(held, edges.i[open_], edges.j[open_], n_jobs)
        with np.errstate(divide="ignore", invalid="ignore"):  # of centres in one place
            found[open_] = np.fmax(ways / edges.lengths[open_], 1.0)
    return found


def suspects(disagreement: Floats, settled: Mask, between: Mask) -> Mask:
    """Tell which edges are short circuits if their ways around are long."""
    return np.asarray(~settled & (disagreement > SHORT_DISAGREES) & ~between)


def is_long(ways: Floats, disagreement: Floats, distances: Floats, doubt: float) -> Mask:
    """Tell which ways around edges are long, for how much the patches disagree."""
    long_way = np.clip(LONG_WAY * doubt / disagreement, NO_SHORTCUT, LONG_WAY)
    return np.asarray(ways > long_way * distances)


def _between_parts(edges: EdgeList, trusted: Mask) -> Mask:
    """Tell which edges join two large parts of the graph of trusted edges."""
    parts = n_components(edges.graph(trusted))[1]
    large = np.bincount(parts)[parts] >= PART
    i, j = edges.i, edges.j
    return np.asarray((parts[i] != parts[j]) & large[i] & large[j])
