"""The old tree finds nearest points."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from patchfold.papers.reproduction import baselines


@given(
    st.integers(0, 2**32 - 1),
    st.integers(12, 90),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 4),
)
def test_old_tree_finds_k_nearest_points_whatever_the_ties(seed, n, m, k, levels):
    X = np.random.default_rng(seed).integers(0, levels + 1, size=(n, m)).astype(float)
    found = baselines.old_neighbors(X, k)
    for row, near in enumerate(found):
        assert len(set(near) - {row}) == k
        distances = np.linalg.norm(X - X[row], axis=1)
        others = np.sort(np.delete(distances, row))
        np.testing.assert_allclose(np.sort(distances[near]), others[:k])
