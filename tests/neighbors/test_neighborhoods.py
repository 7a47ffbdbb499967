"""Neighbourhoods list the edges of every row nearest first."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from patchfold.neighbors.neighborhoods import nearest_first


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 6), st.booleans())
def test_edges_are_ordered_by_row_distance_and_column(seed, n, most, together):
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), rng.integers(0, most + 1, n))
    rows = rows if together else rng.permutation(rows)
    columns = rng.permutation(len(rows))
    distances = rng.choice([0.0, 1.0, 2.0, np.inf], len(rows))
    if not np.isinf(distances).any():
        distances = distances.astype(int)
    expected = sorted(range(len(rows)), key=lambda e: (rows[e], distances[e], columns[e]))
    np.testing.assert_array_equal(nearest_first(rows, columns, distances), expected)
