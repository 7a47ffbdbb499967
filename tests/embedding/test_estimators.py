from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from patchfold import GaussianPatch, PatchEigenmaps, PatchIsomap, PatchLLE, PatchSpace, PatchTSNE
from patchfold.supervision import Dissimilarity

# The checks fit on as few as ten points, so the degree is below the default of 15.
PLAIN = [
    PatchSpace(n_neighbors=5),
    PatchIsomap(n_neighbors=5),
    PatchLLE(n_neighbors=5),
    PatchEigenmaps(n_neighbors=5, bandwidth="median", laplacian="unnormalized"),
    PatchEigenmaps(n_neighbors=5),
    PatchTSNE(n_neighbors=5, perplexity=3, n_iter=10),
]
# Ten points leave one candidate; some checks have hundreds.
AUTO = [clone(estimator).set_params(n_neighbors="auto") for estimator in (*PLAIN[:3], *PLAIN[4:])]
ADAPTIVE = [PatchIsomap(n_neighbors=5, patch=GaussianPatch(size="adaptive"))]
# Every rule and every map with every estimator, such that lengths count.
WITH_LENGTHS = [
    PLAIN[1],
    PatchLLE(n_neighbors=5, weights="entropic"),
    PatchEigenmaps(n_neighbors=5, bandwidth="median"),
    PLAIN[5],
]
LABELS_AND_MAPS = [
    type(estimator)(**{**estimator.get_params(deep=False), **setting})
    for estimator in WITH_LENGTHS
    for setting in (
        {"supervision": "dissimilarity"},
        {"supervision": "cut", "out_of_sample": "grnn"},
        {"supervision": "min-sum", "out_of_sample": Ridge()},
        {"supervision": Dissimilarity(alpha=0.1), "out_of_sample": "nystrom"},
        {"out_of_sample": "krr"},
    )
]
SPACES = [
    PatchSpace(n_neighbors=5, supervision=rule) for rule in ("dissimilarity", "cut", "min-sum")
]


# Some of them fit on clusters far apart, and a graph in several parts is joined with a warning.
# In some, a bandwidth of one isolates points, which is said as well.
@pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")
@pytest.mark.filterwarnings("ignore:bandwidth=1 is small:UserWarning")
@parametrize_with_checks([*PLAIN, *AUTO, *ADAPTIVE, *LABELS_AND_MAPS, *SPACES])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
