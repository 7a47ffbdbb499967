"""The graph of patches on a cluster: rows and patches in parts, and the edges in one worker."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import getitem
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from patchfold.base.memory import check_memory
from patchfold.base.row_order import inverse
from patchfold.base.sampling import drawn_rows
from patchfold.distributed.weighing import neighborhoods
from patchfold.graph.geodesics import COMPILED_WORK, reordered, shortest_paths, unit_of
from patchfold.graph.lengths import Lengths
from patchfold.graph.patch_graph import PatchGraph
from patchfold.neighbors.neighborhoods import Neighborhoods

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.connection import Cluster
    from patchfold.distributed.patches import RowPatches
    from patchfold.distributed.rows import Shared
    from patchfold.distributed.searching import Search
    from patchfold.distributed.weighing import Weighted
    from patchfold.graph.patch_graph import GraphSetting
    from patchfold.graph.short_circuits import Typical


# Landmarks that one task takes, at most, and the bytes that their geodesics have.
SOURCES, BLOCK_BYTES = 64, 2**27


@dataclass(frozen=True, eq=False)
class ClusterGraph:
    """What :class:`~patchfold.graph.patch_graph.PatchGraph` is in one process, in parts."""

    setting: GraphSetting
    cluster: Cluster
    shared: Shared  # the rows of every part
    scale: float  # the mean variance of the features
    recall: float  # the share of the nearest rows that the search found, on a sample; 1 if exact
    row_search: Search  # what finds neighbours among the rows
    row_patches: RowPatches | None
    chosen: Any  # futures of Chosen and Weighted: the edges between the numbers of rows
    weighted: Any

    def __getattr__(self, name: str) -> Any:
        """Refuse what a graph in one process has and this one has not."""
        raise AttributeError(
            f"a fit on a cluster has no {name} in this process, and patches_, trust, bridges, "
            "stability, inverse_transform, local_loadings and off_manifold need what it has not; "
            "bring it here with patchfold.distributed.gather(estimator), or fit a sample."
        )

    def __len__(self) -> int:
        return self.shared.n

    @property
    def dtype(self) -> Any:
        """The floating point type of lengths."""
        return self.shared.given.dtype

    @property
    def matrix(self) -> csr_array:
        """The symmetric graph of lengths, collected in this process."""
        return self.collected().matrix

    @cached_property
    def learned(self) -> tuple[Typical | None, float | None]:
        """What is typical, and the mean length of all pairs, where they are known."""
        names = ("typical", "mean")
        return tuple(self.cluster.get([self.cluster.run(getattr, self.weighted, n) for n in names]))

    @cached_property
    def numbers(self) -> Indices:
        """The numbers of the distinct rows, in the order of the table."""
        return np.argsort(np.concatenate(self.cluster.get(self.shared.ids)))

    @cached_property
    def distinct(self) -> Indices:
        """Which of the distinct rows every row of the table is."""
        point = np.empty(len(self.shared.given), dtype=np.intp)
        every = self.cluster.get(self.shared.places)
        for first, places in zip(self.shared.firsts, every, strict=False):
            point[places.ids] = first + places.point
        return inverse(self.numbers)[point]

    @cached_property
    def centres(self) -> Floats:
        """Where the patches are, or the rows themselves: collected in this process."""
        n, m = len(self), self.shared.given.n_features
        nbytes = 2 * n * m * np.dtype(self.dtype).itemsize
        what = f"the centres of {n} patches in this process"
        check_memory(nbytes, what, "use another estimator, or weights='entropic'")
        parts = self.shared.points
        if self.row_patches is not None:
            parts = self.row_patches.of_parts("points")
        return np.concatenate(self.cluster.get(parts))[self.numbers]

    def collected(self, *, with_centres: bool = False) -> PatchGraph:
        """Return the edges of the graph in this process, and the centres of patches if asked for.

        Rows are in the order of the table, copies of a row once.
        """
        n, degree = len(self), self.setting.degree or 0
        check_memory(
            4 * 24 * n * degree,
            f"the graph of {n} points in this process",
            "embed it on the cluster, with PatchIsomap(landmarks=...)",
        )
        run = self.cluster.run(neighborhoods, self.chosen, self.weighted)
        found, near = self.cluster.get([self.weighted, run])
        new, near = inverse(self.numbers), near[self.numbers]
        near = Neighborhoods(near.indptr, new[near.indices], near.distances)
        matrix = csr_array(found.matrix[self.numbers][:, self.numbers])
        matrix.sort_indices()
        removed = np.sort(new[found.removed], axis=1)
        removed = removed[np.lexsort(removed.T[::-1])]
        centres = self.centres if with_centres else None
        lengths = Lengths(centres, None, self.setting.divergence)
        if found.typical is not None:
            lengths = lengths.pruned(found.typical)
        return PatchGraph(self.setting, near, matrix, lengths, removed=removed)

    def landmarks(self, count: int, random_state: Any) -> Indices:
        """Draw rows of the table, each as likely as another; copies while there are no others."""
        shared = self.shared
        distinct = len(shared.given) - len(shared.copies)
        if distinct < count:
            every = np.sort(np.concatenate(self.cluster.get(shared.ids)))
            return np.asarray(every[drawn_rows(shared.n, count, random_state)])
        rows, before = drawn_rows(distinct, count, random_state), np.arange(len(shared.copies))
        return np.asarray(rows + np.searchsorted(shared.copies - before, rows, "right"))

    def geodesics(self, landmarks: Indices) -> tuple[list[Any], float, Floats]:
        """Return geodesics to landmarks, some rows of the table, in units of the longest.

        Futures of those of the rows of parts, (n, n_landmarks); the unit; those between landmarks.
        """
        cluster, firsts = self.cluster, self.shared.firsts
        ids = np.concatenate(cluster.get(self.shared.ids))
        numbers = self.numbers[np.searchsorted(ids, landmarks, sorter=self.numbers)]
        step = int(np.clip(BLOCK_BYTES // (8 * len(self)), 1, SOURCES))
        blocks = [numbers[at : at + step] for at in range(0, len(numbers), step)]
        ordered = cluster.run(_ordered, self.weighted, len(numbers))
        together = sum(threads for threads, _ in cluster.workers())
        pieces: list[list[Any]] = [[] for _ in self.shared.ids]
        longest = 0.0
        # As many at once as there are threads: those of all landmarks are many times the table.
        for at in range(0, len(blocks), together):
            some = blocks[at : at + together]
            found = cluster.each(_geodesics, [ordered] * len(some), some)
            for part, (first, last) in enumerate(pairwise(firsts.tolist())):
                pieces[part] += [cluster.run(_of_part, block, first, last) for block in found]
            longest = max(longest, *cluster.get(cluster.each(np.max, found)))
        unit = unit_of(longest, self.dtype)
        parts = cluster.each(_side_by_side, pieces, unit=unit)
        between = np.empty((len(landmarks), len(landmarks)), dtype=self.dtype)
        homes = np.searchsorted(firsts, numbers, "right") - 1
        for part in np.unique(homes).tolist():
            here = homes == part
            between[here] = cluster.get(
                [cluster.run(getitem, parts[part], numbers[here] - firsts[part])]
            )[0]
        return parts, unit, between


def _ordered(weighted: Weighted, sources: int) -> tuple[csr_array, Indices]:
    """Return the graph as geodesics from many sources want it, and its order."""
    graph = weighted.matrix
    few = sources * graph.nnz < COMPILED_WORK
    return (graph, np.arange(graph.shape[0])) if few else reordered(graph)


def _geodesics(ordered: tuple[csr_array, Indices], sources: Indices) -> Floats:
    graph, places = ordered[0], inverse(ordered[1])
    return shortest_paths(graph, places[sources], n_jobs=1, reorder=False)[:, places]


def _of_part(found: Floats, first: int, last: int) -> Floats:
    return np.ascontiguousarray(found[:, first:last].T)


def _side_by_side(blocks: list[Floats], unit: float) -> Floats:
    """Return the geodesics to all landmarks in other units."""
    paths = np.concatenate(blocks, axis=1)
    paths /= unit
    return paths
