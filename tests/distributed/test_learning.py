"""What is typical of neighbours in parts: order statistics and evidence of one place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchfold import GaussianPatch
from patchfold.distributed.learning import Lists, exact_quantiles, learned
from patchfold.distributed.links import Compared
from patchfold.graph.lengths import Lengths

VALUES = st.lists(
    st.one_of(
        st.floats(0, 1e300, allow_subnormal=True),
        st.sampled_from([0.0, 1.0, 2.0, 5e-324]),  # several are equal
    ),
    max_size=25,
)


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=4), st.floats(0, 1))
def test_quantiles_of_parts_are_those_of_all_values(cluster, parts, share):
    values = [[np.sort(np.array(column)) for column in part] for part in parts]
    shares = (0.5, 0.95, share)
    found = exact_quantiles(cluster, values, shares)
    for place, quantile in enumerate(found):
        every = np.concatenate([part[place] for part in values])
        assert quantile == (float(np.quantile(every, shares[place])) if len(every) else None)


def test_quantiles_of_single_precision_are_those_of_all_values(cluster):
    column = np.sort(np.random.default_rng(0).exponential(size=100).astype(np.float32))
    found = exact_quantiles(cluster, [[column[:30]] * 2, [column[30:]] * 2], (0.5, 0.95))
    assert found == pytest.approx(np.quantile(column, [0.5, 0.95]), rel=1e-6)


def test_quantiles_of_counts_are_those_of_all_counts(cluster):
    column = np.sort(np.random.default_rng(0).integers(0, 9, size=100))
    found = exact_quantiles(cluster, [[column[:30]], [column[30:]]], (0.5,))
    assert found == [np.median(column)]


def test_lists_of_some_rows_are_cut_out_of_those_of_all():
    lists = Lists(np.array([0, 2, 2, 5]), np.array([7, 8, 1, 2, 3]))
    found = lists.at(np.array([2, 0, 1]))
    assert found.starts.tolist() == [0, 3, 5, 5]
    assert found.ids.tolist() == [1, 2, 3, 7, 8]


@pytest.mark.parametrize("degree", [6, 18])
def test_parts_learn_what_one_place_does(parted, degree):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)) * [3, 2, 0.2]
    graph = parted(X, 18)
    near, own = (np.zeros(len(graph.i), dtype=bool) for _ in range(2))
    near[graph.pairs[graph.near.among_nearest(10)]] = True
    own[graph.pairs[graph.near.among_nearest(degree)]] = True
    patches = GaussianPatch(denoise=True).fit(X, graph.near.nearest(8))
    lengths = Lengths(X, patches, "kl")
    divergences = lengths.divergences(graph.i, graph.j)
    distances = lengths.apart(graph.i, graph.j)

    known = zip(graph.of_edges(divergences), graph.of_edges(distances), strict=True)
    compared = [Compared(*some) for some in known]
    typical, kinship, evidence = learned(graph.exchange, graph.links, compared, degree)

    around = [set() for _ in X]  # the points that near edges join each to
    for a, b in zip(graph.i[near].tolist(), graph.j[near].tolist(), strict=True):
        around[a].add(b)
        around[b].add(a)
    ends = zip(graph.i, graph.j, strict=True)
    common = np.array([len(around[a] & around[b]) for a, b in ends])
    assert typical.distance == pytest.approx(np.median(distances[near]), rel=1e-14)
    assert typical.divergence == pytest.approx(np.median(divergences[near]), rel=1e-14)
    assert kinship == pytest.approx(2 / 3 * np.median(common[near]))
    assert kinship > 1
    expected = divergences / typical.divergence, distances, common, own, near
    for links, found, *some in zip(
        graph.links, evidence, *map(graph.of_edges, expected), strict=True
    ):
        for one, other in zip(found, (links.i, links.j, *some), strict=True):
            np.testing.assert_array_equal(one, other)


def test_without_values_everything_typical_is_one(parted):
    graph = parted(np.zeros((40, 2)), 3)
    zeros = [np.zeros(len(links.i)) for links in graph.links]
    compared = [Compared(some, some) for some in zeros]
    typical, kinship, evidence = learned(graph.exchange, graph.links, compared, 3)
    assert (typical.distance, typical.divergence) == (1.0, 1.0)
    assert kinship == pytest.approx(4 / 3)  # of three copies, two have two others in common
    assert all((some.disagreement == 0).all() for some in evidence)
