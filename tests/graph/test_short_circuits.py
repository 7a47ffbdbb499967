"""Which edges are short circuits: the steps in loops, and what always holds."""

from __future__ import annotations

from dataclasses import asdict, fields
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

from graphs import random_graph
from patchfold.graph import short_circuits
from patchfold.graph.components import n_components, spanning_tree
from patchfold.graph.detour_bounds import landmark_ways
from patchfold.graph.edges import EdgeList, symmetric, undirected
from patchfold.graph.pruning import common_neighbors
from patchfold.graph.short_circuits import (
    RECIPE,
    Candidates,
    Recipe,
    Typical,
    is_bend,
    least_shared,
    reaches,
    recommended_patch,
    verdict,
)
from patchfold.neighbors import find_neighbors
from patchfold.patches.covariances import AUTO_RIDGE

SEEDS = st.integers(0, 2**32 - 1)
SPREADS = st.sampled_from([0.7, 1.5, 3.0])


def geometric(seed, n, k=6, m=2, spread=1.0, kin=False):
    """Return the edges between the neighbours of random points, their distances and disagreement.

    Most disagreement is ordinary. Ends that disagree are far apart and share no neighbours, unless
    they are ``kin``.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, m))
    i, j, _ = undirected(find_neighbors(X, min(k, n - 1)))
    a, b, _ = undirected(find_neighbors(X, min(10, k, n - 1)))
    nearest = np.isin(i * n + j, a * n + b)
    common = common_neighbors(symmetric(a, b, np.ones(len(a), dtype=np.int32), n), i, j)
    disagreement = np.exp(spread * rng.normal(size=len(i)))
    distances = np.linalg.norm(X[i] - X[j], axis=1)
    if not kin:
        disagreement *= (distances / np.median(distances)) ** 4
        common = np.where(disagreement > 1.5, 0, common)
    own = np.ones(len(i), dtype=bool)
    return Candidates(i, j, own, nearest, common), distances, disagreement


# ------------------------------------------------------------------- loops


def slowly_tree(i, j, disagreement, n):
    """Kruskal's algorithm."""
    part, tree = list(range(n)), np.zeros(len(i), bool)
    for edge in np.argsort(disagreement, kind="stable"):
        a, b = part[i[edge]], part[j[edge]]
        if a != b:
            tree[edge] = True
            part = [a if other == b else other for other in part]
    return tree


def slowly_look(i, j, distances, disagreement, n, unit, tree, kin):
    """Return the factors of all edges, one edge after the other, from the ways of all pairs."""
    value = disagreement / unit
    trusted = (value <= 1) | kin
    parts = np.isfinite(dijkstra(symmetric(i[trusted], j[trusted], distances[trusted], n)))
    held = trusted | tree
    ways = dijkstra(symmetric(i[held], j[held], distances[held], n))
    sums = np.zeros(n)
    for end in (i, j):
        np.add.at(sums, end[held], distances[held])
    landmarks: list[int] = []
    while len(landmarks) < min(16, n):
        far = ways[landmarks].min(axis=0, initial=np.inf)
        landmarks.append(max(range(n), key=lambda point: (far[point], sums[point])))
    factors = np.ones(len(i))
    for e, (a, b) in enumerate(zip(i, j, strict=True)):
        if held[e]:
            continue
        if not parts[a, b] and parts[a].sum() >= 10 and parts[b].sum() >= 10:
            factors[e] = min(4.0, max(1.0, value[e] ** 2))
            continue
        bounds = [abs(ways[at, a] - ways[at, b]) for at in landmarks if np.isfinite(ways[at, a])]
        way = max([bound for bound in bounds if bound < np.inf], default=0.0)
        if way > 1.5 * distances[e] and value[e] * way > 25 * distances[e]:
            factors[e] = np.inf
    return factors


def slowly(candidates, distances, disagreement, n):
    """Return the verdict as the page tells it, and which way it was found."""
    i, j, own, near, common = candidates
    edges = i, j, distances, disagreement, n
    tree = np.zeros(len(i), bool)
    tree[own] = slowly_tree(i[own], j[own], disagreement[own], n)
    none = np.zeros(len(i), bool)
    first = slowly_look(*edges, 1.5, tree, none)
    short = np.isinf(first)
    suspects = np.flatnonzero(short & near)
    if not len(suspects):
        suspects = np.flatnonzero((first > 1) & near)
    mutual = 0
    for e in suspects:
        beside = [np.sort(distances[near & ((i == end) | (j == end))]) for end in (i[e], j[e])]
        mutual += all(distances[e] <= lengths[:10][-1] for lengths in beside)
    if len(suspects) and mutual >= 0.35 * len(suspects):
        usual = max(1, np.median(common[near]))
        return slowly_look(*edges, 1.5, tree, common >= 2 / 3 * usual), "bend"
    if not short.any():
        return first, "nothing"
    second = slowly_look(*edges, 1.0, tree, none)
    if np.isinf(second[own]).sum() > 3.5 * short[own].sum():
        return first, "first"
    return np.maximum(first, second), "second"


