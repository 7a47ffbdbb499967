"""Arrays become columns, or are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

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
