"""Where a new point goes in the graph: its neighbours among the fitted points, and the lengths.

New points get patches of their own, made as those of the fitted points were. They do not influence
each other, and have no labels.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils import gen_batches

from patchfold.base.arrays import beside, to_numpy
from patchfold.graph.edges import stacked, with_lengths
from patchfold.graph.lengths import all_distances
from patchfold.neighbors.given import given_neighbors
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.neighbors.protocol import check_found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchfold.base.types import Floats, Indices
    from patchfold.graph.patch_graph import PatchGraph
    from patchfold.neighbors.protocol import NeighborSearch
    from patchfold.patches.fitting import Part
    from patchfold.patches.gaussian_patch import GaussianPatch
    from patchfold.patches.gaussians import Patches
    from patchfold.patches.sample import Sample


# New points are compared with all fitted ones in blocks of about this many pairs.
BLOCK_PAIRS = 2**20


def neighbors_of_new(graph: PatchGraph, X: Any, part: Part | None = None) -> Neighborhoods:
    """Return the neighbours of new points in a graph, nearest first, with lengths.

    Parameters
    ----------
    graph : PatchGraph
    X : array of shape (n_new, n_features)
        Points; where distances are given, those to the fitted points, (n_new, n).
    part : Part or None
        What is known of all fitted points, where the graph has only those near the new ones.
    """
    setting, lengths = graph.setting, graph.lengths
    if setting.precomputed:
        near = given_neighbors(X, setting.degree, setting.radius, own=False)
        return with_lengths(near, lengths.of_unlabelled(near.distances))
    found = _found(graph, X)
    if graph.patches is None:
        near = found if setting.degree is None else found.nearest(setting.degree)
        return with_lengths(near, lengths.of_unlabelled(near.distances))
    with _overflow_named(graph):
        patches = _patches_of_new(graph, graph.coordinates(X), found, part)
        near, values = _nearest_of_new(graph, patches, found)
        return with_lengths(near, lengths.of_new(patches, near, values, graph.matrix))


def check_neighbors(near: Neighborhoods, rows: Indices, radius: float | None) -> None:
    """Refuse new points without any neighbour; ``rows`` are their numbers."""
    if (near.degrees == 0).any():
        remedy = "drop the row" if radius is None else "enlarge radius, or drop the row"
        raise ValueError(
            f"row {rows[np.argmin(near.degrees)]} of X has no neighbour among the fitted points "
            f"(radius={radius}); {remedy}."
        )


@contextmanager
def _overflow_named(graph: PatchGraph) -> Iterator[None]:
    """Refuse rows too far away for a patch; callers check for infinities."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "a row of X lies so far from the fitted points that its patch overflows "
            f"{graph.matrix.dtype} ({error}); drop the row."
        ) from error


def divergences(graph: PatchGraph, X: Floats) -> Floats:
    """Return the divergences of points from all fitted ones, (n_new, n).

    Distances where there are no patches. A point that was fitted has the patch it has there.
    """
    if graph.patches is None:
        return all_distances(X, graph.lengths.points).astype(X.dtype, copy=False)
    same, every, step = graph.fitted_as(X), np.arange(len(graph)), max(1, BLOCK_PAIRS // len(graph))
    new, fitted = np.flatnonzero(same < 0), np.flatnonzero(same >= 0)
    values = np.empty((len(same), len(graph)), graph.matrix.dtype)
    for start in range(0, len(fitted), step):
        rows = fitted[start : start + step]
        i, j = np.repeat(same[rows], len(every)), np.tile(every, len(rows))
        values[rows] = graph.lengths.divergences(i, j).reshape(len(rows), -1)
    if not len(new):
        return values
    with _overflow_named(graph):
        patches = _patches_of_new(graph, graph.coordinates(X[new]), _found(graph, X[new]), None)
        for start in range(0, len(new), step):
            rows = np.arange(start, min(start + step, len(new)))
            i, j = np.repeat(rows, len(every)), np.tile(every, len(rows))
            apart = graph.lengths.divergences_of_new(patches, i, j)
            values[new[rows]] = apart.reshape(len(rows), -1)
    return values


def _found(graph: PatchGraph, X: Floats) -> Neighborhoods:
    """Search the fitted neighbours of new points."""
    search = cast("NeighborSearch", graph.search)
    found = check_found(search, search.query(X), X.shape[0], graph.matrix.shape[1])
    return found if graph.reach is None else found.nearest(graph.reach)


def _patches_of_new(
    graph: PatchGraph, X: Floats, found: Neighborhoods, part: Part | None
) -> Patches:
    """Fit the patches of new points as those of the fitted ones were."""
    setting, fitted = graph.setting, graph.lengths.points
    patch = cast("GaussianPatch", setting.patch)
    members = setting.members(found)
    if graph.copies is not None:  # patches are made of distinct points
        fitted = cast("Sample", cast("Patches", graph.patches).sample).data
        members = graph.copies.numbered(members)
    means = cast("Patches", graph.patches).means
    fitted, X = beside(means, fitted), beside(means, X)
    if graph.denoised is None:
        patches = patch.gaussians(fitted, members, points=X, n_jobs=setting.n_jobs, part=part)
    else:
        patches = graph.denoised.of_new(patch, X, fitted, members, setting.n_jobs, part)
    spread = to_numpy(patches.variances if patches.factored else patches.roots)
    if not np.isfinite(spread).all():
        raise np.linalg.LinAlgError("its variances are infinite")
    return patches


def _nearest_of_new(
    graph: PatchGraph, patches: Patches, found: Neighborhoods
) -> tuple[Neighborhoods, Floats]:
    """Return the neighbours of new points, and the divergences along these edges."""
    k = graph.setting.degree
    if not graph.setting.by_divergence or k is None:
        near = found if k is None else found.nearest(k)
        return near, graph.lengths.divergences_of_new(patches, near.sources, near.indices)
    parts = []
    for rows in gen_batches(len(patches), max(1, BLOCK_PAIRS // len(graph))):
        i, j = _candidates(graph, found, rows)
        values = graph.lengths.divergences_of_new(patches, i, j)
        near = Neighborhoods.from_edges(i, j, values, len(patches)).nearest(k)
        parts.append(near[np.arange(len(patches))[rows]])
    near = stacked(parts)
    return near, near.distances


def _candidates(graph: PatchGraph, found: Neighborhoods, rows: slice) -> tuple[Indices, Indices]:
    """Return the pairs of some new points with all fitted points that may be neighbours."""
    new = np.arange(len(found))[rows]
    if graph.pooled:
        pool = found[new]
        return new[pool.sources], pool.indices
    points = np.arange(len(graph)) if graph.copies is None else graph.copies.first
    return np.repeat(new, len(points)), np.tile(points, len(new))
