"""The first minute of a new user: defaults, on data that everybody has, give a plot to read."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.manifold import Isomap, SpectralEmbedding
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE
from patchfold.datasets import make_manifold
from patchfold.metrics import rank_correlation, unreadable, visible_share

K = 15
DATA = {
    "iris": (load_iris, True),
    "wine": (load_wine, True),
    "breast cancer": (load_breast_cancer, True),
    "digits": (load_digits, False),
    "digits, standardised": (load_digits, True),
}
PAIRS = [
    pytest.param(PatchIsomap(), Isomap(n_neighbors=K), id="isomap"),
    pytest.param(PatchEigenmaps(), SpectralEmbedding(n_neighbors=K), id="eigenmaps"),
]
ALL = [
    pytest.param(PatchIsomap(), id="isomap"),
    pytest.param(PatchEigenmaps(), id="eigenmaps"),
    pytest.param(PatchLLE(), id="lle"),
]


def loaded(name):
    load, standardised = DATA[name]
    X, y = load(return_X_y=True)
    return (StandardScaler().fit_transform(X) if standardised else X), y


def sheet(seed, n=500):
    """Return points of a bent sheet, one wide and long."""
    u, v = np.random.default_rng(seed).uniform(size=(2, n))
    return np.column_stack([u, v, 0.2 * u**2])


def off(points, embedding):
    """Return how far points lie from the middle of an embedding."""
    return np.linalg.norm(points - embedding.mean(axis=0), axis=1)


# ------------------------------------------------------------------- data of scikit-learn


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@pytest.mark.parametrize("name", DATA)
def test_defaults_show_at_least_half_of_what_scikit_learn_shows(name, ours, theirs):
    X, _ = loaded(name)
    assert ours.n_neighbors == K
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that the plot is unreadable, or the graph in parts
        embedding = sklearn.clone(ours).fit_transform(X)
    expected = visible_share(sklearn.clone(theirs).fit_transform(X))
    assert visible_share(embedding) >= expected / 2


@pytest.mark.slow
def test_classes_of_digits_lie_apart_in_the_plane():
    X, y = loaded("digits")
    embedding = PatchIsomap(n_neighbors=K).fit_transform(X)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)  # rows are in the order of writers
    accuracy = cross_val_score(KNeighborsClassifier(7), embedding, y, cv=folds).mean()
    assert accuracy >= 0.93


# ------------------------------------------------------------------- points far out


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("seed", [0, 1])
def test_one_point_off_a_sheet_ends_near_the_others(estimator, seed):
    X = np.vstack([sheet(seed), [[1.0, 0.5, 2.2]]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embedding = sklearn.clone(estimator).fit_transform(X)
    rest = embedding[:-1]
    spread = np.sqrt(rest.var(axis=0).sum())
    assert off(embedding[-1:], rest)[0] <= 10 * spread


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_new_point_far_off_a_sheet_stays_within_bounds(estimator, seed):
    X, far = sheet(seed), np.array([[0.5, 0.5, 10.0]])
    fitted = sklearn.clone(estimator).fit(X)
    mapped = fitted.transform(far)
    assert off(mapped, fitted.embedding_)[0] <= 100 * np.ptp(fitted.embedding_, axis=0).max()
    single = sklearn.clone(estimator).fit(X.astype(np.float32))
    signs = np.sign(np.sum(single.embedding_ * fitted.embedding_, axis=0))
    found = single.transform(far.astype(np.float32))
    assert found.dtype == np.float32
    assert np.linalg.norm(signs * found - mapped) <= 1e-2 * np.linalg.norm(mapped)


@pytest.mark.parametrize("distance", [10.0, 100.0])
@pytest.mark.parametrize("estimator", ALL)
def test_two_clusters_far_apart_stay_readable(estimator, distance):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[200:, 0] += distance
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the neighbourhood graph has 2 components")
        embedding = sklearn.clone(estimator).fit_transform(X)
    assert unreadable(embedding) is None
    assert visible_share(embedding) >= 0.15
    accuracy = cross_val_score(KNeighborsClassifier(7), embedding, np.arange(400) < 200).mean()
    assert accuracy >= 0.99


# ------------------------------------------------------------------- manifolds


@pytest.mark.slow
@pytest.mark.parametrize("k", [8, 15])
def test_a_noisy_roll_is_unrolled(k):
    roll = make_manifold("swiss-roll", 1000, 1.0, 103)
    embedding = PatchIsomap(n_neighbors=k).fit_transform(roll.X)
    assert rank_correlation(cdist(embedding, embedding), roll.geodesics()) > 0.9


@pytest.mark.slow
def test_lle_unrolls_a_clean_roll():
    roll = make_manifold("swiss-roll", 1000, 0.0, 103)
    embedding = PatchLLE(n_neighbors=K).fit_transform(roll.X)
    assert rank_correlation(cdist(embedding, embedding), roll.geodesics()) > 0.75


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("waves", [2, 3])
def test_a_limit_cycle_stays_closed(estimator, waves):
    phase = 2 * np.pi * np.arange(500) / 500
    wobble = 0.3 * np.cos(waves * phase), 0.5 * np.sin(2 * phase)
    X = np.column_stack([np.cos(phase), np.sin(phase), *wobble])
    embedding = sklearn.clone(estimator).set_params(n_neighbors=K).fit_transform(X)
    steps = np.linalg.norm(embedding - np.roll(embedding, 1, axis=0), axis=1)
    width = np.ptp(embedding, axis=0)
    assert steps.max() <= 0.05 * width.max()  # step 0 leads from the end to the start
    assert width.min() >= 0.5 * width.max()
