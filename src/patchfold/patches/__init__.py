"""Patches: every point becomes the Gaussian of its neighbourhood.

:class:`GaussianPatch` says how, :class:`Patches` are the fitted Gaussians.
"""

from patchfold.patches.fitting import patch_means
from patchfold.patches.gaussian_patch import GaussianPatch
from patchfold.patches.gaussians import Patches

__all__ = ["GaussianPatch", "Patches", "patch_means"]
