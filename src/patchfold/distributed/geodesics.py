"""Geodesics from landmarks in a graph whose edges lie in parts.

Every part relaxes its own rows, one landmark after the other. Then it sends the lengths at its
border to the parts that have edges to it, and each of these goes on from what has become shorter,
until no border changes. So work done is not done again, and the bits are those of a graph in one
place: the length of a path is the sum of its edges in order, whoever finds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from patchfold.base.row_order import places as places_of
from patchfold.distributed.halo import taken

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.halo import Exchange
    from patchfold.distributed.links import Links


# Landmarks whose geodesics are exchanged together: more make fewer tasks, and need more memory.
TOGETHER = 64

# Rounds of exchange of the paths from one landmark before this process looks whether they change.
ROUNDS = 3


class Edges(NamedTuple):
    """Edges that lead to own rows: those of a row from ``starts[row]`` to ``starts[row + 1]``."""

    starts: Indices
    ends: Indices
    lengths: Floats


class Ground(NamedTuple):
    """The graph of a part. Own rows are renumbered: neighbours are close to each other in memory.

    Attributes
    ----------
    number : array of shape (n_own,)
        The new number of every own row.
    inner : Edges
        Between own rows.
    entering : dict of int to Edges
        From the rows of the halo that each other part has.
    leaving : dict of int to array
        The own rows that are in the halo of each other part, by their new numbers.
    """

    number: Indices
    inner: Edges
    entering: dict[int, Edges]
    leaving: dict[int, Indices]


class Reached(NamedTuple):
    """Lengths of paths, (n_landmarks, n_own), and the parts whose halo they have changed in."""

    far: Floats
    sides: tuple[int, ...]


def grounds_of(
    exchange: Exchange, links: list[Any], lengths: list[Any], *, ordered: bool = True
) -> list[Any]:
    """Return futures of the :class:`Ground` of every part; rows are renumbered if ``ordered``."""
    leaving = exchange.leaving()
    return exchange.cluster.each(_ground, links, lengths, leaving, ordered=ordered)


def geodesics(
    exchange: Exchange, grounds: list[Any], sources: list[tuple[int, int]], dtype: Any
) -> tuple[list[list[Any]], float]:
    """Return the geodesics of own rows and the longest of all.

    For every part, these are futures of arrays of shape (n_own, n_some), of some sources after the
    other.

    Parameters
    ----------
    exchange : Exchange
    grounds : list of futures of Ground
    sources : list of pairs of int
        The part of each source, and its place among the rows of the part.
    dtype : numpy dtype
        What geodesics are rounded to.
    """
    cluster, longest = exchange.cluster, 0.0
    parts: list[list[Any]] = [[] for _ in grounds]
    for start in range(0, len(sources), TOGETHER):
        far = _relaxed(exchange, grounds, sources[start : start + TOGETHER])
        block = cluster.each(_rounded, grounds, far, dtype=dtype)
        longest = max(longest, *cluster.get(cluster.each(_longest, block)))
        for part, found in zip(parts, block, strict=True):
            part.append(found)
    return parts, longest


def _relaxed(exchange: Exchange, grounds: list[Any], sources: list[tuple[int, int]]) -> list[Any]:
    cluster, parts = exchange.cluster, range(len(grounds))
    places = [[(lane, at) for lane, (home, at) in enumerate(sources) if home == p] for p in parts]
    reached = cluster.each(_started, grounds, places, lanes=len(sources))
    changed = dict(zip(parts, cluster.get(cluster.each(_sides, reached)), strict=True))
    while any(changed.values()):
        new = {}
        for part in parts:
            sides = [side for side, others in changed.items() if part in others]
            if sides:
                pieces = [cluster.run(_piece, grounds[side], reached[side], part) for side in sides]
                new[part] = cluster.run(_resumed, grounds[part], reached[part], sides, pieces)
        changed = dict(zip(new, cluster.get(cluster.each(_sides, new.values())), strict=True))
        for part, found in new.items():
            reached[part] = found
    return reached


def reached_from(exchange: Exchange, grounds: list[Any], far: list[Any]) -> list[Any]:
    """Return futures of the paths from one landmark to own rows, which are not renumbered.

    Where there is one number per row, all numbers of a part are sent to those beside it: that is
    quicker than a task for every border.
    """
    cluster, parts = exchange.cluster, range(len(grounds))
    while True:
        before = far
        for _ in range(ROUNDS):
            before = far
            known = [exchange.whole(part, before) for part in parts]
            far = [cluster.run(_resumed_once, grounds[p], before[p], *known[p]) for p in parts]
        if all(cluster.get(cluster.each(np.array_equal, before, far))):
            return far


def started_from(ground: Ground, place: int | None) -> Floats:
    """Relax the rows of a part from one of them; all are far if there is none."""
    far: Floats = _started(ground, [] if place is None else [(0, place)], 1).far[0]
    return far


def _resumed_once(
    ground: Ground, far: Floats, others: list[Floats], wanted: list[Indices]
) -> Floats:
    pieces = [values[None] for values in taken(others, wanted)]
    reached = _resumed(ground, Reached(far[None], ()), list(ground.entering), pieces)
    return np.asarray(reached.far[0])


def _ground(links: Links, lengths: Floats, leaving: dict[int, Indices], ordered: bool) -> Ground:
    table, kept = links.table, np.isfinite(lengths)
    i, j = links.i[kept], links.j[kept]
    rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
    both = np.concatenate([lengths[kept]] * 2).astype(np.float64)
    n, n_own = len(table), len(table.own)
    into = table.is_own[columns]
    place = np.empty(n, dtype=np.intp)
    place[table.own] = np.arange(n_own)
    graph = csr_array((both[into], (rows[into], place[columns[into]])), shape=(n, n_own))
    own = graph[table.own]
    order = np.arange(n_own)
    if ordered:
        order = np.asarray(reverse_cuthill_mckee(own, symmetric_mode=True), dtype=np.intp)
    number = places_of(order)
    entering = {side: _edges(graph[at], number) for side, at in table.halo.items()}
    known = {side: number[at] for side, at in leaving.items()}
    return Ground(number, _edges(own[order], number), entering, known)


def _edges(graph: csr_array, number: Indices) -> Edges:
    starts = graph.indptr.astype(np.intp)
    return Edges(starts, number[graph.indices], graph.data)


def _started(ground: Ground, places: list[tuple[int, int]], lanes: int) -> Reached:
    """Relax the rows of a part from the sources in it, given by lane and place."""
    far = np.full((lanes, len(ground.number)), np.inf)
    known = np.full((lanes, len(places)), np.inf)
    for one, (lane, _) in enumerate(places):
        known[lane, one] = 0.0
    ends = ground.number[np.array([at for _, at in places], dtype=np.intp)]
    edges = Edges(np.arange(len(places) + 1), ends, np.zeros(len(places)))
    return _resumed_from(ground, far, [(edges, known)])


def _resumed(ground: Ground, reached: Reached, sides: list[int], pieces: list[Floats]) -> Reached:
    """Go on from the lengths at the borders of other parts."""
    entering = [ground.entering[side] for side in sides]
    return _resumed_from(ground, reached.far.copy(), list(zip(entering, pieces, strict=True)))


def _resumed_from(ground: Ground, far: Floats, known: list[tuple[Edges, Floats]]) -> Reached:
    # Here and not above: to import the compiler is slow.
    from patchfold.graph import shortest_path_kernel

    changed = np.zeros(far.shape[1], dtype=bool)
    if not known:
        return Reached(far, ())
    starts = np.concatenate([[0], *(np.diff(edges.starts) for edges, _ in known)]).cumsum()
    ends = np.concatenate([edges.ends for edges, _ in known])
    lengths = np.concatenate([edges.lengths for edges, _ in known])
    outside = np.concatenate([values for _, values in known], axis=1)
    shortest_path_kernel.resume_each(*ground.inner, starts, ends, lengths, outside, far, changed)
    return Reached(far, tuple(side for side, at in ground.leaving.items() if changed[at].any()))


def _piece(ground: Ground, reached: Reached, part: int) -> Floats:
    """Return the lengths at the border to another part."""
    return reached.far[:, ground.leaving[part]]


def _sides(reached: Reached) -> tuple[int, ...]:
    return reached.sides


def _rounded(ground: Ground, reached: Reached, dtype: Any) -> Floats:
    with np.errstate(over="ignore"):  # beyond float32: infinite, as without a path
        return np.ascontiguousarray(reached.far[:, ground.number].T.astype(dtype, copy=False))


def _longest(paths: Floats) -> float:
    return float(paths.max())
