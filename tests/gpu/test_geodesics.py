"""Geodesics on tensors have the bits of those on arrays."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from patchfold.gpu.geodesics import shortest_paths
from patchfold.graph import geodesics


def graph_of(n, n_edges, rng, dtype=np.float64, zeros=0.2):
    """Return a random symmetric graph: mostly in parts, with edges of length zero."""
    i, j = rng.integers(0, n, (2, n_edges))
    i, j = i[i != j], j[i != j]
    keys = np.unique(np.minimum(i, j) * n + np.maximum(i, j))
    i, j = keys // n, keys % n
    lengths = rng.uniform(size=len(i)) ** 3 * (rng.uniform(size=len(i)) > zeros)
    both = np.concatenate((i, j)), np.concatenate((j, i))
    order = np.lexsort(both[::-1])
    starts = np.concatenate(([0], np.cumsum(np.bincount(both[0], minlength=n))))
    data = np.concatenate((lengths, lengths))[order].astype(dtype)
    return csr_array((data, both[1][order], starts), (n, n))


def tensors(graph):
    return (
        torch.from_numpy(graph.indptr.astype(np.int64)),
        torch.from_numpy(graph.indices.astype(np.int64)),
        torch.from_numpy(graph.data),
    )


def assert_same_bits(found, graph, sources):
    expected = geodesics.shortest_paths(graph, sources)
    assert found.numpy().dtype == expected.dtype
    assert np.array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), density=st.floats(0, 4))
def test_paths_have_the_bits_of_the_cpu(dtype, seed, n, density):
    rng = np.random.default_rng(seed)
    graph = graph_of(n, int(n * density), rng, dtype)
    sources = rng.integers(0, n, 5)  # some of them twice
    assert_same_bits(shortest_paths(*tensors(graph), torch.from_numpy(sources)), graph, sources)
