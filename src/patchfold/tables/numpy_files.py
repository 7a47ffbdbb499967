"""Read NumPy's files, NPY and NPZ, into a table."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any
from zipfile import ZipFile

import numpy as np
from scipy.sparse import csc_array, csr_array

from patchfold.base.memory import check_memory
from patchfold.tables.decoding import LIMIT, Limit, check_unpacked
from patchfold.tables.problems import TableError, listed, quoted
from patchfold.tables.table import Table

# What scipy.sparse.save_npz writes of a matrix, and the formats that are read.
SPARSE = {"format", "shape", "data", "indices", "indptr"}
FORMATS = {"csr": csr_array, "csc": csc_array}


def parse_npy(data: bytes) -> Table:
    """Make a table of one array of points."""
    return _as_table({"": _load(io.BytesIO(data))})


def parse_npz(data: bytes, limit: Limit = LIMIT) -> Table:
    """Make a table of an archive: an array of points, and arrays with one value for each point."""
    try:
        arrays = _members(data, limit)
    except TableError:
        raise
    except Exception as error:  # zipfile trusts what the archive says of its parts
        raise TableError(f"the NPZ file is damaged ({error}); make it anew.") from error
    return _of_sparse(arrays) if set(arrays) >= SPARSE else _as_table(arrays)


def _of_sparse(arrays: dict[str, Any]) -> Table:
    """Make a table of a matrix that scipy.sparse.save_npz wrote, such as counts of words."""
    try:
        kind = FORMATS[arrays["format"].item().decode()]
        values = arrays["data"].astype(float, casting="same_kind")  # no text, no complex numbers
        matrix = kind(
            (values, arrays["indices"], arrays["indptr"]), shape=tuple(map(int, arrays["shape"]))
        )
        matrix.check_format(full_check=True)  # compiled code trusts the places of values
    except Exception as error:  # NumPy's and SciPy's errors of damaged arrays are of any kind
        raise TableError(
            f"the sparse matrix cannot be read ({error}); save it as CSR by scipy.sparse.save_npz."
        ) from error
    n, m = matrix.shape
    check_memory(8 * n * m, f"a sparse matrix of {n} x {m} as a table", "give fewer columns")
    share = matrix.count_nonzero() / max(n * m, 1)
    table = _as_table({"": matrix.toarray()})
    note = f"a sparse matrix, of whose values {share:.1%} are not zero, was made dense"
    return replace(table, notes=[*table.notes, note])


def _members(data: bytes, limit: Limit) -> dict[str, Any]:
    with ZipFile(io.BytesIO(data)) as archive:
        members = archive.namelist()
        if not members or not all(name.endswith(".npy") for name in members):
            raise TableError(
                "this is a zip archive, perhaps a spreadsheet, and no NPZ file; save the table as "
                "CSV."
            )
        # Members are never read beyond the size that the archive declares.
        check_unpacked(sum(member.file_size for member in archive.infolist()), len(data), limit)
        return {
            name.removesuffix(".npy"): _load(io.BytesIO(archive.read(name))) for name in members
        }


def _load(file: io.BytesIO) -> Any:
    try:
        array = np.load(file, allow_pickle=False)
    except Exception as error:  # a header is read as Python, whose errors are of any kind
        reason = " ".join(str(error).split())
        raise TableError(
            f"the array cannot be read ({reason}); save numbers or text, not Python objects."
        ) from error
    if array.dtype.itemsize == 0 and array.size:
        raise TableError("the array holds values of no bytes; save numbers or text.")
    return array


def _as_table(arrays: dict[str, Any]) -> Table:
    """Make a table of one array of points, and of arrays with one value for each point."""
    import pandas as pd

    if len(arrays) == 1:
        (points,) = arrays.values()
        if points.dtype.names:
            return Table(pd.DataFrame({name: points[name] for name in points.dtype.names}))
        matrices = {key: array for key, array in arrays.items() if array.ndim}
    else:
        matrices = {key: array for key, array in arrays.items() if array.ndim > 1}
    if len(matrices) != 1:
        shapes = [f"{key} {array.shape}" for key, array in arrays.items()]
        raise TableError(
            f"there is not one array of points but {listed(shapes)}; save one with a row for "
            "each point, and beside it only arrays with one value for each."
        )
    ((main, points),) = matrices.items()
    notes = []
    if points.ndim > 2:
        notes.append(f"each row of shape {points.shape[1:]} was laid out as one line of numbers")
    flat = points.reshape(len(points), -1)
    names = [f"column {place}" for place in range(1, flat.shape[1] + 1)]
    frame = pd.DataFrame(flat, columns=names)
    alike = [key for key in arrays if key != main and key in names]
    if alike:
        raise TableError(
            f"the array {quoted(alike[0])} has the name that a column of the points gets; save it "
            "under another."
        )
    beside = []
    for key, values in arrays.items():
        if key != main and values.shape == (len(flat),):
            frame[key] = values.astype(str) if values.dtype.kind == "S" else values
            beside.append(key)
        elif key != main:
            notes.append(f"the array {quoted(key)} of shape {values.shape} was left out")
    return Table(frame, notes, beside=tuple(beside), shape=points.shape[1:] * (points.ndim > 2))
