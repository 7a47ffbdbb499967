"""Divergence-based manifold learning: points become Gaussian patches, patches become graphs."""

from patchfold import divergences, neighbors, papers
from patchfold.embedding import (
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchSpace,
    PatchTSNE,
)
from patchfold.gaussians import Patches
from patchfold.patches import GaussianPatch

__version__ = "0.1.0"

__all__ = [
    "GaussianPatch",
    "PatchEigenmaps",
    "PatchIsomap",
    "PatchLLE",
    "PatchSpace",
    "PatchTSNE",
    "Patches",
    "divergences",
    "neighbors",
    "papers",
]
