from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from numba.core.dispatcher import Dispatcher

# How long an example takes says nothing about the fact it checks. A test run gives the same twice;
# to look for new examples, run pytest with --hypothesis-profile=search; "make fuzz" has many more.
settings.register_profile("patchfold", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.register_profile("fuzz", deadline=None, max_examples=3000)
settings.load_profile("patchfold")


def untraced(function):
    """Call a function without the tracing of coverage."""

    @functools.wraps(function)
    def called(*arguments):
        trace = sys.gettrace()
        if trace is None:
            return function(*arguments)
        sys.settrace(None)
        try:
            return function(*arguments)
        finally:
            sys.settrace(trace)
            _called()  # coverage goes on with the next call; so it sees this function end

    return called


def _called():
    pass


# Coverage sees every call within numba's compiler, none of which is ours, and doubles its time.
Dispatcher.compile = untraced(Dispatcher.compile)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder with the papers' data sets; skip where there is none."""
    folder = os.environ.get("PATCHFOLD_DATA")
    if not folder:
        pytest.skip("PATCHFOLD_DATA does not name a folder with the papers' data sets")
    return Path(folder)
