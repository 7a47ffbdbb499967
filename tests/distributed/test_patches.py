"""The patches of rows in parts, fitted where they are needed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from patchfold import GaussianPatch
from patchfold.distributed import rows
from patchfold.distributed.building import build_on_cluster
from patchfold.distributed.patches import fitted_patches
from patchfold.graph.building import build_graph
from patchfold.graph.patch_graph import GraphSetting


@pytest.mark.parametrize("denoise", [True, False])
def test_the_patches_of_any_rows_are_those_of_one_process(cluster, denoise):
    X = make_swiss_roll(150, noise=0.5, random_state=1)[0]
    setting = GraphSetting(6, patch=GaussianPatch(8, denoise=denoise), patch_size=8)
    graph = build_on_cluster(cluster, rows.share_out(cluster, rows.read(cluster, X)), setting)
    patches, row_of = build_graph(X, setting).patches, np.argsort(graph.numbers)

    wanted = [np.array([3, 40, 149]), np.empty(0, dtype=np.intp), np.arange(0, 150, 7)]
    some, _, others = graph.row_patches.at(wanted)
    for numbers, known in ((wanted[0], some), (wanted[2], others)):
        found, expected = fitted_patches(*known), patches[row_of[numbers]]
        for name in ("means", "points", "covariances"):
            pair = [getattr(each, name) for each in (found, expected)]
            pair = [each() if callable(each) else each for each in pair]
            np.testing.assert_allclose(*pair, atol=1e-9)
