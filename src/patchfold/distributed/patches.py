"""The patches of rows in all parts: what they are made of, and fits where they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from patchfold.distributed.halo import Halo, among, numbers_of, whole
from patchfold.distributed.searching import Search
from patchfold.patches.fitting import Part, patch_means

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.connection import Cluster
    from patchfold.distributed.rows import Shared
    from patchfold.graph.patch_graph import GraphSetting
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.patches.gaussian_patch import GaussianPatch
    from patchfold.patches.gaussians import Patches


@dataclass(frozen=True, eq=False)
class RowPatches:
    """What the patches of all rows are made of.

    Patches are many times as large as the rows. So they are fitted where they are needed, and no
    worker keeps them.
    """

    cluster: Cluster
    shared: Shared
    members: list[Any]  # futures of the neighbours that make up the patches of every part
    denoised: list[Any] | None  # futures of the denoised points of every part, if there are any
    search: Search | None  # what finds neighbours among these
    patch: GaussianPatch
    scale: float

    def at(self, wanted: list[Any]) -> list[Any]:
        """Return, for each of several tasks, what :func:`fitted_patches` needs.

        ``wanted`` are futures of the numbers of rows whose patches a task needs.
        """
        cluster, firsts, points = self.cluster, self.shared.firsts, self.shared.points
        halo = Halo(cluster, firsts, wanted)
        members = halo.fetch(self.members)
        around = Halo(cluster, firsts, cluster.each(_with_neighbors, wanted, members))
        pieces = around.fetch(points if self.denoised is None else self.denoised)
        origins = [None] * len(wanted) if self.denoised is None else halo.fetch(points)
        every = zip(wanted, members, around.wanted, pieces, origins, strict=True)
        return [[*known, self.patch, self.scale] for known in every]

    def of_parts(self, name: str | None = None) -> list[Any]:
        """Return futures of the patches of every part, or of what they have of this name."""
        firsts = self.shared.firsts
        rows = self.cluster.each(np.arange, firsts[:-1], firsts[1:])
        return self.cluster.each(_of_patches, self.at(rows), name=name)


def patches_of_rows(
    cluster: Cluster,
    shared: Shared,
    setting: GraphSetting,
    found: list[Any],
    scale: float,
    exact: bool,
) -> RowPatches:
    """Find what the patches of all rows are made of: neighbours, of rows or of denoised rows."""
    patch, each = cast("GaussianPatch", setting.patch), cluster.each
    points, firsts = shared.points, shared.firsts
    members = each(setting.members, found)
    if not patch.denoise:
        return RowPatches(cluster, shared, members, None, None, patch, scale)
    rows = each(np.arange, firsts[:-1], firsts[1:])
    halo = Halo(cluster, firsts, each(numbers_of, members, rows))
    near = halo.fetch(points)
    denoised = each(denoised_rows, halo.wanted, rows, members, near, scale=scale)
    cluster.wait(denoised)
    del near  # workers forget the halos as they are done with
    k = None if setting.radius is not None else setting.patch_size
    search = Search(cluster, firsts, denoised, k=k, radius=setting.radius, exact=exact)
    if exact:
        members = search.own()
    else:
        # Refining the neighbours of the rows is as accurate as a second search, and faster.
        around, before = halo.fetch(members), halo.wanted
        halo = Halo(cluster, firsts, each(_with_neighbors, before, around))
        moved = halo.fetch(denoised)
        members = each(refined, halo.wanted, rows, members, moved, before, around)
    return RowPatches(cluster, shared, members, denoised, search, patch, scale)


def denoised_rows(
    wanted: Indices, rows: Indices, members: Neighborhoods, pieces: list[Floats], scale: float
) -> Floats:
    """Return the means of the patches of some rows, given all points that they consist of."""
    X, part = whole(pieces), Part(scale, np.searchsorted(wanted, rows))
    near = among(wanted, rows, members, X.dtype)
    return np.asarray(patch_means(X, near, part=part, n_jobs=1))


def fitted_patches(
    rows: Indices,
    members: list[Neighborhoods],
    wanted: Indices,
    pieces: list[Floats],
    origins: list[Floats] | None,
    patch: GaussianPatch,
    scale: float,
) -> Patches:
    """Fit the patches of some rows, given pieces of their members and of the points of these.

    Where points are denoised, ``origins`` are pieces of the points of the rows before.
    """
    X, part = whole(pieces), Part(scale, np.searchsorted(wanted, rows))
    near = among(wanted, rows, whole(members), X.dtype)
    if origins is None:
        return patch.gaussians(X, near, n_jobs=1, part=part)
    before = X.copy()  # nothing depends on where other points were before
    before[part.rows] = whole(origins)
    return patch.gaussians(before, near, denoised=(X, X), n_jobs=1, part=part)


def _of_patches(known: list[Any], name: str | None) -> Any:
    patches = fitted_patches(*known)
    return patches if name is None else getattr(patches, name)


def _with_neighbors(wanted: Indices, around: list[Neighborhoods]) -> Indices:
    return numbers_of(whole(around), wanted) if around else wanted


def refined(
    wanted: Indices,
    rows: Indices,
    members: Neighborhoods,
    pieces: list[Floats],
    before: Indices,
    around: list[Neighborhoods],
) -> Neighborhoods:
    """Return the nearest among old neighbours and theirs, where all that are ``wanted`` are now.

    ``members`` are the old neighbours of the rows, and ``around`` those of the rows and neighbours
    with the numbers ``before``.
    """
    # Here and not above: to import the compiler is slow.
    from patchfold.neighbors.refinement import refined_neighbors

    X = whole(pieces)
    known = among(wanted, before, whole(around), X.dtype)
    start = among(wanted, rows, members, X.dtype)
    found = refined_neighbors(X, known, start=start, n_jobs=1)[np.searchsorted(wanted, rows)]
    return type(found)(found.indptr, wanted[found.indices], found.distances)
