"""Patches: every point becomes the Gaussian of its neighbourhood.

:class:`GaussianPatch` says how, :class:`Patches` are the fitted Gaussians.
"""

from patchfold.patches.fitting import patch_means
from patchfold.patches.gaussians import Patches
from patchfold.patches.recipe import GaussianPatch

__all__ = ["GaussianPatch", "Patches", "patch_means"]
