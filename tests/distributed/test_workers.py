"""Workers that are killed, each a process of its own."""

from __future__ import annotations

import time

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from dask_cluster import dask_cluster
from patchfold import PatchIsomap
from patchfold.distributed.connection import Cluster

pytestmark = pytest.mark.xdist_group("cluster")  # one process of pytest has the workers

STAGES = ["sharing out rows", "neighbours", "patches", "divergences", "short circuits"]
STAGES += ["geodesics", "embedding"]


class Killing(PatchIsomap):
    """Kills a worker when some stages begin, and with it what it holds of those before."""

    def _stage(self, name):
        if name in self.deadly:
            self.killed.append(name)
            self.workers.kill_worker()
        return super()._stage(name)


@pytest.mark.parametrize("deadly", [["geodesics"], pytest.param(STAGES, marks=pytest.mark.long)])
def test_a_killed_worker_leaves_the_embedding_as_it_is(dask_workers, client, deadly):
    X = make_swiss_roll(120, random_state=1)[0]
    setting = {"landmarks": 20, "random_state": 0, "n_neighbors": 6}
    alone = PatchIsomap(**setting).fit_transform(X)
    isomap = Killing(**setting)
    isomap.deadly, isomap.killed, isomap.workers = deadly, [], dask_workers
    isomap.fit(da.from_array(X, chunks=(60, 3)))
    np.testing.assert_allclose(isomap.embedding_.compute(), alone, atol=1e-6 * alone.std())
    assert isomap.killed == deadly


@pytest.mark.long
def test_if_all_workers_are_killed_a_fit_ends_with_an_error(tmp_path):
    with dask_cluster(tmp_path) as dask, dask.client() as client:
        cluster = Cluster(client, patience=1.0)
        slow = cluster.run(time.sleep, 3600)
        for worker in dask.workers:
            worker.kill()
        with pytest.raises(RuntimeError, match="has had no worker for 1 seconds; start workers"):
            cluster.wait([slow])
        with pytest.raises(RuntimeError, match="has no worker; start some with 'dask worker"):
            cluster.check()
