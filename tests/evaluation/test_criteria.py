"""Criteria are the measures they are named after, seen in the estimator's own graph."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from candidates import ALONG, ESTIMATORS, NAMES, ROLL
from patchfold import (
    PatchIsomap,
    PatchTSNE,
    metrics,
)
from patchfold.evaluation.criteria import CRITERIA, Setting, agreement
from patchfold.graph.geodesics import shortest_paths

SEEDS = st.integers(0, 2**32 - 1)
FITTED = [clone(estimator).set_params(n_neighbors=12).fit(ROLL) for estimator in ESTIMATORS]

each_fitted = pytest.mark.parametrize("fitted", FITTED, ids=NAMES)


def score(name, fitted, X=ROLL, **setting):
    return CRITERIA[name](fitted, X, Setting(**setting))


@each_fitted
def test_the_energy_is_a_sum_of_eigenvalues_of_the_normalised_affinities(fitted):
    graph = fitted.graph_.tocoo()
    W = np.zeros(graph.shape)
    typical = np.median(graph.data)
    for i, j, length in zip(*graph.coords, graph.data, strict=True):
        W[i, j] = np.exp(-length / typical)
    degrees = W.sum(axis=1)
    values = np.linalg.eigvalsh(W / np.sqrt(degrees[:, None] * degrees))
    assert score("energy", fitted) == pytest.approx(sum(sorted(values)[-3:]), rel=1e-8)


@each_fitted
def test_the_residual_variance_is_that_of_geodesics_in_the_estimators_graph(fitted):
    geodesics = shortest_paths(fitted.graph_)
    pairs = np.triu_indices(len(ROLL), 1)
    lengths, places = geodesics[pairs], cdist(fitted.embedding_, fitted.embedding_)[pairs]
    expected = np.corrcoef(lengths, places)[0, 1] ** 2 - 1
    assert score("residual-variance", fitted) == pytest.approx(expected, abs=1e-10)


@each_fitted
def test_the_stress_is_that_of_geodesics_in_the_estimators_graph(fitted):
    geodesics = shortest_paths(fitted.graph_)
    expected = -metrics.stress(geodesics, fitted.embedding_)
    assert score("stress", fitted) == pytest.approx(expected, abs=1e-10)


@each_fitted
def test_the_visible_share_is_that_of_the_plane(fitted):
    assert score("visible-share", fitted) == metrics.visible_share(fitted.embedding_)


def test_a_graph_in_parts_has_no_geodesics_to_explain_but_those_within():
    X = np.concatenate([ROLL, ROLL + 1000])
    fitted = PatchTSNE(perplexity=5, n_iter=1, random_state=0).fit(X)
    assert score("residual-variance", fitted, X) == -1
    geodesics = shortest_paths(fitted.graph_)
    assert np.isinf(geodesics).any()
    assert score("stress", fitted, X) == pytest.approx(
        -metrics.stress(geodesics, fitted.embedding_), abs=1e-10
    )


@each_fitted
def test_local_criteria_are_the_measures_of_ten_neighbours(fitted):
    Y = fitted.embedding_
    assert score("trustworthiness", fitted) == pytest.approx(metrics.trustworthiness(ROLL, Y, 10))
    assert score("continuity", fitted) == pytest.approx(metrics.continuity(ROLL, Y, 10))
    assert score("lcmc", fitted) == pytest.approx(metrics.lcmc(ROLL, Y, 10))
    assert score("area", fitted) == pytest.approx(metrics.auc_log_rnx(ROLL, Y))


@pytest.mark.slow
@given(SEEDS)
def test_criteria_do_not_change_when_the_embedding_is_turned_and_rescaled(seed):
    rng = np.random.default_rng(seed)
    fitted, moved = copy(FITTED[0]), copy(FITTED[0])
    # A plane without two points in one place, between which rounding would decide.
    fitted.embedding_ = ROLL[:, ::2] + rng.standard_normal((150, 2))
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    moved.embedding_ = 3 * fitted.embedding_ @ turn
    for name in ("trustworthiness", "continuity", "lcmc", "area", "residual-variance", "stress"):
        assert score(name, moved) == pytest.approx(score(name, fitted), abs=1e-9)


def test_stability_compares_embeddings_of_samples_with_that_of_all():
    fitted = FITTED[0]
    random = np.random.RandomState(3)
    alike = []
    for _ in range(3):
        rows = np.sort(random.permutation(150)[:120])
        again = PatchIsomap(n_neighbors=12).fit_transform(ROLL[rows])
        alike.append(metrics.auc_log_rnx(fitted.embedding_[rows], again))
    assert score("stability", fitted, random_state=3) == pytest.approx(np.mean(alike))


def test_agreement_is_the_mean_likeness_to_the_embeddings_on_either_side():
    planes = [PatchIsomap(n_neighbors=k).fit_transform(ROLL) for k in (10, 14, 30)]
    first = metrics.auc_log_rnx(planes[0], planes[1])
    second = metrics.auc_log_rnx(planes[1], planes[2])
    expected = [first, (first + second) / 2, second]
    np.testing.assert_allclose(agreement(planes, Setting()), expected)
    assert agreement([planes[0], planes[0]], Setting()) == [1.0, 1.0]
    assert agreement([planes[0]], Setting()) == [-np.inf]
    assert agreement([planes[0], None, planes[2]], Setting()) == [-np.inf] * 3


def test_cross_validation_without_supervision_classifies_in_the_one_embedding():
    y = (ALONG > 9).astype(int)
    fitted = FITTED[0]
    folds = StratifiedKFold(4, shuffle=True, random_state=np.random.RandomState(5))
    scores = [
        KNeighborsClassifier(7)
        .fit(fitted.embedding_[train], y[train])
        .score(fitted.embedding_[test], y[test])
        for train, test in folds.split(ROLL, y)
    ]
    found = score("cross-validation", fitted, y=y, cv=4, random_state=5)
    assert found == pytest.approx(np.mean(scores))
    splitter = StratifiedKFold(4, shuffle=True, random_state=np.random.RandomState(5))
    assert score("cross-validation", fitted, y=y, cv=splitter) == found


@pytest.mark.slow
@pytest.mark.parametrize("divergence", ["kl", "precomputed"])
def test_cross_validation_with_supervision_hides_the_labels_of_the_fold(divergence):
    y = np.random.default_rng(0).integers(0, 2, 150)
    X = ROLL if divergence == "kl" else cdist(ROLL, ROLL)
    estimator = PatchIsomap(n_neighbors=12, divergence=divergence, supervision="dissimilarity")
    found = score("cross-validation", clone(estimator).fit(X, y), X, y=y, random_state=1)
    pipeline = make_pipeline(estimator, KNeighborsClassifier(7))
    folds = StratifiedKFold(5, shuffle=True, random_state=np.random.RandomState(1))
    assert found == pytest.approx(np.mean(cross_val_score(pipeline, X, y, cv=folds)))


def test_points_without_a_label_are_not_scored():
    y = np.where(np.arange(150) % 3 == 0, -1, (ALONG > 9).astype(int))
    known = y >= 0
    part = clone(FITTED[0])
    part.embedding_ = FITTED[0].embedding_[known]
    whole = score("cross-validation", FITTED[0], y=y)
    assert whole == pytest.approx(score("cross-validation", part, y=y[known]))
    few = np.where(np.arange(150) == 7, 5, y)  # a class of a single point
    assert 0 < score("cross-validation", FITTED[0], y=few) <= 1


def test_given_distances_are_ranked_as_points_are():
    D = cdist(ROLL, ROLL)
    euclidean = PatchIsomap(n_neighbors=12, divergence="euclidean", scaling="classical").fit(ROLL)
    given_ = PatchIsomap(n_neighbors=12, divergence="precomputed", scaling="classical").fit(D)
    for name in ("trustworthiness", "lcmc", "area", "stability", "residual-variance"):
        assert score(name, given_, D) == pytest.approx(score(name, euclidean), abs=1e-9)
