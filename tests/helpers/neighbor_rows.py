"""What tests of neighbour searches share: data, and neighbours found by a double loop."""

import math

import numpy as np

from patchfold.neighbors import find_neighbors, points


def double_loop(X, Y, keep, own):
    """Sort all pairs by (distance, index); ``keep`` cuts the sorted list of one row."""
    rows = []
    for i, x in enumerate(X.astype(np.float64)):
        pairs = [
            (math.sqrt(np.square(x - y).sum()), j)
            for j, y in enumerate(Y.astype(np.float64))
            if not (own and i == j)
        ]
        rows.append(keep(sorted(pairs)))
    return rows


def as_rows(found):
    """Turn neighbourhoods into one list of (distance, index) a row."""
    return [
        list(zip(found.distances[a:b].tolist(), found.indices[a:b].tolist(), strict=True))
        for a, b in zip(found.indptr[:-1], found.indptr[1:], strict=True)
    ]


def assert_nearest(X, k):
    assert as_rows(find_neighbors(X, k, knn="exact")) == double_loop(X, X, lambda r: r[:k], True)


RNG = np.random.default_rng(0)
SCAN = points.TREE_FEATURES + 3  # enough features that all pairs are scanned
DATA = {
    "gaussian in a tree": RNG.normal(size=(120, 4)),
    "gaussian scanned": RNG.normal(size=(120, SCAN)),
    "integers in a tree": RNG.integers(0, 3, size=(150, 3)).astype(float),
    "integers scanned": RNG.integers(0, 2, size=(150, SCAN)).astype(float),
    "all equal in a tree": np.full((60, 2), 0.1),
    "all equal scanned": np.full((60, SCAN), 0.1),
    "one-hot scanned": np.eye(SCAN)[RNG.integers(0, SCAN, size=80)],
    "one-hot in a tree": np.eye(5)[RNG.integers(0, 5, size=80)],
    "around 1e9 scanned": 1e9 + RNG.normal(size=(90, SCAN)),
    "around 1e9 in a tree": 1e9 + RNG.normal(size=(90, 3)),
    "around 1e-9 scanned": 1e-9 * RNG.normal(size=(90, SCAN)),
    "1e9 beside 1e-9 scanned": np.hstack(
        [1e9 * RNG.integers(0, 2, size=(90, 9)), 1e-9 * RNG.normal(size=(90, 9))]
    ),
    "1e9 beside 1e-9 in a tree": np.hstack(
        [1e9 * RNG.integers(0, 2, size=(90, 2)), 1e-9 * RNG.normal(size=(90, 2))]
    ),
    "tenths scanned": RNG.integers(0, 3, size=(120, SCAN)) * 0.1 + 1000,
    "one far outlier": np.vstack([RNG.normal(size=(80, SCAN)), np.full((1, SCAN), 1e12)]),
    "constant columns": np.hstack([np.full((60, 20), 7.0), RNG.normal(size=(60, 1))]),
    "squares overflow": 1e200 * RNG.normal(size=(60, 3)),
    "squares underflow": 1e-200 * RNG.normal(size=(60, SCAN)),
    "duplicates of tenths": np.repeat(RNG.normal(size=(20, SCAN)) + 1e6, 5, axis=0),
}
