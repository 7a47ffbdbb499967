"""Divergence-based manifold learning: points become Gaussian patches, patches become graphs."""

from patchfold import datasets, divergences, metrics, neighbors, papers, supervision
from patchfold.embedding import (
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchSpace,
    PatchTSNE,
)
from patchfold.gaussians import Patches
from patchfold.mapping import GRNN
from patchfold.patches import GaussianPatch

__version__ = "0.1.0"

__all__ = [
    "GRNN",
    "GaussianPatch",
    "PatchEigenmaps",
    "PatchIsomap",
    "PatchLLE",
    "PatchSpace",
    "PatchTSNE",
    "Patches",
    "datasets",
    "divergences",
    "metrics",
    "neighbors",
    "papers",
    "supervision",
]
