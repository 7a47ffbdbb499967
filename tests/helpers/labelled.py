"""Estimators whose lengths labels change, that several test files share."""

from __future__ import annotations

import pytest

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE

# Labels change divergences, and new points are mapped by a regression, as in the papers.
DIVERGENCE = {"lengths": "divergence", "out_of_sample": "krr"}
FOUR = [
    pytest.param(PatchIsomap(scaling="classical", **DIVERGENCE), id="isomap"),
    # Weights that use lengths: those that are recommended know of edges alone.
    pytest.param(PatchLLE(weights="entropic", **DIVERGENCE), id="lle"),
    pytest.param(
        PatchEigenmaps(bandwidth="median", laplacian="unnormalized", **DIVERGENCE), id="eigenmaps"
    ),
    pytest.param(PatchTSNE(perplexity=10, n_iter=50, random_state=0, **DIVERGENCE), id="tsne"),
]

# The kernel of ELAP, without labels, puts many points of iris on one dot.
unreadable_is_fine = pytest.mark.filterwarnings("ignore:the embedding is unreadable:UserWarning")
