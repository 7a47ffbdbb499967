"""The outlier detector, beside what scikit-learn's own checks see of it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsTransformer, LocalOutlierFactor

from patchfold import PatchOutliers
from patchfold.datasets import make_manifold


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_as_many_fitted_points_are_outliers_as_are_asked_for(share):
    X = np.random.default_rng(0).standard_normal((200, 3))
    assert (PatchOutliers(contamination=share).fit_predict(X) == -1).sum() == 200 * share


def test_by_default_one_in_a_hundred_is_an_outlier_also_of_new_points():
    X = np.random.default_rng(0).standard_normal((5000, 3))
    outliers = PatchOutliers().fit(X[:2000])
    assert (outliers.predict(X[:2000]) == -1).sum() == 20
    assert np.mean(outliers.predict(X[2000:]) == -1) == pytest.approx(0.01, abs=0.006)
    assert outliers.predict([[9.0, 0.0, 0.0]]) == [-1]


def test_outliers_between_the_sheets_of_a_roll_are_found_where_lof_finds_fewer():
    roll = make_manifold("swiss-roll", 1000, noise=0.1, random_state=0, outliers=0.05)
    got = roc_auc_score(~roll.inliers, -PatchOutliers().fit(roll.X).score_samples(roll.X))
    lof = roc_auc_score(~roll.inliers, -LocalOutlierFactor().fit(roll.X).negative_outlier_factor_)
    assert got > max(lof, 0.9)


def test_decisions_are_scores_beyond_the_offset():
    X = np.random.default_rng(0).standard_normal((100, 3))
    outliers = PatchOutliers(contamination=0.2).fit(X)
    np.testing.assert_array_equal(
        outliers.decision_function(X), outliers.score_samples(X) - outliers.offset_
    )
    np.testing.assert_array_equal(outliers.predict(X) == -1, outliers.decision_function(X) < 0)


def test_what_is_fitted_does_not_change_with_the_users_array():
    X = np.random.default_rng(0).standard_normal((100, 3))
    outliers, new = PatchOutliers().fit(X), X[:10] + 0.5
    before = outliers.score_samples(new)
    X[:] = 0
    np.testing.assert_array_equal(outliers.score_samples(new), before)


def test_a_given_search_is_used_and_more_neighbours_than_points_are_cut():
    X = np.random.default_rng(0).standard_normal((100, 3))
    given = PatchOutliers(knn=KNeighborsTransformer(n_neighbors=15)).fit(X)
    np.testing.assert_allclose(given.score_samples(X), PatchOutliers().fit(X).score_samples(X))
    with pytest.warns(UserWarning, match="n_neighbors=9 instead of 15"):
        few = PatchOutliers().fit(X[:10])
    assert few.n_neighbors_ == 9


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"contamination": 0.0}, r"contamination=0.0 must be above 0 and at most 0.5"),
        ({"contamination": 0.6}, r"contamination=0.6 must be"),
        ({"contamination": "some"}, r"contamination='some' must be .*'auto'"),
        ({"contamination": True}, r"contamination=True must be"),
        ({"n_neighbors": 0}, "n_neighbors=0 is too small"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"random_state": "one"}, "random_state='one'"),
        ({"knn": "quick"}, "knn='quick' is not known"),
    ],
)
def test_bad_parameters_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        PatchOutliers(**given).fit(np.eye(20))
