"""Which edges of new points are trusted: one point after the other, and what always holds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphs import random_graph
from patchfold.graph.short_circuits import trusted_of_new
from patchfold.neighbors.neighborhoods import Neighborhoods


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 2.0, 9.0]), st.booleans())
def test_trusted_edges_of_new_points_are_those_of_a_loop(seed, most, whole):
    rng = np.random.default_rng(seed)
    degrees = rng.integers(1, 7, 12)
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    disagreement = most * rng.uniform(size=indptr[-1])
    if whole:  # several are equal
        disagreement = np.ceil(disagreement)
    near = Neighborhoods(indptr, rng.integers(0, 20, indptr[-1]), np.ones(indptr[-1]))
    distances = rng.integers(0, 3, indptr[-1]) if whole else rng.exponential(size=indptr[-1])
    graph = random_graph(rng, 20, int(rng.integers(0, 80)), whole=whole, dtype=np.float64)
    i, j = np.repeat(np.arange(20), np.diff(graph.indptr)), graph.indices
    beside = dict(zip(zip(i.tolist(), j.tolist(), strict=True), graph.data, strict=True))
    found = trusted_of_new(near, disagreement, distances, graph)
    for start, stop in pairwise(indptr):
        own = disagreement[start:stop]
        trusted = own <= 1.5
        trusted[own.argmin()] = True
        ends, lengths = near.indices[start:stop].tolist(), distances[start:stop]
        for e, (end, length) in enumerate(zip(ends, lengths, strict=True)):
            ways = [
                lengths[t] + beside[ends[t], end]
                for t in [*np.flatnonzero(own <= 1.5).tolist(), int(own.argmin())]
                if (ends[t], end) in beside
            ]
            trusted[e] |= any(way <= 1.5 * length for way in ways)
        np.testing.assert_array_equal(found[start:stop], trusted)
