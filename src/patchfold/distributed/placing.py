"""Where new rows go in a graph on a cluster: :mod:`patchfold.graph.new_points`, in parts.

A chunk of new rows is placed by one task a step. It fetches what it needs of the fitted rows that
are near.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from patchfold.distributed.fitting import Packed, PartLengths, Width, packed, unpacked
from patchfold.distributed.halo import Exchange, Nodes, Table, table_of
from patchfold.distributed.planes import part_of
from patchfold.graph.edges import stacked, symmetric, with_lengths
from patchfold.neighbors.neighborhoods import Neighborhoods, edge_starts
from patchfold.patches.fitting import Part, patch_means

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.fitting import PartPatches
    from patchfold.distributed.graph import ClusterGraph
    from patchfold.distributed.links import Links
    from patchfold.distributed.searching import Found
    from patchfold.graph.short_circuits import Typical
    from patchfold.patches.recipe import GaussianPatch


# The number of the part of new rows: none.
NEW = -1

# New patches keep all their directions.
AS_THEY_ARE = Width(None, None, compiled=False)


class Placed(NamedTuple):
    """The neighbours of new rows in the graph, places in a table of fitted rows, and lengths."""

    near: Neighborhoods
    table: Table


class Beside(NamedTuple):
    """The edges of rows of a part: where those of a row start, their other ends, their lengths."""

    starts: Indices
    ids: Indices
    lengths: Floats

    def at(self, rows: Indices) -> Beside:
        """Return those of some rows."""
        degrees = np.diff(self.starts)[rows]
        starts = edge_starts(degrees)
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], degrees)
        edges = np.repeat(self.starts[rows], degrees) + within
        return Beside(starts, self.ids[edges], self.lengths[edges])


class Placing:
    """The neighbours of chunks of new rows, and the lengths to them.

    Parameters
    ----------
    graph : ClusterGraph
    chunks : list of futures of arrays
        New rows, none of them empty.
    """

    def __init__(self, graph: ClusterGraph, chunks: list[Any]) -> None:
        setting, fitted = graph.setting, graph.fitted
        self.graph, self.cluster, self.chunks = graph, fitted.cluster, chunks
        homes = self.cluster.each(part_of, chunks, tree=fitted.shared.tree)
        reach = max(min(setting.degree or 0, len(graph) - 1), setting.patch_size)
        self.found = fitted.search.new(chunks, homes, reach)

    def placed(self) -> list[Any]:
        """Return futures of :class:`Placed`, one a chunk."""
        cluster, setting = self.cluster, self.graph.setting
        near = cluster.each(_nearest, self.found, k=setting.degree)
        tables = Exchange(cluster, cluster.each(_table_of_new, near))
        parted = self.graph.parted
        if parted is None:
            return cluster.each(_by_distance, tables.tables, near, dtype=self.graph.dtype)
        patches = self._patches(parted)
        halo = tables.fetch(parted.packed, Packed.at)
        args = tables.tables, near, patches, halo
        how = {"width": parted.width, "divergence": setting.divergence}
        beside: list[list[Any]] = [[] for _ in patches]
        if self.graph.typical is not None:
            known = cluster.each(_beside, self.graph.links, self.graph.edge_lengths)
            beside = tables.fetch(known, Beside.at)
        return cluster.each(_by_patches, *args, beside, typical=self.graph.typical, **how)

    def mapped(self, places: list[Any], fitted: list[Any]) -> list[Any]:
        """Return futures of the places of new rows, those of fitted rows where they are equal.

        ``fitted`` are futures of the places of the rows of every part.
        """
        cluster = self.cluster
        same = cluster.each(_nearest, self.found, k=1)
        tables = cluster.each(_table_of_new, same)
        return cluster.each(_mapped, places, same, tables, self.fetched(tables, fitted))

    def gathered(self) -> tuple[Neighborhoods, Indices]:
        """Return the neighbours of all new rows, and the fitted rows that they equal, or -1."""
        cluster = self.cluster
        parts = cluster.get(cluster.each(_numbered, self.placed()))
        same = cluster.get(cluster.each(_fitted_as, self.found))
        return stacked(parts), np.concatenate(same)

    def fetched(self, nodes: list[Any], values: list[Any]) -> list[list[Any]]:
        """Return futures of the values of the fitted rows of tables, as their halos."""
        return Exchange(self.cluster, nodes).fetch(values)

    def _patches(self, parted: PartPatches) -> list[Any]:
        """Fit the patches of new rows as those of the fitted ones were."""
        cluster, setting, fitted = self.cluster, self.graph.setting, self.graph.fitted
        how = {"recipe": setting.recipe, "scale": fitted.scale}
        members = cluster.each(_nearest, self.found, k=setting.patch_size)
        tables = Exchange(cluster, cluster.each(_table_of_new, members))
        halo = tables.fetch(fitted.points)
        if parted.places is None or parted.search is None:
            none = [None] * len(self.chunks)
            known = self.chunks, tables.tables, members, halo
            return cluster.each(_patches_of_new, *known, none, none, **how)
        known = self.chunks, tables.tables, members, halo
        moved = cluster.each(_denoised_new, *known, scale=fitted.scale)
        homes = cluster.each(part_of, moved, tree=fitted.shared.tree)
        members = parted.search.new(moved, homes, setting.patch_size)
        tables = Exchange(cluster, cluster.each(_table_of_new, members))
        halo, places = tables.fetch(fitted.points), tables.fetch(parted.places)
        known = self.chunks, tables.tables, members, halo
        return cluster.each(_patches_of_new, *known, moved, places, **how)


def _mapped(places: Floats, found: Found, table: Table, halo: list[Floats]) -> Floats:
    """Return places of new rows; a row that was fitted gets its own."""
    known = table.filled(halo[0][:0], halo)
    same = (found.distances[:, 0] == 0)[:, None]
    return np.where(same, known[table.find(found.nodes.ids[:, 0])], places)


def _fitted_as(found: Found) -> Indices:
    return np.where(found.distances[:, 0] == 0, found.nodes.ids[:, 0], -1)


def _numbered(placed: Placed) -> Neighborhoods:
    """Return neighbours by their numbers in the user's table."""
    near = placed.near
    return Neighborhoods(near.indptr, placed.table.nodes.ids[near.indices], near.distances)


