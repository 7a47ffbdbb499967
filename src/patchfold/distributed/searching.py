"""Neighbours of rows in all parts: each row is searched in the parts that can hold one.

A row is first searched in its own part. Another part is asked if a bound of its distance is not
above the distance of the k-th neighbour so far. There are two such bounds: part ``b`` lies in a
ball, and beyond a plane across the line from the centre of the row's own part to that of ``b``. So
the search is exact, with ties by (distance, index), whatever the parts are.

An approximate search lets parts overlap. To its own rows a part adds those of others that lie
beyond its planes by no more than neighbours are usually apart, and searches all of them at once:
exactly where there are as few of them as ``knn="auto"`` searches exactly.
"""

from __future__ import annotations

from functools import cached_property
from operator import getitem, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from patchfold.base.threads import block_slices
from patchfold.distributed.halo import Nodes, take_rows
from patchfold.distributed.planes import near_parts
from patchfold.neighbors.approximate import ApproximateNeighbors
from patchfold.neighbors.points import SearchedPoints, k_nearest
from patchfold.neighbors.search import exact_suits

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices, Mask
    from patchfold.distributed.connection import Cluster


# Bounds are lowered by this share of what they are computed of, far more than rounding.
SLACK = 1e-9

# An approximate search for new points asks at most so many other parts, those with the lowest
# bounds.
PROBES = 2

# Rows whose neighbours are searched again, exactly, to tell the recall of an approximate search.
RECALLED = 200

# New points are searched exactly where a part has more than so many times as many rows.
MANY = 4

# Parts overlap by the distance within which this share of a sample has its k neighbours, found from
# so many rows of every part.
WITHIN, SAMPLED = 0.9, 128

# In many dimensions planes tell little about distances, and parts would overlap by all rows. The
# overlap is halved, up to so often, until parts add no more than so many times their own rows,
# counted on so many rows of each.
HALVINGS, MOST_ADDED, COUNTED = 12, 2.0, 1000


class Found(NamedTuple):
    """The neighbours of the rows of a part, nearest first: fields of shape (n, k)."""

    nodes: Nodes
    distances: Floats

    def nearest(self, k: int) -> Found:
        """Return only the ``k`` nearest."""
        return Found(self.nodes.at((slice(None), slice(0, k))), self.distances[:, :k])


class Bounds(NamedTuple):
    """Where parts lie: centres, radii, and how far each begins beyond the centre of another.

    ``lows[b, a]`` is the least of ``u (y - c_b)`` over the rows ``y`` of part ``b``, for the unit
    vector ``u`` from the centre of ``a`` to ``c_b``.
    """

    centres: Floats
    radii: Floats
    lows: Floats

    def below(self, X: Floats, homes: Indices) -> Floats:
        """Return lower bounds of the distances of rows from all parts, (n, n_parts)."""
        found = np.empty((len(X), len(self.centres)))
        for part, centre in enumerate(self.centres):
            gaps = X - centre
            far = np.sqrt(np.square(gaps).sum(axis=1))
            beyond = self.lows[part, homes] - (gaps * _ways(self.centres, part)[homes]).sum(axis=1)
            slack = SLACK * (far + self.radii[part])
            found[:, part] = np.maximum(far - self.radii[part], beyond) - slack
        return found


