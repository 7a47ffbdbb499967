"""Lower bounds of ways beside all ways."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

from patchfold.graph.detour_bounds import landmark_ways
from patchfold.graph.edges import symmetric

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.integers(2, 80), st.floats(0.5, 4), st.booleans())
def test_ways_are_bounded_from_below(seed, n, degree, whole):
    rng = np.random.default_rng(seed)
    code = np.unique(rng.integers(0, n * n, int(n * degree)))
    i, j = code // n, code % n
    i, j = i[i < j], j[i < j]
    lengths = rng.integers(0, 3, len(i)).astype(float) if whole else rng.exponential(size=len(i))
    graph = symmetric(i, j, lengths, n)
    a, b = rng.integers(0, n, (2, 50))
    found, exact = landmark_ways(graph, a, b, 16), dijkstra(graph)[a, b]
    assert (found >= 0).all()
    assert (found <= exact * (1 + 1e-12)).all()


def test_ways_along_a_path_are_found_exactly():
    lengths = np.random.default_rng(0).exponential(size=99)
    graph = symmetric(np.arange(99), np.arange(1, 100), lengths, 100)
    a, b = np.random.default_rng(1).integers(0, 100, (2, 200))
    np.testing.assert_allclose(landmark_ways(graph, a, b, 16), dijkstra(graph)[a, b], atol=1e-12)
