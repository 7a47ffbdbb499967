"""A cluster that loses workers, and one that cannot work at all."""

from __future__ import annotations

import subprocess
import sys
import time

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from dask_cluster import dask_cluster
from patchfold import PatchIsomap
from patchfold.engines.cluster import connection, rows
from patchfold.engines.cluster.connection import Cluster, connected


class Killing(PatchIsomap):
    """Kills a worker whenever a stage begins, and with it what it holds of those before."""

    def _stage(self, name):
        self.killed.append(name)
        self.cluster.kill_worker()
        return super()._stage(name)


def test_a_worker_killed_in_every_stage_leaves_the_bits_as_they_are(tmp_path):
    X = make_swiss_roll(120, random_state=1)[0]
    setting = {"landmarks": 20, "random_state": 0, "n_neighbors": 6}
    alone = PatchIsomap(**setting).fit_transform(X)
    isomap = Killing(**setting)
    isomap.killed = []
    with dask_cluster(tmp_path) as isomap.cluster, isomap.cluster.client():
        isomap.fit(da.from_array(X, chunks=(60, 3)))
        np.testing.assert_array_equal(isomap.embedding_.compute(), alone)
    stages = ["sharing out rows", "neighbours", "patches", "divergences", "geodesics", "embedding"]
    assert isomap.killed == stages


def test_without_workers_a_fit_ends_with_an_error(tmp_path):
    with dask_cluster(tmp_path) as dask, dask.client() as client:
        cluster = Cluster(client, patience=1.0)
        slow = cluster.run(time.sleep, 3600)
        for worker in dask.workers:
            worker.kill()
        with pytest.raises(RuntimeError, match="has had no worker for 1 seconds; start workers"):
            cluster.wait([slow])
        with pytest.raises(RuntimeError, match="has no worker; start some with 'dask worker"):
            cluster.check()


def test_a_task_that_ran_out_of_time_is_an_error_and_no_reason_to_wait(tmp_path):
    with dask_cluster(tmp_path) as dask, dask.client() as client:
        cluster = Cluster(client)
        with pytest.raises(TimeoutError, match="the disk did not answer"):
            cluster.get([cluster.run(exec, "raise TimeoutError('the disk did not answer')")])


def test_patience_ends_within_a_minute():
    assert connection.WITHOUT_WORKERS + 2 * connection.LOOK < 60


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


def test_workers_that_are_too_small_are_refused():
    chunks = rows.Chunks([], [1000], None, 1000, np.dtype(np.float64))
    with pytest.raises(RuntimeError, match="too few for rows of 1000 columns; give workers more"):
        rows.n_parts(chunks, [(1, 10**6)])
    assert rows.n_parts(chunks, [(2, 10**9), (2, 10**9)]) == 4
    wide = rows.Chunks([], [1000], None, 10**6, np.dtype(np.float64))
    assert rows.n_parts(wide, [(1, 10**11), (2, 0)]) == rows.n_parts(wide, [(1, 0)]) == 16


def test_a_dask_array_needs_a_cluster():
    with pytest.raises(ValueError, match="no cluster to work on; start one with"):
        connected("auto", da.zeros((3, 2)))
    assert connected("threads", np.zeros((3, 2))) is None


def test_without_dask_all_else_works_and_the_message_says_what_to_install():
    program = """
import sys
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
from patchfold.engines.cluster.connection import check_installed
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
