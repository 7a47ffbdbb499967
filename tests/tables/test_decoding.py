"""What unpacks to far more than its size is refused before it fills the memory."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from patchfold.tables import TableError
from patchfold.tables.decoding import Limit, check_unpacked, decompress
from patchfold.tables.numpy_files import parse_npz
from patchfold.tables.parquet import parse_parquet
from table_files import PLAIN, columns, saved

REFUSED = r"unpacks to more than .* MiB, which is refused; if you trust it, unpack it yourself"


# So low that bombs of the tests are small.
SMALL = Limit(free=2**21, ratio=10)


def zipped(contents):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_a_bomb_by_gzip_is_refused_without_unpacking_it():
    bomb = gzip.compress(b"1,2\n" * 2**24)
    tracemalloc.start()
    with pytest.raises(TableError, match=REFUSED):
        decompress(bomb, SMALL)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24  # of 64 MiB


def test_a_bomb_of_several_parts_is_refused():
    with pytest.raises(TableError, match=REFUSED):
        decompress(gzip.compress(b"1,2\n" * 2**18) * 3, SMALL)


def test_a_bomb_in_an_archive_is_refused_by_its_size():
    zeros = saved(np.save, np.zeros((2**19, 1)))
    with pytest.raises(TableError, match=REFUSED):
        parse_npz(zipped({"x.npy": zeros}), SMALL)
    assert len(parse_npz(zipped({"x.npy": saved(np.save, np.zeros((9, 1)))}), SMALL).frame) == 9


def test_an_archive_that_lies_about_its_size_is_damaged(read):
    data = zipped({"x.npy": saved(np.save, np.zeros((2**19, 1)))})
    true, lie = (2**19 * 8 + 128).to_bytes(4, "little"), (200).to_bytes(4, "little")
    assert data.count(true) == 2
    with pytest.raises(TableError, match=r"damaged|cannot be read"):
        read(data.replace(true, lie), "table.npz")


def test_runs_of_equal_values_in_parquet_are_refused_by_the_number_of_cells():
    table = pa.table({"a": pa.array(np.zeros(2**19)), "b": pa.array(np.zeros(2**19))})
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer)
    assert len(buffer.getvalue()) < 2**15
    with pytest.raises(TableError, match=REFUSED):
        parse_parquet(buffer.getvalue(), (), SMALL)


def test_every_file_has_room_for_a_quarter_of_a_gigabyte_or_two_hundred_times_its_size(read):
    check_unpacked(2**28, 1)
    check_unpacked(200 * 2**28, 2**28)
    for unpacked, packed in ((2**28 + 1, 1), (200 * 2**28 + 1, 2**28)):
        with pytest.raises(TableError, match=REFUSED):
            check_unpacked(unpacked, packed)
    # Columns of one value, 2^28 bytes of cells and more.
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2**20, np.int8)), pa.array(["a"]))
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({f"c{place}": column for place in range(33)}), buffer)
    with pytest.raises(TableError, match=REFUSED):
        read(buffer.getvalue(), "table.parquet")


@pytest.mark.parametrize("shape", ["(1099511627776,)", "(1099511627776, 1099511627776)"])
def test_an_array_that_declares_more_than_it_has_is_refused(read, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    with pytest.raises(TableError, match="the array cannot be read"):
        read(data, "table.npy")


def test_an_array_of_values_without_bytes_is_refused(read):
    header = "{'descr': '|S0', 'fortran_order': False, 'shape': (1099511627776,)}".ljust(117) + "\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    with pytest.raises(TableError, match=r"values of no bytes|cannot be read"):
        read(data, "table.npy")


def test_ordinary_archives_are_read_whatever_their_ratio(read):
    assert columns(read(gzip.compress(PLAIN.encode()), "a.csv.gz")) == columns(read(PLAIN))
    zeros = pd.DataFrame(np.zeros((10_000, 20), dtype=int)).add_prefix("c")
    data = gzip.compress(zeros.to_csv(index=False).encode())
    assert len(read(data, "zeros.csv.gz").frame) == 10_000
