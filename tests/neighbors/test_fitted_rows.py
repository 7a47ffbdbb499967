"""Every row is found again, whatever its values are like."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from patchfold.neighbors import fitted_rows
from patchfold.neighbors.fitted_rows import RowTable

RNG = np.random.default_rng(0)
TABLES = {
    "integers": RNG.integers(0, 5, (400, 6)),
    "bytes": RNG.integers(0, 256, (300, 64)),
    "tenths": np.round(RNG.normal(size=(400, 5)), 1),
    "one-hot": np.eye(7)[RNG.integers(0, 7, (300, 4))].reshape(300, -1),
    "powers of two": 2.0 ** RNG.integers(-60, 60, (300, 3)),
    "one column": np.arange(500)[:, None],
    "real": RNG.normal(size=(300, 8)),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    ("kept", "asked"), [("f8", "f8"), ("f4", "f4"), ("f8", "f4"), ("f4", "f8")]
)
def test_every_row_is_found(name, kept, asked):
    points = np.unique(TABLES[name].astype("f4"), axis=0)  # the same numbers in both types
    found = RowTable(points.astype(kept)).find(points.astype(asked))
    np.testing.assert_array_equal(found, np.arange(len(points)))


@pytest.mark.parametrize("name", TABLES)
def test_rows_that_differ_in_one_value_are_not_found(name):
    points = TABLES[name].astype(float)
    other = points.copy()
    other[:, -1] += 0.0625 + np.abs(points).max()
    assert (RowTable(points).find(other) == -1).all()


@pytest.mark.parametrize("name", TABLES)
def test_keys_of_different_rows_are_different(name):
    points = np.unique(TABLES[name].astype(float), axis=0)
    assert len(np.unique(fitted_rows._keys(points))) == len(points)


def test_rows_of_the_same_key_are_told_apart(monkeypatch):
    monkeypatch.setattr(fitted_rows, "_keys", lambda X: (X[:, 0] % 3).astype(np.uint64))
    points = np.array([[5.0, 1.0], [2.0, 7.0], [8.0, 0.0], [2.0, 7.0], [1.0, 1.0]])
    queries = np.array([[8.0, 0.0], [2.0, 7.0], [5.0, 1.0], [11.0, 0.0], [1.0, 1.0], [3.0, 3.0]])
    np.testing.assert_array_equal(RowTable(points).find(queries), [2, 1, 0, -1, 4, -1])


def test_zero_has_no_sign_and_no_rows_are_found_in_none():
    table = RowTable(np.array([[0.0, -0.0], [1.0, 0.0]]))
    np.testing.assert_array_equal(table.find(np.array([[-0.0, 0.0], [1.0, -0.0]])), [0, 1])
    assert len(table.find(np.empty((0, 2)))) == 0


def test_sparse_rows_are_found_as_dense_ones_are():
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (60, 6)) * random.choice([-1.0, 0.5, 3.0], (60, 6))
    rows, dense = RowTable(csr_array(X)), RowTable(X)
    np.testing.assert_array_equal(rows.first(), dense.first())
    asked = np.concatenate([X[::7], X[:3] + 1])
    np.testing.assert_array_equal(rows.find(csr_array(asked)), dense.find(asked))