# ------------------------------------------------------------------- the steps


@given(SEEDS, st.integers(2, 90), st.integers(2, 14), SPREADS, st.booleans(), st.booleans())
def test_factors_are_those_of_loops(seed, n, k, spread, kin, some):
    evidence = geometric(seed, n, k, spread=spread, kin=kin)
    if some:  # of some edges the graph has only a part
        asked = evidence[0]
        own = np.random.default_rng(seed).uniform(size=len(asked.i)) < 0.8
        evidence = asked._replace(own=own | ~asked.nearest), *evidence[1:]
    expected = slowly(*evidence, n)[0]
    np.testing.assert_allclose(verdict(*evidence, n).factors, expected, rtol=1e-12)


def test_the_loops_see_all_kinds_of_edges_and_of_verdicts():
    kinds, factors = set(), []
    for seed in range(100):
        spread = (1.0, 1.0, 1.5, 3.0)[seed % 4]
        evidence = geometric(seed, 90, 5 + seed % 9, m=2 + seed % 2, spread=spread, kin=seed % 3)
        found, kind = slowly(*evidence, 90)
        kinds.add(kind)
        factors.append(found)
    assert kinds >= {"bend", "first", "second"}
    found = np.concatenate(factors)
    for some in (found == 1, (found > 1) & (found < 4), found == 4, np.isinf(found)):
        assert some.sum() > 0


@given(SEEDS, st.integers(2, 60), st.booleans())
def test_the_tree_is_that_of_kruskal(seed, n, whole):
    (i, j, *_), _, values = geometric(seed, n)
    values = np.round(values) if whole else values  # with ties and zeros
    np.testing.assert_array_equal(spanning_tree(i, j, values, n), slowly_tree(i, j, values, n))


@given(SEEDS, st.integers(2, 50))
def test_common_neighbours_are_counted(seed, n):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, 3 * n, whole=True, dtype=np.float64)
    graph.data[:] = 1
    beside = [set(graph.indices[graph.indptr[p] : graph.indptr[p + 1]]) for p in range(n)]
    i, j = rng.integers(0, n, (2, 40))
    expected = [len(beside[a] & beside[b]) for a, b in zip(i, j, strict=True)]
    np.testing.assert_array_equal(common_neighbors(graph, i, j), expected)


@pytest.mark.parametrize(
    ("suspects", "mutual", "expected"),
    [(0, 0, False), (1, 0, False), (1, 1, True), (20, 6, False), (20, 7, True), (3, 1, False)],
)
def test_a_bend_has_a_third_of_mutual_suspects(suspects, mutual, expected):
    assert is_bend(suspects, mutual) is expected


def test_the_reach_is_the_tenth_shortest_distance():
    star = np.zeros(12, dtype=int), np.arange(1, 13)  # one point beside twelve, of one edge each
    found = reaches(*star, np.arange(1.0, 13), 14)
    np.testing.assert_array_equal(found, [10, *range(1, 13), 0])


def test_kin_share_two_thirds_of_what_near_edges_usually_do():
    assert least_shared(np.r_[np.full(60, 6), np.full(40, 2)]) == pytest.approx(4)
    assert least_shared(np.zeros(3, dtype=int)) == pytest.approx(2 / 3)


def test_what_is_typical_is_the_median_of_those_above_zero():
    found = Typical.of(np.array([0.0, 1.0, 3.0, 8.0]), np.array([0.0, 0.0, 5.0]))
    assert found == Typical(3.0, 5.0)
    np.testing.assert_array_equal(found.disagreement(np.array([0.0, 10.0])), [0, 2])
    assert Typical.of(np.zeros(3), np.zeros(3)) == Typical(1.0, 1.0)


def test_the_recipe_has_eleven_numbers_beside_the_ridge_and_none_can_be_changed():
    assert len(fields(Recipe)) == 11
    with pytest.raises(AttributeError):
        RECIPE.many = 1.0


def test_the_recommended_size_grows_with_the_root_up_to_twenty():
    sizes = [recommended_patch(n).size for n in (2, 3, 30, 100, 900, 10**6)]
    assert sizes == [1, 1, 3, 6, 18, 20]
    assert recommended_patch(100, sized=False).size is None


# ------------------------------------------------------------------- what always holds


