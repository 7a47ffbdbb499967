"""A roll, and one estimator of each kind, for the tests of criteria and selection."""

from sklearn.datasets import make_swiss_roll

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE

ROLL, ALONG = make_swiss_roll(150, random_state=0)
ESTIMATORS = [
    PatchIsomap(),
    PatchLLE(),
    PatchEigenmaps(),
    PatchTSNE(perplexity=8, n_iter=20, random_state=0),
]
NAMES = [type(estimator).__name__ for estimator in ESTIMATORS]
