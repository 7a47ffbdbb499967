"""Which edges are short circuits: the steps in loops, and what always holds."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

from patchfold.graph.components import n_components, spanning_tree
from patchfold.graph.edges import EdgeList, symmetric, undirected
from patchfold.graph.short_circuits import (
    CEILING,
    LEFT,
    LONGEST,
    SHARED,
    SHORT_DISAGREES,
    SUSPICIONS,
    counted_lengths,
    share_left,
    stretched_lengths,
    stretches,
)
from patchfold.graph.trusting import trust_detours
from patchfold.graph.ways import LANDMARKS, landmark_ways
from patchfold.neighbors import find_neighbors

SEEDS = st.integers(0, 2**32 - 1)
QUIET = st.sampled_from([0.0, 0.4, 1.0])


def geometric(seed, n, k=5, m=2, spread=1.0):
    """Return the neighbour graph of random points, and a random disagreement, mostly ordinary."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, m))
    i, j, _ = undirected(find_neighbors(X, min(k, n - 1)))
    disagreement = 0.5 * np.exp(spread * rng.normal(size=len(i)))
    return i, j, disagreement, np.linalg.norm(X[i] - X[j], axis=1), n


def all_ways(i, j, distances, n):
    return dijkstra(symmetric(i, j, distances, n))


def slowly_tree(i, j, disagreement, n):
    """Kruskal's algorithm."""
    part, tree = list(range(n)), np.zeros(len(i), bool)
    for edge in np.argsort(disagreement, kind="stable"):
        a, b = part[i[edge]], part[j[edge]]
        if a != b:
            tree[edge] = True
            part = [a if other == b else other for other in part]
    return tree


def slowly_trusted(i, j, disagreement, distances, n, kin=False):
    """Trust edges that two trusted ones lead around, over all points between, until none is new."""
    trusted, before = (disagreement <= 1) | kin, None
    while before is None or (trusted != before).any():
        before, apart = trusted, np.full((n, n), np.inf)
        apart[i[trusted], j[trusted]] = apart[j[trusted], i[trusted]] = distances[trusted]
        ways = np.array([(apart[a] + apart[b]).min() for a, b in zip(i, j, strict=True)])
        trusted = trusted | (ways <= 1.5 * distances)
    return trusted


def slowly(i, j, disagreement, distances, n, quiet=1.0, kin=False, tree=None):
    """Return the factors of all edges, one edge after the other, from the ways of all pairs."""
    tree = slowly_tree(i, j, disagreement, n) if tree is None else tree
    trusted = slowly_trusted(i, j, disagreement, distances, n, kin)
    parts = np.isfinite(all_ways(i[trusted], j[trusted], distances[trusted], n))
    held = trusted | tree
    ways = all_ways(i[held], j[held], distances[held], n)
    sums = np.zeros(n)
    for end in (i, j):
        np.add.at(sums, end[held], distances[held])
    landmarks: list[int] = []
    while len(landmarks) < min(16, n):
        far = ways[landmarks].min(axis=0, initial=np.inf)
        landmarks.append(max(range(n), key=lambda point: (far[point], sums[point])))
    doubt = 1.5 + quiet * 2.5
    factors = []
    for edge, (a, b) in enumerate(zip(i, j, strict=True)):
        if held[edge]:
            factors.append(1.0)
            continue
        apart = not parts[a, b] and parts[a].sum() >= 8 and parts[b].sum() >= 8
        ceiling = 4.0 if apart or kin is False else 1.0
        factor = min(ceiling, max(1.0, (disagreement[edge] / doubt) ** 2))
        if disagreement[edge] > 1.25 and not apart:
            least = max(
                (
                    abs(ways[at, a] - ways[at, b])
                    for at in landmarks
                    if np.isfinite(ways[at, a]) and np.isfinite(ways[at, b])
                ),
                default=0.0,
            )
            needed = min(10.0, max(1.5, 10 * doubt / disagreement[edge]))
            factor = np.inf if least / distances[edge] > needed else factor
        factors.append(factor)
    return np.array(factors)


