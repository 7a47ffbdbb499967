from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchSpace, PatchTSNE

# The checks fit on as few as ten points, so the degree is below the default of 15.
ESTIMATORS = [
    PatchSpace(n_neighbors=5),
    PatchIsomap(n_neighbors=5),
    PatchLLE(n_neighbors=5),
    PatchEigenmaps(n_neighbors=5),
    PatchEigenmaps(n_neighbors=5, bandwidth="median", laplacian="random-walk"),
    PatchTSNE(n_neighbors=5, perplexity=3, n_iter=10),
]


# Some of them fit on clusters far apart, and a graph in several parts is joined with a warning.
# In some, a bandwidth of one isolates points, which is said as well.
@pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")
@pytest.mark.filterwarnings("ignore:bandwidth=1 is small:UserWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
