"""Geodesics and long ways around edges: the same in parts as in one worker that has all edges."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_swiss_roll

from dask_cluster import dask_cluster
from patchfold import PatchIsomap
from patchfold.engines.cluster.connection import Cluster
from patchfold.engines.cluster.graph import table_of_links
from patchfold.engines.cluster.halo import Exchange
from patchfold.engines.cluster.ways import least_ways


def test_paths_and_bounds_of_ways_are_the_same_in_parts_and_in_one_worker(tmp_path):
    X = make_swiss_roll(120, random_state=0)[0]
    with dask_cluster(tmp_path) as dask, dask.client() as client:
        isomap = PatchIsomap(divergence="euclidean", landmarks=10, n_neighbors=4, engine=client)
        graph = isomap.fit(X).patch_graph_
        cluster = Cluster(client)
        exchange = Exchange(cluster, cluster.each(table_of_links, graph.links))
        short = [np.arange(0, 60, 3)] * len(graph.links)
        known = exchange, graph.links, graph.edge_lengths, short
        parted, together = (cluster.get(least_ways(*known, most)) for most in (0, 10**6))
        paths = [graph.geodesics(np.arange(0, 120, 3), most) for most in (0, None)]
        found = [[np.hstack(part) for part in map(cluster.get, parts)] for parts, _ in paths]
    for one, other in zip(parted, together, strict=True):
        assert one.max() > 0
        np.testing.assert_array_equal(one, other)
    assert paths[0][1] == paths[1][1] == max(part.max() for part in found[0])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
