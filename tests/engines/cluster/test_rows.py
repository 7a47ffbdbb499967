"""Rows on their way from chunks into parts, and back."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from in_one_place import InOnePlace
from patchfold.engines.cluster.planes import Plane, part_of
from patchfold.engines.cluster.rows import Chunks, Rows, _aligned, _groups, _split, returned

SIZES = st.lists(st.integers(1, 30), min_size=1, max_size=12)


@given(SIZES, st.integers(0, 80))
def test_groups_have_all_chunks_in_order_and_no_more_rows_than_allowed(sizes, most):
    groups = _groups(sizes, most)
    assert [size for some in groups for size in sizes[some]] == sizes
    for some, after in zip(groups, [*groups[1:], None], strict=True):
        rows = sum(sizes[some])
        assert rows <= most or len(sizes[some]) == 1
        assert after is None or rows + sizes[after.start] > most


def test_aligned_chunks_are_never_empty():
    assert _aligned([0, 1, 1]) == (2,)
    assert _aligned([0, 1500, 3000]) == (2048, 2452)


@settings(deadline=None)
@given(SIZES, st.integers(1, 40), st.integers(0, 2**16))
def test_rows_come_back_to_their_chunks(sizes, n_parts, seed):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    homes = rng.integers(min(n_parts, n), size=n)
    ids = [np.flatnonzero(homes == part) for part in np.unique(homes)]
    X = rng.normal(size=(n, 2))
    chunks = Chunks([], sizes, None, 2, X.dtype)
    found = returned(InOnePlace(), [X[own] for own in ids], ids, chunks)
    assert [len(chunk) for chunk in found] == sizes
    np.testing.assert_array_equal(np.concatenate(found), X)


def test_rows_of_chunks_go_to_their_parts_in_order():
    rng = np.random.default_rng(0)
    X, (x, y) = rng.normal(size=(60, 2)), np.eye(2)
    tree = Plane(x, 0.0, 0, Plane(y, 0.5, 1, 2))
    split = _split([X[:25], X[25:40], X[40:]], [100, 125, 140], tree, 4)
    home = part_of(X, tree)
    for part, rows in enumerate(split):
        own = np.flatnonzero(home == part)
        assert isinstance(rows, Rows)
        np.testing.assert_array_equal(rows.ids, 100 + own)
        np.testing.assert_array_equal(rows.points, X[own])
