"""Pictures: patches, embeddings, loadings, edges coloured by divergence, scores to choose by.

Needs matplotlib, the extra ``patchfold[plot]``, which is imported when a function is called.
"""

from patchfold.plotting._axes import CHOICE_COLOR, CURVE_COLOR
from patchfold.plotting.bridges import plot_bridges
from patchfold.plotting.embedding import plot_embedding
from patchfold.plotting.loadings import plot_loadings
from patchfold.plotting.palette import CLASS_COLORS
from patchfold.plotting.patches import plot_patches
from patchfold.plotting.scores import plot_k_profile, plot_residual_variance, plot_stability

__all__ = [
    "CHOICE_COLOR",
    "CLASS_COLORS",
    "CURVE_COLOR",
    "plot_bridges",
    "plot_embedding",
    "plot_k_profile",
    "plot_loadings",
    "plot_patches",
    "plot_residual_variance",
    "plot_stability",
]
