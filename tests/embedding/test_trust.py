"""How far to trust a point, from the estimators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE
from patchfold.datasets import make_manifold
from patchfold.metrics import trust, trustworthiness

ROLL = make_manifold("swiss-roll", 150, random_state=0)
ESTIMATORS = [
    PatchIsomap(random_state=0),
    PatchLLE(random_state=0),
    PatchEigenmaps(random_state=0),
    PatchTSNE(perplexity=10, n_iter=10, random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_trust_and_stability_are_one_number_a_point(estimator, dtype):
    fitted = estimator.fit(ROLL.X.astype(dtype))
    found = fitted.trust(10)
    np.testing.assert_allclose(found, trust(ROLL.X, fitted.embedding_, 10), atol=1e-5)
    assert found.mean() == pytest.approx(trustworthiness(ROLL.X, fitted.embedding_, 10), abs=1e-4)
    stable = fitted.stability(2)
    assert stable.shape == found.shape == (150,)
    assert stable.dtype == found.dtype == dtype
    assert fitted.stability_ is stable
    assert (stable >= 0).all()
    assert (stable <= 1).all()


@pytest.mark.slow
def test_stability_leaves_the_fit_alone_and_is_forgotten_by_the_next():
    isomap = PatchIsomap(n_neighbors="auto", random_state=0).fit(ROLL.X)
    before = isomap.embedding_.copy()
    first = isomap.stability(3)
    np.testing.assert_array_equal(isomap.embedding_, before)
    np.testing.assert_array_equal(isomap.stability(3), first)
    isomap.fit(ROLL.X)
    assert not hasattr(isomap, "stability_")


def test_labels_take_part_in_refits():
    y = np.where(ROLL.coordinates[:, 0] > np.median(ROLL.coordinates[:, 0]), "out", "in")
    isomap = PatchIsomap(supervision="cut", random_state=0).fit(ROLL.X, y)
    assert isomap.stability(2).mean() > 0.6


def test_where_there_are_no_points_or_too_few_is_said():
    given = PatchIsomap(divergence="precomputed").fit(cdist(ROLL.X, ROLL.X))
    with pytest.raises(ValueError, match=r"trust needs points.*metrics\.trust"):
        given.trust()
    with pytest.raises(ValueError, match=r"stability needs points"):
        given.stability()
    with pytest.raises(NotFittedError):
        PatchIsomap().trust()
    few = PatchIsomap(n_neighbors=2).fit(ROLL.X[:4])
    with pytest.raises(ValueError, match="4 samples are too few"):
        few.stability()
    with pytest.raises(ValueError, match="n_refits=1 is too small"):
        few.stability(1)
    with pytest.raises(ValueError, match="n_neighbors=15 needs at least 17 samples"):
        few.trust()
