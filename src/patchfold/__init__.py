"""Divergence-based manifold learning: points become Gaussian patches, patches become graphs."""

from patchfold import divergences, neighbors
from patchfold.patches import GaussianPatch, Patches

__version__ = "0.1.0"

__all__ = ["GaussianPatch", "Patches", "divergences", "neighbors"]
