"""scikit-learn's own checks, of estimators as they come and of every rule and map."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from patchfold import GaussianPatch, PatchEigenmaps, PatchIsomap, PatchLLE, PatchSpace, PatchTSNE
from patchfold.supervision import Dissimilarity

DEFAULTS = [PatchSpace(), PatchIsomap(), PatchLLE(), PatchEigenmaps(), PatchTSNE()]
# The checks fit on as few as ten points: with this degree, not all are neighbours.
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
DIVERGENCE = {"lengths": "divergence"}
LABELS_AND_MAPS = [
    type(estimator)(**{**estimator.get_params(deep=False), **setting})
    for estimator in WITH_LENGTHS
    for setting in (
        {"supervision": "cut"},
        {"supervision": "dissimilarity", "out_of_sample": "krr", **DIVERGENCE},
        {"supervision": "cut", "out_of_sample": "grnn", **DIVERGENCE},
        {"supervision": "min-sum", "out_of_sample": Ridge(), **DIVERGENCE},
        {"supervision": Dissimilarity(alpha=0.1), "out_of_sample": "nystrom", **DIVERGENCE},
        {"out_of_sample": "krr"},
    )
]
SPACES = [
    PatchSpace(n_neighbors=5, supervision=rule, lengths="divergence")
    for rule in ("dissimilarity", "cut", "min-sum")
]


# Some of them fit on clusters far apart, and a graph in several parts is joined with a warning.
# In some, a bandwidth of one isolates points, which is said as well.
@pytest.mark.filterwarnings("ignore:.* samples have fewer neighbours than asked for:UserWarning")
@pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")
@pytest.mark.filterwarnings("ignore:bandwidth=1 is small:UserWarning")
@parametrize_with_checks([*DEFAULTS, *PLAIN, *AUTO, *ADAPTIVE, *LABELS_AND_MAPS, *SPACES])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
