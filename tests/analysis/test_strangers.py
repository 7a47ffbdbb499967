"""Points are judged by their neighbours, on the scale of the fitted points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_normal

from patchfold import GaussianPatch
from patchfold.analysis.strangers import (
    LEAST,
    SHRINKAGE,
    Strangers,
    log_likelihoods,
    neighbor_likelihoods,
)
from patchfold.datasets import make_manifold
from patchfold.neighbors import ExactNeighbors


def judges(data, n_neighbors=15):
    return Strangers.among(data, ExactNeighbors(n_neighbors).build(data), n_neighbors)


def p_values(strangers, X):
    return np.exp(strangers.log_p(strangers.likelihoods(X, np.full(len(X), -1))))


@pytest.mark.parametrize("m", [2, 5, 40], ids=["full", "as many", "factored"])
def test_the_likelihood_is_scipys(m):
    random = np.random.default_rng(m)
    data, X = random.standard_normal((60, m)) @ random.standard_normal((m, m)), np.ones((4, m))
    near = ExactNeighbors(6).build(data).query(X)
    for i, got in enumerate(neighbor_likelihoods(data, X, near)):
        members = data[near.indices[6 * i : 6 * i + 6]]
        C = np.cov(members.T)
        C = (1 - SHRINKAGE) * C + SHRINKAGE * np.trace(C) / m * np.eye(m)
        assert got == pytest.approx(multivariate_normal(members.mean(axis=0), C).logpdf(X[i]))


def test_likelihoods_of_any_patches_are_scipys():
    X = np.random.default_rng(0).standard_normal((30, 4))
    patches = GaussianPatch(size=9).fit(X)
    for i, got in enumerate(log_likelihoods(patches, X)):
        expected = multivariate_normal(patches.means[i], patches.covariances()[i]).logpdf(X[i])
        assert got == pytest.approx(expected)


def test_a_fitted_point_is_judged_as_if_it_were_new():
    data = make_manifold("swiss-roll", 200, noise=0.3, random_state=0).X
    own = judges(data).own
    for i in (0, 17, 199):
        others = np.delete(data, i, axis=0)
        near = ExactNeighbors(15).build(others).query(data[i : i + 1])
        assert own[i] == pytest.approx(neighbor_likelihoods(others, data[i : i + 1], near)[0])


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_p_values_of_new_points_of_the_manifold_are_even(noise):
    """Few new points of each of many samples: those of one sample share its fitted points."""
    found = []
    for seed in range(40):
        X = make_manifold("swiss-roll", 210, noise=noise, random_state=seed).X
        found.append(p_values(judges(X[:200]), X[200:]))
    assert kstest(np.concatenate(found), "uniform").pvalue > 0.01


def test_points_beside_the_sheet_have_small_p_values():
    X = make_manifold("swiss-roll", 2000, noise=0.1, random_state=0).X
    radius = np.hypot(X[:, 0], X[:, 2])[:, None]
    beside = X + np.column_stack([X[:, 0], np.zeros(len(X)), X[:, 2]]) / radius
    strangers = judges(X[:1000])
    assert np.median(p_values(strangers, X[1000:])) > 0.3
    assert np.median(p_values(strangers, beside[1000:])) < 0.01


def test_scores_of_fitted_points_are_their_ranks():
    data = np.random.default_rng(0).standard_normal((99, 3))
    strangers = judges(data)
    got = np.exp(strangers.log_p(strangers.own))
    np.testing.assert_allclose(np.sort(got), np.arange(1, 100) / 100)
    assert strangers.least_p == 0.01


def test_beyond_the_strangest_fitted_point_scores_fall_with_the_likelihood():
    strangers = judges(np.random.default_rng(0).standard_normal((200, 3)))
    ordered = np.sort(strangers.own)
    rate = np.mean(ordered[10] - ordered[:10])
    farther = ordered[0] - np.array([0.0, 1.0, 1e6])
    expected = -np.log(201) - np.array([0.0, 1.0, 1e6]) / rate
    np.testing.assert_allclose(strangers.log_p(farther), expected)
    between = np.linspace(ordered[0] - 5, ordered[-1] + 5, 500)
    assert (np.diff(strangers.log_p(between)) >= 0).all()


def test_the_p_value_counts_fitted_points_that_are_as_strange():
    own = np.array([-9.0, -2.0, -2.0, -2.0, 0.0])
    data = np.zeros((5, 1))
    strangers = Strangers(data, ExactNeighbors(1).build(data), own)
    got = np.exp(strangers.log_p(np.array([-9.0, -5.5, -2.001, -2.0, -1.0, 0.0, 3.0])))
    np.testing.assert_allclose(got * 6, [1, 1.5, 2, 4, 4.5, 5, 5], atol=1e-3)


def test_copies_and_points_at_the_end_of_the_world_have_finite_scores():
    data = np.repeat([[0.0, 0.0], [1.0, 1.0]], 30, axis=0)
    data[-1] = 2.0
    strangers = judges(data)
    X = np.array([[0.0, 0.0], [0.5, 0.5], [1e100, 0.0], [1e150, -1e150]])
    scores = strangers.log_p(strangers.likelihoods(X, np.full(4, -1)))
    assert np.isfinite(scores).all()
    assert scores[0] > scores[1] >= scores[2] >= scores[3]


def test_a_point_without_neighbours_is_as_strange_as_can_be():
    data = np.random.default_rng(0).standard_normal((50, 2))
    from patchfold.neighbors import RadiusNeighbors

    X = np.array([[0.0, 0.0], [100.0, 0.0]])
    near, far = neighbor_likelihoods(data, X, RadiusNeighbors(1.0).build(data).query(X))
    assert near > far == LEAST
