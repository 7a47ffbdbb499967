"""The value of a pair that several graphs ask for is found once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.base import clone

from patchfold import PatchIsomap, PatchLLE
from patchfold.divergences import pairing
from patchfold.graph import lengths
from patchfold.graph.known_pairs import KnownPairs
from patchfold.neighbors import SharedNeighbors

if TYPE_CHECKING:
    from patchfold.base.types import Indices
    from patchfold.patches.gaussians import Patches


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_have_the_values_of_the_function_in_any_order_and_any_number(dtype: type) -> None:
    rng = np.random.default_rng(0)
    values = rng.random((30, 30)).astype(dtype)
    values += values.T
    known = KnownPairs(30, lambda i, j: values[i, j])
    for size in (5, 0, 200, 200):
        i, j = rng.integers(30, size=(2, size))
        found = known(i, j)
        np.testing.assert_array_equal(found, values[i, j])
        assert found.dtype == dtype or not size


def test_fits_that_share_neighbours_compare_every_pair_of_patches_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[tuple[int, int]] = []

    def paired(patches: Patches, i: Indices, j: Indices, *args: Any, **setting: Any) -> Any:
        compared.extend(zip(np.minimum(i, j).tolist(), np.maximum(i, j).tolist(), strict=True))
        return pairing.paired(patches, i, j, *args, **setting)

    monkeypatch.setattr(lengths, "paired", paired)
    X, shared = np.random.default_rng(0).random((80, 3)), SharedNeighbors()
    fits = [
        (alone := estimator(n_neighbors=k), clone(alone).set_params(knn=shared).fit(X))
        for estimator in (PatchIsomap, PatchLLE)
        for k in (20, 15, 8)
    ]
    assert len(compared) == len(set(compared))
    for alone, sharing in fits:
        alone.fit(X)
        np.testing.assert_array_equal(sharing.graph_.data, alone.graph_.data)
        np.testing.assert_array_equal(sharing.embedding_, alone.embedding_)
