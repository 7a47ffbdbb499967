"""The page has the features that move every point most, as ``local_loadings`` finds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import triu
from sklearn.datasets import load_digits

from explorer_pages import data_of, roll, store_of, unpacked
from patchfold import PatchEigenmaps, PatchIsomap
from patchfold.explorer import explore
from patchfold.explorer.loadings import Loadings, has_loadings, loadings_of, pack_loadings
from patchfold.explorer.packing import ArrayStore
from patchfold.explorer.views import placed


def by_hand(fitted: Any, X: Any) -> Any:
    """Return what one deviation more of every feature moves points by, (n, m, 2) of the plane."""
    size = np.linalg.norm(fitted.embedding_ - fitted.embedding_.mean(axis=0), axis=1)
    slopes = fitted.local_loadings() / np.sqrt(np.square(size).mean())
    return np.swapaxes(slopes, 1, 2) * X.std(axis=0)[:, None]


@pytest.mark.parametrize("copies", [1, 2])
def test_loadings_are_those_of_the_estimator_in_units_of_the_plane(copies: int) -> None:
    X = np.repeat(load_digits().data[:80, :20], copies, axis=0)
    fitted = PatchEigenmaps(n_neighbors=9).fit(X)
    found = loadings_of(placed(fitted.embedding_), triu(fitted.graph_, k=1, format="csr"), X)
    expected = by_hand(fitted, X)
    lengths = np.linalg.norm(expected, axis=2)
    got = np.linalg.norm(found.moves, axis=2)
    np.testing.assert_allclose(got, -np.sort(-lengths, axis=1)[:, :5], rtol=1e-6, atol=1e-9)
    there = np.take_along_axis(expected, found.features[:, :, None], axis=1)
    np.testing.assert_allclose(found.moves, there, rtol=1e-6, atol=1e-9)


def test_packed_moves_come_back_to_a_step_of_eight_bits() -> None:
    random = np.random.default_rng(0)
    features = np.argsort(random.random((30, 400)), axis=1)[:, :5]
    found = [
        Loadings(features, random.standard_normal((30, 5, 2)) * 10.0**power) for power in (0, 6)
    ]
    found[0].moves[3] = 0.0  # a point that nothing moves
    names = [f"gene {number}" for number in range(400)]
    store = ArrayStore()
    used, packed = pack_loadings(found, names, store)
    assert used == [names[feature] for feature in np.unique(features)]
    for one, parts in zip(found, packed, strict=True):
        assert store.kinds[parts["moves"]]["type"] == "uint8"
        codes = unpacked(store, parts["features"]).reshape(30, 5)
        assert [used[code] for code in codes.ravel()] == [names[i] for i in features.ravel()]
        longest = unpacked(store, parts["longest"])[:, None, None]
        moves = longest * (unpacked(store, parts["moves"]).reshape(30, 5, 2) / 127.0 - 1)
        assert (np.abs(moves - one.moves) <= longest * 0.51 / 127).all()


def test_a_page_has_loadings_of_every_view_and_the_names_of_their_features() -> None:
    X, _ = roll(60)
    page = explore(X, n_neighbors=[6, 9], feature_names=["x", "y", "z"])
    data, store = data_of(page), store_of(page)
    assert data["features"] == ["x", "y", "z"]
    for view in data["views"]:
        assert store.kinds[view["loadings"]["features"]]["length"] == 3 * 60


def test_pixels_are_called_by_row_and_column() -> None:
    data = data_of(explore(load_digits().data[:60], n_neighbors=[6]))
    assert "pixel 3, 4" in data["features"]
    assert not any(name.startswith("feature") for name in data["features"])


def test_there_are_no_loadings_without_named_features_or_of_too_many_points() -> None:
    X, _ = roll(40)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    fitted = PatchIsomap(n_neighbors=8, divergence="precomputed").fit(distances)
    data = data_of(explore(distances, embeddings={"a": fitted}))
    assert data["features"] == []
    assert data["views"][0]["loadings"] is None
    unnamed = data_of(explore(X, n_neighbors=[6], text=["words"] * 40))
    assert unnamed["features"] == []
    row = np.zeros((1, 1), dtype=np.float32)
    assert has_loadings(np.broadcast_to(row, (200_000, 25)), 1)
    assert not has_loadings(np.broadcast_to(row, (100_001, 2)), 2)
    assert not has_loadings(np.broadcast_to(row, (200_000, 26)), 1)