@given(SEEDS, st.integers(2, 150), st.integers(1, 8), SPREADS)
def test_removing_short_circuits_disconnects_nothing(seed, n, k, spread):
    evidence = geometric(seed, n, k, spread=spread)
    (i, j, *_), distances, _ = evidence
    factors = verdict(*evidence, n).factors
    kept = np.isfinite(factors)
    before = n_components(symmetric(i, j, distances, n))[1]
    after = n_components(symmetric(i[kept], j[kept], distances[kept], n))[1]
    np.testing.assert_array_equal(after, before)
    assert (factors >= 1).all()
    assert (factors[kept] <= RECIPE.ceiling).all()


@given(SEEDS, st.integers(2, 120), SPREADS)
def test_edges_that_agree_and_those_of_the_tree_keep_their_length(seed, n, spread):
    evidence = geometric(seed, n, 6, spread=spread)
    (i, j, *_), _, disagreement = evidence
    factors = verdict(*evidence, n).factors
    assert (factors[disagreement <= 1] == 1).all()
    assert (factors[slowly_tree(i, j, disagreement, n)] == 1).all()


@given(SEEDS, st.sampled_from([2.0**-60, 2.0**40]))
def test_the_unit_of_distances_does_not_matter(seed, unit):
    asked, distances, disagreement = geometric(seed, 80, 6, spread=2.0)
    found, expected = (
        verdict(asked, scale * distances, disagreement, 80).factors for scale in (unit, 1)
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_threads_change_no_bit(n_jobs):
    evidence = geometric(0, 600, 10, m=3, spread=2.0)
    found = verdict(*evidence, 600, n_jobs).factors
    assert np.isinf(found).any()
    np.testing.assert_array_equal(found, verdict(*evidence, 600).factors)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_compiled_code_finds_the_same_ways(n_jobs):
    (i, j, *_), distances, disagreement = geometric(0, 600, 10, m=3, spread=2.0)
    graph = EdgeList(i, j, distances, 600).graph(disagreement <= 1)
    compiled, other = (landmark_ways(graph, i, j, 16, n_jobs, compiled_work=w) for w in (1, 10**18))
    assert (compiled > 0).any()
    np.testing.assert_array_equal(compiled, other)


@given(SEEDS, st.integers(2, 120), SPREADS)
def test_numbering_points_along_the_graph_changes_no_bit(seed, n, spread):
    evidence = geometric(seed, n, 6, spread=spread)
    found, expected = verdict(*evidence, n, renumbered=0), verdict(*evidence, n)
    for part, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(part, other)


@given(SEEDS, st.integers(2, 120), SPREADS)
def test_the_order_of_points_does_not_matter(seed, n, spread):
    evidence = geometric(seed, n, 6, spread=spread)
    label = np.random.default_rng(seed).permutation(n)
    ends = label[evidence[0].i], label[evidence[0].j]
    low, high = np.minimum(*ends), np.maximum(*ends)
    order = np.lexsort((high, low))
    asked = Candidates(low[order], high[order], *(part[order] for part in evidence[0][2:]))
    mixed = asked, *(part[order] for part in evidence[1:])
    expected = verdict(*evidence, n).factors[order]
    np.testing.assert_array_equal(verdict(*mixed, n).factors, expected)


def test_edges_of_length_zero_are_no_trouble():
    evidence = geometric(0, 80, 6, spread=2.0)
    evidence[1][::3] = evidence[2][::3] = 0
    with np.errstate(all="raise"):
        found = verdict(*evidence, 80).factors
    assert (found >= 1).all()


def test_no_edges_have_no_factors():
    none, no = np.empty(0, np.intp), np.empty(0, bool)
    nothing = Candidates(none, none, no, no, none), np.empty(0), np.empty(0)
    assert verdict(*nothing, 3).factors.shape == (0,)


# ------------------------------------------------------------------- what it is for


LENGTH, WIDTH = 20, 4


def folded(at=2, value=8.0):
    """Return a strip folded in the middle, with an edge from one sheet to the other.

    Sheets are as far apart as the points of one sheet; ``at`` counts from the open end. The last
    number is the place of the rung among the edges.
    """

    def point(along, across):
        return along * WIDTH + across

    steps = 2 * LENGTH
    edges = [(point(a, b), point(a + 1, b)) for a in range(steps - 1) for b in range(WIDTH)]
    edges += [(point(a, b), point(a, b + 1)) for a in range(steps) for b in range(WIDTH - 1)]
    rung = point(at, 1), point(steps - 1 - at, 1)
    edges = sorted([*edges, rung])
    place = edges.index(rung)
    disagreement = np.full(len(edges), 0.5)
    disagreement[place] = value
    return evidence_of(edges, disagreement), steps * WIDTH, place


def evidence_of(edges, disagreement, common=0):
    """Return edges of length one, all to near points and the graph's own, and disagreement."""
    i, j = np.array(edges).T
    every, shared = np.ones(len(i), bool), np.broadcast_to(common, len(i))
    return Candidates(i, j, every, every, shared), np.ones(len(i)), disagreement


@pytest.mark.parametrize("value", [1.6, 2.0, 8.0, 1e6])
@pytest.mark.parametrize("at", [0, 2])
def test_a_rung_between_two_sheets_is_a_short_circuit_if_its_patches_disagree(at, value):
    evidence, n, rung = folded(at, value)
    found = verdict(*evidence, n).factors
    assert np.isinf(found[rung])
    assert (np.delete(found, rung) == 1).all()


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0, 1.5])
def test_a_rung_is_kept_if_its_patches_agree(value):
    evidence, n, _ = folded(2, value)
    assert (verdict(*evidence, n).factors == 1).all()


