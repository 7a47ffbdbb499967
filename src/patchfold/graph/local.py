"""The default engine: numpy, compiled code and threads on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.arrays import to_numpy
from patchfold.divergences.pairing import paired
from patchfold.graph.geodesics import shortest_paths
from patchfold.patches.denoising import fit_denoised
from patchfold.solvers.eigenvectors import bottom_eigenvectors
from patchfold.solvers.scaling import classical_mds, least_stress

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.neighbors.protocol import NeighborSearch
    from patchfold.patches.denoising import Denoised
    from patchfold.patches.fitting import Part
    from patchfold.patches.gaussians import Patches
    from patchfold.patches.recipe import GaussianPatch

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Threads:
    """Run every kernel in ``n_jobs`` threads; no result depends on their number.

    The kernels are those of :class:`~patchfold.base.engine.Engine`.
    """

    n_jobs: int | None = None

    def neighbors(self, search: NeighborSearch, X: Any) -> tuple[NeighborSearch, Neighborhoods]:
        """Build a search on points; return it, and the neighbours of the points."""
        built = search.build(X)
        return built, built.query()

    def patches(
        self,
        recipe: GaussianPatch,
        X: Floats,
        members: Neighborhoods,
        search: NeighborSearch | None = None,
    ) -> tuple[Patches, Denoised | None]:
        """Fit one Gaussian per neighbourhood; return them, and what denoising has learned."""
        if recipe.denoise:
            return fit_denoised(recipe, X, members, search, self.n_jobs)
        return recipe.gaussians(X, members, n_jobs=self.n_jobs), None

    def patches_of_new(
        self,
        recipe: GaussianPatch,
        X: Floats,
        fitted: Floats,
        members: Neighborhoods,
        denoised: Denoised | None,
        part: Part | None = None,
    ) -> Patches:
        """Fit the Gaussians of new points ``X`` as those of the fitted ones were.

        ``part`` tells what was known of the fitted points, where they were not all rows.
        """
        if denoised is None:
            return recipe.gaussians(fitted, members, points=X, n_jobs=self.n_jobs, part=part)
        return denoised.of_new(recipe, X, fitted, members, self.n_jobs, part)

    def divergences(
        self,
        patches: Patches,
        i: Indices,
        j: Indices,
        divergence: Any,
        other: Patches | None = None,
    ) -> Floats:
        """Return the divergences of the patches ``i`` from ``j``."""
        values = paired(patches, i, j, divergence, other=other, n_jobs=self.n_jobs)
        return np.asarray(to_numpy(values))

    def geodesics(self, graph: csr_array, sources: Indices | None = None) -> Floats:
        """Return the lengths of the shortest paths from the sources to all points."""
        return shortest_paths(graph, sources, n_jobs=self.n_jobs)

    def leading_eigenvectors(self, distances: Floats, count: int) -> tuple[Floats, Floats, Floats]:
        """Scale distances classically."""
        return classical_mds(distances, count, n_jobs=self.n_jobs)

    def least_stress(self, squared: Floats, places: Floats) -> Floats:
        """Move points until their distances fit the known ones best."""
        return least_stress(squared, places, n_jobs=self.n_jobs)

    def bottom_eigenvectors(
        self, matrix: Any, count: int, skip: int, **kernel: Any
    ) -> tuple[Floats, Floats]:
        """Return the eigenpairs at the bottom of a sparse matrix."""
        return bottom_eigenvectors(matrix, count, skip, **kernel)
