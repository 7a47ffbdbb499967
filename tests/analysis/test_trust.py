"""The trust of a point is its share of the trustworthiness of the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from explorer_pages import roll
from patchfold.analysis import trust as ranking
from patchfold.analysis.trust import pointwise_trust
from patchfold.metrics import trust, trustworthiness


def slow_trust(X: Any, plane: Any, k: int) -> Any:
    n = len(X)
    there, here = cdist(X, X), cdist(plane, plane)
    np.fill_diagonal(there, -1)
    np.fill_diagonal(here, -1)
    ranks = np.argsort(np.argsort(there, axis=1, kind="stable"), axis=1)
    worst = sum(sorted(range(n - 1 - k, 0, -1), reverse=True)[:k])
    nearest = np.argsort(here, axis=1, kind="stable")[:, 1 : k + 1]
    return np.array(
        [1 - sum(max(ranks[i, j] - k, 0) for j in nearest[i]) / worst for i in range(n)]
    )


@pytest.mark.parametrize("n", [5, 20, 80])
def test_trust_is_the_trustworthiness_of_each_point(n: int) -> None:
    rng = np.random.default_rng(n)
    X, plane = rng.standard_normal((n, 4)), rng.standard_normal((n, 2))
    k = min(15, n - 2)
    (got,) = pointwise_trust(X, [plane])
    np.testing.assert_allclose(got, slow_trust(X, plane, k))
    np.testing.assert_allclose(got.mean(), trustworthiness(X, plane, k))


@pytest.mark.parametrize("kind", ["smooth", "whole", "copies", "far", "huge", "float32"])
def test_trust_of_many_features_counts_distances(kind: str) -> None:
    rng = np.random.default_rng(0)
    X, plane = rng.standard_normal((120, 150)), rng.standard_normal((120, 2))
    X = {
        "smooth": X,
        "whole": np.round(X),  # many distances are equal
        "copies": np.repeat(X[:40], 3, axis=0),
        "far": X + 1e9,
        "huge": X * 1e160,
        "float32": X.astype(np.float32),
    }[kind]
    (got,) = pointwise_trust(X, [plane])
    distances = cdist(X, X)
    (expected,) = pointwise_trust(distances, [plane], precomputed=True)
    np.testing.assert_array_equal(got, expected)
    (one,) = pointwise_trust(X, [plane], n_jobs=2)
    np.testing.assert_array_equal(got, one)


def test_trust_from_a_sample_is_close(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = roll(1500)
    plane = X[:, [0, 1]]
    (exact,) = pointwise_trust(X, [plane])
    monkeypatch.setattr(ranking, "MOST_RANKED", 1000)
    (estimated,) = pointwise_trust(X, [plane])
    assert not np.array_equal(exact, estimated)
    assert np.abs(exact - estimated).max() < 0.05


def test_two_points_are_trusted() -> None:
    (got,) = pointwise_trust(np.eye(2), [np.eye(2)])
    np.testing.assert_array_equal(got, 1)


def test_copies_of_points_do_not_disturb_trust() -> None:
    X = np.repeat(np.random.default_rng(0).standard_normal((4, 2)), 10, axis=0)
    (got,) = pointwise_trust(X, [X.copy()])
    np.testing.assert_allclose(got, 1, atol=0.2)


def test_trust_of_distances_is_that_of_the_points(monkeypatch: pytest.MonkeyPatch) -> None:
    X, plane = roll(200)[0], np.random.default_rng(0).standard_normal((200, 2))
    by_points = trust(X, plane, 7)
    np.testing.assert_allclose(trust(cdist(X, X), plane, 7, metric="precomputed"), by_points)
    np.testing.assert_allclose(by_points, slow_trust(X, plane, 7))
    monkeypatch.setattr(ranking, "MOST_RANKED", 100)
    (estimated,) = pointwise_trust(X, [plane])
    (of_distances,) = pointwise_trust(cdist(X, X), [plane], precomputed=True)
    np.testing.assert_allclose(estimated, of_distances)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_neighbors": 9}, "n_neighbors=9 needs at least 11 samples"),
        ({"metric": "cosine"}, "metric='cosine' is not known"),
        ({"metric": "precomputed"}, r"needs X of shape \(10, 10\)"),
        ({"X": np.eye(9)}, "X has 9 rows and embedding has 10"),
    ],
)
def test_what_cannot_be_trusted_is_refused(given: dict[str, Any], words: str) -> None:
    arguments = {"X": np.eye(10)[:, :9], "embedding": np.eye(10)[:, :2], "n_neighbors": 3} | given
    with pytest.raises(ValueError, match=words):
        trust(**arguments)
