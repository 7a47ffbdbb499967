"""The trust of a point is its share of the trustworthiness of the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from explorer_pages import roll
from patchfold.explorer.trust import pointwise_trust
from patchfold.metrics import trustworthiness


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


def test_trust_from_a_sample_is_close() -> None:
    X, _ = roll(1500)
    plane = X[:, [0, 1]]
    (exact,) = pointwise_trust(X, [plane])
    (estimated,) = pointwise_trust(X, [plane], most_ranked=1000)
    assert not np.array_equal(exact, estimated)
    assert np.abs(exact - estimated).max() < 0.05


def test_two_points_are_trusted() -> None:
    (got,) = pointwise_trust(np.eye(2), [np.eye(2)])
    np.testing.assert_array_equal(got, 1)


def test_copies_of_points_do_not_disturb_trust() -> None:
    X = np.repeat(np.random.default_rng(0).standard_normal((4, 2)), 10, axis=0)
    (got,) = pointwise_trust(X, [X.copy()])
    np.testing.assert_allclose(got, 1, atol=0.2)
