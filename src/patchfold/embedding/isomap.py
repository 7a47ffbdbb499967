"""Isomap on divergences: geodesics through the graph of patches, classical scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.blocks import map_blocks
from patchfold.embedding._base import BasePatchEmbedding
from patchfold.geodesics import shortest_paths
from patchfold.spectral import classical_mds, triangulation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.neighborhoods import Neighborhoods
    from patchfold.patches import GaussianPatch

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]

# New points are placed by their geodesics to so many of the fitted ones: as good as all, and the
# lengths to be kept for it stay far below n x n.
PLACING_POINTS = 1000


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
    supervision : {"dissimilarity", "cut", "min-sum"}, object or None, default=None
        How the classes ``y`` given to ``fit`` change the lengths: a rule of
        :mod:`patchfold.supervision`, by name or as an object such as ``Dissimilarity(alpha=0.2)``.
    out_of_sample : {"nystrom", "krr", "grnn"}, regressor or None, default=None
        What ``transform`` does with new points: place them in the graph by their own patch
        (``"nystrom"``), or map them by a regression of the embedding on the points, kernel ridge
        (``"krr"``), :class:`~patchfold.GRNN` or any scikit-learn regressor of several outputs. None
        means ``"krr"`` with supervision and ``"nystrom"`` without.
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
    map_ : regressor or None
        What maps new points; None for ``"nystrom"``.

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
        supervision: Any = None,
        out_of_sample: Any = None,
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
        self.supervision = supervision
        self.out_of_sample = out_of_sample
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
        landmarks = self._landmarks()
        self._paths = np.ascontiguousarray(geodesics[landmarks].T)
        values, vectors, means = classical_mds(geodesics, self.n_components)
        places = vectors * np.sqrt(np.clip(values, 0, None))
        self.eigenvalues_ = values * self._unit**2
        self.embedding_ = self._in_data_units(places)
        self._squared_means = means[landmarks]
        self._axes = triangulation(places[landmarks])

    def _landmarks(self) -> Indices:
        """Choose the points that new ones are placed by: all, or evenly some of many."""
        order = np.random.default_rng(0).permutation(self._n_fit)
        return np.sort(order[:PLACING_POINTS])

    def _extend(self, near: Neighborhoods, X: Any) -> Floats:
        """Place new points by their geodesics: first to a neighbour, then through the graph."""

        def place(block: slice) -> Floats:
            part = near[np.arange(len(near))[block]]
            through = self._paths[part.indices] + (part.distances / self._unit)[:, None]
            paths = np.minimum.reduceat(through, part.indptr[:-1])
            centred = -0.5 * (paths**2 - self._squared_means)
            # Row by row: a product of matrices has bits that depend on how many rows there are.
            return self._in_data_units((centred[:, None, :] @ self._axes)[:, 0, :])

        row_bytes = 8 * self._paths.shape[1] * (3 + int(near.degrees.max()))
        return np.concatenate(map_blocks(place, len(near), row_bytes, self.n_jobs))

    def _in_data_units(self, places: Floats) -> Floats:
        return np.asarray((places * self._unit).astype(self.graph_.dtype))
