"""Rows on their way from chunks into parts, and back."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from hypothesis import given
from hypothesis import strategies as st

from patchfold.distributed import rows
from patchfold.distributed.planes import Plane, part_of
from patchfold.distributed.rows import Chunks, Rows, _split

SIZES = st.lists(st.integers(1, 30), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(300, 2))


# ---------------------------------------------------------------- reading


def test_rows_are_read_as_they_are_given(cluster, points):
    frame = pd.DataFrame(points, columns=["x", "y"])
    unknown = da.from_array(points, chunks=(120, 1))[da.from_array(np.arange(300) < 250)]
    for X, given_rows, expected in (
        (points, None, points),
        (da.from_array(points, chunks=(120, 1)), (120, 120, 60), points),
        (dd.from_pandas(frame, npartitions=2), (150, 150), points),
        (unknown, (120, 120, 10), points[:250]),
    ):
        chunks = rows.read(cluster, X)
        assert chunks.given == given_rows
        assert (len(chunks), chunks.n_features, chunks.dtype) == (len(expected), 2, np.float64)
        np.testing.assert_array_equal(np.concatenate(chunks.futures), expected)


def test_new_rows_keep_their_chunks_but_empty_ones_and_others_get_one_for_every_thread(cluster):
    X = da.zeros((3000, 2), chunks=((900, 0, 200, 300, 100, 1500), 2))
    assert rows.read(cluster, X, fitted=False).sizes == [900, 200, 300, 100, 1500]
    assert rows.read(cluster, X).sizes == [750] * 4
    assert rows.read(cluster, X[:3]).sizes == [1, 1, 1]


def test_chunks_of_several_types_get_the_widest(cluster):
    blocks = [delayed(np.ones)((1024, 2), dtype=dtype) for dtype in (np.float32, np.float64)]
    X = da.concatenate([da.from_delayed(block, (1024, 2), float) for block in blocks])
    chunks = rows.read(cluster, X)
    assert chunks.dtype == np.float64
    assert {chunk.dtype for chunk in chunks.futures} == {np.dtype(np.float64)}


@pytest.mark.parametrize("X", [da.zeros((1, 3)), da.zeros((5, 0))])
def test_what_has_no_rows_and_columns_is_refused(cluster, X):
    with pytest.raises(ValueError, match="at least 2 rows and one column"):
        rows.read(cluster, X)


def test_a_single_new_row_is_read(cluster):
    assert len(rows.read(cluster, da.zeros((1, 3)), fitted=False)) == 1


def test_a_row_that_is_not_finite_is_named_with_the_rows_of_its_chunk(cluster, points):
    broken = points.copy()
    broken[130, 1] = np.nan
    with pytest.raises(ValueError, match=r"X \(in its rows 100 to 199\).*NaN"):
        rows.read(cluster, da.from_array(broken, chunks=(100, 2)), fitted=False)


# ---------------------------------------------------------------- into parts


def test_there_is_a_part_for_every_thread_and_as_many_as_memory_asks_for():
    assert rows.n_parts(1000, 8000, [(2, 10**9), (2, 10**9)]) == 4
    wide = 1000, 8 * 10**6
    assert rows.n_parts(*wide, [(1, 10**11), (2, 0)]) == rows.n_parts(*wide, [(1, 0)]) == 16


def test_workers_that_are_too_small_are_refused():
    with pytest.raises(RuntimeError, match="too few for rows of 8000 bytes; give workers more"):
        rows.n_parts(1000, 8000, [(1, 10**6)])


def test_rows_of_a_chunk_go_to_their_parts_in_order():
    rng = np.random.default_rng(0)
    X, (x, y) = rng.normal(size=(60, 2)), np.eye(2)
    tree = Plane(x, 0.0, 0, Plane(y, 0.5, 1, 2))
    home = part_of(X, tree)
    for part, some in enumerate(_split(X, 100, tree, 4)):
        own = np.flatnonzero(home == part)
        assert isinstance(some, Rows)
        np.testing.assert_array_equal(some.ids, 100 + own)
        np.testing.assert_array_equal(some.points, X[own])


def test_copies_of_a_row_are_shared_out_once_and_come_back_with_its_value(cluster, points):
    rng = np.random.default_rng(1)
    which = np.concatenate([np.arange(300), rng.integers(300, size=200)])[rng.permutation(500)]
    X = points[which]
    shared = rows.share_out(cluster, rows.read(cluster, da.from_array(X, chunks=(200, 2))))

    _, first = np.unique(which, return_index=True)
    firsts = np.sort(first)  # the rows that are no copies of earlier ones
    assert shared.n == 300
    np.testing.assert_array_equal(shared.copies, np.setdiff1d(np.arange(500), firsts))
    np.testing.assert_array_equal(np.sort(np.concatenate(shared.ids)), firsts)
    for part, (ids, own) in enumerate(zip(shared.ids, shared.points, strict=True)):
        np.testing.assert_array_equal(own, X[ids])
        assert (part_of(own, shared.tree) == part).all()
        assert len(own) == shared.firsts[part + 1] - shared.firsts[part]
    back = shared.returned(cluster, shared.points, 2, X.dtype)
    assert back.chunks == ((200, 200, 100), (2,))
    np.testing.assert_array_equal(back.compute(), X)


def test_copies_have_the_same_class(cluster, points):
    X, codes = np.concatenate([points[:40]] * 3), np.repeat([0, 1, 1], 40)
    shared = rows.share_out(cluster, rows.read(cluster, X), codes=codes)
    assert shared.n == 80
    for ids, own, labels in zip(shared.ids, shared.points, shared.codes, strict=True):
        assert len(np.unique(np.column_stack([own, labels]), axis=0)) == len(ids)
        np.testing.assert_array_equal(labels, codes[ids])
    # Rows that differ by their class alone are copies for whoever draws landmarks.
    np.testing.assert_array_equal(shared.copies, np.arange(40, 120))


@pytest.mark.parametrize("merge", [True, False])
def test_rows_without_copies_stay_as_they_are(cluster, points, merge):
    shared = rows.share_out(cluster, rows.read(cluster, points), merge=merge)
    assert len(shared.ids) == 4
    assert not len(shared.copies)
    for ids, own in zip(shared.ids, shared.points, strict=True):
        np.testing.assert_array_equal(own, points[ids])


def test_rows_that_are_all_equal_are_not_merged_to_one(cluster):
    shared = rows.share_out(cluster, rows.read(cluster, np.ones((70, 2))))
    assert shared.n == 70
    np.testing.assert_array_equal(shared.copies, np.arange(1, 70))
    assert np.concatenate(shared.ids).tolist() == list(range(70))


# ---------------------------------------------------------------- and back


@given(SIZES, st.integers(0, 2**16))
def test_rows_come_back_to_their_chunks(cluster, sizes, seed):
    X = np.random.default_rng(seed).normal(size=(sum(sizes) + 1, 2))
    given_rows = (*sizes, 1)
    chunks = rows.read(cluster, da.from_array(X, chunks=(given_rows, 2)))
    shared = rows.share_out(cluster, chunks)
    back = shared.returned(cluster, shared.points, 2, X.dtype)
    assert back.chunks[0] == given_rows
    np.testing.assert_array_equal(back.compute(), X)


def test_chunks_become_what_was_given(cluster, points):
    futures = [points[:200], points[200:]]
    parts = {"futures": futures, "sizes": [200, 100], "n_features": 2, "dtype": points.dtype}
    here = rows.as_given(cluster, futures, Chunks(given=None, **parts), 2, points.dtype)
    assert type(here) is np.ndarray
    np.testing.assert_array_equal(here, points)
    chunks = Chunks(given=(50, 0, 250), **parts)
    there = rows.as_given(cluster, futures, chunks, 2, points.dtype)
    assert there.chunks == ((50, 0, 250), (2,))
    np.testing.assert_array_equal(there.compute(), points)
