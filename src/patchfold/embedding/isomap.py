"""Isomap on divergences: geodesics through the graph of patches, classical scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.blocks import block_slices
from patchfold.embedding._base import BasePatchEmbedding
from patchfold.geodesics import paths_from_new, shortest_paths
from patchfold.spectral import classical_mds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.neighborhoods import Neighborhoods
    from patchfold.patches import GaussianPatch

    Floats = NDArray[np.floating[Any]]


class PatchIsomap(BasePatchEmbedding):
    """Isomap whose edges are as long as the divergence of their patches (ISOMAP-KL, X-ISM).

    Geodesics are shortest paths in the graph; classical scaling of them, ``B = -H D^2 H / 2``,
    gives the coordinates ``V sqrt(Lambda)``.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the embedding.
    n_neighbors : int, default=15
        Degree k of the graph; a point is not its own neighbour.
    divergence : str or callable, default="kl"
        Length of an edge: a name of :data:`patchfold.divergences.NAMES`, a function of two
        :class:`~patchfold.Patches`, ``"euclidean"`` for the classical method, or ``"precomputed"``
        where X holds distances (square), or is a sparse graph of them.
    patch : GaussianPatch or None
        How a neighbourhood becomes a Gaussian; None means the recommended settings.
    graph : {"neighbors", "divergence"}, default="neighbors"
        Whether the edges join the k nearest points, or the k nearest patches under the divergence:
        of all, while all pairs fit in scikit-learn's ``working_memory``, else of ``n_candidates``.
    n_candidates : int or None
        Euclidean neighbours among which the nearest patches are sought where there is no room for
        all pairs; None means 10 k.
    radius : float or None
        Join all points within this distance, instead of the k nearest.
    knn : str or object, default="auto"
        Neighbour search: ``"auto"``, ``"exact"``, ``"approximate"``, or an object shaped like
        scikit-learn's ``KNeighborsTransformer``.
    n_jobs : int or None
        Number of threads. Results do not depend on it.
    random_state : int, RandomState or None
        Seed of an approximate neighbour search.
    verbose : int, default=0
        1 prints the stages and their times.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
    eigenvalues_ : array of shape (n_components,)
        The leading eigenvalues of ``B``, falling.
    graph_ : csr_array of shape (n_samples, n_samples)
        The symmetric graph of lengths; zeros are stored.
    patches_ : Patches or None
        The fitted Gaussians (None for ``"euclidean"`` and ``"precomputed"``).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold import PatchIsomap
    >>> PatchIsomap(n_neighbors=30).fit_transform(load_iris().data).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 15,
        divergence: Any = "kl",
        patch: GaussianPatch | None = None,
        graph: str = "neighbors",
        n_candidates: int | None = None,
        radius: float | None = None,
        knn: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.divergence = divergence
        self.patch = patch
        self.graph = graph
        self.n_candidates = n_candidates
        self.radius = radius
        self.knn = knn
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _embed(self, near: Neighborhoods) -> None:
        self._check_components()
        geodesics = shortest_paths(self.graph_)
        # In units of the largest one, squares neither overflow nor vanish.
        self._unit = float(geodesics.max()) or 1.0
        geodesics /= self._unit
        values, self._eigenvectors, self._squared_means = classical_mds(
            geodesics, self.n_components
        )
        self._roots = np.sqrt(np.clip(values, 0, None))
        self.eigenvalues_ = values * self._unit**2
        self.embedding_ = self._in_data_units(self._eigenvectors * self._roots)

    def _extend(self, near: Neighborhoods, X: Any) -> Floats:
        """Place new points by their geodesics: first to a neighbour, then through the graph."""
        means = self._squared_means
        axes = self._eigenvectors / np.where(self._roots > 0, self._roots, np.inf)
        parts = []
        for block in block_slices(len(near), 4 * 8 * self._n_fit):
            paths = paths_from_new(self.graph_, near[np.arange(len(near))[block]]) / self._unit
            squared = paths**2
            centred = -0.5 * (squared - squared.mean(axis=1, keepdims=True) - means + means.mean())
            # Row by row: a product of matrices has bits that depend on how many rows there are.
            parts.append(self._in_data_units((centred[:, None, :] @ axes)[:, 0, :]))
        return np.concatenate(parts)

    def _in_data_units(self, places: Floats) -> Floats:
        return np.asarray((places * self._unit).astype(self.graph_.dtype))