def harder(i, j, disagreement, distances, n, quiet=1.0, tree=None, short=False):
    """Return the harder of two verdicts, the second by 1.7, or else 1.5, times the disagreement.

    If both find many times as many short circuits, or there are none (``short``: there are some
    among other edges), the first is all.
    """
    tree = slowly_tree(i, j, disagreement, n) if tree is None else tree
    first = slowly(i, j, disagreement, distances, n, quiet, tree=tree)
    for counts in (1.7, 1.5) if short or np.isinf(first).any() else ():
        second = slowly(i, j, counts * disagreement, distances, n, quiet, tree=tree)
        if np.isinf(second).sum() <= 3.5 * np.isinf(first).sum():
            return np.maximum(first, second)
    return first


# ------------------------------------------------------------------- the steps


@given(SEEDS, st.integers(2, 120), st.integers(2, 9), st.sampled_from([0.7, 1.5, 3.0]), QUIET)
def test_factors_are_those_of_loops(seed, n, k, spread, quiet):
    edges = geometric(seed, n, k, spread=spread)
    np.testing.assert_allclose(stretches(*edges, quiet=quiet), harder(*edges, quiet), rtol=1e-12)


@given(SEEDS, st.integers(2, 100), st.integers(2, 9), st.floats(0, 1), st.booleans(), QUIET)
def test_what_is_shared_is_believed_as_in_loops(seed, n, k, least, some, quiet):
    i, j, disagreement, distances, n = edges = geometric(seed, n, k, spread=1.5)
    rng = np.random.default_rng(seed)
    shared = rng.uniform(least - 0.2, 1.0, size=len(i))
    own, asked = rng.uniform(size=(2, len(i))) < (0.8 if some else 1.0)
    tree = np.zeros(len(i), bool)
    tree[own] = slowly_tree(i[own], j[own], disagreement[own], n)

    def judged(of, kin=False):
        kin = kin if kin is False else kin[of]
        return slowly(i[of], j[of], disagreement[of], distances[of], n, quiet, kin, tree[of])

    short = np.isinf(judged(asked)).sum()
    left = np.isinf(judged(asked, shared >= 1 / 4)).sum()
    expected = judged(own)
    if short > 0 and left <= 0.2 * short:
        expected = judged(np.full(len(i), True), shared >= 1 / 4)[own]
    elif short > 0:
        mine = i[own], j[own], disagreement[own], distances[own]
        expected = harder(*mine, n, quiet, tree[own], short=True)
    found = stretches(*edges, shared=shared, own=own, asked=asked, quiet=quiet)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_loops_see_all_kinds_of_edges():
    found = np.concatenate([stretches(*geometric(seed, 100, 9, spread=1.5)) for seed in range(5)])
    for some in (found == 1, (found > 1) & (found < CEILING), found == CEILING, np.isinf(found)):
        assert some.sum() > 5


@given(SEEDS, st.integers(2, 60), st.booleans())
def test_the_tree_is_that_of_kruskal(seed, n, whole):
    i, j, values, _, _ = geometric(seed, n)
    values = np.round(values) if whole else values  # with ties and zeros
    np.testing.assert_array_equal(spanning_tree(i, j, values, n), slowly_tree(i, j, values, n))


# ------------------------------------------------------------------- what always holds


@given(SEEDS, st.integers(2, 150), st.integers(1, 8), st.sampled_from([0.7, 2.0, 4.0]), QUIET)
def test_removing_short_circuits_disconnects_nothing(seed, n, k, spread, quiet):
    i, j, disagreement, distances, n = geometric(seed, n, k, spread=spread)
    factors = stretches(i, j, disagreement, distances, n, quiet=quiet)
    kept = np.isfinite(factors)
    before = n_components(symmetric(i, j, distances, n))[1]
    after = n_components(symmetric(i[kept], j[kept], distances[kept], n))[1]
    np.testing.assert_array_equal(after, before)
    assert (factors >= 1).all()
    assert (factors[kept] <= CEILING).all()


@given(SEEDS, st.integers(2, 120), st.sampled_from([0.7, 2.0, 4.0]), QUIET)
def test_edges_that_agree_and_those_of_the_tree_keep_their_length(seed, n, spread, quiet):
    i, j, disagreement, distances, n = geometric(seed, n, 6, spread=spread)
    factors = stretches(i, j, disagreement, distances, n, quiet=quiet)
    strictly = max(SUSPICIONS) * disagreement
    assert (factors[strictly <= 1] == 1).all()
    assert (factors[slowly_tree(i, j, disagreement, n)] == 1).all()
    assert (factors[slowly_trusted(i, j, strictly, distances, n)] == 1).all()
    assert (strictly[np.isinf(factors)] > SHORT_DISAGREES).all()


