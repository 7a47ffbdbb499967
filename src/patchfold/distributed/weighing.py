"""The edges between rows of all parts, and their lengths.

Patches are compared where their rows are. The edges are put together in one worker, which decides
about them by the functions that decide in one process: they are few numbers beside the patches.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from patchfold.distributed.halo import Halo, whole
from patchfold.distributed.patches import fitted_patches
from patchfold.distributed.rows import MODULES_BYTES
from patchfold.divergences.pairing import paired
from patchfold.graph import components, edges
from patchfold.graph.building import check_degrees, joins_points, warn_of_components
from patchfold.graph.lengths import MEAN_PAIRS, Lengths, even_pairs
from patchfold.graph.pruning import candidates, pruned_lengths
from patchfold.graph.short_circuits import RECIPE, Candidates, Typical
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.supervision import Cut, MinSum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy.sparse import csr_array

    from patchfold.base.types import Floats, Indices, Stage
    from patchfold.distributed.connection import Cluster
    from patchfold.distributed.patches import RowPatches
    from patchfold.distributed.rows import Shared
    from patchfold.graph.components import Pair
    from patchfold.graph.patch_graph import GraphSetting


# Bytes that the edges need for every row and neighbour, while it is decided about them: 99 with 15
# neighbours, beside the share of a worker's memory that Dask grants (it ends a worker at 0.95).
EDGE_BYTES, GRANTED = 100, 0.9


class Pairs(NamedTuple):
    """Pairs of rows by their numbers."""

    i: Indices
    j: Indices


class Measured(NamedTuple):
    """What is between pairs: the divergences of patches, if any, and distances."""

    divergences: Floats | None
    distances: Floats


class Chosen(NamedTuple):
    """The edges that rows have chosen. Numbers of rows and pairs have half the bytes of others."""

    near: Neighborhoods  # by row
    pairs: Indices  # which of the pairs of neighbours each of them is
    measured: Pairs  # pairs to be measured: those of neighbours, in order, and others
    candidates: Candidates | None  # what tells them apart, where there are others


@dataclass(frozen=True, eq=False)
class Weighted:
    """The edges of all rows with their lengths, in one worker."""

    matrix: csr_array  # the symmetric graph
    lengths: Floats  # of the pairs of neighbours, infinite where they are no edges
    removed: Indices  # the ends of the edges that were left out as short circuits, (n_removed, 2)
    typical: Typical | None
    mean: float | None  # the mean plain length of all pairs, where a label rule asks for it
    joins: tuple[Indices, Indices, Floats] | None = None  # edges that join components


def check_edges(cluster: Cluster, n: int, setting: GraphSetting) -> None:
    """Refuse workers that have no room for all edges of ``n`` rows."""
    needed = (MODULES_BYTES + EDGE_BYTES * n * (setting.degree or 0)) / GRANTED
    least = min((memory for _, memory in cluster.workers() if memory), default=needed)
    if needed > least:
        raise RuntimeError(
            f"the edges of {n} rows need about {needed / 1e9:.3g} GB in one worker, and a worker "
            f"has {least / 1e9:.3g} GB; give workers more (dask worker --memory-limit), or lower "
            "n_neighbors."
        )


class Weighing:
    """Finds how long edges are, given futures of the patches of all rows, if they have any."""

    def __init__(
        self, cluster: Cluster, shared: Shared, setting: GraphSetting, patches: RowPatches | None
    ) -> None:
        self.cluster, self.shared, self.setting = cluster, shared, setting
        self.patches = patches
        # A label rule that changes divergences may ask for the distances of points, too.
        self.by_points = patches is None or (setting.rule is not None and not setting.pruned)
        # What decides about the edges has all threads of its worker to itself, more or less.
        threads = min(threads for threads, _ in cluster.workers())
        self.how = {"setting": replace(setting, n_jobs=threads, random_state=None)}

    def weighted(self, found: list[Any], stage: Stage) -> tuple[Any, Any]:
        """Return futures of the chosen and the weighted edges, given those of neighbours."""
        run, measured = self.cluster.run, list[Any]()
        with stage("divergences"):
            nearest = self.cluster.each(_compact, found, dtype=self.shared.given.dtype, **self.how)
            chosen = run(chosen_edges, nearest, **self.how)
            if self.patches is not None:
                ends = pairwise(self.shared.firsts.tolist())
                measured = self._measured([run(_pairs_from, chosen, *some) for some in ends])
            known = chosen, measured, self.shared.codes, self._mean()
            self.cluster.wait([chosen, *measured])
        prunes = self.patches is not None and self.setting.pruned
        with stage("short circuits") if prunes else nullcontext():
            weighted = run(weighted_edges, *known, **self.how)
            self.cluster.wait([weighted])
        return chosen, weighted

    def joined(self, weighted: Any, stage: Stage) -> Any:
        """Return the future of the edges with those that join components, each the closest pair."""
        setting, run = self.setting, self.cluster.run
        if not setting.joined and setting.rule is None:
            return weighted
        labels = self.cluster.get([run(_components, weighted)])[0]
        if labels is None:
            return weighted
        warn_of_components(labels.max() + 1, setting)
        with stage("joining components"):
            pairs = Pairs(*components.joining_edges(labels, self._closest))
            measured = self._measured([self.cluster.send(pairs)])
            found = run(with_joins, weighted, pairs, measured, self.shared.codes, **self.how)
            self.cluster.wait([found])
        return found

    def _measured(self, pairs: list[Any]) -> list[Any]:
        """Return futures of what is between pairs, whose patches or points are fetched."""
        each, none = self.cluster.each, [None] * len(pairs)
        wanted = each(_ends, pairs)
        patches: list[Any] = none if self.patches is None else self.patches.at(wanted)
        points: list[Any] = none
        if self.by_points:
            points = Halo(self.cluster, self.shared.firsts, wanted).fetch(self.shared.points)
        divergence = self.setting.divergence
        return each(measured, wanted, pairs, patches, points, divergence=divergence)

    def _mean(self) -> Any:
        """Return the future of the mean length of all pairs; None where no rule asks for it."""
        if self.setting.rule is None or isinstance(self.setting.rule, Cut | MinSum):
            return None
        run = self.cluster.run
        drawn = run(_even_pairs, self.shared.ids, firsts=self.shared.firsts)
        pairs = self.cluster.items(drawn, range(len(self.shared.points)))
        return run(_mean_length, self._measured(pairs), pruned=self.setting.pruned)

    def _closest(self, labels: Indices) -> Iterator[Pair]:
        """Find the closest pairs of components; the largest is not asked, others find it."""
        run, shared = self.cluster.run, self.shared
        members, divergence = shared.points, None
        m, dtype = shared.given.n_features, shared.given.dtype
        if self.patches and not joins_points(self.setting, shared.n, m, dtype.itemsize):
            members, divergence = self.patches.of_parts(), self.setting.divergence
        largest = int(np.argmax(np.bincount(labels)))
        cut = np.split(labels, shared.firsts[1:-1])
        sent = [self.cluster.send(some) for some in cut]
        answers = []
        for part, some in enumerate(cut):
            if (some != largest).any():
                known = members[part], shared.firsts[part], sent[part]
                asked = run(outside_rows, *known, largest=largest)
                every = members, shared.firsts[:-1], sent, [asked] * len(sent)
                answers += self.cluster.each(closest_pairs, *every, divergence=divergence)
        for pairs in self.cluster.get(answers):
            yield from pairs


def _small(numbers: Indices) -> Any:
    """Return numbers of rows or pairs in half the bytes: more would need too much memory anyway."""
    return numbers.astype(np.int32)


def _compact(found: Neighborhoods, dtype: Any, setting: GraphSetting) -> Neighborhoods:
    """Return the neighbours that edges are made of, in few bytes."""
    if setting.degree is not None:
        found = found.nearest(max(setting.degree, RECIPE.nearest))
    return Neighborhoods(found.indptr, _small(found.indices), found.distances.astype(dtype))


def chosen_edges(found: list[Neighborhoods], setting: GraphSetting) -> Chosen:
    """Return the edges that rows choose, and those to be measured, given their neighbours."""
    every = edges.stacked(found)
    near = every if setting.degree is None else every.nearest(setting.degree)
    check_degrees(near, setting)
    i, j, pairs = map(_small, edges.undirected(replace(near)))  # a copy keeps what is computed ...
    if not setting.pruned or setting.patch is None:
        return Chosen(near, pairs, Pairs(i, j), None)
    i, j, own, nearest, common = candidates((i, j), replace(every), setting)
    known = Candidates(_small(i), _small(j), own, nearest, _small(common))
    return Chosen(replace(near), pairs, Pairs(known.i, known.j), known)  # ... and is left out


def _pairs_from(chosen: Chosen, first: int, last: int) -> Pairs:
    """Return the pairs to be measured whose first end is a row of a part."""
    here = slice(*np.searchsorted(chosen.measured.i, (first, last)))
    return Pairs(*(end[here].astype(np.intp) for end in chosen.measured))


def _ends(pairs: Pairs) -> Indices:
    return np.union1d(*pairs)


def measured(
    wanted: Indices,
    pairs: Pairs,
    patches: list[Any] | None,
    points: list[Floats] | None,
    divergence: Any,
) -> Measured:
    """Measure pairs by what the patches of all their ends are made of, or the points, or both."""
    i, j = (np.searchsorted(wanted, ends) for ends in pairs)
    if not len(i):
        return Measured(np.empty(0), np.empty(0))
    lengths = Lengths(
        None if points is None else whole(points),
        None if patches is None else fitted_patches(*patches),
        "euclidean" if patches is None else divergence,
        n_jobs=1,
    )
    distances = lengths.apart(i, j) if points is None else lengths.euclidean(i, j)
    return Measured(None if patches is None else lengths.divergences(i, j), distances)


def weighted_edges(
    chosen: Chosen,
    measured: list[Measured],
    codes: list[Indices] | None,
    mean: float | None,
    setting: GraphSetting,
) -> Weighted:
    """Return the edges with their lengths, without short circuits.

    ``measured`` are the pairs of every part, none without patches; ``codes`` the classes of rows.
    """
    asked, n, typical = chosen.candidates, len(chosen.near), None
    if not measured:
        plain = distances = edges.shortest(chosen.near, chosen.pairs)
    else:
        plain, distances = map(np.asarray, _together(measured))
    ends = chosen.measured
    if asked is not None:
        typical = Typical.of(distances[asked.nearest], plain[asked.nearest])
        plain = typical.disagreement(plain)
        plain = pruned_lengths(asked, distances, plain, typical.distance, n, setting.n_jobs)
        distances = distances[asked.own] / typical.distance
        mean = None if mean is None else mean / typical.distance
        ends = Pairs(asked.i[asked.own], asked.j[asked.own])
    held = np.isfinite(plain)
    i, j = (end[held] for end in ends)
    lengths = plain.copy()
    lengths[held] = _by_labels(codes, mean, setting).labelled(plain[held], i, j, distances[held])
    left = np.isfinite(lengths)
    matrix = edges.symmetric(ends.i[left], ends.j[left], lengths[left], n)
    removed = np.column_stack([end[~held] for end in ends])
    return Weighted(matrix, lengths, removed, typical, mean)


def neighborhoods(chosen: Chosen, weighted: Weighted) -> Neighborhoods:
    """Return the neighbours of every row, with the lengths of the edges to them."""
    near = edges.with_lengths(chosen.near, weighted.lengths[chosen.pairs])
    if weighted.joins is not None:
        near = edges.with_edges(near, *weighted.joins)
    return edges.with_incoming(near, weighted.matrix)


def with_joins(
    weighted: Weighted,
    pairs: Pairs,
    measured: list[Measured],
    codes: list[Indices] | None,
    setting: GraphSetting,
) -> Weighted:
    """Add the edges that join components."""
    (divergences, distances), dtype = measured[0], weighted.matrix.dtype
    if weighted.typical is not None:
        distances = distances / weighted.typical.distance
    by_distance = weighted.typical is not None or divergences is None
    plain = distances if by_distance else np.asarray(divergences)
    changed = _by_labels(codes, weighted.mean, setting).order(plain, *pairs, distances)
    extra = changed.astype(dtype, copy=False)
    old = weighted.matrix.tocoo()
    once = old.row < old.col
    every = zip((old.row[once], old.col[once], old.data[once]), (*pairs, extra), strict=True)
    i, j, lengths = (np.concatenate(both) for both in every)
    matrix = edges.symmetric(i, j, lengths, old.shape[0])
    return replace(weighted, matrix=matrix, joins=(*pairs, extra))


def _by_labels(codes: list[Indices] | None, mean: float | None, setting: GraphSetting) -> Lengths:
    """Return what lets labels change lengths that are known."""
    labels = None if codes is None else np.concatenate(codes)
    return Lengths(None, None, setting.divergence, rule=setting.rule, codes=labels, known_mean=mean)


def _together(parts: list[Measured]) -> Measured:
    """Put what was measured of the pairs of every part together."""
    some = [part for part in parts if len(part.distances)] or parts[:1]
    return Measured(*(np.concatenate(column) for column in zip(*some, strict=True)))


def _components(weighted: Weighted) -> Indices | None:
    """Return the component of every row, None if there is only one."""
    count, labels = components.n_components(weighted.matrix)
    return None if count == 1 else labels


def outside_rows(
    members: Any, first: int, labels: Indices, largest: int
) -> tuple[Indices, Any, Indices]:
    """Return the rows of a part that are not of the largest component, and of which they are.

    Their numbers, their points or patches, and the labels of their components.
    """
    rows = np.flatnonzero(labels != largest)
    return first + rows, members[rows], labels[rows]


def closest_pairs(
    members: Any, first: int, labels: Indices, asked: tuple[Indices, Any, Indices], divergence: Any
) -> list[Pair]:
    """Return the closest pair of every component that asks a part, if it has another one.

    The closest points, or with a ``divergence`` the closest patches.
    """
    numbers, outside, parts = asked
    if divergence is None:
        nearest = components.nearest_outside(members, labels, outside, parts, 1)
        apart = outside.astype(np.float64) - members[nearest]
        gaps = np.linalg.norm(apart, axis=1)
    else:
        nearest, gaps = np.full(len(numbers), -1), np.full(len(numbers), np.inf)
        for row, label in enumerate(parts):
            others = np.flatnonzero(labels != label)
            if len(others):
                of = np.full(len(others), row)
                values = paired(outside, of, others, divergence, other=members, n_jobs=1)
                nearest[row], gaps[row] = others[np.argmin(values)], np.min(values)
    found = np.flatnonzero(nearest >= 0)
    pairs = gaps[found], numbers[found], first + nearest[found]
    return components.closest_of_each(parts[found], *pairs)


def _even_pairs(ids: list[Indices], firsts: Indices) -> list[Pairs]:
    """Return the pairs over which one process takes the mean, by the part of their first end."""
    numbers = np.argsort(np.concatenate(ids))  # in the order of the table
    i, j = (numbers[end] for end in even_pairs(len(numbers), MEAN_PAIRS))
    order = np.argsort(i, kind="stable")
    i, j = i[order], j[order]
    return [Pairs(i[low:high], j[low:high]) for low, high in pairwise(np.searchsorted(i, firsts))]


def _mean_length(parts: list[Measured], pruned: bool) -> float:
    divergences, distances = _together(parts)
    return float(np.mean(distances if pruned else np.asarray(divergences), dtype=np.float64))
