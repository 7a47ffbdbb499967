"""Geodesics on tensors have the bits of those on arrays."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import interpreted_kernels
from patchfold.gpu.geodesics import Paths, shortest_paths
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


@pytest.mark.slow
@pytest.mark.parametrize("order", [None, "random"])
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 100), density=st.floats(0, 2))
@settings(max_examples=5)
def test_tiles_give_the_bits_of_the_cpu(order, seed, n, density):
    rng = np.random.default_rng(seed)
    graph = graph_of(n, int(n * density), rng)
    sources = rng.integers(0, n, int(rng.integers(1, 7)))
    places = torch.from_numpy(rng.permutation(n)) if order else None
    with pytest.MonkeyPatch.context() as patch:
        interpreted_kernels.use(patch)
        found = shortest_paths(*tensors(graph), torch.from_numpy(sources), order=places)
    assert_same_bits(found, graph, sources)


@pytest.mark.slow
def test_tiles_pass_on_what_changes(monkeypatch):
    # A path through all tiles, there and back, beside points without any edge.
    interpreted_kernels.use(monkeypatch)
    n = 60
    rng = np.random.default_rng(0)
    way = rng.permutation(n)[:-5]
    lengths = rng.uniform(size=len(way) - 1)
    both = (np.r_[way[:-1], way[1:]], np.r_[way[1:], way[:-1]])
    graph = csr_array((np.r_[lengths, lengths].astype(np.float32), both), (n, n))
    paths = Paths(*tensors(graph))
    for sources in (way[:1], way[[-1, 3, 40]]):
        assert_same_bits(paths(torch.from_numpy(sources)), graph, sources)


@pytest.mark.slow
def test_slabs_of_sources_change_no_bit(monkeypatch):
    from patchfold.gpu import geodesics as on_tensors

    interpreted_kernels.use(monkeypatch)
    graph = graph_of(50, 90, np.random.default_rng(1))
    monkeypatch.setattr(on_tensors, "FAR_BYTES", 1)
    sources = np.arange(9)
    assert_same_bits(shortest_paths(*tensors(graph), torch.from_numpy(sources)), graph, sources)


@pytest.mark.slow
def test_the_kernel_compiles_for_a_gpu():
    for lanes, warps in ((8, 8), (1, 2)):
        found = interpreted_kernels.compiled(
            "geodesics_kernel",
            "relax",
            "*fp64 *i32 *fp64 *i64 *i64 *i64 *i64 *fp64 i32 i32",
            {"CHUNKS": 32, "ROWS": 64, "LANES": lanes},
            num_warps=warps,
        )
        assert found["spilled"] == 0
        assert found["registers"] * 32 * warps <= 65536
