"""What is typical of neighbours in parts: medians and evidence of one place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchfold import GaussianPatch
from patchfold.engines import engine_for
from patchfold.engines.cluster.learning import Lists, exact_medians, learned
from patchfold.engines.cluster.links import Compared
from patchfold.graph.disagreement import shares
from patchfold.graph.lengths import Lengths

VALUES = st.lists(
    st.one_of(
        st.floats(0, 1e300, allow_subnormal=True),
        st.sampled_from([0.0, 1.0, 2.0, 5e-324]),  # several are equal
    ),
    max_size=25,
)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=4))
def test_medians_of_parts_are_those_of_all_values(cluster, parts):
    values = [[np.sort(np.array(column)) for column in part] for part in parts]
    found = exact_medians(cluster, values)
    for place, median in enumerate(found):
        every = np.concatenate([part[place] for part in values])
        assert median == (float(np.median(every)) if len(every) else None)


def test_medians_of_single_precision_are_rounded_to_it(cluster):
    column = np.sort(np.random.default_rng(0).exponential(size=100).astype(np.float32))
    found = exact_medians(cluster, [[column[:30]], [column[30:]]])
    assert found == [float(np.median(column))]


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
    asked = np.zeros(len(graph.i), dtype=bool)  # by the 15 nearest
    asked[graph.pairs[graph.near.among_nearest(15)]] = True
    own = np.zeros(len(graph.i), dtype=bool)
    own[graph.pairs[graph.near.among_nearest(degree)]] = True
    patches = GaussianPatch(denoise=True).fit(X, graph.near.nearest(8))
    lengths = Lengths(X, patches, "kl", engine_for("threads"))
    compared = lengths.compared(graph.i, graph.j)
    offsets, apart = lengths.separations(graph.i, graph.j)
    whole, near = lengths.learned(graph.i[asked], graph.j[asked], compared.some(asked))

    edges = [graph.of_edges(values) for values in (*compared, apart)]
    known = [Compared(*some) for some in zip(*edges, graph.shared(offsets), strict=True)]
    typical, around, evidence = learned(graph.exchange, graph.links, known, degree)

    for name in ("distance", "divergence", "leaving", "noise"):
        assert getattr(typical, name) == getattr(whole.typical, name), name
    for found, expected in zip(around, graph.shared(whole.typical.around), strict=True):
        np.testing.assert_array_equal(found, expected)
    there = np.maximum(whole.typical.around[graph.i], whole.typical.around[graph.j])
    expected = (
        whole.typical.disagreement(compared.divergences, compared.leaving, there),
        compared.distances,
        shares(near, graph.i, graph.j),
        own,
        asked,
    )
    for found, *some in zip(evidence, *map(graph.of_edges, expected), strict=True):
        for one, other in zip(found, some, strict=True):
            np.testing.assert_array_equal(one, other)


def test_without_values_everything_typical_is_one(parted):
    graph = parted(np.zeros((40, 2)), 3)
    zeros = [np.zeros(len(links.i)) for links in graph.links]
    offsets = [np.zeros(len(own)) for own in graph.ids]
    known = [Compared(*[some] * 4, off) for some, off in zip(zeros, offsets, strict=True)]
    typical, _, evidence = learned(graph.exchange, graph.links, known, 3)
    assert (typical.distance, typical.divergence, typical.noise) == (1.0, 1.0, 0.0)
    assert all((some.disagreement == 0).all() for some in evidence)
