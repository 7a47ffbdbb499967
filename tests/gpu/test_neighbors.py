"""Neighbours on tensors are those on arrays: the same indices, and distances to the last bit."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import interpreted_kernels
from patchfold.gpu import neighbors
from patchfold.gpu.neighbors import nearest
from patchfold.neighbors import ExactNeighbors

DTYPES = [np.float32, np.float64]


def awkward(kind, n, m, rng):
    """Return points that make a search by products lose digits or meet ties."""
    X = rng.standard_normal((n, m))
    if kind == "ties":
        X = rng.integers(0, 3, (n, m)).astype(float)
    elif kind == "copies":
        X = X[rng.integers(0, max(1, n // 4), n)]
    elif kind == "constant":
        X[:, : max(1, m // 2)] = 7.0
    elif kind == "far off centre":
        X[:, 0] += 1e4
    elif kind == "outlier":
        X[0] = 1e6
    elif kind == "equal":
        X[:] = 0.1
    elif kind == "tiny":
        X *= 1e-30
    return X


KINDS = [
    "plain", "ties", "copies", "constant", "far off centre", "outlier", "equal", "tiny",
]  # fmt: skip


def assert_as_on_cpu(X, k, queries=None):
    search = ExactNeighbors(k).build(X)
    expected = search.query(queries)
    others = None if queries is None else torch.from_numpy(queries)
    indices, distances = nearest(torch.from_numpy(X), k, others)
    assert indices.dtype == torch.int64
    assert distances.numpy().dtype == X.dtype
    assert np.array_equal(indices.numpy().ravel(), expected.indices)
    assert np.array_equal(distances.numpy().ravel(), expected.distances)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 70), m=st.integers(1, 20))
def test_neighbours_are_those_of_the_cpu(kind, dtype, seed, n, m):
    rng = np.random.default_rng(seed)
    X = awkward(kind, n, m, rng).astype(dtype)
    assert_as_on_cpu(X, int(rng.integers(1, n)))


@pytest.mark.parametrize("kind", KINDS)
def test_all_others_can_be_neighbours(kind):
    X = awkward(kind, 30, 4, np.random.default_rng(0))
    assert_as_on_cpu(X, 29)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_new_points_may_equal_old_ones(kind, dtype):
    rng = np.random.default_rng(1)
    X = awkward(kind, 50, 6, rng).astype(dtype)
    queries = np.concatenate((X[:5], awkward(kind, 20, 6, rng).astype(dtype), X[:1] * 100))
    assert_as_on_cpu(X, 7, queries)


@pytest.mark.parametrize("m", [1, 3, 7, 8, 9, 16, 127, 128, 129, 784, 1000])
def test_squares_are_added_in_the_order_of_numpy(m):
    values = np.random.default_rng(m).standard_normal((40, m)) ** 2
    assert np.array_equal(neighbors._sums_of_rows(torch.from_numpy(values)), values.sum(axis=1))


@pytest.mark.parametrize("size", [1, 20_000])
def test_results_do_not_depend_on_the_size_of_blocks(size, monkeypatch):
    X = torch.from_numpy(awkward("ties", 60, 5, np.random.default_rng(2)))
    whole = nearest(X, 9)
    monkeypatch.setitem(neighbors.WORK_BYTES, "cpu", size)
    assert all(map(torch.equal, nearest(X, 9), whole))


def test_extreme_scales_are_searched_as_on_the_cpu():
    X = awkward("plain", 40, 5, np.random.default_rng(3))
    assert_as_on_cpu(X * 1e-200, 6)
    assert_as_on_cpu(X * 1e140, 6)


def test_distances_beyond_the_type_are_refused():
    X = torch.tensor([[-3e38], [3e38], [0.0]], dtype=torch.float32)
    with pytest.raises(ValueError, match=r"overflow torch\.float32"):
        nearest(X, 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "clusters", "wide"])
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 20), dtype=st.sampled_from(DTYPES))
@settings(max_examples=2)
def test_the_kernel_and_its_proof_find_the_neighbours_of_the_cpu(kind, seed, m, dtype):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(130, 260))
    if kind == "clusters":
        X = rng.standard_normal((n, m)) + 50 * rng.standard_normal((5, m))[rng.integers(0, 5, n)]
    else:
        X = awkward(kind, n, 100 if kind == "wide" else m, rng)
    X = X.astype(dtype)
    with pytest.MonkeyPatch.context() as patch:
        interpreted_kernels.use(patch)
        assert_as_on_cpu(X, int(rng.integers(1, 40)))
        queries = np.concatenate((X[:40], X[:3] * 1000, X[:30] + dtype(0.1)))
        assert_as_on_cpu(X, 4, queries)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_point_within_the_kernels_bound_is_missing(kind, monkeypatch):
    interpreted_kernels.use(monkeypatch)
    X = torch.from_numpy(awkward(kind, 250, 12, np.random.default_rng(6)))
    space = neighbors._Space(X, None)
    table = neighbors.blocks(space.placed(X), 64)
    cells = neighbors._Cells(space, table)
    rows = torch.nn.functional.pad(table, (0, 64 - table.shape[1]), value=-1)
    columns, bound, x = cells.candidates(rows, 6)
    real = rows.flatten() >= 0
    gaps = torch.cdist(space.placed(X), space.placed(X)) * neighbors.RANGE
    gaps = torch.nn.functional.pad(gaps, (0, 1))[rows.flatten()[real]]  # the last for no candidate
    others = gaps.scatter(1, columns[real], torch.inf)[:, :-1]
    slack = 2**-22 * x[real].norm(dim=1) + 1e-6 * bound[real].sqrt().nan_to_num(posinf=0)
    assert (others.amin(1) >= bound[real].sqrt().clamp(max=1e30) - slack).all()
    assert (bound[real] > 0).any() or kind in {"ties", "copies", "equal", "outlier"}


@pytest.mark.slow
@pytest.mark.parametrize("m", [3, 50])
def test_the_kernel_proves_almost_all_rows_of_plain_data(m, monkeypatch):
    interpreted_kernels.use(monkeypatch)
    X = torch.from_numpy(np.random.default_rng(4).standard_normal((800, m)))
    assert len(neighbors._filtered(neighbors._Space(X, None), 15)[2]) < 8


@pytest.mark.slow
def test_a_search_of_some_cells_only_finds_most_neighbours(monkeypatch):
    # As of more than two million points; four cells of eight.
    interpreted_kernels.use(monkeypatch)
    from patchfold.gpu import neighbors_kernel

    X = torch.from_numpy(np.random.default_rng(5).uniform(size=(1000, 2)))
    whole = nearest(X, 5)[0]
    assert neighbors.recall(X, whole, 100) == 1.0
    monkeypatch.setattr(neighbors_kernel, "MOST_STEPS", 4)
    some = nearest(X, 5)[0]
    assert not torch.equal(some, whole)
    assert 0.9 < neighbors.recall(X, some, 500) < 1.0


@pytest.mark.slow
def test_the_kernel_compiles_for_a_gpu():
    for columns, part in ((64, 64), (832, 64), (16, 16)):
        found = interpreted_kernels.compiled(
            "neighbors_kernel",
            "candidates",
            "*fp32 *fp16 *fp32 *fp32 *i32 *fp32 *i32 *fp32 i32 i32 fp32 fp32",
            {"COLUMNS": columns, "PART": part},
            num_warps=8,
            num_stages=3,
        )
        assert found["spilled"] == 0
        assert found["tensor cores"]
        assert found["shared"] <= 227 * 1024