def test_the_more_patches_disagree_the_shorter_the_way_around_may_be():
    at = LENGTH - 4  # seven steps around
    cases = [folded(at, value) for value in (2.0, 4.0, 8.0)]
    found = [np.isinf(verdict(*evidence, n).factors[rung]) for evidence, n, rung in cases]
    assert found == [False, False, True]


AROUND = 60


def closed(value, common, long):
    """Return a closed band, cut by edges that disagree, and where these are.

    Ends of the cut have ``common`` neighbours in common, others six. ``long`` of the edges across
    it are longer than all others, the rest are as long as these.
    """
    edges = {
        (a * WIDTH + b, a * WIDTH + c) for a in range(AROUND) for b in range(4) for c in range(b)
    }
    for along in (1, 2):
        ahead = [(a, (a + along) % AROUND) for a in range(AROUND)]
        edges |= {
            (a * WIDTH + b, c * WIDTH + d) for a, c in ahead for b in range(4) for d in range(4)
        }
    edges = sorted((min(edge), max(edge)) for edge in edges)
    i, j = np.array(edges).T
    cut = j - i > 9 * WIDTH
    evidence = evidence_of(edges, np.where(cut, value, 0.5), np.where(cut, common, 6))
    lengths = np.ones(len(i))
    lengths[np.flatnonzero(cut)[:long]] = 2.0
    return (evidence[0], lengths, evidence[2]), AROUND * WIDTH, cut


@pytest.mark.parametrize("value", [4.0, 40.0])
def test_a_closed_band_is_cut_open_only_where_edges_are_long_or_ends_are_strangers(value):
    cases = [(4, 0, False), (6, 31, False), (6, 32, True), (6, 48, True), (3, 0, True)]
    for common, long, cuts in cases:
        evidence, n, cut = closed(value, common, long)
        assert cut.sum() == 48
        assert np.isinf(verdict(*evidence, n).factors[cut]).any() == cuts


def test_edges_between_parts_without_a_trusted_way_are_stretched_and_not_removed():
    values = [1.2, 1.8, 2.4, 9.0]
    paths = [[(30 * side + p, 30 * side + p + 1) for p in range(29)] for side in range(2)]
    rungs = [(5 * place, 30 + 5 * place) for place in range(len(values))]
    edges = sorted([*paths[0], *paths[1], *rungs])
    places = [edges.index(rung) for rung in rungs]
    disagreement = np.full(len(edges), 0.5)
    disagreement[places] = 1.5 * np.array(values)
    found = verdict(*evidence_of(edges, disagreement), 60).factors
    # The first is of the tree. The others are as long as the square of their disagreement.
    np.testing.assert_allclose(found[places], [1, 1.8**2, 4, 4])
    assert (np.delete(found, places) == 1).all()


def test_a_few_strays_are_no_part():
    clique = list(combinations(range(9), 2))  # nine points, fewer than a part has
    path = [(p, p + 1) for p in range(9, 80)]
    rungs = [(0, 9), (1, 79)]
    edges = sorted([*clique, *path, *rungs])
    disagreement = np.array([30.0 if e == (1, 79) else 20.0 if e == (0, 9) else 0.5 for e in edges])
    found = verdict(*evidence_of(edges, disagreement), 81).factors
    assert np.isinf(found[edges.index((1, 79))])
    assert found[edges.index((0, 9))] == 1


def test_the_page_tells_what_the_module_tells():
    page = (Path(__file__).parents[2] / "docs" / "method" / "index.md").read_text("utf-8")
    told = page.split("```text\n")[1].split("```")[0]
    shown = short_circuits.__doc__.split("::\n\n")[1].split("\n\nSteps")[0]
    assert told.split() == shown.split()
    assert len(told.splitlines()) <= 30
    numbers = page.split("### The twelve numbers")[1].split("###")[0]
    values = {**asdict(RECIPE), "kin": "2/3", "ridge": AUTO_RIDGE}
    for name, value in values.items():
        shown = value if isinstance(value, str) else f"{value:g}"
        assert f"| `{name}` | {shown} |" in numbers
