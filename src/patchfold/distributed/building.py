"""From rows on a cluster to the graph of their patches: the steps, one after the other."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from patchfold.base.validation import warn_user
from patchfold.distributed.graph import ClusterGraph
from patchfold.distributed.halo import Halo, among, numbers_of, whole
from patchfold.distributed.searching import Search
from patchfold.distributed.weighing import Weighing, check_edges
from patchfold.neighbors.search import exact_suits
from patchfold.patches.fitting import (
    Part,
    block_sums,
    column_means,
    largest_deviation,
    mean_squares,
    mean_variance,
    patch_means,
)

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices, Stage
    from patchfold.distributed.connection import Cluster
    from patchfold.distributed.rows import Shared
    from patchfold.graph.patch_graph import GraphSetting
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.patches.gaussian_patch import GaussianPatch
    from patchfold.patches.gaussians import Patches


# Recall of an approximate search below which a fit warns.
LOW_RECALL = 0.9


def build_on_cluster(
    cluster: Cluster,
    shared: Shared,
    setting: GraphSetting,
    stage: Stage = lambda _: nullcontext(),
) -> ClusterGraph:
    """Build the graph of rows, as :func:`patchfold.graph.building.build_graph` does.

    ``stage(name)`` is entered while a stage runs: progress and times.
    """
    n, m = shared.n, shared.given.n_features
    k = reach_of(setting, n)
    if k is not None and k >= n:
        raise ValueError(f"patch size={k} needs more than {k} samples, got {n}; lower the size.")
    check_edges(cluster, n, setting)
    exact = k is None or exact_suits(setting.knn, n, m)
    with stage("neighbours"):
        scale = scale_of(cluster, shared.points, n)
        there = cluster, shared.firsts, shared.points
        search = Search(*there, k=k, radius=setting.radius, exact=exact)
        found = search.own()
        cluster.wait(found)
        recall = search.recall(found)
    if recall < LOW_RECALL:
        warn_user(
            f"the approximate search found {recall:.0%} of the nearest rows; knn='exact' finds all."
        )
    patches, denoised = None, None
    if setting.patch is not None:
        with stage("patches"):
            patches, denoised = fit_patches(cluster, shared, setting, found, scale, exact)
            cluster.wait(patches)
    weighing = Weighing(cluster, shared, setting, patches)
    with stage("divergences"):
        weighted = weighing.weighted(found)
    weighted = weighing.joined(weighted, stage)
    return ClusterGraph(
        setting, cluster, shared, scale, recall, search, patches, denoised, weighted
    )


def reach_of(setting: GraphSetting, n: int) -> int | None:
    """Return how many neighbours of a point are looked at; None for all within the radius."""
    k = setting.degree
    return None if k is None else max(min(k, n - 1), setting.patch_size)


def scale_of(cluster: Cluster, points: list[Any], n: int) -> float:
    """Return the mean variance of the features of ``n`` rows in parts."""
    sums, dtypes = zip(*cluster.get(cluster.each(_sums, points)), strict=True)
    mean = column_means(list(sums), n)
    largest = max(cluster.get(cluster.each(largest_deviation, points, mean=mean)))
    parts = cluster.each(mean_squares, points, mean=mean, largest=largest, n=n)
    squares = [square for part in cluster.get(parts) for square in part]
    return float(mean_variance(largest, squares, dtypes[0]))


def _sums(X: Floats) -> tuple[Floats, Any]:
    return block_sums(X), X.dtype


class Denoised(NamedTuple):
    """Where the rows of parts are after denoising: futures of arrays, and their search."""

    places: list[Any]
    search: Search


def fit_patches(
    cluster: Cluster,
    shared: Shared,
    setting: GraphSetting,
    found: list[Any],
    scale: float,
    exact: bool,
) -> tuple[list[Any], Denoised | None]:
    """Return futures of the patches of all rows, and what they have to know of denoised rows."""
    patch, each = cast("GaussianPatch", setting.patch), cluster.each
    points, firsts = shared.points, shared.firsts
    rows = each(np.arange, firsts[:-1], firsts[1:])
    members = each(setting.members, found)
    halo = Halo(cluster, firsts, each(numbers_of, members, rows))
    near = halo.fetch(points)
    how = {"patch": patch, "scale": scale}
    if not patch.denoise:
        none = [None] * len(points)
        return each(fitted_patches, halo.wanted, rows, members, near, none, **how), None
    places = each(denoised_rows, halo.wanted, rows, members, near, scale=scale)
    del near  # workers forget the halos as they are done with
    k = None if setting.radius is not None else setting.patch_size
    search = Search(cluster, firsts, places, k=k, radius=setting.radius, exact=exact)
    if exact:
        members = search.own()
        halo = Halo(cluster, firsts, each(numbers_of, members, rows))
        moved = halo.fetch(places)
    else:
        # Refining the neighbours of the rows is as accurate as a second search, and faster.
        around, before = halo.fetch(members), halo.wanted
        halo = Halo(cluster, firsts, each(_with_neighbors, before, around))
        moved = halo.fetch(places)
        members = each(refined, halo.wanted, rows, members, moved, before, around)
    patches = each(fitted_patches, halo.wanted, rows, members, moved, points, **how)
    return patches, Denoised(places, search)


def denoised_rows(
    wanted: Indices, rows: Indices, members: Neighborhoods, pieces: list[Floats], scale: float
) -> Floats:
    """Return the means of the patches of some rows, given all points that they consist of."""
    X, part = whole(pieces), Part(scale, np.searchsorted(wanted, rows))
    near = among(wanted, rows, members, X.dtype)
    return np.asarray(patch_means(X, near, part=part, n_jobs=1))


def fitted_patches(
    wanted: Indices,
    rows: Indices,
    members: Neighborhoods,
    pieces: list[Floats],
    origins: Floats | None,
    patch: GaussianPatch,
    scale: float,
) -> Patches:
    """Fit the patches of some rows, given all points that they consist of.

    Where these are denoised, ``origins`` are the points of the rows before.
    """
    X, part = whole(pieces), Part(scale, np.searchsorted(wanted, rows))
    near = among(wanted, rows, members, X.dtype)
    if origins is None:
        return patch.gaussians(X, near, n_jobs=1, part=part)
    before = X.copy()  # nothing depends on where other points were before
    before[part.rows] = origins
    return patch.gaussians(before, near, denoised=(X, X), n_jobs=1, part=part)


def _with_neighbors(wanted: Indices, around: list[Neighborhoods]) -> Indices:
    return numbers_of(whole(around), wanted)


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