@given(SEEDS, st.sampled_from([2.0**-60, 0.1, 2.0**40]))
def test_the_unit_of_distances_does_not_matter(seed, unit):
    i, j, disagreement, distances, n = geometric(seed, 80, 6, spread=2.0)
    expected = stretches(i, j, disagreement, distances, n)
    np.testing.assert_array_equal(stretches(i, j, disagreement, unit * distances, n), expected)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_threads_change_no_bit(n_jobs):
    edges = geometric(0, 600, 10, m=3, spread=2.0)
    found = stretches(*edges, n_jobs=n_jobs)
    assert np.isinf(found).any()
    np.testing.assert_array_equal(found, stretches(*edges))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_compiled_code_finds_the_same_ways(n_jobs):
    i, j, disagreement, distances, n = geometric(0, 600, 10, m=3, spread=2.0)
    graph = EdgeList(i, j, distances, n).graph(disagreement <= 1)
    compiled, other = (landmark_ways(graph, i, j, n_jobs, compiled_work=w) for w in (1, 10**18))
    assert (compiled > 0).any()
    np.testing.assert_array_equal(compiled, other)


def in_two_orders(seed, n, spread, quiet):
    """Return factors, and those of the same edges where points have other numbers."""
    i, j, disagreement, distances, n = geometric(seed, n, 6, spread=spread)
    label = np.random.default_rng(seed).permutation(n)
    low, high = np.minimum(label[i], label[j]), np.maximum(label[i], label[j])
    order = np.lexsort((high, low))
    mixed = low[order], high[order], disagreement[order], distances[order]
    expected = stretches(i, j, disagreement, distances, n, quiet=quiet)
    return stretches(*mixed, n, quiet=quiet), expected[order]


@given(SEEDS, st.integers(2, LANDMARKS), st.sampled_from([0.7, 2.0, 4.0]), QUIET)
def test_the_order_of_points_does_not_matter_where_all_are_landmarks(seed, n, spread, quiet):
    np.testing.assert_array_equal(*in_two_orders(seed, n, spread, quiet))


@given(SEEDS, st.integers(2, 120), st.sampled_from([0.7, 2.0, 4.0]), QUIET)
def test_the_order_of_points_does_not_matter_for_what_is_kept(seed, n, spread, quiet):
    found, expected = in_two_orders(seed, n, spread, quiet)
    kept = np.isfinite(found) & np.isfinite(expected)
    np.testing.assert_array_equal(found[kept], expected[kept])


@given(SEEDS, st.integers(2, 120), st.sampled_from([0.7, 2.0, 4.0]), QUIET)
def test_the_order_of_points_does_not_matter(seed, n, spread, quiet):
    np.testing.assert_array_equal(*in_two_orders(seed, n, spread, quiet))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_factors_have_the_type_of_the_distances(dtype):
    i, j, disagreement, distances, n = geometric(0, 80, 6, spread=2.0)
    found = stretches(i, j, disagreement, distances.astype(dtype), n)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, stretches(i, j, disagreement, distances, n), rtol=1e-6)


def test_edges_of_length_zero_are_no_trouble():
    i, j, disagreement, distances, n = geometric(0, 80, 6, spread=2.0)
    distances[::3] = disagreement[::3] = 0  # who is nowhere else leaves nothing
    with np.errstate(all="raise"):
        found = stretches(i, j, disagreement, distances, n)
    assert (found >= 1).all()


def test_no_edges_have_no_factors():
    none = np.empty(0, np.intp)
    assert stretches(none, none, np.empty(0), np.empty(0), 3).shape == (0,)


# ------------------------------------------------------------------- what it is for


LENGTH, WIDTH = 20, 4


