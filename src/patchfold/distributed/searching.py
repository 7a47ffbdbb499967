"""Neighbours of rows in all parts: each row is searched in the parts that can hold one.

A row is first searched in its own part. Another part is asked if a bound of its distance is not
above the distance of the k-th neighbour so far, or above the radius. There are two such bounds:
part ``b`` lies in a ball, and beyond a plane across the line from the centre of the row's own part
to that of ``b``. So the search is exact.

An approximate search lets parts overlap: a row is also searched beside the rows of the parts with
the lowest bounds, where these are no higher than neighbours are usually apart.
"""

from __future__ import annotations

from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from patchfold.base.threads import block_slices
from patchfold.neighbors.approximate import ApproximateNeighbors
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.neighbors.points import SearchedPoints, all_within, k_nearest
from patchfold.neighbors.search import exact_suits

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.connection import Cluster


# Bounds are lowered by the share SLACK of what they are computed of, and squares of distances by
# the share LOSS: far more than rounding.
SLACK, LOSS = 1e-9, 1e-10

# An approximate search looks in at most PROBES other parts, those with the lowest bounds.
PROBES = 2

# Parts overlap by the distance within which the share WITHIN of a sample has its k neighbours,
# found from SAMPLED rows of every part.
WITHIN, SAMPLED = 0.9, 128

# Rows whose neighbours are searched again, exactly, to tell the recall of an approximate search.
RECALLED = 200

# Rows of others are searched exactly in a part of more than MANY times as many rows.
MANY = 4


class Bounds(NamedTuple):
    """Where parts lie: centres, radii, and how far each begins beyond the centre of another.

    ``lows[b, a]`` is the least of ``u (y - c_b)`` over the rows ``y`` of part ``b``, for the unit
    vector ``u`` from the centre of ``a`` to ``c_b``.
    """

    centres: Floats
    radii: Floats
    lows: Floats

    def below(self, X: Floats, home: int) -> Floats:
        """Return lower bounds of the distances of rows of one part from all parts, (n, n_parts)."""
        gaps, steps = X - self.centres[home], self.centres - self.centres[home]
        along, squares, apart = gaps @ steps.T, _squares(gaps)[:, None], _squares(steps)
        most = np.sqrt(squares) + np.sqrt(apart)
        squares = squares + apart - 2 * along - LOSS * np.square(most)
        far = np.sqrt(np.maximum(squares, 0.0))
        beyond = self.lows[:, home] + (apart - along) / np.sqrt(np.where(apart > 0, apart, 1.0))
        return np.asarray(np.maximum(far - self.radii, beyond) - SLACK * (most + self.radii))


class Asked(NamedTuple):
    """Rows that are searched in another part: their places, and the points."""

    rows: Indices
    points: Floats


