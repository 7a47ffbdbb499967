"""Embeddings that know labels, and what stands behind them."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import silhouette_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelled import DIVERGENCE, FOUR, unreadable_is_fine
from patchfold import (
    GaussianPatch,
    PatchIsomap,
    PatchLLE,
    PatchTSNE,
    papers,
)
from patchfold.supervision import Dissimilarity

RULES = ["dissimilarity", "cut", "min-sum"]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@unreadable_is_fine
@pytest.mark.parametrize(
    ("estimator", "rule"),
    [
        pytest.param(*estimator.values, rule, id=f"{estimator.id}-{rule}")
        for estimator in FOUR
        for rule in RULES
        # The weights of LLE depend on ratios of lengths to the same point, not on lengths.
        if (estimator.id, rule) != ("lle", "min-sum")
    ],
)
def test_supervision_separates_the_classes(iris, estimator, rule):
    X, y = iris
    estimator = sklearn.clone(estimator).set_params(patch=GaussianPatch())
    plain = estimator.fit_transform(X)
    supervised = estimator.set_params(supervision=rule).fit_transform(X, y)
    assert silhouette_score(supervised, y) > silhouette_score(plain, y) + 0.05


@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
@pytest.mark.parametrize("estimator", FOUR)
def test_a_cut_leaves_only_the_bridges_between_classes(iris, estimator, graph):
    X, y = iris
    found = sklearn.clone(estimator).set_params(supervision="cut", graph=graph).fit(X, y)
    i, j = found.graph_.nonzero()
    assert np.sum(y[i] != y[j]) == 2 * 2
    assert np.isfinite(found.embedding_).all()


@pytest.mark.slow
def test_tsne_takes_classes_smaller_than_its_perplexity(iris):
    X, y = iris
    y = np.where(np.arange(150) < 5, 7, y)
    for d in (2, 3):  # openTSNE where it is installed, and scikit-learn
        setting = {"patch": GaussianPatch(), "supervision": "cut", "random_state": 0}
        found = PatchTSNE(d, perplexity=20, n_iter=200, **setting).fit(X, y)
        within = cdist(found.embedding_[:5], found.embedding_[:5])
        between = cdist(found.embedding_[:5], found.embedding_[5:])
        assert np.isfinite(found.embedding_).all()
        assert within.max() < between.mean()


@pytest.mark.parametrize("estimator", [PatchLLE(n_neighbors=5), PatchTSNE(perplexity=2, n_iter=20)])
def test_points_that_lose_all_their_neighbours_keep_those_they_are_neighbours_of(iris, estimator):
    X, y = iris
    last = 83  # its five nearest neighbours are of another class, and it is one of a sixth's
    order = np.r_[np.delete(np.arange(150), last), last]
    X, y = X[order], y[order]
    fitted = sklearn.clone(estimator).set_params(supervision="cut", random_state=0).fit(X, y)
    nearest = np.argsort(cdist(X[-1:], X)[0])[1:6]
    assert (y[nearest] != y[-1]).all()
    if isinstance(estimator, PatchLLE):
        # Written in nothing, it would be at the origin.
        assert np.abs(fitted.embedding_[-1]).max() > 1e-3
    else:
        first = np.unique(X, axis=0, return_index=True)[1]  # which have those of the copies
        assert fitted.affinities_.sum(axis=1)[first].min() >= 1 / (2 * len(first)) - 1e-12
    neighbors = fitted.graph_[[-1]].nonzero()[1]
    assert len(neighbors) > 0


def test_a_radius_that_reaches_no_neighbour_leaves_only_bridges(iris):
    far = 100 * np.unique(iris[0], axis=0)
    fitted = PatchIsomap(radius=1e-3, divergence="euclidean", supervision="cut")
    fitted.fit(far, np.arange(len(far)) % 2)
    assert fitted.graph_.nnz == 2 * (len(far) - 1)


def test_euclidean_weights_without_a_use_for_lengths_are_warned_of(iris):
    with pytest.warns(UserWarning, match="weights='euclidean' with graph='neighbors' uses none"):
        PatchLLE(weights="euclidean", supervision="min-sum").fit(*iris)


# ------------------------------------------------------------------- given distances


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
def test_given_distances_are_changed_as_those_of_points(iris, rule, graph):
    X, first = np.unique(iris[0], axis=0, return_index=True)  # copies are one point
    y = iris[1][first]
    setting = {"supervision": rule, "graph": graph, "n_neighbors": 8, "scaling": "classical"}
    points = PatchIsomap(divergence="euclidean", **setting).fit(X, y)
    given = PatchIsomap(divergence="precomputed", **setting).fit(cdist(X, X), y)
    np.testing.assert_allclose(given.graph_.toarray(), points.graph_.toarray(), rtol=1e-12)
    Y = X[:20] + 0.1
    np.testing.assert_allclose(
        given.transform(cdist(Y, X)), points.transform(Y), atol=1e-9 * np.ptp(given.embedding_)
    )


def test_given_distances_that_differ_by_direction_count_by_the_shorter(iris):
    X, y = iris
    D = cdist(X, X)
    longer = D * (1 + np.triu(np.random.default_rng(0).random(D.shape)))
    setting = {"divergence": "precomputed", "graph": "divergence", "n_neighbors": 8}
    for rule in RULES:
        expected = PatchIsomap(supervision=rule, **setting).fit(D, y)
        found = PatchIsomap(supervision=rule, **setting).fit(longer, y)
        np.testing.assert_allclose(found.graph_.toarray(), expected.graph_.toarray())


def test_a_rule_may_ask_for_the_mean_when_given_distances_are_gone(iris):
    class Scaled:
        def lengths(self, edges):
            return edges.lengths if (edges.kin != 0).all() else edges.lengths / edges.mean()

    X, y = iris
    D = cdist(X, X)
    fitted = PatchIsomap(divergence="precomputed", supervision=Scaled()).fit(D, y)
    assert np.isfinite(fitted.transform(D[:3] + 0.1)).all()
    plain = PatchLLE(divergence="precomputed", weights="entropic").fit(D)
    assert len(pickle.dumps(plain)) < D.nbytes


def test_a_given_graph_that_labels_cut_apart_is_refused(iris):
    X, y = iris
    D = cdist(X, X)
    graph = csr_array(np.where(np.sort(D, axis=1)[:, [25]] > D, D, 0))
    setting = {"divergence": "precomputed", "n_neighbors": 5}
    stretched = PatchIsomap(supervision="dissimilarity", **setting).fit(graph, y)
    assert stretched.graph_.nnz > 0
    with pytest.raises(ValueError, match="components under supervision='cut'"):
        PatchIsomap(supervision="cut", **setting).fit(graph, y)


# ------------------------------------------------------------------- behind a classifier


def test_a_pipeline_is_scored_without_the_labels_of_held_out_points():
    X, y = load_wine(return_X_y=True)
    steps = StandardScaler(), papers.supervised_isomap(10), KNeighborsClassifier()
    pipeline = make_pipeline(*steps).fit(X[::2], y[::2])
    predicted = pipeline.predict(X[1::2])
    # On labels that say nothing a supervised embedding separates what it was fitted to, and
    # predicts no better than chance.
    random = np.random.default_rng(0).permutation(y)
    assert make_pipeline(*steps).fit(X, random).score(X, random) > 0.9
    assert cross_val_score(make_pipeline(*steps), X, random, cv=5).mean() < 0.5
    assert np.mean(predicted == y[1::2]) > 0.9


@pytest.mark.slow
def test_a_grid_search_chooses_the_rule(iris):
    X, y = iris
    pipeline = make_pipeline(PatchIsomap(n_neighbors=40, **DIVERGENCE), KNeighborsClassifier())
    grid = {"patchisomap__supervision": [None, "cut", Dissimilarity(alpha=0.2)]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
