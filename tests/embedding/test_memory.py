"""What a fit needs is estimated, and refused, before its first stage."""

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from benchmarks.memory import CASES, estimate, in_a_process, points
from patchfold import GaussianPatch, PatchEigenmaps, PatchIsomap, PatchLLE, PatchSpace, PatchTSNE
from patchfold.base import memory
from patchfold.base.threads import CACHE_BYTES as BLOCKS  # which every fit has

ROLL = make_swiss_roll(300, random_state=0)[0]


@pytest.mark.parametrize(
    "estimator",
    [PatchIsomap(), PatchIsomap(landmarks=50), PatchLLE(), PatchEigenmaps(), PatchTSNE()],
)
def test_a_fit_that_needs_too_much_is_refused_before_its_first_stage(estimator, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10**6)
    with pytest.raises(MemoryError, match=r"of 300 points of 3 features needs about 0\.0 GB"):
        estimator.fit(ROLL)
    assert estimator.fit_report_ == {}


def test_full_covariances_and_a_wide_radius_count(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 60 * 2**20)
    wide = np.random.default_rng(0).normal(size=(300, 200))
    full = PatchSpace(patch=GaussianPatch(covariance="diagonal-shrinkage"))
    with pytest.raises(MemoryError, match="reduce the features"):
        full.fit(wide)
    assert full.fit_report_ == {}
    PatchSpace().fit(wide)
    given = {"divergence": "euclidean", "knn": "exact"}
    many, few = (estimate(PatchSpace(radius=r, **given), ROLL) for r in (100.0, 3.0))
    assert many - BLOCKS > 5 * (few - BLOCKS)


def test_a_rank_that_is_no_number_is_named_and_not_estimated():
    patch = GaussianPatch(covariance="low-rank", rank="one")
    with pytest.raises(TypeError, match="rank='one'"):
        PatchSpace(patch=patch).fit(ROLL)


def test_estimates_grow_with_what_they_count():
    for name, (estimator, _, m, dtype) in CASES.items():
        small, large = (estimate(estimator, points(n, m, dtype)) - BLOCKS for n in (1100, 2200))
        assert 1.9 * small < large < 4.1 * small, name


@pytest.mark.slow
def test_estimate_is_near_the_peak():
    expected, peak = in_a_process("isomap, few points")
    assert 0.7 < expected / peak < 1.4


@pytest.mark.parametrize("estimator", [PatchIsomap, PatchLLE, PatchEigenmaps, PatchTSNE])
def test_a_number_of_components_that_will_not_fit_is_refused(estimator):
    model = estimator(n_components=10**9)
    with pytest.raises(MemoryError, match="n_components=1000000000"):
        model.fit(ROLL)
    assert model.fit_report_ == {}
