"""Seven nearest neighbours tell classes and values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from patchfold.evaluation.comparison import accuracy, r_squared


def test_the_score_is_the_share_that_seven_neighbours_name():
    points = np.arange(20.0)[:, None]
    y = np.array(["a"] * 10 + ["b"] * 10)
    assert accuracy(points, y, np.array([[0.0], [19.0], [0.5]]), ["a", "b", "b"]) == 2 / 3


def test_r_squared_is_that_of_the_mean_of_seven_neighbours():
    random = np.random.default_rng(0)
    points, new = random.normal(size=(50, 2)), random.normal(size=(20, 2))
    y, truth = points[:, 0], new[:, 0]
    told = y[np.argsort(cdist(new, points), axis=1)[:, :7]].mean(axis=1)
    expected = 1 - np.sum((truth - told) ** 2) / np.sum((truth - truth.mean()) ** 2)
    assert r_squared(points, y, new, truth) == pytest.approx(expected)