class Search:
    """A search for the ``k`` nearest among the points of all parts.

    Parameters
    ----------
    cluster : Cluster
    ids : list of futures of arrays of integers
        The numbers of who is searched; they break ties.
    points : list of futures of arrays
        Where they are.
    tree : future of Plane or int
        The planes between parts.
    exact : bool
        Whether all parts are asked that can hold a neighbour, and each is searched exactly.
    """

    def __init__(
        self, cluster: Cluster, ids: list[Any], points: list[Any], tree: Any, *, exact: bool
    ) -> None:
        self.cluster, self.ids, self.points, self.exact = cluster, ids, points, exact
        self.tree = tree

    @cached_property
    def bounds(self) -> Any:
        """Where parts lie: the future of :class:`Bounds`."""
        cluster, points = self.cluster, self.points
        centres = np.stack(cluster.get(cluster.each(_centre, points)))
        numbers = range(len(points))
        sent = cluster.send(centres)
        extents = cluster.get(cluster.each(_extent, points, numbers, centres=sent))
        radii, lows = zip(*extents, strict=True)
        return cluster.send(Bounds(centres, np.array(radii), np.stack(lows)))

    def own(self, k: int) -> list[Any]:
        """Return the futures of what is :class:`Found` for the rows themselves."""
        run, parts = self.cluster, range(len(self.ids))
        if not self.exact and min(run.get(run.each(len, self.points))) > k:
            return self._overlapping(k)
        first = run.each(search_own, self.ids, self.points, parts, k=k)
        homes = [np.intp(part) for part in parts]
        return self._elsewhere(self.points, homes, first, k)

    def _overlapping(self, k: int) -> list[Any]:
        cluster, parts = self.cluster, range(len(self.ids))
        far = np.concatenate(cluster.get(cluster.each(_kth_distances, self.points, k=k)))
        margin = self._margin(float(np.quantile(far, WITHIN)))
        near = cluster.each(overlap, self.ids, self.points, parts, tree=self.tree, margin=margin)
        sides = cluster.get(cluster.each(list, near))
        added: list[list[Any]] = [[] for _ in parts]
        for part, others in enumerate(sides):
            for side in others:
                added[side].append(cluster.run(getitem, near[part], side))
        return cluster.each(search_overlapping, self.ids, self.points, parts, added, k=k)

    def _margin(self, wanted: float) -> float:
        """Return how far parts overlap: as wanted, or less where that would add too many rows."""
        margins = wanted * 0.5 ** np.arange(HALVINGS)
        cluster = self.cluster
        found = cluster.get(cluster.each(_added_rows, self.points, tree=self.tree, margins=margins))
        n, added = (np.sum(column, axis=0) for column in zip(*found, strict=True))
        return float(max(margins[added <= MOST_ADDED * n], default=0.0))

    def recall(self, found: list[Any], k: int) -> float:
        """Return which share of the ``k`` nearest was found, over a sample of rows."""
        if self.exact:
            return 1.0
        cluster, parts = self.cluster, range(len(self.ids))
        each = max(1, RECALLED // len(self.ids))
        asked = cluster.get(cluster.each(_asked_again, self.ids, self.points, found, count=each))
        ids, points, distances = (np.concatenate(column) for column in zip(*asked, strict=True))
        there = self.ids, self.points, [cluster.send(points)] * len(parts), parts
        answers = cluster.get(cluster.each(answer, *there, k=k + 1, exact=True))
        return recalled(ids, distances[:, :k], answers)

    def new(self, points: list[Any], homes: list[Any], k: int) -> list[Any]:
        """Return the futures of what is found for new points, whose own parts are ``homes``."""
        first = self._asked(points, self.cluster.each(_by_home, homes), [None] * len(points), k)
        return self._elsewhere(points, homes, first, k)

    def _elsewhere(
        self, points: list[Any], homes: list[Any], first: list[Any], k: int
    ) -> list[Any]:
        probes = None if self.exact else PROBES
        bounds = self.bounds
        asked = self.cluster.each(ask, points, homes, first, bounds=bounds, k=k, probes=probes)
        return self._asked(points, asked, first, k)

    def _asked(self, points: list[Any], asked: list[Any], first: list[Any], k: int) -> list[Any]:
        """Search rows where they are asked to be, and merge that with what is known."""
        run = self.cluster.run
        sides = self.cluster.get(self.cluster.each(list, asked))
        queries = []
        for place, others in enumerate(sides):
            for side in others:
                rows = run(getitem, asked[place], side)
                queries.append((side, place, rows, run(take_rows, points[place], rows)))
        answers: list[list[Any]] = [[] for _ in points]
        # By the part that is asked, so that each is read from disk once.
        for side, place, rows, some in sorted(queries, key=itemgetter(0)):
            found = run(answer, self.ids[side], self.points[side], some, side, k, self.exact)
            answers[place].append((rows, found))
        return self.cluster.each(merged, points, first, answers, k=k)


class Added(NamedTuple):
    """Rows of one part that another one searches beside its own."""

    nodes: Nodes
    points: Floats


def _kth_distances(points: Floats, k: int) -> Floats:
    """Return the distances of the k-th neighbours of a sample of rows, within their part."""
    some = points[:: max(1, len(points) // SAMPLED)]
    found = k_nearest(SearchedPoints(points, 1), some, k + 1, own=False)
    return found.distances.reshape(-1, k + 1)[:, -1]


def _added_rows(points: Floats, tree: Any, margins: Floats) -> tuple[int, Floats]:
    """Return how many rows there are, and about how many of them others would add, by margin."""
    some = points[:: max(1, len(points) // COUNTED)]
    near = [near_parts(some, tree, margin).values() for margin in margins]
    times = np.array([sum(map(len, parts)) for parts in near]) / len(some)
    return len(points), (times - 1.0) * len(points)


def overlap(ids: Indices, points: Floats, part: int, tree: Any, margin: float) -> dict[int, Added]:
    """Return the rows of a part that others search, too, by part."""
    near = near_parts(points, tree, margin)
    return {
        side: Added(Nodes(ids[at], np.full(len(at), part), at), points[at])
        for side, at in near.items()
        if side != part
    }


def search_overlapping(
    ids: Indices, points: Floats, part: int, added: list[Added], k: int
) -> Found:
    """Search the neighbours of the rows of a part among themselves and rows of others."""
    own = Nodes(ids, np.full(len(points), part), np.arange(len(points)))
    every = [Added(own, points), *added]
    nodes = Nodes(*(np.concatenate(c) for c in zip(*(some.nodes for some in every), strict=True)))
    stacked = np.concatenate([some.points for some in every])
    order = np.argsort(nodes.ids, kind="stable")
    nodes, stacked = nodes.at(order), stacked[order]
    mine = np.flatnonzero(nodes.homes == part)
    return Found(*_approximate(nodes, stacked, mine, k))


def _approximate(nodes: Nodes, points: Floats, some: Indices, k: int) -> tuple[Nodes, Floats]:
    """Return the neighbours of some points and their distances, in double precision."""
    space = SearchedPoints(points, 1)
    found, full = np.empty((len(some), k), dtype=np.intp), np.zeros(len(some), dtype=bool)
    if not exact_suits("auto", *points.shape):
        near = ApproximateNeighbors(k, n_jobs=1, random_state=0).build(points).query()
        full = near.degrees[some] == k
        found[full] = near.indices[near.indptr[some[full]][:, None] + np.arange(k)]
    if not full.all():  # all rows where there are few, or those that the descent left incomplete
        exactly = k_nearest(space, points[some[~full]], k + 1, own=False)
        others = exactly.indices.reshape(-1, k + 1)
        found[~full] = others[_others(others, some[~full])].reshape(-1, k)
    distances = space.distances(points, np.repeat(some, k), found.ravel()) / space.scale
    return nodes.at(found), distances.reshape(-1, k)


def _others(found: Indices, own: Indices) -> Mask:
    """Tell which neighbours to keep: all but the point itself, or the last."""
    others = np.asarray(found != own[:, None])
    others[others.all(axis=1), -1] = False
    return others


def _asked_again(
    ids: Indices, points: Floats, found: Found, count: int
) -> tuple[Indices, Floats, Floats]:
    """Return some rows of a part, with the distances of the neighbours that were found."""
    some = np.unique(np.linspace(0, len(points) - 1, count, dtype=np.intp))
    return ids[some], points[some], found.distances[some]


def recalled(ids: Indices, distances: Floats, answers: list[Found]) -> float:
    """Return which share of the neighbours in ``answers`` of all parts has been found.

    A row counts as found if one as near was: which of several equally far ones does not matter.
    """
    every = np.concatenate([some.distances for some in answers], axis=1)
    itself = np.concatenate([some.nodes.ids for some in answers], axis=1) == ids[:, None]
    k = distances.shape[1]
    last = np.sort(np.where(itself, np.inf, every), axis=1)[:, k - 1]
    return float(np.mean(distances <= last[:, None]))


def search_own(ids: Indices, points: Floats, part: int, k: int) -> Found:
    """Search the neighbours of the rows of a part among themselves, exactly."""
    return _searched(ids, points, None, part, k, exact=True)


def answer(ids: Indices, points: Floats, queries: Floats, part: int, k: int, exact: bool) -> Found:
    """Search the neighbours of the rows of another part, or of new points, in this one."""
    return _searched(ids, points, queries, part, k, exact)


def ask(
    points: Floats, homes: Any, first: Found, bounds: Bounds, k: int, probes: int | None
) -> dict[int, Indices]:
    """Return which rows to search in which other parts, given what their own part has."""
    asked: dict[int, list[Indices]] = {}
    homes = np.broadcast_to(homes, len(points))
    for block in block_slices(len(points), 3 * 8 * (points.shape[1] + len(bounds.centres))):
        rows = np.arange(len(points))[block]
        below = bounds.below(points[block], homes[block])
        near = below <= first.distances[block][:, [k - 1]]
        near[np.arange(len(rows)), homes[block]] = False
        if probes is not None:
            below[np.arange(len(rows)), homes[block]] = np.inf
            near &= below <= np.sort(below, axis=1)[:, [min(probes, below.shape[1]) - 1]]
        for part in np.flatnonzero(near.any(axis=0)):
            asked.setdefault(int(part), []).append(rows[near[:, part]])
    return {part: np.concatenate(found) for part, found in sorted(asked.items())}


def merged(
    points: Floats, first: Found | None, answers: list[tuple[Indices, Found]], k: int
) -> Found:
    """Return the ``k`` nearest of what several parts have found."""
    parts = [] if first is None else [(np.arange(len(points)), first)]
    parts += answers
    if len(parts) == 1 and first is not None:
        return first
    rows = np.concatenate([np.repeat(row, k) for row, _ in parts])
    distances = np.concatenate([some.distances.ravel() for _, some in parts])
    nodes = Nodes(
        *(
            np.concatenate([field.ravel() for field in column])
            for column in zip(*(some.nodes for _, some in parts), strict=True)
        )
    )
    order = np.lexsort((nodes.ids, distances, rows))
    starts = np.searchsorted(rows[order], np.arange(len(points)))
    kept = order[starts[:, None] + np.arange(k)]
    return Found(nodes.at(kept), distances[kept])


def _by_home(homes: Indices) -> dict[int, Indices]:
    return {int(home): np.flatnonzero(homes == home) for home in np.unique(homes)}


def _searched(
    ids: Indices, points: Floats, queries: Floats | None, part: int, k: int, exact: bool
) -> Found:
    own = queries is None
    queries = points if queries is None else queries
    wanted, k = k, min(k, len(points) - int(own))
    places = np.empty((len(queries), 0), dtype=np.intp)
    distances: Floats = np.empty((len(queries), 0))
    if k and len(queries):
        space = SearchedPoints(points, 1)
        # An index pays only for many queries among many rows.
        few = exact_suits("auto", *points.shape) or MANY * len(queries) < len(points)
        if exact or few:
            near = k_nearest(space, queries, k, own=own)
        else:
            near = ApproximateNeighbors(k, n_jobs=1, random_state=0).build(points).query(queries)
        # In double precision, so that parts agree on the order.
        exactly = space.distances(queries, near.sources, near.indices) / space.scale
        places, distances = near.indices.reshape(-1, k), exactly.reshape(-1, k)
    every = Nodes(ids, np.full(len(points), part), np.arange(len(points)))
    return _padded(every, places, distances, wanted)


def _padded(every: Nodes, places: Indices, distances: Floats, wanted: int) -> Found:
    """Return what was found; fewer rows than wanted leave places that other parts will take."""
    empty = ((0, 0), (0, wanted - places.shape[1]))
    ids = np.pad(every.ids[places], empty, constant_values=np.iinfo(np.intp).max)
    nodes = Nodes(ids, np.pad(every.homes[places], empty), np.pad(every.places[places], empty))
    return Found(nodes, np.pad(distances, empty, constant_values=np.inf))


def _centre(points: Floats) -> Floats:
    return np.asarray(points.mean(axis=0, dtype=np.float64))


def _extent(points: Floats, part: int, centres: Floats) -> tuple[float, Floats]:
    gaps = points - centres[part]
    lows = np.array([(gaps * way).sum(axis=1).min() for way in _ways(centres, part)])
    return float(np.sqrt(np.square(gaps).sum(axis=1)).max()), lows


def _ways(centres: Floats, part: int) -> Floats:
    """Return the unit vectors from all centres to that of a part, zero from equal ones."""
    steps = centres[part] - centres
    lengths = np.sqrt(np.square(steps).sum(axis=1))
    return np.asarray(steps / np.where(lengths > 0, lengths, 1.0)[:, None])
