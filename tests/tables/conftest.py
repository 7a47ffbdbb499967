"""Files are written where a test may, and read."""

from __future__ import annotations

import pytest

from patchfold.tables import read_table


@pytest.fixture
def read(tmp_path):
    def read(content, name="table.csv", **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(path, **options)

    return read
