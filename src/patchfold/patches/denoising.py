"""Patches of denoised points: every point is first replaced by the mean of its patch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from patchfold.patches import patch_means

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from patchfold.neighbors import NeighborSearch
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.patches import GaussianPatch
    from patchfold.patches.gaussians import Patches

    Floats = NDArray[np.floating[Any]]


@dataclass(eq=False)
class DenoisedPatches:
    """Fit patches of denoised points, and then of new points as those of the fitted ones.

    Parameters
    ----------
    recipe : GaussianPatch
        How a neighbourhood becomes a Gaussian.
    search : NeighborSearch or None
        What finds the neighbours that denoised points have among each other. None looks for them
        among the neighbours they had before, and theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold.neighbors import ExactNeighbors, find_neighbors
    >>> from patchfold.patches import GaussianPatch
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 1.0]])
    >>> model = DenoisedPatches(GaussianPatch(size=2), ExactNeighbors(2))
    >>> patches = model.fit(X, find_neighbors(X, 2))
    >>> model.denoised.round(2)[0]
    array([1., 0.])
    """

    recipe: GaussianPatch
    search: NeighborSearch | None
    denoised: Floats | None = None
    members: Neighborhoods | None = None

    def fit(self, X: Floats, members: Neighborhoods, n_jobs: int | None = None) -> Patches:
        """Fit the patches of points, given the neighbours that make up the patch of each."""
        self.denoised = patch_means(X, members, n_jobs=n_jobs)
        if self.search is not None:
            self.search = self.search.build(self.denoised)
            near = self.search.query()
        else:
            self.members = members
            near = _refined(self.denoised, members, n_jobs=n_jobs)
        both = self.denoised, self.denoised
        return self.recipe.fit(X, near, denoised=both, n_jobs=n_jobs)

    def of_new(
        self, X: Floats, fitted: Floats, members: Neighborhoods, n_jobs: int | None = None
    ) -> Patches:
        """Fit the patches of new points, given their neighbours among the fitted ones."""
        places = cast("Floats", self.denoised)
        denoised = patch_means(fitted, members, points=X, n_jobs=n_jobs)
        if self.search is not None:
            near = self.search.query(denoised)
        else:
            near = _refined(places, self.members, denoised, members, n_jobs=n_jobs)
        return self.recipe.fit(fitted, near, points=X, denoised=(places, denoised), n_jobs=n_jobs)


def _refined(*places: Any, n_jobs: int | None) -> Neighborhoods:
    # Here and not above: small data should not wait for the compiler to be imported.
    from patchfold.neighbors.refinement import refined_neighbors

    return refined_neighbors(*places, n_jobs=n_jobs)
