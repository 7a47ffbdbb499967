"""The comparison with ORC-ManL: curvature against linear programs, and what the rules remove."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

pytest.importorskip("benchmarks.curvature", reason="benchmarks are part of the checkout only")

from benchmarks.curvature import orc
from benchmarks.curvature.__main__ import isomap, pruning
from benchmarks.curvature.samples import KINDS, bad_edges, noise, sample

pytestmark = pytest.mark.slow
each = pytest.mark.parametrize("name", KINDS)


def least_cost(costs, supply, demand):
    """Return the cost of optimal transport, by a linear program."""
    m, n = costs.shape
    sums = np.vstack([np.kron(np.eye(m), np.ones(n)), np.kron(np.ones(m), np.eye(n))])
    found = linprog(costs.ravel(), A_eq=sums, b_eq=np.concatenate([supply, demand]))
    assert found.success
    return found.fun


def curvature_by_definition(graph, x, y):
    hops = shortest_path(graph, unweighted=True)
    neighbors = graph.toarray() > 0
    measures = []
    for end, other in ((x, y), (y, x)):
        measure = neighbors[end].astype(float)
        measure[other] = 0
        if not measure.any():
            measure[end] = 1
        measures.append(measure / measure.sum())
    return 1 - least_cost(hops, *measures)


def random_graph(seed, n=14, share=0.25):
    """Return a connected graph with random edges and lengths: a cycle, and more."""
    random = np.random.default_rng(seed)
    dense = np.triu(random.random((n, n)) < share, 1)
    dense[np.arange(n - 1), np.arange(1, n)] = True
    lengths = np.where(dense, random.uniform(0.5, 1.5, (n, n)), 0.0)
    return csr_array(lengths + lengths.T)


@pytest.mark.parametrize("seed", range(4))
def test_curvature_is_that_of_its_definition_by_linear_programs(seed):
    graph = random_graph(seed)
    i, j, _ = orc.edges_of(graph)
    expected = [curvature_by_definition(graph, x, y) for x, y in zip(i, j, strict=True)]
    np.testing.assert_allclose(orc.curvatures(graph, i, j), expected, atol=1e-9)


def test_curvature_of_a_neighbour_graph_is_that_of_its_definition():
    graph = orc.neighbor_graph(np.random.default_rng(0).normal(size=(40, 2)), 5)
    i, j, _ = orc.edges_of(graph)
    expected = [curvature_by_definition(graph, x, y) for x, y in zip(i, j, strict=True)]
    np.testing.assert_allclose(orc.curvatures(graph, i, j), expected, atol=1e-9)


def test_curvatures_of_graphs_that_are_known_in_closed_form():
    complete = csr_array(1.0 - np.eye(6))
    i, j, _ = orc.edges_of(complete)
    np.testing.assert_allclose(orc.curvatures(complete, i, j), 1.0)
    # In the middle of a long path, mass moves over three edges.
    path = csr_array(np.eye(8, k=1) + np.eye(8, k=-1))
    values = orc.curvatures(path, *orc.edges_of(path)[:2])
    np.testing.assert_allclose(values, [-1, -2, -2, -2, -2, -2, -1])


@pytest.mark.parametrize("seed", range(5))
def test_transport_costs_as_much_as_a_linear_program_says(seed):
    random = np.random.default_rng(seed)
    m, n = random.integers(1, 9, 2)
    costs = random.integers(0, 6, (m, n))
    supply = random.integers(0, 7, m)
    demand = random.multinomial(supply.sum(), np.full(n, 1 / n))
    expected = least_cost(costs, supply, demand)
    assert orc.transport(costs, supply.copy(), demand.copy()) == pytest.approx(expected)


def two_lines(n=200, gap=0.3):
    """Return two long lines side by side: their ends are far apart from each other."""
    along = np.linspace(0, 40, n)
    return np.vstack(
        [np.column_stack([along, np.zeros(n)]), np.column_stack([along, gap + 0 * along])]
    )


def test_the_rule_removes_a_single_edge_between_two_lines_and_no_other():
    X = two_lines(gap=5.0)
    i, j, lengths = orc.edges_of(orc.neighbor_graph(X, 6))
    i, j, lengths = np.append(i, 100), np.append(j, 300), np.append(lengths, 5.0)
    graph = orc.with_edges(i, j, lengths, len(X))
    removed, curvature = orc.pruned(graph, 6)
    i, j, _ = orc.edges_of(graph)
    assert [*zip(i[removed], j[removed], strict=True)] == [(100, 300)]
    assert curvature[removed] < -1


def test_a_candidate_with_a_short_way_around_stays():
    # In a cycle every edge is a candidate, unless the limit of curvature is lower than all.
    cycle = csr_array(np.roll(np.eye(12), 1, axis=1) + np.roll(np.eye(12), -1, axis=1))
    i, j, lengths = orc.edges_of(cycle)
    chord = orc.with_edges(np.append(i, 0), np.append(j, 4), np.append(lengths, 1.0), 12)
    removed, curvature = orc.pruned(chord, 2, delta=0.75)
    assert (curvature < 0).any()
    assert not removed.any()


@each
def test_samples_have_bad_edges_and_good_ones(name):
    sampled = sample(name, 1200, 0)
    i, j, lengths = orc.edges_of(orc.neighbor_graph(sampled.X, 20))
    bad = bad_edges(name, sampled, i, j, lengths)
    assert len(sampled.X) == len(sampled.parts) == 1200
    assert bad.mean() < 0.2
    assert np.isfinite(sampled.X).all()


@pytest.mark.parametrize("name", ["S-curve", "Cassini oval", "swiss roll", "moons"])
def test_geodesics_are_no_shorter_than_straight_lines_without_noise(name):
    clean = KINDS[name].draw(np.random.default_rng(0), 300)
    straight = np.linalg.norm(clean.X[:, None] - clean.X[None], axis=2)
    geodesics = clean.geodesics()
    known = np.isfinite(geodesics)
    assert (geodesics[known] >= straight[known] - 1e-6).all()
    # Near pairs lie on a surface that is almost flat.
    near = known & (geodesics < 0.02 * np.nanmax(geodesics)) & (straight > 0)
    assert (geodesics[near] / straight[near]).max() < 1.05


@pytest.mark.parametrize("name", ["concentric circles", "Cassini oval", "swiss roll"])
def test_geodesics_of_pairs_are_those_of_all_pairs(name):
    sampled = sample(name, 100, 0)
    i, j = np.nonzero(np.isfinite(sampled.geodesics()))
    np.testing.assert_allclose(sampled.geodesics_of(i, j), sampled.geodesics()[i, j], atol=1e-9)


def test_both_rules_are_asked_about_the_same_edges():
    found = pruning("swiss roll", 600, 20, 0)
    assert 0 < found["bad"] < found["edges"]
    for shares in (found["bad removed"], found["good removed"], found["stretched"]):
        assert len(shares) == 2
        assert all(0 <= share <= 1 for share in shares)


def test_a_map_joins_components_by_their_closest_pair():
    line = np.column_stack([np.arange(20.0), np.zeros(20)])
    edges = orc.edges_of(orc.neighbor_graph(line, 2))
    i, j, _ = edges
    place = isomap(line, edges, (i < 10) & (j >= 10), 1)
    apart = np.abs(place - place.T)
    np.testing.assert_allclose(apart, np.abs(line[:, :1] - line[:, 0]), atol=1e-6)


def test_noise_is_no_longer_than_its_limit():
    drawn = noise(np.random.default_rng(0), (500, 3), 6.25, 2.25)
    assert np.linalg.norm(drawn, axis=1).max() <= 2.25
