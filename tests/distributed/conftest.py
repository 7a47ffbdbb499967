"""A cluster in this process: what functions on parts are tested with."""

from __future__ import annotations

import pytest

from dask_cluster import InOnePlace


@pytest.fixture(scope="session")
def cluster():
    return InOnePlace()
