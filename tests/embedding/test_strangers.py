"""Every estimator says how well new points lie on its manifold."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import kstest
from sklearn.exceptions import NotFittedError

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchOutliers, PatchSpace, PatchTSNE
from patchfold.datasets import make_manifold

X = make_manifold("swiss-roll", 1000, noise=0.1, random_state=0).X
FITTED, NEW = X[:800], X[800:]
# Out of the sheet, half way to the next.
STRANGE = NEW * (1 + 3 / np.hypot(NEW[:, 0], NEW[:, 2])[:, None] * [1, 0, 1])
ESTIMATORS = [
    PatchIsomap(),
    PatchLLE(),
    PatchEigenmaps(),
    PatchTSNE(perplexity=10, n_iter=5, random_state=0),
    PatchSpace(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_new_points_have_even_p_values_and_strangers_small_ones(estimator):
    fitted = estimator.fit(FITTED)
    p = fitted.off_manifold(NEW)
    assert kstest(p, "uniform").pvalue > 0.01
    assert np.median(fitted.off_manifold(STRANGE)) < 0.01
    assert p.min() >= 1 / 801
    np.testing.assert_allclose(p, np.maximum(np.exp(fitted.score_samples(NEW)), 1 / 801))


@pytest.mark.slow
def test_all_estimators_and_the_detector_agree():
    expected = PatchOutliers().fit(FITTED).score_samples(X)
    few = [PatchSpace(n_neighbors=5, divergence=name) for name in ("kl", "euclidean")]
    for estimator in (PatchIsomap(n_neighbors=40), PatchSpace(divergence="euclidean"), *few):
        np.testing.assert_array_equal(estimator.fit(FITTED).score_samples(X), expected)
    by_radius = PatchSpace(radius=6.0).fit(FITTED)
    np.testing.assert_allclose(by_radius.score_samples(X), expected)


def test_fitted_points_have_the_scores_of_their_ranks():
    p = PatchSpace().fit(FITTED).off_manifold(FITTED)
    np.testing.assert_allclose(np.sort(p), np.arange(1, 801) / 801)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scores_do_not_depend_on_batch_threads_or_a_pickle(n_jobs):
    space = PatchSpace(n_jobs=n_jobs).fit(FITTED)
    whole = space.score_samples(NEW)
    parts = [space.score_samples(NEW[i : i + 7]) for i in range(0, 70, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), whole[:70])
    again = pickle.loads(pickle.dumps(space))
    np.testing.assert_array_equal(again.score_samples(NEW), whole)
    np.testing.assert_array_equal(PatchSpace().fit(FITTED).score_samples(NEW), whole)


@pytest.mark.slow
def test_transform_does_not_change():
    isomap = PatchIsomap().fit(FITTED)
    before = isomap.transform(STRANGE)
    isomap.off_manifold(STRANGE)
    np.testing.assert_array_equal(isomap.transform(STRANGE), before)


def test_float32_stays_float32():
    space = PatchSpace().fit(FITTED.astype(np.float32))
    scores, p = space.score_samples(NEW), space.off_manifold(NEW)
    assert scores.dtype == p.dtype == np.float32
    np.testing.assert_allclose(p, PatchSpace().fit(FITTED).off_manifold(NEW), atol=0.02)


def test_bad_input_is_refused():
    with pytest.raises(NotFittedError):
        PatchSpace().score_samples(X)
    with pytest.raises(ValueError, match="Give X the columns of the fit"):
        PatchSpace().fit(FITTED).score_samples(NEW[:, :2])
    given = PatchSpace(divergence="precomputed").fit(cdist(FITTED, FITTED))
    for ask in (given.score_samples, given.off_manifold):
        with pytest.raises(ValueError, match="needs points"):
            ask(cdist(NEW, FITTED))
