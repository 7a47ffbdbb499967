"""The metric space of patches itself: points to a sparse graph of divergences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.utils.validation import check_is_fitted

from patchfold.base.engine import is_client, refuse_collection
from patchfold.base.estimators import ClassNamePrefixFeaturesOutMixin
from patchfold.base.memory import check_memory
from patchfold.embedding.base_graph import BasePatchGraph, ordinary_arithmetic
from patchfold.embedding.isomap import PatchIsomap
from patchfold.embedding.parameters import AUTO
from patchfold.graph import edges
from patchfold.neighbors.neighborhoods import Neighborhoods

if TYPE_CHECKING:
    from patchfold.base.types import (
        Auto,
        Engine,
        Floats,
        GraphName,
        LengthName,
        RowMetricName,
        RuleName,
        Seed,
    )
    from patchfold.divergences import Divergence
    from patchfold.neighbors.search import Knn
    from patchfold.patches import GaussianPatch
    from patchfold.supervision import LabelRule

# A graph is judged by an Isomap of it; with JUDGING_LANDMARKS it is cheap beside the graph.
JUDGING_LANDMARKS = 50


class PatchSpace(ClassNamePrefixFeaturesOutMixin, BasePatchGraph):
    """Transformer from points to a sparse graph of distances between local Gaussians (X-space).

    Every point becomes the Gaussian of its neighbourhood, its patch. The graph holds the distances
    of every patch to the patches nearby, without the edges that short-circuit the manifold. Use it
    wherever scikit-learn, or another library, takes precomputed sparse distances: ``Isomap``,
    ``DBSCAN``, ``KNeighborsClassifier``, ``TSNE``, UMAP and others. Every row holds the point
    itself at distance zero, and at least ``n_neighbors`` neighbours, nearest first. If short
    circuits are removed, the next nearest points along the graph take their place.

    Copies of a row count as one point: they share one place and one patch, and k neighbours are k
    other points. With ``supervision``, only copies with the same label count as one point. With a
    ``patch`` of your own and ``lengths="divergence"``, the method of the papers, every row is a
    point.

    Parameters
    ----------
    n_neighbors : int, "auto" or None, default=15
        Number k of neighbours of a point in the graph; a point is not its own neighbour. A number
        above ``n_samples - 1`` is lowered to it, with a warning. ``"auto"`` chooses the best k for
        a :class:`~patchfold.PatchIsomap` of this graph.
    divergence : str or callable, default="kl"
        How to compare two patches: a name in :data:`patchfold.divergences.NAMES`, or a function of
        two :class:`~patchfold.Patches`. ``"euclidean"`` is the classical method, without patches.
        With ``"precomputed"``, X is a square matrix of distances, or a sparse graph of them.
    patch : GaussianPatch or None, default=None
        How a neighbourhood becomes a Gaussian. None means the recommended patch: ``0.6 sqrt(n)``
        neighbours, at most 20, whatever ``n_neighbors`` is, or all neighbours within ``radius``, of
        denoised points, and a ridge. ``patch_`` shows it.
    lengths : {"pruned", "divergence"}, default="pruned"
        The length of an edge. ``"pruned"``: the distance between the centres of its two patches,
        in units of the typical edge. Short circuits, whose patches disagree and whose way around is
        long, are removed. Edges between clusters become up to 4 times as long.
        ``"divergence"``: the divergence of its two patches, as in the papers. Without patches, the
        length is the distance between the two points.
    graph : {"neighbors", "divergence"}, default="neighbors"
        What edges join: the k nearest points, or the k nearest patches under the divergence. The
        nearest patches are searched among all points if all pairs fit into scikit-learn's
        ``working_memory``, otherwise among the 10 k nearest points. So they are if there are more
        columns than rows, and comparing all pairs would take minutes.
    radius : float or None, default=None
        Join all points within this distance, instead of the k nearest. Leave ``n_neighbors`` at its
        default then, or set it to None. With infinity all points are joined.
    supervision : {"dissimilarity", "cut", "min-sum"}, object or None, default=None
        How the classes ``y`` in ``fit`` change the lengths of edges: a rule of
        :mod:`patchfold.supervision`, by name or as an object such as ``Dissimilarity(alpha=0.2)``.
    metric : {"euclidean", "cosine", "correlation"}, default="euclidean"
        The distance of rows. For ``"cosine"`` rows are divided by their length first; for
        ``"correlation"`` they lose their mean before. Everything after is about these rows.
    knn : str, object or (indices, distances), default="auto"
        Neighbour search: ``"auto"``, ``"exact"``, ``"approximate"``, or an object shaped like
        scikit-learn's ``KNeighborsTransformer``. Or the neighbours themselves, as two arrays of
        shape (n_samples, at least k): new rows are then searched exactly.
    engine : {"auto", "threads", "cuda"}, default="auto"
        Where the graph is built. ``"auto"`` follows the type of X: that of tensors of torch on
        their GPU. ``"cuda"`` means the GPU. All other work runs in threads on this machine.
    n_jobs : int or None, default=None
        Number of threads; None takes all cores that this process may use, unless a context of
        joblib says otherwise. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed for the start of an approximate search. With None every fit draws again, as in
        scikit-learn.
    verbose : int, default=0
        1 prints the stages and their times.

    Attributes
    ----------
    n_neighbors_ : int or None
        The number of neighbours, as given, lowered or chosen; None with a radius.
    patch_ : GaussianPatch or None
        The patch, as given or recommended (None for ``"euclidean"`` and ``"precomputed"``).
    patches_ : Patches or None
        The fitted Gaussians (None for ``"euclidean"`` and ``"precomputed"``).
    graph_ : csr_array of shape (n_samples, n_samples)
        The symmetric graph of lengths, which stores zeros, each row nearest first. A copy of a row
        has an edge of length zero to the first copy, and the same neighbours. Where short circuits
        leave a point fewer than k neighbours, the next along paths are joined to it, as far away as
        those paths are long; ``patch_graph_`` does not have these edges.
    patch_graph_ : PatchGraph
        Neighbours, patches and graph in one frozen object, which also places new points.
    span_ : Span or None
        The leading directions that patches of a sparse X are fitted in, and the share of the
        variance that they hold; None for dense rows.
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
        n_neighbors: int | Auto | None = 15,
        divergence: str | Divergence = "kl",
        patch: GaussianPatch | None = None,
        lengths: LengthName = "pruned",
        graph: GraphName = "neighbors",
        radius: float | None = None,
        supervision: RuleName | LabelRule | None = None,
        metric: RowMetricName = "euclidean",
        knn: Knn = "auto",
        engine: Engine = "auto",
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.divergence = divergence
        self.patch = patch
        self.lengths = lengths
        self.graph = graph
        self.radius = radius
        self.supervision = supervision
        self.metric = metric
        self.knn = knn
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @ordinary_arithmetic
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit patches and their graph; ``X`` and ``y`` as in the other estimators."""
        refuse_collection(self, X, "a sample of it")
        if is_client(self.engine):
            raise ValueError(
                "PatchSpace does not work on a cluster; use engine='threads', or one of the four "
                "embeddings."
            )
        X = self._validate(X, reset=True)
        (self._fit_chosen if self.n_neighbors == AUTO else self._fit_decided)(X, y)
        self._fill()
        return self

    def fit_transform(self, X: Any, y: Any = None) -> csr_matrix:
        """Fit, and return the graph of the points, (n_samples, n_samples)."""
        self.fit(X, y)
        return self._matrix(self._fitted(np.arange(len(self.patch_graph_))))

    @ordinary_arithmetic
    def transform(self, X: Any) -> csr_matrix:
        """Return the lengths of edges from new to fitted points, of shape (n_new, n_samples).

        A point that was fitted gets the row it has in the fitted graph.
        """
        check_is_fitted(self)
        refuse_collection(self, X, "blocks of it")
        X = self._validate(X, reset=False)
        same = self.patch_graph_.fitted_as(X)
        new, known = np.flatnonzero(same < 0), np.flatnonzero(same >= 0)
        parts = [self._placed(X[new])] if len(new) else []
        both = edges.stacked([*parts, self._fitted(same[known])])
        return self._matrix(both[np.argsort(np.concatenate([new, known]))])

    @ordinary_arithmetic
    def distances(self, X: Any) -> Floats:
        """Return the divergences of points from all fitted ones, edges or not.

        This is X-space's matrix ``D_X`` (section 7), a distance for nearest neighbours or in a
        kernel. With ``divergence="euclidean"`` it holds the distances of points.

        Parameters
        ----------
        X : array of shape (n_new, n_features)
            New points, or fitted ones, which have the patch they have in the fitted graph.

        Returns
        -------
        array of shape (n_new, n_samples)

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from patchfold import PatchSpace
        >>> X = load_wine().data
        >>> PatchSpace(divergence="hellinger").fit(X[:150]).distances(X[140:]).shape
        (38, 150)
        """
        check_is_fitted(self)
        refuse_collection(self, X, "blocks of it")
        X = self._validate(X, reset=False)
        if self.patch_graph_.setting.precomputed:
            raise ValueError("divergence='precomputed' has no other distances than those given.")
        n = len(self.patch_graph_)
        new = X.shape[0]
        check_memory(X.dtype.itemsize * new * n, f"{new} x {n} distances", "pass fewer rows")
        return np.asarray(self.patch_graph_.divergences(X))

    def _placed(self, X: Any) -> Neighborhoods:
        """Return the neighbours of new points, at least k of them."""
        near, copies = self.patch_graph_.neighbors_of_new(X), self.patch_graph_.copies
        if copies is None:
            return self._filled(near)
        return copies.named(self._filled(copies.numbered(near)))

    def _fill(self) -> None:
        """Give points that short circuits leave fewer than k neighbours the next in the graph.

        A copy of a point gets the neighbours of the point.
        """
        graph, copies = self.patch_graph_, self.patch_graph_.copies
        near = edges.rows_of(self._among_points())
        more = self._filled(near, own=True)
        if copies is not None:
            more = edges.side_by_side(copies.to_first(near.distances.dtype), copies.of_rows(more))
        full = graph.matrix
        if more is not near:
            i, j, pairs = edges.undirected(more)
            full = edges.symmetric(i, j, edges.shortest(more, pairs), len(graph))
        # Rows sorted by value, as scikit-learn asks for.
        self._full = edges.rows_of(full).matrix(len(graph))

    @property
    def graph_(self) -> csr_array:
        """The graph with the edges that give every point k neighbours."""
        return self._full

    def _filled(self, near: Neighborhoods, *, own: bool = False) -> Neighborhoods:
        # Neighbour searches on a graph refuse rows with fewer than they are asked for.
        graph = self.patch_graph_
        k = graph.setting.degree
        if k is None or not graph.pruned or (near.degrees >= k).all():
            return near
        return edges.filled(near, self._among_points(), k, own=own)

    def _among_points(self) -> csr_array:
        """Return the graph of the distinct points: ways never need to go over a copy."""
        matrix, copies = self.patch_graph_.matrix, self.patch_graph_.copies
        return matrix if copies is None else csr_array(matrix[copies.first][:, copies.first])

    def _draft(self) -> PatchIsomap:
        return PatchIsomap(
            **self._plain().get_params(deep=False),
            scaling="classical",
            landmarks=JUDGING_LANDMARKS,
            out_of_sample="nystrom",
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.patch_graph_)

    def _matrix(self, near: Neighborhoods) -> csr_matrix:
        """Return the graph as a matrix: umap-learn knows no sparse arrays."""
        return csr_matrix(near.matrix(len(self.patch_graph_)))

    def _fitted(self, rows: Any) -> Neighborhoods:
        """Rows of the graph, the point itself first, its neighbours nearest first."""
        part = csr_array(self.graph_[rows])
        sources = np.repeat(np.arange(len(rows)), np.diff(part.indptr))
        near = Neighborhoods.from_edges(sources, part.indices.astype(np.intp), part.data, len(rows))
        zeros = np.zeros(len(rows), dtype=part.dtype)
        own = Neighborhoods(np.arange(len(rows) + 1), np.asarray(rows), zeros)
        return edges.side_by_side(own, near)
