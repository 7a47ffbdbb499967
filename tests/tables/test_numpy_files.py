"""Arrays become columns, or are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from patchfold.tables import TableError, read_table
from table_files import columns, saved


def test_arrays_become_columns(read):
    X = np.arange(6.0).reshape(3, 2)
    assert columns(read(saved(np.save, X), "a.npy")) == {
        "column 1": [0, 2, 4],
        "column 2": [1, 3, 5],
    }
    table = read(saved(np.savez, X=X, y=np.array([b"a", b"b", b"a"]), t=np.ones(7)), "a.npz")
    assert table.frame["y"].tolist() == ["a", "b", "a"]
    assert table.notes == ["the array 't' of shape (7,) was left out"]
    assert table.beside == ("y",)
    images = read(saved(np.save, X.reshape(3, 1, 2)), "a.npy")
    assert images.frame.shape == (3, 2)
    assert images.shape == (1, 2)
    assert images.notes == ["each row of shape (1, 2) was laid out as one line of numbers"]
    fields = np.array([(1, "a"), (2, "b")], dtype=[("x", "i4"), ("kind", "U1")])
    assert columns(read(saved(np.save, fields), "a.npy")) == {"x": [1, 2], "kind": ["a", "b"]}
    assert read(saved(np.save, X[:, 0]), "a.npy").frame.shape == (3, 1)


def test_arrays_that_are_no_table_are_refused(read, tmp_path):
    objects = np.array([{}, {}], dtype=object)
    with pytest.raises(TableError, match="not Python objects"):
        read(saved(np.save, objects, allow_pickle=True), "a.npy")
    X = np.ones((3, 2))
    with pytest.raises(TableError, match="'column 1' has the name that a column of the points"):
        read(saved(np.savez, **{"X": X, "column 1": np.zeros(3)}), "a.npz")
    with pytest.raises(TableError, match="not one array of points but 'X"):
        read(saved(np.savez, X=X, Z=X), "a.npz")
    with pytest.raises(TableError, match="not one array of points"):
        read(saved(np.save, np.array(3.0)), "a.npy")
    packed = {"method": "zip", "archive_name": "a.xml"}
    pd.DataFrame({"x": [1.0]}).to_csv(tmp_path / "a.zip", compression=packed)
    with pytest.raises(TableError, match="a zip archive, perhaps a spreadsheet"):
        read_table(tmp_path / "a.zip")


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_a_sparse_matrix_is_a_table(tmp_path, kind):
    counts = np.random.default_rng(0).poisson(0.3, (12, 5))
    sparse.save_npz(tmp_path / "counts.npz", sparse.csr_array(counts).asformat(kind))
    table = read_table(tmp_path / "counts.npz")
    np.testing.assert_array_equal(table.frame.to_numpy(), counts)
    assert list(table.frame.columns) == [f"column {place}" for place in range(1, 6)]
    share = np.mean(counts > 0)
    assert table.notes == [
        f"a sparse matrix, of whose values {share:.1%} are not zero, was made dense"
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"indices": np.array([0, 99])},
        {"indptr": np.array([0, 5, 2])},
        {"shape": np.array([2])},
        {"format": np.array(b"dia")},
        {"data": np.array(["a", "b"])},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_damaged_sparse_matrix_is_refused(tmp_path, wrong):
    parts = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])}
    parts |= {"shape": np.array([2, 3]), "format": np.array(b"csr")} | wrong
    np.savez(tmp_path / "wrong.npz", **parts)
    with pytest.raises(TableError, match=r"the sparse matrix cannot be read .*save it as CSR by"):
        read_table(tmp_path / "wrong.npz")


def test_a_sparse_matrix_beyond_memory_is_refused(tmp_path):
    sparse.save_npz(tmp_path / "wide.npz", sparse.csr_array((10**6, 10**7)))
    with pytest.raises(MemoryError, match="a sparse matrix of 1000000 x 10000000 as a table"):
        read_table(tmp_path / "wide.npz")
