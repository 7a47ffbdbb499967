"""Tasks and their results, and what can be wrong with workers."""

from __future__ import annotations

import subprocess
import sys
import time
from asyncio import CancelledError
from operator import add

import dask.array as da
import numpy as np
import pytest
from distributed.scheduler import KilledWorker

import distributed
from patchfold.distributed import connection
from patchfold.distributed.connection import Cluster, connected

# A scheduler in this process, whose workers are threads of it.
OPTIONS = {"processes": False, "dashboard_address": ":0", "set_as_default": False}


@pytest.fixture(scope="module")
def client():
    with distributed.Client(n_workers=1, threads_per_worker=1, **OPTIONS) as client:
        yield client


@pytest.fixture
def lonely():
    """A client of a cluster without workers."""
    with distributed.Client(n_workers=0, **OPTIONS) as client:
        yield client


# ---------------------------------------------------------------- tasks


def test_tasks_take_the_results_of_others_and_give_theirs_in_order(client):
    cluster = Cluster(client)
    ten = cluster.send(10)
    sums = cluster.each(add, [1, 2, 3], [ten] * 3)
    cluster.wait(sums)
    assert cluster.get(sums) == [11, 12, 13]
    assert cluster.get([cluster.run(add, *sums[:2])]) == [23]
    assert cluster.get([]) == []


def test_an_error_of_a_task_is_raised_here(client):
    cluster = Cluster(client)
    with pytest.raises(ZeroDivisionError):
        cluster.get([cluster.run(eval, "1 / 0")])


def test_a_task_that_ran_out_of_time_is_an_error_and_no_reason_to_wait(client):
    cluster = Cluster(client)
    with pytest.raises(TimeoutError, match="the disk did not answer"):
        cluster.get([cluster.run(exec, "raise TimeoutError('the disk did not answer')")])


def test_a_task_may_take_longer_than_patience_while_there_is_a_worker(client, monkeypatch):
    monkeypatch.setattr(connection, "LOOK", 0.01)
    cluster = Cluster(client, patience=0.02)
    assert cluster.get([cluster.run(time.sleep, 0.2)]) == [None]


def test_two_fits_on_one_cluster_have_no_task_of_the_same_name():
    class Named:
        def submit(self, function, *arguments, key):
            return key

    one, other = Cluster(Named()), Cluster(Named())
    names = [cluster.run(abs, 1) for cluster in (one, one, other)]
    assert len(set(names)) == 3
    assert all(name.startswith("abs-") for name in names)


# ---------------------------------------------------------------- workers that are lost


@pytest.mark.slow
def test_without_workers_a_fit_ends_with_an_error(lonely, monkeypatch):
    monkeypatch.setattr(connection, "LOOK", 0.05)
    cluster = Cluster(lonely, patience=0.2)
    with pytest.raises(RuntimeError, match=r"no worker for 0\.2 seconds; start workers"):
        cluster.wait([cluster.run(abs, 1)])
    with pytest.raises(RuntimeError, match="has no worker; start some with 'dask worker"):
        cluster.check()


def test_patience_ends_within_a_minute():
    assert connection.WITHOUT_WORKERS + 2 * connection.LOOK < 60


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KilledWorker("task", None, 3), "most likely for want of memory; give workers more"),
        (CancelledError(), "has lost its scheduler; connect again and fit again"),
        (distributed.CancelledError(), "has lost its scheduler; connect again and fit again"),
    ],
)
def test_lost_workers_and_schedulers_are_told_in_words(lonely, monkeypatch, error, message):
    async def gather(futures, asynchronous):
        raise error

    monkeypatch.setattr(lonely, "gather", gather)
    cluster = Cluster(lonely)
    with pytest.raises(RuntimeError, match=message):
        cluster.get([cluster.run(abs, 1)])


class Told:
    """A client that tells what a cluster would."""

    status = "running"
    scheduler = None

    def __init__(self, versions):
        self.versions = versions

    def scheduler_info(self, _):
        return {"workers": {"tcp://one": {"nthreads": 1, "memory_limit": 10**9}}}

    def run(self, _):
        return {"tcp://one": self.versions}


class Paused(Told):
    """A client of two workers, one of which is paused; it does what workers are asked to do."""

    def __init__(self):
        self.asked = []

    def scheduler_info(self, _):
        return {"workers": {"tcp://one": {"status": "paused"}, "tcp://two": {"status": "running"}}}

    def run(self, function, workers, on_error):
        function()
        self.asked += workers


def test_paused_workers_give_memory_back():
    client = Paused()
    assert Cluster(client)._looked_after()
    assert client.asked == ["tcp://one"]


def test_workers_with_other_versions_are_refused():
    other = connection.versions() | {"numpy": "1.0"}
    with pytest.raises(RuntimeError, match=r"tcp://one has other versions.*numpy 1.0 not"):
        Cluster(Told(other)).check()
    alike = Cluster(Told(connection.versions()))
    alike.check()
    assert alike.workers() == [(1, 10**9)]


# ---------------------------------------------------------------- which cluster is meant


def test_a_client_or_that_of_this_process_means_a_cluster(lonely):
    rows = np.zeros((3, 2))
    assert connected(lonely, rows) is lonely
    with lonely.as_current():
        assert connected("auto", da.from_array(rows)) is lonely


def test_a_dask_array_needs_a_cluster():
    with pytest.raises(ValueError, match="there is no cluster to work on"):
        connected("auto", da.zeros((3, 2)))
    with pytest.raises(TypeError, match="engine='threads' does not work on a cluster"):
        connected("threads", da.zeros((3, 2)))


@pytest.mark.slow
def test_a_fit_in_one_process_loads_nothing_of_dask_or_of_what_works_with_it():
    program = """
import sys
import numpy as np
import patchfold
patchfold.PatchIsomap
def loaded():
    ours = [name for name in sys.modules if name.startswith("patchfold.distributed")]
    return ours + [name for name in ("dask", "distributed") if name in sys.modules]
print(loaded())
X = np.random.default_rng(0).normal(size=(60, 3))
for method in (patchfold.PatchIsomap, patchfold.PatchLLE, patchfold.PatchEigenmaps):
    method(n_neighbors=5).fit(X).transform(X[:2] + 0.1)
print(loaded())
"""
    run = [sys.executable, "-c", program]
    found = subprocess.run(  # noqa: S603
        run, capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines() == ["[]", "[]"]


@pytest.mark.slow
def test_without_dask_all_else_works_and_the_message_says_what_to_install():
    program = """
import sys
import time
from importlib.abc import MetaPathFinder
class Missing(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("dask", "distributed"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name in ("dask", "distributed") else real(name)
import numpy as np
from patchfold import PatchIsomap
print(PatchIsomap(n_neighbors=3).fit_transform(np.random.default_rng(0).normal(size=(30, 3))).shape)
from patchfold.distributed.connection import check_installed
try:
    check_installed()
except ImportError as error:
    print(error)
"""
    run = [sys.executable, "-W", "error", "-c", program]
    found = subprocess.run(  # noqa: S603
        run, capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines() == [
        "(30, 2)",
        "work on a cluster needs dask and distributed; pip install 'patchfold[dask]'.",
    ]
