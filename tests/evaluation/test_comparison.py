"""Methods are compared on rows that nothing was fitted to, and one that fails stops no other."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier, kneighbors_graph
from sklearn.preprocessing import StandardScaler

from patchfold import metrics
from patchfold.evaluation import comparison
from patchfold.evaluation.comparison import PASSTHROUGH, Method, Score, evaluate, geodesics
from patchfold.evaluation.sampling import halves

DATA = load_iris(as_frame=True)
FEATURES, Y = DATA.data, DATA.target.to_numpy().astype(str)


def joined(features):
    """Return the graph of 15 neighbours and all of a chain, which joins its parts."""
    points = StandardScaler().fit_transform(features)
    D = cdist(points, points) + 1e-9
    graph = kneighbors_graph(points, 15, mode="distance").toarray()
    chain = np.eye(len(D), k=1) + np.eye(len(D), k=-1)
    return csr_array(np.maximum(np.maximum(graph, graph.T), D * chain))


def scored(method, features=FEATURES, y=Y, *, count=3, classes=True):
    splits = halves(y, count, stratify=classes)
    paths = geodesics(joined(features))
    *steps, score = evaluate(
        method, StandardScaler(), features, y, splits, classes=classes, paths=paths
    )
    assert steps == [None] * (0 if score.error else count)
    assert isinstance(score, Score)
    return score


def test_the_score_is_that_of_held_out_rows_written_out():
    score = scored(Method("PCA", "", PCA(2, random_state=0)))
    expected = []
    for train, test in halves(Y, 3):
        scaler = StandardScaler().fit(FEATURES.iloc[train])
        pca = PCA(2, random_state=0).fit(scaler.transform(FEATURES.iloc[train]))
        places = [pca.transform(scaler.transform(FEATURES.iloc[part])) for part in (train, test)]
        knn = KNeighborsClassifier(7).fit(places[0], Y[train])
        expected.append(np.mean(knn.predict(places[1]) == Y[test]))
    assert score.mean == pytest.approx(np.mean(expected), abs=1e-12)
    t = stats.t.ppf(0.975, 2)
    half = t * np.std(expected, ddof=1) * np.sqrt(1 / 3 + 1)
    assert score.low == pytest.approx(max(score.mean - half, 0), abs=1e-12)
    assert score.high == pytest.approx(min(score.mean + half, 1), abs=1e-12)
    assert 0.9 < score.trust <= 1


def test_geodesics_are_shortest_paths_from_all_rows_or_from_some(monkeypatch):
    graph = joined(FEATURES)
    every = geodesics(graph)
    np.testing.assert_array_equal(every.sources, np.arange(150))
    np.testing.assert_allclose(every.lengths, shortest_path(graph, directed=False), atol=1e-12)
    monkeypatch.setattr(comparison, "MOST_SOURCES", 40)
    some = geodesics(graph, random_state=3)
    assert len(set(some.sources.tolist())) == 40
    np.testing.assert_array_equal(some.lengths, every.lengths[some.sources])
    other = geodesics(graph, random_state=4)
    assert some.sources.tolist() != other.sources.tolist()


def test_the_stress_of_some_rows_is_that_of_paths_between_them(monkeypatch):
    graph = joined(FEATURES)
    every = geodesics(graph)
    monkeypatch.setattr(comparison, "MOST_SOURCES", 40)
    some = geodesics(graph)
    rows = np.random.default_rng(0).permutation(150)[:90]
    plane = PCA(2).fit_transform(FEATURES)[:90]
    here = [row for row in range(90) if rows[row] in some.sources]
    expected = metrics.stress(every.lengths[rows[here]][:, rows], plane, sources=here)
    assert some.stress(plane, rows) == pytest.approx(expected, abs=1e-12)


def test_visible_share_and_stress_are_means_over_training_halves():
    score = scored(Method("PCA", "", PCA(2, random_state=0)))
    paths = geodesics(joined(FEATURES))
    shares, stresses = [], []
    for train, _ in halves(Y, 3):
        points = StandardScaler().fit_transform(FEATURES.iloc[train])
        plane = PCA(2, random_state=0).fit_transform(points)
        shares.append(metrics.visible_share(plane))
        lengths = paths.lengths[train][:, train]
        stresses.append(metrics.stress(lengths, plane))
    assert score.visible == pytest.approx(np.mean(shares))
    assert score.stress == pytest.approx(np.mean(stresses))
    columns = scored(Method("all columns", "", PASSTHROUGH))
    assert columns.visible is None
    assert 0 < columns.stress < 1


class Recorder(TransformerMixin, BaseEstimator):
    """Remembers what it was fitted with."""

    seen: ClassVar[list] = []

    def fit(self, X, y=None):
        self.seen.append((len(X), y))
        return self

    def transform(self, X):
        return np.asarray(X)[:, :2]

    def __sklearn_is_fitted__(self):
        return True


def test_a_method_sees_one_half_and_its_targets_only_if_supervised():
    for supervised in (False, True):
        Recorder.seen.clear()
        scored(Method("recorder", "", Recorder(), supervised=supervised), count=2)
        assert [n for n, _ in Recorder.seen] == [75, 75]
        assert [y is not None for _, y in Recorder.seen] == [supervised] * 2


class Together(BaseEstimator):
    """Cannot map new rows."""

    fits: ClassVar[list] = []

    def fit_transform(self, X):
        self.fits.append(len(X))
        return np.asarray(X)[:, :2]


def test_a_method_without_a_map_is_given_all_rows_once_and_no_targets():
    Together.fits.clear()
    score = scored(Method("together", "", Together()))
    assert Together.fits == [150]
    assert not score.maps
    assert score.mean > 0.6


class Fails(Recorder):
    def fit(self, X, y=None):
        raise np.linalg.LinAlgError("singular\nmatrix")


def test_a_method_that_fails_is_told_with_its_reason():
    score = scored(Method("fails", "kl", Fails()))
    assert (score.mean, score.trust, score.visible, score.stress) == (None,) * 4
    assert score.error == "LinAlgError: singular matrix"


def test_values_are_scored_by_r_squared():
    X, t = make_swiss_roll(120, random_state=0)
    features = DATA.data.iloc[:120, :3].copy()
    features[:] = X
    score = scored(Method("all columns", "", PASSTHROUGH), features, t, classes=False)
    assert 0.5 < score.mean < 1
    assert score.trust == 1
