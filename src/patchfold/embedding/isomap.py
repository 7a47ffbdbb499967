"""Isomap on divergences: geodesics through the graph of patches, classical scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from patchfold._validation import check_choice, check_count
from patchfold.embedding._embedding import BasePatchEmbedding
from patchfold.engines.memory import check_memory
from patchfold.engines.pools import map_blocks
from patchfold.engines.scaling import classical_mds, triangulation
from patchfold.graph.geodesics import continued_paths, shortest_paths
from patchfold.neighbors.neighborhoods import Neighborhoods

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from patchfold.patches import GaussianPatch

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]

# Where geodesics of all points are known, new ones are placed by those to so many of them: as good
# as all, and what has to be kept for it stays far below n x n.
PLACING_POINTS = 1000

# landmarks="auto" takes all points while their geodesics need no more than this, then so many: on
# Fashion-MNIST distances in the plane then have a rank correlation of 0.997 with those of 2000.
EXACT_BYTES, LANDMARKS = 2 * 2**30, 500


class PatchIsomap(BasePatchEmbedding):
    """Isomap on a graph of local Gaussians without its short circuits.

    Edges are as long as the centres of their patches are apart. Those that short-circuit the
    manifold are removed. With ``patch=GaussianPatch()`` edges are as long as the divergence of
    their patches (ISOMAP-KL, X-ISM).

    Geodesics are shortest paths in the graph; classical scaling of them, ``B = -H D^2 H / 2``,
    gives the coordinates ``V sqrt(Lambda)``.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the embedding.
    n_neighbors : int or "auto", default=15
        Degree k of the graph; a point is not its own neighbour. ``"auto"`` takes the best of 5, 10,
        20 and 40 by a criterion without labels, see :mod:`patchfold.selection`.
    divergence : str or callable, default="kl"
        Length of an edge: a name of :data:`patchfold.divergences.NAMES`, a function of two
        :class:`~patchfold.Patches`, ``"euclidean"`` for the classical method, or ``"precomputed"``
        where X holds distances (square), or is a sparse graph of them.
    patch : GaussianPatch or None
        How a neighbourhood becomes a Gaussian. None means the recommended settings: 15 neighbours
        (fewer below 1000 points) and a flattened covariance, whatever ``n_neighbors`` is.
    denoise : bool or None, default=None
        Whether patches are fitted to smoothed points ``z`` and centred at
        ``z + Sigma (x - z) / l``, ``l`` the largest eigenvalue of ``Sigma``. None means True where
        ``patch`` is None, False otherwise.
    lengths : {"divergence", "stretched"} or None, default=None
        Whether edges are as long as the divergence of their patches, as in the papers, or as the
        distance of their centres, in units of the typical edge. Short circuits, whose patches
        disagree and whose way around is long, are then removed, and edges between clusters
        stretched (:mod:`patchfold.graph.short_circuits`). None means ``"stretched"`` where both
        ``patch`` and ``supervision`` are None, ``"divergence"`` otherwise.
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
    landmarks : int, "auto" or None, default=None
        Find the geodesics of so many points only, scale these, and place all others by their
        geodesics to them: n times ``landmarks`` values are held instead of n x n. ``"auto"`` takes
        500 where the n x n matrix has more than 2 GiB (beyond 16 000 points, 23 000 in float32).
    n_jobs : int or None
        Number of threads. Results do not depend on it.
    random_state : int, RandomState or None
        Seed of the choice of landmarks, which None makes always the same, and of an approximate
        neighbour search.
    verbose : int, default=0
        1 prints the stages and their times.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
    eigenvalues_ : array of shape (n_components,)
        The leading eigenvalues of ``B``, that of the landmarks where there are some, falling.
    n_neighbors_ : int or None
        The degree, as given or chosen; None with a radius.
    graph_ : csr_array of shape (n_samples, n_samples)
        The symmetric graph of lengths; zeros are stored.
    patches_ : Patches or None
        The fitted Gaussians (None for ``"euclidean"`` and ``"precomputed"``).
    fit_report_ : dict
        Seconds that each stage of the fit took.
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
        n_neighbors: int | str = 15,
        divergence: Any = "kl",
        patch: GaussianPatch | None = None,
        denoise: bool | None = None,
        lengths: str | None = None,
        graph: str = "neighbors",
        n_candidates: int | None = None,
        radius: float | None = None,
        supervision: Any = None,
        out_of_sample: Any = None,
        knn: Any = "auto",
        landmarks: int | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.divergence = divergence
        self.patch = patch
        self.denoise = denoise
        self.lengths = lengths
        self.graph = graph
        self.n_candidates = n_candidates
        self.radius = radius
        self.supervision = supervision
        self.out_of_sample = out_of_sample
        self.knn = knn
        self.landmarks = landmarks
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.landmarks, str):
            check_choice("landmarks", self.landmarks, ("auto",))
        elif self.landmarks is not None:
            least = int(self.n_components) + 1  # as many span the embedding
            check_count("landmarks", self.landmarks, minimum=least)

    def _prepare(self, near: Neighborhoods) -> Floats:
        """Return the geodesics from the landmarks, or from all points, to all points."""
        self._check_components()
        n = self._n_fit
        self._chosen = self._landmarks()
        if self._chosen is None:
            needed = self.graph_.data.itemsize * n * n
            what = f"PatchIsomap of {n} points, which holds all their geodesics,"
            check_memory(needed, what, "use landmarks='auto'")
        else:
            needed = 2 * self.graph_.data.itemsize * n * len(self._chosen)
            what = f"PatchIsomap with {len(self._chosen)} landmarks of {n} points"
            check_memory(needed, what, "give fewer landmarks")
        with self._stage("geodesics"):
            geodesics = shortest_paths(self.graph_, self._chosen, n_jobs=self.n_jobs)
            # In units of the largest one, squares neither overflow nor vanish.
            self._unit = float(geodesics.max()) or 1.0
            geodesics /= self._unit
        return geodesics

    def _embed(self, geodesics: Floats) -> None:
        n, landmarks = self._n_fit, self._chosen
        # Where all geodesics are known, new points are placed by some of them as well as by all.
        some = _evenly(n, PLACING_POINTS, None) if landmarks is None else slice(None)
        self._paths = np.ascontiguousarray(geodesics[some].T)
        between = geodesics if landmarks is None else geodesics[:, landmarks]
        values, vectors, means = classical_mds(between, self.n_components, n_jobs=self.n_jobs)
        places = vectors * np.sqrt(np.clip(values, 0, None))
        self.eigenvalues_ = values * self._unit**2
        self._squared_means = means[some]
        self._axes = triangulation(places[some])
        if landmarks is None:
            self.embedding_ = self._in_data_units(places)
        else:
            row_bytes = 8 * len(landmarks)
            self.embedding_ = self._placed(n, row_bytes, lambda block: self._paths[block])

    def _landmarks(self) -> Indices | None:
        """Choose the points whose geodesics are found; None for all."""
        n = self._n_fit
        count = self.landmarks
        if isinstance(count, str):
            fits = self.graph_.data.itemsize * n * n <= EXACT_BYTES
            count = None if fits else LANDMARKS
        return None if count is None or count >= n else _evenly(n, count, self.random_state)

    def _extend(self, near: Neighborhoods, X: Any) -> Floats:
        """Place new points by their geodesics: first to a neighbour, then through the graph."""
        near = Neighborhoods(near.indptr, near.indices, near.distances / self._unit)

        def paths(block: slice) -> Floats:
            return continued_paths(self._paths, near[np.arange(len(near))[block]])

        row_bytes = 8 * self._paths.shape[1] * int(near.degrees.max())
        return self._placed(len(near), row_bytes, paths)

    def _placed(self, n: int, row_bytes: int, paths: Callable[[slice], Floats]) -> Floats:
        """Place points by their geodesics, which ``paths`` gives for a block of them."""

        def place(block: slice) -> Floats:
            centred = -0.5 * (paths(block) ** 2 - self._squared_means)
            # Row by row: a product of matrices has bits that depend on how many rows there are.
            return self._in_data_units((centred[:, None, :] @ self._axes)[:, 0, :])

        row_bytes += 3 * 8 * self._paths.shape[1]
        return np.concatenate(map_blocks(place, n, row_bytes, self.n_jobs))

    def _in_data_units(self, places: Floats) -> Floats:
        return np.asarray((places * self._unit).astype(self.graph_.dtype))


def _evenly(n: int, count: int, random_state: Any) -> Indices:
    """Choose ``count`` of ``n`` points, each as likely as another; None chooses always the same."""
    random = check_random_state(0 if random_state is None else random_state)
    return np.sort(random.permutation(n)[:count])