def folded(at=2, value=8.0):
    """Return a strip folded in the middle, with an edge from one sheet to the other.

    Sheets are as far apart as the points of one sheet; ``at`` counts from the open end. The edges
    are in order, and the last number is the place of the rung among them.
    """

    def point(along, across):
        return along * WIDTH + across

    steps = 2 * LENGTH
    edges = [(point(a, b), point(a + 1, b)) for a in range(steps - 1) for b in range(WIDTH)]
    edges += [(point(a, b), point(a, b + 1)) for a in range(steps) for b in range(WIDTH - 1)]
    rung = point(at, 1), point(steps - 1 - at, 1)
    edges = sorted([*edges, rung])
    i, j = np.array(edges).T
    place = edges.index(rung)
    disagreement = np.full(len(i), 0.5)
    disagreement[place] = value
    return i, j, disagreement, np.ones(len(i)), steps * WIDTH, place


@pytest.mark.parametrize("value", [1.3, 2.0, 8.0, 1e6])
@pytest.mark.parametrize("at", [0, 2, 10])
def test_a_rung_between_two_sheets_is_a_short_circuit_if_its_patches_disagree(at, value):
    *edges, rung = folded(at, value)
    found = stretches(*edges)
    assert np.isinf(found[rung])
    assert (np.delete(found, rung) == 1).all()


@pytest.mark.parametrize("times", [0.99, 1.01])
def test_an_edge_that_is_long_already_is_no_short_circuit(times):
    *edges, rung = folded(0)
    typical = 1 / (times * LONGEST)
    assert np.isinf(stretches(*edges, typical=typical)[rung]) == (times < 1)
    assert (np.delete(stretches(*edges, typical=typical), rung) == 1).all()


@given(SEEDS, st.floats(1e-3, 1e3), st.sampled_from([np.float32, np.float64]))
def test_no_edge_is_stretched_beyond_the_longest(seed, typical, dtype):
    rng = np.random.default_rng(seed)
    distances = (typical * rng.uniform(0, 2 * LONGEST, size=50)).astype(dtype)
    factors = rng.choice([1.0, 2.5, CEILING, np.inf], size=50)
    found = stretched_lengths(distances, factors, typical)
    assert found.dtype == dtype
    for length, distance, factor in zip(found, distances, factors, strict=True):
        plain = distance / typical
        expected = plain * factor if plain * factor < LONGEST else max(plain, LONGEST)
        assert length == pytest.approx(np.inf if np.isinf(factor) else expected, rel=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0, 1.2])
def test_a_rung_is_kept_if_its_patches_agree(value):
    *edges, _ = folded(2, value)
    assert (stretches(*edges) == 1).all()


def test_a_rung_beside_the_fold_is_kept_though_its_patches_disagree():
    *edges, rung = folded(LENGTH - 2, 4.0)  # two steps around, in a graph that has diagonals
    assert np.isfinite(stretches(*edges)[rung])


def test_the_more_patches_disagree_the_shorter_the_way_around_may_be():
    at = LENGTH - 4  # seven steps around
    assert [
        bool(np.isinf(stretches(*edges)[rung]))
        for *edges, rung in (folded(at, 2.0), folded(at, 4.0), folded(at, 8.0))
    ] == [False, False, True]


def test_the_more_distances_are_noise_the_less_disagreement_a_stretch_needs():
    at = LENGTH - 4
    for value, quiet, expected in [(3.0, 1.0, 1.0), (2.0, 0.0, 16 / 9), (6.0, 0.0, np.inf)]:
        *edges, rung = folded(at, value)
        assert stretches(*edges, quiet=quiet)[rung] == pytest.approx(expected)


AROUND = 60


