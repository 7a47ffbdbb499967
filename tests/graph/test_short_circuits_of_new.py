"""Which edges of new points are trusted: one point after the other, and what always holds."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from patchfold.graph.lengths import trusted_of_new
from patchfold.neighbors.neighborhoods import Neighborhoods


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 2.0, 9.0]), st.booleans())
def test_agreeing_edges_of_new_points_are_trusted_and_the_least_disagreeing(seed, most, whole):
    rng = np.random.default_rng(seed)
    degrees = rng.integers(1, 7, 12)
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    disagreement = most * rng.uniform(size=indptr[-1])
    if whole:  # several are equal
        disagreement = np.ceil(disagreement)
    near = Neighborhoods(indptr, rng.integers(0, 80, indptr[-1]), np.ones(indptr[-1]))
    found = trusted_of_new(near, disagreement)
    for start, stop in itertools.pairwise(indptr):
        own = disagreement[start:stop]
        expected = own <= 1.5
        expected[own.argmin()] = True
        np.testing.assert_array_equal(found[start:stop], expected)
