"""Patches of parts: those of one place."""

from __future__ import annotations

import numpy as np
import pytest

from patchfold import GaussianPatch
from patchfold.distributed import fitting
from patchfold.distributed.halo import Exchange
from patchfold.neighbors import find_neighbors
from patchfold.patches.fitting import Part, PatchFit, patch_means

RECIPES = [
    GaussianPatch(),
    GaussianPatch(covariance="diagonal-shrinkage"),  # full covariances
    GaussianPatch(covariance="low-rank", rank=2),
    GaussianPatch(center="point"),
]


@pytest.fixture(scope="module")
def graph(parted):
    X = np.random.default_rng(1).normal(size=(90, 7)) * np.geomspace(1, 0.01, 7)
    return parted(X, 6)


@pytest.fixture(scope="module")
def exchange(graph):
    cluster = graph.cluster
    return Exchange(cluster, cluster.each(fitting.table_of_found, range(3), graph.ids, graph.found))


def assert_same(found, expected):
    assert found.factored == expected.factored
    for name in ("means", "points", "roots", "whiteners", "directions", "variances", "ridge"):
        one, other = getattr(found, name), getattr(expected, name)
        assert (one is None) == (other is None), name
        if one is not None:
            np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.covariance)
def test_parts_fit_the_patches_of_one_place(graph, exchange, recipe):
    whole = recipe.gaussians(graph.X, graph.near)
    known = exchange.tables, graph.points, exchange.fetch(graph.points), graph.found, [None] * 3
    scale = Part.of(graph.X).scale
    parts = graph.cluster.each(fitting.fitted_patches, *known, recipe=recipe, scale=scale)
    kept = whole.directions.shape[2] if whole.factored else None
    for own, part in zip(graph.ids, parts, strict=True):
        found = fitting.unpacked(part, [], None, fitting.Width(kept, None, compiled=False))
        assert_same(found, whole[own])


def test_parts_denoise_rows_and_fit_patches_to_them_as_one_place_does(graph, exchange):
    recipe, scale = GaussianPatch(denoise=True), Part.of(graph.X).scale
    known = exchange.tables, graph.points, exchange.fetch(graph.points), graph.found
    moved = graph.cluster.each(fitting.denoised_rows, *known, scale=scale)
    means = patch_means(graph.X, graph.near)
    for own, found in zip(graph.ids, moved, strict=True):
        np.testing.assert_array_equal(found, means[own])

    known = exchange.tables, graph.points, exchange.fetch(moved), graph.found, moved
    parts = graph.cluster.each(fitting.fitted_patches, *known, recipe=recipe, scale=scale)
    whole = recipe.gaussians(graph.X, graph.near, denoised=(means, means))
    for own, part in zip(graph.ids, parts, strict=True):
        found = fitting.unpacked(part, [], None, fitting.Width(None, None, compiled=False))
        assert_same(found, whole[own])


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.covariance)
def test_patches_of_a_table_are_those_of_its_rows_in_order(graph, exchange, recipe):
    whole = recipe.gaussians(graph.X, graph.near)
    every = fitting.packed(whole)
    there = [every.at(own) for own in graph.ids]
    halo = exchange.fetch(there, fitting.Packed.at)
    width = fitting.Width(every.arrays["variances"].shape[1] if whole.factored else None, None, 0)
    for part, table in enumerate(exchange.tables):
        found = fitting.unpacked(there[part], halo[part], table, width)
        expected = whole[table.nodes.ids]
        assert_same(found, expected.narrowed(width.kept) if whole.factored else expected)


def test_only_the_directions_in_use_are_sent_and_a_direction_stays_contiguous():
    X = np.random.default_rng(0).normal(size=(60, 9))
    near = find_neighbors(X, 6).nearest(np.repeat([4, 6], [40, 20]))
    patches = GaussianPatch().fit(X, near)[:40]  # as wide as those of more neighbours
    used = int(patches.used_ranks().max())
    assert used < patches.directions.shape[2]
    sent = fitting.packed(patches)
    assert sent.arrays["directions"].shape == (40, used, 9)
    assert sent.arrays["directions"].flags.c_contiguous
    kept = fitting.packed(patches, narrow=False)
    assert kept.arrays["directions"].shape == (40, patches.directions.shape[2], 9)
    width = fitting.Width(patches.directions.shape[2], None, compiled=False)
    assert_same(fitting.unpacked(sent, [], None, width), patches)


@pytest.mark.parametrize("recipe", [*RECIPES, GaussianPatch(include_self=False, center="point")])
def test_the_rank_of_a_patch_is_that_of_one_place(graph, recipe):
    fit = PatchFit(
        graph.X,
        None,
        graph.near,
        include_self=recipe.include_self,
        center=recipe.center,
        covariance=recipe.covariance,
        rank=recipe.rank,
    )
    assert fitting.full_rank(graph.found[0], recipe) == fit.rank


def test_as_many_directions_are_compared_as_the_widest_part_uses():
    assert fitting.width_of([None], 100, 3, 4) == (None, None, False)
    assert fitting.width_of([3, 5, None], 100, 8, 7) == (7, 5, False)
    # Compiled code compares many numbers.
    assert fitting.width_of([3, 5, None], 10**6, 100, 90) == (90, 5, True)


def test_a_part_counts_the_directions_that_its_patches_use():
    variances = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
    assert fitting.used(fitting.Packed({"variances": variances})) == 2
    assert fitting.used(fitting.Packed({"roots": variances})) is None