def closed(values, rungs=0):
    """Return a closed band, cut by edges that disagree so much, and where these are.

    Some rungs lead from one side of the band to the other.
    """
    edges = {(a * WIDTH + b, (a + 1) % AROUND * WIDTH + b) for a in range(AROUND) for b in range(4)}
    edges |= {(a * WIDTH + b, a * WIDTH + b + 1) for a in range(AROUND) for b in range(3)}
    jumps = {(a * WIDTH, (a + AROUND // 2) * WIDTH) for a in range(5, 5 + rungs)}
    edges = sorted((min(edge), max(edge)) for edge in edges | jumps)
    i, j = np.array(edges).T
    cut = j - i == (AROUND - 1) * WIDTH
    disagreement = np.full(len(i), 0.5)
    disagreement[cut] = values
    disagreement[[edge in jumps for edge in edges]] = 8.0
    return i, j, disagreement, np.ones(len(i)), AROUND * WIDTH, cut


@pytest.mark.parametrize("value", [1.5, 4.0, 40.0])
def test_a_closed_band_is_not_cut_open_where_the_ends_of_edges_share_neighbours(value):
    *edges, cut = closed(value)
    assert np.isinf(stretches(*edges)[cut]).all()
    assert np.isinf(stretches(*edges, shared=np.where(cut, SHARED - 0.01, 0.8))[cut]).all()
    assert (stretches(*edges, shared=np.where(cut, SHARED, 0.8)) == 1).all()


def test_what_is_shared_is_not_believed_where_short_circuits_are_left():
    for rungs in range(6):
        *edges, cut = closed(4.0, rungs)
        jumps = edges[2] == 8.0
        found = stretches(*edges, shared=np.where(jumps, 0.0, 0.8))
        assert np.isinf(found[jumps]).all()
        assert np.isinf(found[cut]).all() == (rungs > LEFT * (rungs + cut.sum()))


@given(SEEDS, st.floats(0.5, 4), st.floats(1e-3, 1e3))
def test_the_longer_short_circuits_are_the_fewer_may_be_left(seed, longer, typical):
    lengths = longer * np.random.default_rng(seed).exponential(size=301)
    found = share_left(counted_lengths(typical * lengths, typical))
    expected = LEFT * min(1.0, (1.8 / np.median(lengths)) ** 5)
    assert found == pytest.approx(expected, rel=0.1)


def test_edges_beside_the_graph_tell_that_it_has_no_short_circuit():
    i, j, disagreement, distances, n, cut = closed(4.0)
    own = ~cut | (i == 0)  # one edge closes the graph's band
    shared = np.where(cut & own, 0.0, 0.8)
    edges = i[own], j[own], disagreement[own], distances[own], n
    assert np.isinf(stretches(*edges, shared=shared[own])).sum() == 1
    found = stretches(i, j, disagreement, distances, n, shared=shared, own=own)
    assert len(found) == own.sum()
    assert (found == 1).all()


def two_parts(sizes, values):
    """Return two paths, with rungs between them that disagree so much."""
    a, b = sizes
    edges = [(p, p + 1) for p in range(a - 1)] + [(a + p, a + p + 1) for p in range(b - 1)]
    rungs = [(5 * place, a + min(5 * place, b - 1)) for place in range(len(values))]
    ordered = sorted(edges + rungs)
    i, j = np.array(ordered).T
    disagreement = np.full(len(i), 0.5)
    places = [ordered.index(rung) for rung in rungs]
    disagreement[places] = values
    return i, j, disagreement, np.ones(len(i)), a + b, places


def test_edges_between_parts_without_a_trusted_way_are_stretched_and_not_removed():
    *edges, rungs = two_parts((40, 40), [6.0, 5.0, 7.0, 100.0])
    found = stretches(*edges)
    np.testing.assert_allclose(found[rungs], [2.25, 1.0, 3.0625, CEILING])  # 1: of the tree
    assert (np.delete(found, rungs) == 1).all()


def test_edges_of_a_few_strays_are_removed():
    *edges, rungs = two_parts((40, 6), [6.0, 5.0, 7.0, 100.0])
    assert np.isinf(stretches(*edges)[rungs[3]])


@pytest.mark.parametrize("n", [40, 150])
@given(seed=SEEDS, whole=st.booleans())
def test_edges_are_trusted_if_two_trusted_ones_lead_around_them(n, seed, whole):
    i, j, disagreement, distances, _ = geometric(seed, n, k=7, m=3)
    if whole:  # many ways are as long as their bounds
        distances = np.ceil(8 * distances)
    found = disagreement <= 1
    trust_detours(EdgeList(i, j, distances, n), found)
    np.testing.assert_array_equal(found, slowly_trusted(i, j, disagreement, distances, n))


def test_little_memory_and_threads_trust_the_same_edges():
    i, j, disagreement, distances, n = geometric(0, 600, 10, m=3, spread=2.0)
    once, parted = disagreement <= 1, disagreement <= 1
    trust_detours(EdgeList(i, j, distances, n), once)
    with sklearn.config_context(working_memory=0.01):
        trust_detours(EdgeList(i, j, distances, n), parted, 2)
    assert (disagreement <= 1).sum() < once.sum() < len(i)
    np.testing.assert_array_equal(parted, once)
