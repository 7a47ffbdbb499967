"""The metric space of patches itself: points to a sparse graph of divergences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from patchfold.embedding._base import BasePatchGraph
from patchfold.embedding.isomap import PatchIsomap
from patchfold.graph import edges as graphs
from patchfold.neighbors.neighborhoods import Neighborhoods

if TYPE_CHECKING:
    from patchfold.patches import GaussianPatch

# A graph is judged by an Isomap of it, which so many landmarks make cheap beside the graph.
JUDGING_LANDMARKS = 50


class PatchSpace(ClassNamePrefixFeaturesOutMixin, BasePatchGraph):
    """The space of local Gaussians, as a transformer from points to a sparse graph (X-space).

    The graph serves wherever scikit-learn, or another library, takes precomputed sparse distances:
    ``Isomap``, ``DBSCAN``, ``KNeighborsClassifier``, ``TSNE``, UMAP and others. Every row holds the
    point itself at distance zero, and its neighbours nearest first, at least ``n_neighbors`` of
    them: where short circuits are removed the next nearest along the graph take their place.

    Parameters
    ----------
    n_neighbors : int or "auto", default=15
        Degree k of the graph; a point is not its own neighbour. ``"auto"`` takes the one that suits
        a :class:`~patchfold.PatchIsomap` of this graph.
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
    n_neighbors_ : int or None
        The degree, as given or chosen; None with a radius.
    graph_ : csr_array of shape (n_samples, n_samples)
        The symmetric graph of lengths, without the diagonal; zeros are stored.
    patches_ : Patches or None
        The fitted Gaussians (None for ``"euclidean"`` and ``"precomputed"``).
    fit_report_ : dict
        Seconds that each stage of the fit took.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN
    >>> from sklearn.datasets import load_iris
    >>> from patchfold import PatchSpace
    >>> graph = PatchSpace(n_neighbors=30, divergence="hellinger").fit_transform(load_iris().data)
    >>> graph.shape
    (150, 150)
    >>> DBSCAN(eps=0.6, metric="precomputed").fit(graph).labels_.max() > 0
    np.True_
    """

    def __init__(
        self,
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
        knn: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.divergence = divergence
        self.patch = patch
        self.denoise = denoise
        self.lengths = lengths
        self.graph = graph
        self.n_candidates = n_candidates
        self.radius = radius
        self.supervision = supervision
        self.knn = knn
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> PatchSpace:
        """Fit patches and their graph; ``X`` and ``y`` as in the other estimators."""
        X = self._validate(X, reset=True)
        if isinstance(self.n_neighbors, str):
            self._fit_chosen(X, y)
        else:
            self._fit_graph(X, y)
            self._fill()
        return self

    def fit_transform(self, X: Any, y: Any = None) -> csr_matrix:
        """Fit, and return the graph of the points, (n_samples, n_samples)."""
        self.fit(X, y)
        return self._matrix(self._fitted(np.arange(self._n_fit)))

    def transform(self, X: Any) -> csr_matrix:
        """Return the divergences of new points from their fitted neighbours, (n_new, n_samples).

        A point that was fitted gets the row it has in the fitted graph.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        same = self._fitted_as(X)
        new, known = np.flatnonzero(same < 0), np.flatnonzero(same >= 0)
        parts = [self._filled(self._place(X[new]))] if len(new) else []
        both = graphs.stacked([*parts, self._fitted(same[known])])
        return self._matrix(both[np.argsort(np.concatenate([new, known]))])

    def _fill(self) -> None:
        """Give points that short circuits leave fewer than k neighbours the next in the graph."""
        near = graphs.rows_of(self.graph_)
        more = self._filled(near, own=True)
        if more is not near:
            i, j, pairs = graphs.undirected(more)
            self.graph_ = graphs.symmetric(i, j, graphs.shortest(more, pairs), self._n_fit)

    def _filled(self, near: Neighborhoods, *, own: bool = False) -> Neighborhoods:
        # Neighbour searches on a graph refuse rows with fewer than they are asked for.
        k = self._degree()
        if k is None or not self._stretches() or (near.degrees >= k).all():
            return near
        return graphs.filled(near, self.graph_, k, own=own)

    def _draft(self) -> PatchIsomap:
        parameters = self._plain().get_params(deep=False)
        return PatchIsomap(**parameters, landmarks=JUDGING_LANDMARKS, out_of_sample="nystrom")

    @property
    def _n_features_out(self) -> int:
        return int(self._n_fit)

    def _matrix(self, near: Neighborhoods) -> csr_matrix:
        """Return the graph as a matrix: umap-learn knows no sparse arrays."""
        return csr_matrix(near.matrix(self._n_fit))

    def _fitted(self, rows: Any) -> Neighborhoods:
        """Rows of the graph, the point itself first, its neighbours nearest first."""
        part = csr_array(self.graph_[rows])
        sources = np.repeat(np.arange(len(rows)), np.diff(part.indptr))
        near = Neighborhoods.from_edges(sources, part.indices.astype(np.intp), part.data, len(rows))
        zeros = np.zeros(len(rows), dtype=part.dtype)
        own = Neighborhoods(np.arange(len(rows) + 1), np.asarray(rows), zeros)
        return graphs.side_by_side(own, near)
