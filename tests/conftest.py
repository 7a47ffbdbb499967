from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says nothing about the fact it checks. A test run gives the same twice;
# to look for new examples, run pytest with --hypothesis-profile=search; "make fuzz" has many more.
settings.register_profile("patchfold", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.register_profile("fuzz", deadline=None, max_examples=3000)
settings.load_profile("patchfold")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder with the papers' data sets; skip where there is none."""
    folder = os.environ.get("PATCHFOLD_DATA")
    if not folder:
        pytest.skip("PATCHFOLD_DATA does not name a folder with the papers' data sets")
    return Path(folder)
