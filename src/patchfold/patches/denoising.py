"""Patches of denoised points: every point is first replaced by the mean of its patch.

A patch is then centred where its point ``x`` comes back to from its denoised place ``z``, along the
patch but not across it: ``z + Sigma (x - z) / l`` with ``l`` the largest eigenvalue of ``Sigma``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from patchfold.patches.fitting import patch_means

if TYPE_CHECKING:
    from patchfold.base.types import Floats
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.neighbors.protocol import NeighborSearch
    from patchfold.patches.fitting import Part
    from patchfold.patches.gaussian_patch import GaussianPatch
    from patchfold.patches.gaussians import Patches


@dataclass(frozen=True, eq=False)
class Denoised:
    """What the patches of new points need to know of the fitted ones."""

    points: Floats  # (n, m): the denoised points
    # Finds their neighbours; None: they are among those that the points had, and theirs
    search: NeighborSearch | None = None
    members: Neighborhoods | None = None  # these neighbours, where there is no search

    def near(self, n_jobs: int | None = None) -> Neighborhoods:
        """Return the neighbours of the denoised points among each other."""
        if self.search is not None:
            return self.search.query()
        return _refined(self.points, self.members, n_jobs=n_jobs)

    def of_new(
        self,
        patch: GaussianPatch,
        X: Floats,
        fitted: Floats,
        members: Neighborhoods,
        n_jobs: int | None = None,
        part: Part | None = None,
    ) -> Patches:
        """Fit the patches of new points, given their neighbours among the fitted ones."""
        denoised = patch_means(fitted, members, points=X, n_jobs=n_jobs, part=part)
        if self.search is not None:
            near = self.search.query(denoised)
        else:
            near = _refined(self.points, self.members, denoised, members, n_jobs=n_jobs)
        both = self.points, denoised
        return patch.gaussians(fitted, near, points=X, denoised=both, n_jobs=n_jobs, part=part)


def fit_denoised(
    patch: GaussianPatch,
    X: Floats,
    members: Neighborhoods,
    search: NeighborSearch | None = None,
    n_jobs: int | None = None,
    near: Neighborhoods | None = None,
) -> tuple[Patches, Denoised]:
    """Fit the patches of denoised points, given the neighbours that make up the patch of each.

    ``near`` are the neighbours of the denoised points, where they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold.neighbors import ExactNeighbors, find_neighbors
    >>> from patchfold.patches import GaussianPatch
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 1.0]])
    >>> patch = GaussianPatch(size=2, denoise=True)
    >>> patches, denoised = fit_denoised(patch, X, find_neighbors(X, 2), ExactNeighbors(2))
    >>> denoised.points.round(2)[0]
    array([1., 0.])
    """
    points = patch_means(X, members, n_jobs=n_jobs)
    if search is None:
        denoised = Denoised(points, None, members)
    else:
        denoised = Denoised(points, search.build(points))
    near = denoised.near(n_jobs) if near is None else near
    patches = patch.gaussians(X, near, denoised=(points, points), n_jobs=n_jobs)
    return patches, denoised


def _refined(*points: Any, n_jobs: int | None) -> Neighborhoods:
    # Here and not above: small data should not wait for the compiler to be imported.
    from patchfold.neighbors.refinement import refined_neighbors

    return refined_neighbors(*points, n_jobs=n_jobs)
