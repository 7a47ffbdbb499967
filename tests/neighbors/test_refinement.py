"""Neighbours sought among neighbours' neighbours."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from patchfold.neighbors import ExactNeighbors, find_neighbors
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.neighbors.refinement import refined_neighbors


def slow(points, known, queries, start, own):
    rows, columns, distances = [], [], []
    for q in range(len(start)):
        first = start.indices[start.indptr[q] : start.indptr[q + 1]]
        parts = [known.indices[known.indptr[p] : known.indptr[p + 1]] for p in first]
        candidates = np.unique(np.concatenate([first, *parts])).astype(int)
        if own:
            candidates = candidates[candidates != q]
        gaps = queries[q].astype(float) - points[candidates].astype(float)
        away = np.sqrt((gaps**2).sum(axis=1))
        order = np.lexsort((candidates, away))[: len(first)]
        rows += [q] * len(order)
        columns += list(candidates[order])
        distances += list(away[order])
    return Neighborhoods.from_edges(
        np.array(rows), np.array(columns), np.array(distances), len(start)
    )


@given(
    st.integers(0, 2**32 - 1),
    st.integers(4, 60),
    st.integers(1, 5),
    st.sampled_from([np.float64, np.float32]),
    st.booleans(),
)
def test_the_nearest_of_neighbours_and_of_theirs_are_found(seed, n, m, dtype, whole):
    rng = np.random.default_rng(seed)
    X = (rng.integers(0, 4, (n, m)) if whole else rng.standard_normal((n, m))).astype(dtype)
    k = int(rng.integers(1, min(n, 8)))
    known = find_neighbors(X, k)
    step = rng.integers(0, 2, (n, m)) if whole else 0.3 * rng.standard_normal((n, m))
    moved = (X + step).astype(dtype)
    found = refined_neighbors(moved, known, n_jobs=2)
    expected = slow(moved, known, moved, known, own=True)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-6)
    assert found.distances.dtype == dtype

    queries = moved[:3] + dtype(0.5)
    start = ExactNeighbors(k).build(X).query(queries)
    found = refined_neighbors(moved, known, queries, start)
    expected = slow(moved, known, queries, start, own=False)
    np.testing.assert_array_equal(found.indices, expected.indices)


def test_points_that_have_not_moved_keep_their_neighbours():
    X = np.random.default_rng(0).standard_normal((300, 4))
    known = find_neighbors(X, 10)
    found = refined_neighbors(X, known)
    np.testing.assert_array_equal(found.indices, known.indices)
    np.testing.assert_allclose(found.distances, known.distances)


def test_neighbourhoods_may_have_any_size():
    X = np.random.default_rng(1).standard_normal((200, 2))
    known = find_neighbors(X, radius=0.5)
    moved = X + 0.01
    found = refined_neighbors(moved, known)
    np.testing.assert_array_equal(found.indptr, known.indptr)
    assert (np.diff(found.distances)[np.diff(found.sources) == 0] >= 0).all()


def test_most_of_the_true_neighbours_are_among_them():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((1000, 3))
    moved = X + 0.1 * rng.standard_normal(X.shape)
    found = refined_neighbors(moved, find_neighbors(X, 15))
    true = find_neighbors(moved, 15)
    same = [
        len(set(a) & set(b))
        for a, b in zip(
            found.indices.reshape(1000, 15), true.indices.reshape(1000, 15), strict=True
        )
    ]
    assert np.mean(same) > 14.5
