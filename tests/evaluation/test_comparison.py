"""Methods are compared on rows that nothing was fitted to, and one that fails stops no other."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from scipy import stats
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris, load_wine, make_swiss_roll
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from patchfold import metrics
from patchfold.evaluation import comparison
from patchfold.evaluation.comparison import Method, Score, evaluate, geodesics, halves, methods
from patchfold.evaluation.intervals import mean_interval

DATA = load_iris(as_frame=True)
FEATURES, Y = DATA.data, DATA.target.to_numpy().astype(str)


def scored(method, features=FEATURES, y=Y, *, count=3, classes=True):
    splits = halves(y, count, classes=classes)
    paths = geodesics(StandardScaler(), features)
    *steps, score = evaluate(
        method, StandardScaler(), features, y, splits, classes=classes, paths=paths
    )
    assert steps == [None] * (0 if score.error else count)
    assert isinstance(score, Score)
    return score


def test_the_score_is_that_of_held_out_rows_written_out():
    score = scored(Method("PCA", "", PCA(2, random_state=0)))
    expected = []
    for train, test in halves(Y, 3, classes=True):
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


def shortest(points, k):
    """Return shortest paths through the graph of k neighbours, joined by its closest pairs."""
    D = cdist(points, points)
    rank = np.argsort(np.argsort(D + 1e9 * np.eye(len(D)), axis=1, kind="stable"), axis=1)
    near = (rank < k) | (rank < k).T
    while True:
        count, label = connected_components(near)
        if count == 1:
            break
        gaps = np.where(label[:, None] == label, np.inf, D)
        i, j = np.unravel_index(np.argmin(gaps), gaps.shape)
        near[i, j] = near[j, i] = True
    paths = np.where(near, D, np.inf)
    np.fill_diagonal(paths, 0)
    for middle in range(len(D)):
        paths = np.minimum(paths, paths[:, [middle]] + paths[[middle]])
    return paths


def test_geodesics_are_shortest_paths_through_the_graph_of_fifteen_neighbours(monkeypatch):
    # Raw values of wine have no two equal distances, which either neighbour could be chosen by.
    features = load_wine(as_frame=True).data
    expected = shortest(StandardScaler().fit_transform(features), 15)
    every = geodesics(StandardScaler(), features)
    np.testing.assert_array_equal(every.sources, np.arange(178))
    np.testing.assert_allclose(every.lengths, expected, atol=1e-12)
    monkeypatch.setattr(comparison, "MOST_SOURCES", 40)
    some = geodesics(StandardScaler(), features, random_state=3)
    assert len(set(some.sources.tolist())) == 40
    np.testing.assert_array_equal(some.lengths, every.lengths[some.sources])
    plane, rows = (
        PCA(2).fit_transform(features)[:90],
        np.random.default_rng(0).permutation(178)[:90],
    )
    here = [row for row in range(90) if rows[row] in some.sources]
    expected = metrics.stress(every.lengths[rows[here]][:, rows], plane, sources=here)
    assert some.stress(plane, rows) == pytest.approx(expected, abs=1e-12)


def test_visible_share_and_stress_are_means_over_training_halves():
    score = scored(Method("PCA", "", PCA(2, random_state=0)))
    paths = geodesics(StandardScaler(), FEATURES)
    shares, stresses = [], []
    for train, _ in halves(Y, 3, classes=True):
        points = StandardScaler().fit_transform(FEATURES.iloc[train])
        plane = PCA(2, random_state=0).fit_transform(points)
        shares.append(metrics.visible_share(plane))
        lengths = paths.lengths[train][:, train]
        stresses.append(metrics.stress(lengths, plane))
    assert score.visible == pytest.approx(np.mean(shares))
    assert score.stress == pytest.approx(np.mean(stresses))
    columns = scored(Method(comparison.ALL_COLUMNS, "", "passthrough"))
    assert columns.visible is None
    assert 0 < columns.stress < 1


def test_halves_are_disjoint_whole_and_have_the_classes_shares():
    for train, test in halves(Y, 4, classes=True):
        assert sorted([*train, *test]) == list(range(150))
        assert np.unique(Y[train], return_counts=True)[1].tolist() == [25, 25, 25]
    assert len(halves(np.arange(9.0), 2, classes=False)[0][0]) == 4


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
    score = scored(Method(comparison.ALL_COLUMNS, "", "passthrough"), features, t, classes=False)
    assert 0.5 < score.mean < 1
    assert score.trust == 1


def test_every_estimator_and_baseline_is_there_with_every_divergence():
    found = methods(75, divergences=["kl", "hellinger"], n_neighbors=10)
    names = [(method.name, method.divergence) for method in found]
    assert len(set(names)) == len(names)
    for name in ("PatchIsomap", "PatchLLE", "PatchEigenmaps", "PatchTSNE"):
        assert (name, "kl") in names
        assert (name, "hellinger") in names
    for name in ("PCA", "Isomap", "LLE", "spectral embedding", "t-SNE", "UMAP", "all columns"):
        assert (name, "") in names
    assert [m.name for m in found if m.supervised] == ["PatchIsomap, supervised"] * 2
    assert not any(m.supervised for m in methods(75, divergences=["kl"], classes=False))


@pytest.mark.parametrize("absent", ["umap", "openTSNE"])
def test_a_method_whose_package_is_missing_is_left_out(monkeypatch, absent):
    everyone = len(methods(75, divergences=["kl"]))
    find = comparison.find_spec
    monkeypatch.setattr(comparison, "find_spec", lambda name: name != absent and find(name))
    assert len(methods(75, divergences=["kl"])) == everyone - 1


def test_all_quick_methods_score_on_few_rows():
    few = FEATURES.iloc[::4].reset_index(drop=True), Y[::4]
    slow = {"UMAP", "t-SNE", "PatchTSNE"}
    for method in methods(19, divergences=["kl"], n_neighbors=6):
        if method.name not in slow:
            score = scored(method, *few, count=2)
            assert not score.error, score
            assert 0.5 < score.mean <= 1


def test_an_interval_without_overlap_is_students_own():
    scores = [0.8, 0.9, 0.7, 0.95]
    mean, low, high = mean_interval(scores)
    expected = stats.t.interval(0.95, 3, loc=np.mean(scores), scale=stats.sem(scores))
    assert mean == np.mean(scores)
    assert (low, high) == pytest.approx(expected)
