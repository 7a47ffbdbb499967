"""The edges that every part knows: together, those of one graph."""

from __future__ import annotations

import numpy as np
import pytest

from patchfold import GaussianPatch
from patchfold.distributed.fitting import Packed, Width, packed
from patchfold.distributed.links import Mirror, compared_edges, edge_divergences
from patchfold.graph.lengths import Lengths


@pytest.fixture(scope="module")
def graph(parted):
    return parted(np.random.default_rng(1).normal(size=(80, 3)), 5)


def test_every_edge_of_the_graph_belongs_to_one_part(graph):
    mine = [known[links.mine] for known, links in zip(graph.numbers, graph.links, strict=True)]
    np.testing.assert_array_equal(np.sort(np.concatenate(mine)), np.arange(len(graph.i)))


def test_a_part_knows_all_edges_at_its_rows_and_no_others(graph):
    for own, known in zip(graph.ids, graph.numbers, strict=True):
        at_rows = np.isin(graph.i, own) | np.isin(graph.j, own)
        np.testing.assert_array_equal(known, np.flatnonzero(at_rows))


def test_an_edge_has_the_lesser_rank_of_its_two_ends_and_their_distance(graph):
    ranks = np.full(len(graph.i), graph.k)
    np.minimum.at(ranks, graph.pairs, np.tile(np.arange(graph.k), len(graph.X)))
    distances = np.linalg.norm(graph.X[graph.i] - graph.X[graph.j], axis=1)
    for links, known in zip(graph.links, graph.numbers, strict=True):
        np.testing.assert_array_equal(links.ranks, ranks[known])
        np.testing.assert_allclose(links.distances, distances[known])


def test_the_edges_of_a_row_lead_to_its_neighbours(graph):
    joined = np.zeros((len(graph.X),) * 2, dtype=bool)
    joined[graph.i, graph.j] = joined[graph.j, graph.i] = True
    for own, links in zip(graph.ids, graph.links, strict=True):
        places = np.array([7, 0, 3])
        degrees, edges, others = links.edges_of(places)
        rows = np.repeat(links.table.own[places], degrees)
        np.testing.assert_array_equal(np.minimum(rows, others), links.i[edges])
        np.testing.assert_array_equal(np.maximum(rows, others), links.j[edges])
        split = np.split(links.table.nodes.ids[others], np.cumsum(degrees)[:-1])
        for row, found in zip(own[places], split, strict=True):
            np.testing.assert_array_equal(found, np.flatnonzero(joined[row]))


def test_a_mirror_takes_the_values_of_edges_from_the_parts_whose_they_are(graph):
    values = np.random.default_rng(0).normal(size=len(graph.i))
    right_for_own = [
        np.where(links.mine, some, np.nan)
        for links, some in zip(graph.links, graph.of_edges(values), strict=True)
    ]
    filled = Mirror(graph.cluster, graph.links, graph.exchange).fill(right_for_own)
    for found, expected in zip(filled, graph.of_edges(values), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("recipe", [GaussianPatch(), GaussianPatch(covariance="low-rank", rank=1)])
def test_parts_compare_patches_as_one_place_does(graph, recipe):
    patches = recipe.gaussians(graph.X, graph.near)
    lengths = Lengths(graph.X, patches, "kl")
    divergences = lengths.divergences(graph.i, graph.j)
    distances = lengths.apart(graph.i, graph.j)
    every = packed(patches)
    there = [every.at(own) for own in graph.ids]
    halo = graph.exchange.fetch(there, Packed.at)
    points = graph.exchange.fetch(graph.points)
    how = {"width": Width(None, None, compiled=False), "divergence": "kl"}
    for part, links in enumerate(graph.links):
        known = graph.numbers[part]
        args = links, graph.points[part], points[part], there[part], halo[part]
        found = compared_edges(*args, **how)
        np.testing.assert_array_equal(found.divergences, divergences[known])
        np.testing.assert_array_equal(found.distances, distances[known])
        plain = edge_divergences(links, there[part], halo[part], **how)
        np.testing.assert_array_equal(plain, divergences[known])
