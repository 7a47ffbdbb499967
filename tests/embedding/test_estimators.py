"""scikit-learn's own checks, of estimators as they come and of every rule and map."""

from __future__ import annotations

import pytest
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from patchfold import (
    GaussianPatch,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchOutliers,
    PatchSpace,
    PatchTSNE,
)
from patchfold.supervision import Dissimilarity

DEFAULTS = [
    PatchSpace(),
    PatchIsomap(),
    PatchLLE(),
    PatchEigenmaps(),
    PatchTSNE(),
    PatchOutliers(),
]
# The checks fit on as few as ten points: with this degree, not all are neighbours.
FEW = {"n_neighbors": 5}
OTHERS = [
    PatchIsomap(**FEW, patch=GaussianPatch(size="adaptive")),
    PatchLLE(**FEW, weights="entropic"),
    PatchEigenmaps(**FEW, bandwidth="median", laplacian="unnormalized"),
    PatchTSNE(**FEW, perplexity=3, n_iter=10),
    # Ten points leave one candidate; some checks have hundreds.
    PatchIsomap(n_neighbors="auto"),
    PatchSpace(n_neighbors="auto"),
    PatchSpace(**FEW, supervision="min-sum", lengths="divergence"),
]
# Every rule and every map with Isomap, and each rule with the others, such that lengths count.
DIVERGENCE = {"lengths": "divergence"}
LABELS_AND_MAPS = [
    PatchIsomap(**FEW, supervision="cut"),
    PatchIsomap(**FEW, supervision="dissimilarity", out_of_sample="krr", **DIVERGENCE),
    PatchIsomap(**FEW, supervision="cut", out_of_sample="grnn", **DIVERGENCE),
    PatchIsomap(**FEW, supervision="min-sum", out_of_sample=Ridge(), **DIVERGENCE),
    PatchIsomap(**FEW, supervision=Dissimilarity(alpha=0.1), **DIVERGENCE),
    PatchIsomap(**FEW, out_of_sample="krr"),
    PatchLLE(**FEW, weights="entropic", supervision="dissimilarity", **DIVERGENCE),
    PatchLLE(**FEW, supervision="cut", out_of_sample="grnn", **DIVERGENCE),
    PatchEigenmaps(**FEW, bandwidth="median", supervision="min-sum", **DIVERGENCE),
    PatchEigenmaps(**FEW, supervision="cut", out_of_sample="krr"),
    PatchTSNE(**FEW, perplexity=3, n_iter=10, supervision="dissimilarity", out_of_sample="krr"),
]


# Some of them fit on clusters far apart, and a graph in several parts is joined with a warning.
# In some, a bandwidth of one isolates points, and labels cut the graph into many parts.
@pytest.mark.filterwarnings("ignore:.* samples have fewer neighbours than asked for:UserWarning")
@pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")
@pytest.mark.filterwarnings("ignore:bandwidth=1 is small:UserWarning")
@pytest.mark.filterwarnings("ignore:.*parts of the graph of PatchLLE:UserWarning")
@parametrize_with_checks([*DEFAULTS, *OTHERS, *LABELS_AND_MAPS])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
