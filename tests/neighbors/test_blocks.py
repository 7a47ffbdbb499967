"""Blocks of near points find the same neighbours as a scan of all pairs, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchfold.neighbors import block_kernel, blocks
from patchfold.neighbors.blocks import Blocks
from patchfold.neighbors.candidates import Scan
from patchfold.neighbors.points import SearchedPoints, k_nearest

PAY = Blocks.pay


@pytest.fixture(autouse=True, scope="module")
def always_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Blocks, "pay", lambda _: True)
        yield


def assert_same(X, k, queries=None, n_jobs=None):
    """Compare neighbours from blocks with those from a scan."""
    found, expected = (
        k_nearest(space, space.check_queries(queries, "Blocks"), k, own=queries is None)
        for space in (SearchedPoints(X, n_jobs, blocks_from=size) for size in (0, 10**9))
    )
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


def clusters(rng, n, m, spread, dtype=np.float64):
    """Return points around a few centres, on a plane with noise."""
    plane = rng.standard_normal((n, 2)) @ rng.standard_normal((2, m))
    return (plane + spread * rng.standard_normal((n, m))).astype(dtype)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 300),
    st.sampled_from([7, 20, 33, 60, 180]),
    st.sampled_from([1e-9, 1e-3, 1.0]),
    st.sampled_from([0.0, 1e4]),
    st.sampled_from([np.float64, np.float32]),
)
def test_neighbours_are_those_of_a_scan(seed, n, m, spread, offset, dtype):
    rng = np.random.default_rng(seed)
    X = clusters(rng, n, m, spread, dtype) + dtype(offset)
    k = int(rng.integers(1, min(n, 25)))
    assert_same(X, k)
    assert_same(X, k, clusters(rng, 70, m, spread, dtype) + dtype(offset))


@given(st.integers(0, 2**32 - 1), st.integers(30, 200))
def test_equal_distances_and_copies_are_ordered_by_index(seed, n):
    rng = np.random.default_rng(seed)
    assert_same(rng.integers(0, 2, (n, 8)).astype(float), 10)
    X = np.repeat(rng.standard_normal((3, 9)), n, axis=0)
    assert_same(X[rng.permutation(len(X))], 10)


@pytest.mark.parametrize("far", [1e3, 1e20, 1e45])
def test_points_and_queries_far_outside_have_their_neighbours(far):
    rng = np.random.default_rng(0)
    X = clusters(rng, 200, 40, 0.1)
    queries = X[:5] + 0.01
    queries[2] *= far
    assert_same(X, 8, queries)
    X[[7, 70]] *= min(far, 1e20)
    assert_same(X, 8)


def test_any_unit_gives_the_same_neighbours():
    X = clusters(np.random.default_rng(0), 300, 30, 0.1)
    for unit in (1e-200, 1e-30, 1e30, 1e120):
        assert_same(unit * X, 12)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_change_no_bit(n_jobs):
    assert_same(clusters(np.random.default_rng(0), 3000, 12, 0.1), 5, n_jobs=n_jobs)


def test_few_blocks_are_near_where_data_fill_few_dimensions():
    rng = np.random.default_rng(0)
    plane = rng.uniform(size=(20_000, 2)) @ rng.standard_normal((2, 30))
    space = SearchedPoints(plane + 0.001 * rng.standard_normal(plane.shape), 1)
    found = Blocks(space)
    assert np.array_equal(np.sort(found.order), np.arange(20_000))
    rows = found.walk(space.points)
    _, _, reach = found.nearest(space.points[rows], 10)
    placed = found._placed(space.placed(space.points[rows], np.float32))[0]
    widest = np.maximum.reduceat(reach, np.arange(0, len(rows), block_kernel.BLOCK))
    near = found._bounds(placed) <= widest[:, None] * space.unit
    assert near.any(axis=1).all()
    assert near.mean() < 0.1


def test_directions_are_orthonormal_and_the_widest_first():
    sample = clusters(np.random.default_rng(0), 500, 200, 0.3)
    found = blocks._directions(sample)
    assert found.shape == (200, blocks.FIRST + blocks.SECOND)
    np.testing.assert_allclose(found.T @ found, np.eye(found.shape[1]), atol=1e-13)
    widths = np.square(sample @ found).sum(axis=0)
    assert (np.diff(widths) <= 1e-9 * widths[0]).all()
    assert blocks._directions(sample[:, : blocks.FIRST]) is None


def test_the_compiled_functions_do_what_they_say_in_python(monkeypatch):
    rng = np.random.default_rng(0)
    for name in ("search", "_bound", "_sharpen", "_look", "squared_distance"):
        monkeypatch.setattr(block_kernel, name, getattr(block_kernel, name).py_func)
    monkeypatch.setattr(block_kernel, "BLOCK", 8)
    assert_same(clusters(rng, 30, 165, 0.1), 4)


@pytest.mark.parametrize("m", [40, 180])
def test_blocks_pay_where_they_leave_out_many_points(m):
    rng = np.random.default_rng(0)
    for X, pays in ((clusters(rng, 20_000, m, 1e-3), True), (rng.normal(size=(20_000, m)), False)):
        space = SearchedPoints(X, None)
        assert PAY(Blocks(space)) is pays


@pytest.mark.parametrize("pays", [True, False])
def test_a_scan_takes_the_place_of_blocks_that_do_not_pay(pays, monkeypatch):
    monkeypatch.setattr(Blocks, "pay", lambda _: pays)
    space = SearchedPoints(clusters(np.random.default_rng(0), 100, 8, 0.1), None, blocks_from=0)
    assert isinstance(next(space.finders()), Blocks if pays else Scan)
