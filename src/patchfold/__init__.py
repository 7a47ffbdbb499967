"""Divergence-based manifold learning: points become Gaussian patches, patches become graphs."""

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from patchfold.explorer import explore

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
    "explore",
    "metrics",
    "neighbors",
    "papers",
    "supervision",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # Imported when it is first used: the page is no part of most programs.
        if name == "explore":
            from patchfold.explorer import explore

            return explore
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