def _nearest(found: Found, k: int) -> Found:
    return found.nearest(k)


def _table_of_new(found: Found) -> Table:
    nodes = Nodes(*(field.ravel() for field in found.nodes))
    return table_of(NEW, np.empty(0, dtype=np.intp), nodes)


def _filled(table: Table, parts: list[Any]) -> Any:
    return table.filled(parts[0][:0], parts)


def _near(table: Table, found: Found, dtype: Any) -> Neighborhoods:
    n, k = found.distances.shape
    indices = table.find(found.nodes.ids.ravel())
    return Neighborhoods(k * np.arange(n + 1), indices, found.distances.astype(dtype).ravel())


def _denoised_new(
    points: Floats, table: Table, found: Found, halo: list[Floats], scale: float
) -> Floats:
    fitted = _filled(table, halo)
    near = _near(table, found, fitted.dtype)
    return np.asarray(patch_means(fitted, near, points=points, part=Part(scale), n_jobs=1))


def _patches_of_new(
    points: Floats,
    table: Table,
    found: Found,
    halo: list[Floats],
    moved: Floats | None,
    places: list[Floats] | None,
    recipe: GaussianPatch,
    scale: float,
) -> Packed:
    fitted = _filled(table, halo)
    denoised = None
    if moved is not None and places is not None:
        denoised = _filled(table, places), moved
    near = _near(table, found, fitted.dtype)
    part = Part(scale)
    patches = recipe.gaussians(fitted, near, points=points, denoised=denoised, n_jobs=1, part=part)
    return packed(patches, narrow=False)


def _by_distance(table: Table, found: Found, dtype: Any) -> Placed:
    near = _near(table, found, dtype)
    return Placed(with_lengths(near, near.distances), table)


def _by_patches(
    table: Table,
    found: Found,
    new: Packed,
    halo: list[Packed],
    beside: list[Beside],
    typical: Typical | None,
    width: Width,
    divergence: Any,
) -> Placed:
    none = halo[0].at(np.empty(0, dtype=np.intp))
    fitted = unpacked(none, halo, table, width)
    lengths = PartLengths(fitted.points, fitted, divergence, typical=typical, width=width)
    patches = unpacked(new, [], None, AS_THEY_ARE)
    near = _near(table, found, patches.means.dtype)
    values = lengths.divergences_of_new(patches, near.sources, near.indices)
    graph = _graph_of(table, beside)
    return Placed(with_lengths(near, lengths.of_new(patches, near, values, graph)), table)


def _beside(links: Links, lengths: Floats) -> Beside:
    """Return the edges of the graph at own rows."""
    kept = np.isfinite(lengths)
    graph = symmetric(links.i[kept], links.j[kept], lengths[kept], len(links.table))
    rows = csr_array(graph[links.table.own])
    ids = links.table.nodes.ids[rows.indices]
    return Beside(rows.indptr.astype(np.intp), ids, rows.data)


def _graph_of(table: Table, beside: list[Beside]) -> csr_array:
    """Return the graph among the rows of a table."""
    shape = len(table), len(table)
    if not beside:
        return csr_array(shape)
    rows = np.concatenate([*table.halo.values()])
    rows = np.repeat(rows, np.concatenate([np.diff(part.starts) for part in beside]))
    ids, lengths = (np.concatenate([part[n] for part in beside]) for n in (1, 2))
    at = np.minimum(table.find(ids), len(table) - 1)
    here = table.nodes.ids[at] == ids
    return csr_array((lengths[here], (rows[here], at[here])), shape=shape)
