"""Divergence-based manifold learning: points become Gaussian patches, patches become graphs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from patchfold import (
        anndata,
        datasets,
        divergences,
        metrics,
        neighbors,
        papers,
        plotting,
        selection,
        significance,
        supervision,
    )
    from patchfold.embedding import (
        PatchEigenmaps,
        PatchIsomap,
        PatchLLE,
        PatchOutliers,
        PatchSpace,
        PatchTSNE,
    )
    from patchfold.explorer import explore
    from patchfold.mapping import GRNN
    from patchfold.patches import GaussianPatch, Patches

__version__ = "0.1.0"

# Where public names come from that are no modules.
_HOMES = {
    "GRNN": "mapping",
    "GaussianPatch": "patches",
    "PatchEigenmaps": "embedding",
    "PatchIsomap": "embedding",
    "PatchLLE": "embedding",
    "PatchOutliers": "embedding",
    "PatchSpace": "embedding",
    "PatchTSNE": "embedding",
    "Patches": "patches",
    "explore": "explorer",
}

__all__ = [
    "GRNN",
    "GaussianPatch",
    "PatchEigenmaps",
    "PatchIsomap",
    "PatchLLE",
    "PatchOutliers",
    "PatchSpace",
    "PatchTSNE",
    "Patches",
    "anndata",
    "datasets",
    "divergences",
    "explore",
    "metrics",
    "neighbors",
    "papers",
    "plotting",
    "selection",
    "significance",
    "supervision",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: importing the package alone takes no time."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_HOMES.get(name, name)}")
    return getattr(module, name) if name in _HOMES else module


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
