"""Patches of the rows of a part, made of its own rows and those of its halo."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from patchfold.base.arrays import to_numpy
from patchfold.distributed.halo import Nodes, table_of
from patchfold.divergences.pairing import COMPILED_NUMBERS, paired
from patchfold.graph.lengths import Lengths
from patchfold.neighbors.neighborhoods import Neighborhoods, edge_starts
from patchfold.patches.fitting import Part, patch_means
from patchfold.patches.gaussians import Patches, used_ranks

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.halo import Table
    from patchfold.distributed.searching import Found
    from patchfold.patches.recipe import GaussianPatch


# The fields of patches that are sent, and their order of axes in memory there: a direction is
# contiguous in memory, which decides the last bits of products, and pickling would not keep it.
FIELDS = ("means", "points", "roots", "whiteners", "directions", "variances", "ridge")


class Packed(NamedTuple):
    """Patches as arrays that can be sent, one row per patch; None for what they do not have."""

    arrays: dict[str, Any]

    def at(self, rows: Indices) -> Packed:
        """Return some of them."""
        return Packed({name: value[rows] for name, value in self.arrays.items()})


class Width(NamedTuple):
    """What has to be known of all patches: how many directions are kept, and how many are used."""

    kept: int | None
    used: int | None
    compiled: bool

    def divergences(
        self,
        patches: Patches,
        i: Indices,
        j: Indices,
        divergence: Any,
        other: Patches | None = None,
    ) -> Floats:
        """Return the divergences of the patches ``i`` from ``j``, as if all were in one place."""
        how: dict[str, Any] = {"compiled": self.compiled, "width": self.used}
        values = paired(patches, i, j, divergence, other=other, n_jobs=1, **how)
        return np.asarray(to_numpy(values))


@dataclass(frozen=True, eq=False)
class PartLengths(Lengths):
    """Lengths within a part: in one thread, and with patches compared as all are."""

    n_jobs: int | None = 1
    width: Width = field(kw_only=True)

    def _compared(
        self, patches: Any, i: Indices, j: Indices, other: Patches | None = None
    ) -> Floats:
        return self.width.divergences(patches, i, j, self.divergence, other)


def table_of_found(part: int, ids: Indices, found: Found) -> Table:
    """Return the table of a part and its neighbours."""
    return table_of(part, ids, Nodes(*(field.ravel() for field in found.nodes)))


def near_in(table: Table, found: Found, dtype: Any) -> Neighborhoods:
    """Return the neighbours of own rows in a table, none of others."""
    k = found.distances.shape[1]
    degrees = np.zeros(len(table), dtype=np.intp)
    degrees[table.own] = k
    indices = table.find(found.nodes.ids).ravel()
    return Neighborhoods(edge_starts(degrees), indices, found.distances.astype(dtype).ravel())


def denoised_rows(
    table: Table, own: Floats, halo: list[Floats], found: Found, scale: float
) -> Floats:
    """Return the means of the patches of own rows."""
    points = table.filled(own, halo)
    part = Part(scale, table.own)
    return np.asarray(patch_means(points, near_in(table, found, points.dtype), part=part, n_jobs=1))


def fitted_patches(
    table: Table,
    own: Floats,
    halo: list[Floats],
    found: Found,
    places: Floats | None,
    recipe: GaussianPatch,
    scale: float,
) -> Packed:
    """Fit the patches of own rows; of denoised ones, the halo too, where there are ``places``."""
    denoised = None
    if places is None:
        points = table.filled(own, halo)
    else:
        moved = table.filled(places, halo)
        denoised = moved, moved
        points = moved.copy()  # the original places of other rows are not needed
        points[table.own] = own
    near = near_in(table, found, points.dtype)
    part = Part(scale, table.own)
    return packed(recipe.gaussians(points, near, denoised=denoised, n_jobs=1, part=part))


def packed(patches: Patches, *, narrow: bool = True) -> Packed:
    """Return patches as arrays that can be sent, if ``narrow`` with the directions in use only."""
    if patches.factored and narrow:
        patches = patches.narrowed(int(patches.used_ranks().max(initial=1)))
    arrays = {name: getattr(patches, name) for name in FIELDS}
    arrays = {name: value for name, value in arrays.items() if value is not None}
    if patches.factored:
        arrays["directions"] = np.ascontiguousarray(np.swapaxes(patches.directions, 1, 2))
    return Packed({name: np.ascontiguousarray(value) for name, value in arrays.items()})


def unpacked(own: Packed, others: list[Packed], table: Table | None, width: Width) -> Patches:
    """Return the patches of the rows of a table, given those of own rows and of its halo."""
    fields: dict[str, Any] = {}
    for name in own.arrays:
        parts = [_wide(part.arrays[name], name, width.kept) for part in (own, *others)]
        fields[name] = parts[0] if table is None else table.filled(parts[0], parts[1:])
    if "directions" in fields:
        fields["directions"] = np.swapaxes(fields["directions"], 1, 2)
    return Patches(**fields)


def _wide(array: Any, name: str, kept: int | None) -> Any:
    """Pad directions and variances to as many as all patches keep."""
    if kept is None or name not in ("directions", "variances"):
        return array
    missing = kept - array.shape[1]
    return np.pad(array, [(0, 0), (0, missing), *[(0, 0)] * (array.ndim - 2)])


def used(patches: Packed) -> int | None:
    """Return how many directions the patches of a part use at most; None for full ones."""
    if "variances" not in patches.arrays:
        return None
    return int(used_ranks(patches.arrays["variances"]).max(initial=1))


def width_of(found: list[int | None], n: int, m: int, rank: int) -> Width:
    """Return how many directions are kept and used, and whether compiled code compares them."""
    known = [count for count in found if count is not None]
    if not known:
        return Width(None, None, False)
    return Width(rank, max(known), n * m * max(known) >= COMPILED_NUMBERS)


def full_rank(found: Found, recipe: GaussianPatch) -> int:
    """Return how many directions the covariance of a patch can have."""
    size = found.distances.shape[1] + int(recipe.include_self)
    rank = max(1, size - int(recipe.center == "mean" or recipe.include_self))
    if recipe.covariance == "low-rank" and recipe.rank is not None:
        rank = min(rank, int(recipe.rank))
    return int(rank)


class PartPatches(NamedTuple):
    """The patches of all rows: futures, and what has to be known of all.

    Attributes
    ----------
    packed : list of futures of Packed
    width : Width
    places : list of futures of arrays or None
        The denoised rows.
    search : Search or None
        What finds their neighbours.
    """

    packed: list[Any]
    width: Width
    places: list[Any] | None
    search: Any
