from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from numba.core.dispatcher import Dispatcher

# How long an example takes says nothing about the fact it checks. A test run gives the same twice,
# by 20 examples; "make test-all" tries 100. To look for new ones, run pytest with
# --hypothesis-profile=search; "make fuzz" has many more.
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=5)
settings.register_profile("patchfold", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("all", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("search", deadline=None)
settings.register_profile("fuzz", deadline=None, max_examples=3000)
settings.load_profile("patchfold")


def pytest_addoption(parser):
    parser.addoption(
        "--quick",
        action="store_true",
        help="leave out what is slow, long or real, and of a test's cases all but the first",
    )


def pytest_collection_modifyitems(config, items):
    """Mark cases that only ``make test-all`` runs, and choose what ``make quick`` runs."""
    cases = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for some in cases.values():
        marker = some[0].get_closest_marker("some_cases")
        if marker:
            spread = {round(place) for place in np.linspace(0, len(some) - 1, *marker.args)}
            for place in set(range(len(some))) - spread:
                some[place].add_marker("long")
    if config.getoption("quick"):
        chosen = [item for some in cases.values() for item in quick_cases(some)]
        config.hook.pytest_deselected(items=list(set(items) - set(chosen)))
        items[:] = chosen


def quick_cases(cases):
    """Return the first case of a test, or all; none of what is slow or long.

    Nor of what has a group of xdist: it needs a browser, Dask's workers or a compiler.
    """
    left_out = ("slow", "long", "xdist_group")
    some = [item for item in cases if not any(map(item.get_closest_marker, left_out))]
    return some if cases[0].get_closest_marker("every_case") else some[:1]


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


@pytest.fixture(scope="session")
def dask_workers(tmp_path_factory):
    """Return a Dask cluster of two workers, one for all tests of this process."""
    from dask_cluster import dask_cluster  # here and not above: few tests need Dask

    with dask_cluster(tmp_path_factory.mktemp("dask")) as cluster:
        yield cluster


@pytest.fixture
def client(dask_workers):
    """Return a client of these workers, Dask's default for one test."""
    with dask_workers.client() as client:
        yield client
