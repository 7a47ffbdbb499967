"""Where new rows go in a graph on a cluster.

A chunk of new rows is placed by one task, which fetches what it needs of the fitted rows that are
near. These are a graph like that of one process, and
:func:`patchfold.graph.new_points.neighbors_of_new` does the work.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from patchfold.distributed.halo import Halo, whole
from patchfold.distributed.patches import fitted_patches
from patchfold.distributed.planes import part_of
from patchfold.graph.lengths import Lengths
from patchfold.graph.new_points import check_neighbors, neighbors_of_new
from patchfold.graph.patch_graph import PatchGraph
from patchfold.mapping.nystrom import Triangulation, check_places
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.patches.denoising import Denoised
from patchfold.patches.fitting import Part, patch_means

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.graph import ClusterGraph
    from patchfold.distributed.rows import Chunks
    from patchfold.graph.patch_graph import GraphSetting
    from patchfold.graph.short_circuits import Typical


class NewRows:
    """Chunks of new rows, and their neighbours in the graph.

    ``near`` are futures of the neighbours of every chunk by their places in the rows of the halo.
    """

    def __init__(self, graph: ClusterGraph, chunks: Chunks) -> None:
        cluster, shared, X = graph.cluster, graph.shared, chunks.futures
        self.cluster, self.chunks = cluster, chunks
        self.found = graph.row_search.new(X, cluster.each(part_of, X, tree=shared.tree))
        members = self.found
        known = graph.row_patches
        if known is not None and known.search is not None:
            halo = Halo(cluster, shared.firsts, cluster.each(_wanted, self.found, members))
            own = X, self.found, halo.wanted, halo.fetch(shared.points)
            moved = cluster.each(_denoised, *own, setting=graph.setting, scale=graph.scale)
            members = known.search.new(moved, cluster.each(part_of, moved, tree=shared.tree))
        self.halo = Halo(cluster, shared.firsts, cluster.each(_wanted, self.found, members))
        none: list[Any] = [None] * len(X)
        patches, denoised, rows = none, none, none
        typical, mean = graph.learned
        if known is not None:
            patches = known.at(self.halo.wanted)
            denoised = none if known.denoised is None else self.halo.fetch(known.denoised)
        if typical is not None:
            ends = (slice(*some) for some in pairwise(shared.firsts.tolist()))
            matrix = cluster.run(getattr, graph.weighted, "matrix")
            rows = self.halo.fetch(cluster.items(matrix, ends))
        near = self.halo.wanted, X, chunks.starts, self.found, members
        fetched = self.halo.fetch(shared.points), patches, denoised, rows
        how: dict[str, Any] = {"typical": typical, "mean": mean, "scale": graph.scale}
        how["setting"] = replace(graph.setting, n_jobs=1, random_state=None)
        self.near = cluster.each(neighbours_of_new, *near, *fetched, **how)

    def mapped(self, places: list[Any], fitted: list[Any]) -> list[Any]:
        """Return futures of the places of new rows, those of fitted rows where they are equal.

        ``fitted`` are futures of the places of the rows of every part.
        """
        fetched = self.halo.fetch(fitted)
        return self.cluster.each(_mapped, self.halo.wanted, places, self.found, fetched)

    def gathered(self) -> tuple[Neighborhoods, Indices]:
        """Return the neighbours of all new rows, and which they equal, or -1, by their numbers."""
        cluster = self.cluster
        parts = cluster.get(cluster.each(_numbered, self.halo.wanted, self.near))
        same = cluster.get(cluster.each(_fitted_as, self.found))
        return whole(parts), np.concatenate(same)


class _Known(NamedTuple):
    """A search whose answer is known."""

    near: Neighborhoods

    def build(self, X: Any) -> Self:
        return self

    def query(self, X: Any = None) -> Neighborhoods:
        return self.near


def neighbours_of_new(
    wanted: Indices,
    X: Floats,
    start: int,
    found: Neighborhoods,
    members: Neighborhoods,
    points: list[Floats],
    patches: list[Any] | None,
    smooth: list[Floats] | None,
    rows: list[csr_array] | None,
    setting: GraphSetting,
    scale: float,
    typical: Typical | None,
    mean: float | None,
) -> Neighborhoods:
    """Return the neighbours of new rows and the lengths to them, given the fitted rows near them.

    ``found`` and ``members`` are the neighbours of the rows, and of the denoised rows, by numbers.
    The fitted rows have the numbers ``wanted``. Pieces of what they have are given: points,
    what patches are made of, denoised points, and rows of the graph. ``start`` tells which of all
    new rows is first.
    """
    fitted, denoised = whole(points), None
    near = _placed(wanted, found, fitted.dtype)
    if smooth is not None:
        denoised = Denoised(whole(smooth), _Known(_placed(wanted, members, fitted.dtype)))
    known = None if patches is None else fitted_patches(*patches)
    lengths = Lengths(fitted, known, setting.divergence, 1, setting.rule, known_mean=mean)
    if typical is not None:
        lengths = lengths.pruned(typical)
    # Columns are fitted rows, too: an edge may lead from one neighbour to another.
    matrix = csr_array((0, len(wanted))) if rows is None else whole(rows)[:, wanted]
    graph = PatchGraph(setting, near, matrix, lengths, _Known(near), denoised=denoised)
    found = neighbors_of_new(graph, X, Part(scale))
    check_neighbors(found, np.arange(start, start + len(found)), setting.radius)
    return found


def _wanted(found: Neighborhoods, members: Neighborhoods) -> Indices:
    return np.union1d(found.indices, members.indices)


def _placed(wanted: Indices, found: Neighborhoods, dtype: Any) -> Neighborhoods:
    """Return neighbours by their places among the rows that were fetched."""
    indices = np.searchsorted(wanted, found.indices)
    return Neighborhoods(found.indptr, indices, found.distances.astype(dtype))


def _denoised(
    X: Floats,
    found: Neighborhoods,
    wanted: Indices,
    pieces: list[Floats],
    setting: GraphSetting,
    scale: float,
) -> Floats:
    """Return the means of the patches of new rows."""
    fitted = whole(pieces)
    near = _placed(wanted, setting.members(found), fitted.dtype)
    return np.asarray(patch_means(fitted, near, points=X, part=Part(scale), n_jobs=1))


def _fitted_as(found: Neighborhoods) -> Indices:
    """Return the fitted rows that new ones equal, by their numbers; -1 where there is none."""
    nearest = np.full(len(found), -1, dtype=np.intp)
    some = np.flatnonzero(found.degrees)
    first = found.indptr[some]
    nearest[some] = np.where(found.distances[first] == 0, found.indices[first], -1)
    return nearest


def _mapped(wanted: Indices, places: Floats, found: Neighborhoods, pieces: list[Floats]) -> Floats:
    """Return places of new rows; a row that was fitted gets its own."""
    same = _fitted_as(found)
    known = same >= 0
    mapped = places.copy()
    mapped[known] = whole(pieces)[np.searchsorted(wanted, same[known])]
    return mapped


def _numbered(wanted: Indices, near: Neighborhoods) -> Neighborhoods:
    return Neighborhoods(near.indptr, wanted[near.indices], near.distances)


def places_of_fitted(paths: Floats, dtype: Any, frame: dict[str, Any]) -> Floats:
    """Return the places of the rows of a part, given their geodesics to landmarks."""
    return Triangulation(paths, **frame).of_fitted(1).astype(dtype)


def places_of_new(
    near: Neighborhoods, pieces: list[Floats], start: int, dtype: Any, frame: dict[str, Any]
) -> Floats:
    """Return the places of a chunk of new rows, given geodesics of the fitted rows near them."""
    places = Triangulation(whole(pieces), **frame).of_new(near, 1).astype(dtype)
    check_places(places, np.arange(start, start + len(places)))
    return places
