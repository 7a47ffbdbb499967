"""Divergence-based manifold learning: points become Gaussian patches, patches become graphs."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from patchfold import (
        datasets,
        divergences,
        metrics,
        neighbors,
        papers,
        plotting,
        supervision,
    )
    from patchfold.embedding import (
        PatchEigenmaps,
        PatchIsomap,
        PatchLLE,
        PatchSpace,
        PatchTSNE,
    )
    from patchfold.explorer import explore
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
    "explore",
    "metrics",
    "neighbors",
    "papers",
    "plotting",
    "supervision",
]

# Where the names come from that are no modules themselves.
_HOMES = {
    "GRNN": "mapping",
    "GaussianPatch": "patches",
    "PatchEigenmaps": "embedding",
    "PatchIsomap": "embedding",
    "PatchLLE": "embedding",
    "PatchSpace": "embedding",
    "PatchTSNE": "embedding",
    "Patches": "gaussians",
    "explore": "explorer",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: importing the package alone takes no time."""
    if name in _HOMES:
        globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return globals()[name]
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