class Search:
    """A search for the ``k`` nearest among the points of all parts, or for all within a radius.

    What is found are :class:`~patchfold.neighbors.neighborhoods.Neighborhoods` with the numbers of
    rows (:mod:`~patchfold.distributed.halo`), and distances in float64. ``points`` are futures of
    where the rows of every part are. An exact search asks all parts that can hold a neighbour.
    """

    def __init__(
        self,
        cluster: Cluster,
        firsts: Indices,
        points: list[Any],
        *,
        k: int | None,
        radius: float | None = None,
        exact: bool = True,
    ) -> None:
        self.cluster, self.points, self.firsts = cluster, points, firsts
        self.exact = exact
        self.how: dict[str, Any] = {"k": k, "radius": radius}

    @cached_property
    def bounds(self) -> Any:
        """Where parts lie: the future of :class:`Bounds`."""
        cluster, points = self.cluster, self.points
        centres = np.stack(cluster.get(cluster.each(_centre, points)))
        parts, sent = range(len(points)), cluster.send(centres)
        extents = cluster.get(cluster.each(_extent, points, parts, centres=sent))
        radii, lows = zip(*extents, strict=True)
        return cluster.send(Bounds(centres, np.array(radii), np.stack(lows)))

    def own(self) -> list[Any]:
        """Return futures of the neighbours of the rows of every part, without themselves."""
        homes = list(map(np.intp, range(len(self.points))))
        if not self.exact and np.diff(self.firsts).min() > self.how["k"]:
            return self._overlapping(homes)
        there = self.points, self.firsts[:-1], [None] * len(homes)
        first = self.cluster.each(searched, *there, **self.how, exact=True)
        return self._elsewhere(self.points, homes, first)

    def new(self, points: list[Any], homes: list[Any]) -> list[Any]:
        """Return futures of the neighbours of new points, whose own parts are ``homes``."""
        asked = self.cluster.each(_by_home, points, homes)
        first = self._merged(points, asked, [[] for _ in points])
        return self._elsewhere(points, homes, first)

    def recall(self, found: list[Any]) -> float:
        """Return which share of the ``k`` nearest was found, over a sample of rows."""
        if self.exact:
            return 1.0
        cluster, k = self.cluster, int(self.how["k"])
        each = max(1, RECALLED // len(self.points))
        asked = cluster.get(cluster.each(_again, self.points, found, count=each))
        points, reach = (np.concatenate(column) for column in zip(*asked, strict=True))
        there = self.points, self.firsts[:-1], [cluster.send(points)] * len(self.points)
        # The nearest is the row itself.
        answers = cluster.get(cluster.each(searched, *there, k=k + 1, radius=None, exact=True))
        every = merged(points, [(None, near) for near in answers], k + 1)
        return float(np.mean(reach <= _reach(every, k + 1, None)))

    def _elsewhere(self, points: list[Any], homes: list[Any], first: list[Any]) -> list[Any]:
        """Search rows in other parts than their own, which have found the first."""
        how = {"bounds": self.bounds, "probes": None if self.exact else PROBES}
        reach = self.cluster.each(_reach, first, **self.how)
        asked = self.cluster.each(ask, points, homes, reach, **how)
        return self._merged(points, asked, [[(None, near)] for near in first])

    def _merged(self, points: list[Any], asked: list[Any], answers: list[list[Any]]) -> list[Any]:
        """Search rows where they are asked to be, and merge that with other answers."""
        cluster = self.cluster
        queries = [
            (part, place, some)
            for place, parts in enumerate(cluster.get(cluster.each(list, asked)))
            for part, some in zip(parts, cluster.items(asked[place], parts), strict=True)
        ]
        # By the part that is asked, so that each is read from disk once.
        for part, place, some in sorted(queries, key=itemgetter(0)):
            there = self.points[part], self.firsts[part], some
            answers[place].append(cluster.run(answer, *there, **self.how, exact=self.exact))
        return cluster.each(merged, points, answers, k=self.how["k"])

    def _overlapping(self, homes: list[Any]) -> list[Any]:
        """Search every part together with the rows of others that are near it."""
        cluster, k = self.cluster, self.how["k"]
        far = np.concatenate(cluster.get(cluster.each(_kth_distances, self.points, k=k)))
        reach = [float(np.quantile(far, WITHIN))] * len(homes)
        how = {"bounds": self.bounds, "probes": PROBES}
        near = cluster.each(ask, self.points, homes, reach, **how)
        added: list[list[Any]] = [[] for _ in homes]
        for part, sides in enumerate(cluster.get(cluster.each(list, near))):
            for side, some in zip(sides, cluster.items(near[part], sides), strict=True):
                added[side].append((self.firsts[part], some))
        return cluster.each(search_overlapping, self.points, self.firsts[:-1], added, k=k)


def ask(
    points: Floats, homes: Any, reach: Any, bounds: Bounds, probes: int | None
) -> dict[int, Asked]:
    """Return which rows to search in which other parts, given how far they look."""
    asked: dict[int, list[Indices]] = {}
    homes, reach = np.broadcast_to(homes, len(points)), np.broadcast_to(reach, len(points))
    for home in np.unique(homes).tolist():
        here = np.flatnonzero(homes == home)
        for block in block_slices(len(here), 3 * 8 * (points.shape[1] + len(bounds.centres))):
            rows = here[block]
            below = bounds.below(points[rows], home)
            below[:, home] = np.inf
            near = (below <= reach[rows][:, None]) & np.isfinite(below)
            if probes is not None:
                near &= below <= np.sort(below, axis=1)[:, [min(probes, below.shape[1]) - 1]]
            for part in np.flatnonzero(near.any(axis=0)):
                asked.setdefault(int(part), []).append(rows[near[:, part]])
    stacked = {part: np.concatenate(found) for part, found in sorted(asked.items())}
    return {part: Asked(rows, points[rows]) for part, rows in stacked.items()}


def answer(
    points: Floats, first: int, asked: Asked, k: int | None, radius: float | None, exact: bool
) -> tuple[Indices, Neighborhoods]:
    """Search rows that ask for their neighbours in a part; say which rows these are."""
    return asked.rows, searched(points, first, asked.points, k, radius, exact)


def searched(
    points: Floats,
    first: int,
    queries: Floats | None,
    k: int | None,
    radius: float | None,
    exact: bool,
) -> Neighborhoods:
    """Search the neighbours of other points in a part, or those of its own rows for None."""
    own = queries is None
    queries = points if queries is None else queries
    numbers, space = np.arange(first, first + len(points)), SearchedPoints(points, 1)
    if k is None:
        near = all_within(space, queries, float(radius or 0), own=own)
        return _measured(space, queries, near, numbers)
    k = min(k, len(points) - int(own))
    if not k:
        none = np.zeros(len(queries) + 1, dtype=np.intp)
        return Neighborhoods(none, none[:0], np.empty(0))
    # An index pays only for many queries among many rows.
    few = exact_suits("auto", *points.shape) or MANY * len(queries) < len(points)
    if exact or few:
        near = k_nearest(space, queries, k, own=own)
    else:
        near = ApproximateNeighbors(k, n_jobs=1, random_state=0).build(points).query(queries)
    return _measured(space, queries, near, numbers)


def search_overlapping(
    points: Floats, first: int, added: list[tuple[int, Asked]], k: int
) -> Neighborhoods:
    """Search the neighbours of the rows of a part among themselves and rows of others."""
    numbers = [np.arange(first, first + len(points))]
    numbers += [start + asked.rows for start, asked in added]
    X = np.concatenate([points, *(asked.points for _, asked in added)])
    space = SearchedPoints(X, 1)
    if exact_suits("auto", *X.shape):
        near = k_nearest(space, points, k, own=True)
    else:
        near = ApproximateNeighbors(k, n_jobs=1, random_state=0).build(X).query()
        near = near[np.arange(len(points))]
    return _measured(space, points, near, np.concatenate(numbers))


def merged(
    points: Floats, answers: list[tuple[Indices | None, Neighborhoods]], k: int | None
) -> Neighborhoods:
    """Return the nearest of what several parts have found, all of them without ``k``.

    An answer is about some of the points, None for all.
    """
    columns = [
        (near.sources if rows is None else rows[near.sources], near.indices, near.distances)
        for rows, near in answers
    ]
    rows, indices, distances = (np.concatenate(column) for column in zip(*columns, strict=True))
    found = Neighborhoods.from_edges(rows, indices, distances, len(points))
    return found if k is None else found.nearest(k)


def _measured(
    space: SearchedPoints, queries: Floats, near: Neighborhoods, numbers: Indices
) -> Neighborhoods:
    """Return neighbours by their numbers, and distances in float64: parts agree on the order."""
    exactly = space.distances(queries, near.sources, near.indices) / space.scale
    return Neighborhoods(near.indptr, numbers[near.indices], exactly)


def _reach(near: Neighborhoods, k: int | None, radius: float | None) -> Floats:
    """Return how far rows look: to the k-th neighbour, if they have as many, or to the radius."""
    reach = np.full(len(near), np.inf if radius is None else radius)
    if k is not None:
        full = near.degrees >= k
        reach[full] = near.distances[near.indptr[:-1][full] + k - 1]
    return reach


def _again(points: Floats, found: Neighborhoods, count: int) -> tuple[Floats, Floats]:
    """Return some rows of a part, with the distances of the last neighbours that were found."""
    some = np.unique(np.linspace(0, len(points) - 1, count, dtype=np.intp))
    return points[some], found.distances[found.indptr[some + 1] - 1]


def _kth_distances(points: Floats, k: int) -> Floats:
    """Return the distances of the k-th neighbours of a sample of rows, within their part."""
    some = points[:: max(1, len(points) // SAMPLED)]
    found = k_nearest(SearchedPoints(points, 1), some, k + 1, own=False)
    return found.distances.reshape(-1, k + 1)[:, -1]


def _by_home(points: Floats, homes: Indices) -> dict[int, Asked]:
    parts = {int(home): np.flatnonzero(homes == home) for home in np.unique(homes)}
    return {part: Asked(rows, points[rows]) for part, rows in parts.items()}


def _centre(points: Floats) -> Floats:
    return np.asarray(points.mean(axis=0, dtype=np.float64))


def _extent(points: Floats, part: int, centres: Floats) -> tuple[float, Floats]:
    steps = centres[part] - centres
    lengths = np.sqrt(_squares(steps))
    ways = steps / np.where(lengths > 0, lengths, 1.0)[:, None]
    radius, lows = 0.0, np.full(len(centres), np.inf)
    for block in block_slices(len(points), 3 * 8 * (points.shape[1] + len(centres))):
        gaps = points[block] - centres[part]
        radius = max(radius, float(_squares(gaps).max()) ** 0.5)
        lows = np.minimum(lows, (gaps @ ways.T).min(axis=0))
    return radius, lows


def _squares(steps: Floats) -> Floats:
    return np.asarray(np.square(steps).sum(axis=1))
