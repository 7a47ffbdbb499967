"""Locally linear embedding: every patch written in its neighbours, entropic or Euclidean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from scipy.sparse import csr_array, eye_array
from sklearn.utils.validation import check_is_fitted

from patchfold.base.types import WeightName
from patchfold.base.validation import check_choice, check_positive, warn_user
from patchfold.embedding.base_embedding import BasePatchEmbedding
from patchfold.graph.edges import rows_of
from patchfold.mapping.nystrom import weighted_places
from patchfold.neighbors import DEFAULT_NEIGHBORS
from patchfold.solvers.eigenvectors import bottom_eigenvectors, fix_signs
from patchfold.supervision import Cut, label_rule

if TYPE_CHECKING:
    from patchfold.base.types import (
        Auto,
        Engine,
        Floats,
        GraphName,
        LengthName,
        OutOfSample,
        RowMetricName,
        RuleName,
        Seed,
    )
    from patchfold.divergences import Divergence
    from patchfold.graph.patch_graph import GraphSetting, PatchGraph
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.neighbors.search import Knn
    from patchfold.patches import GaussianPatch
    from patchfold.supervision import LabelRule


WEIGHTS = get_args(WeightName)

# Differences outside this range are brought near one before they are multiplied.
LEAST, LARGEST = 1e-140, 1e140

# Bytes of the factorisation for each neighbour of a point, times the logarithm of the number of
# points: graphs of surfaces need so much (benchmarks/memory.py).
FACTOR_BYTES = 27

# An eigenvalue below this share of the largest entry of the matrix is zero up to rounding.
ZERO = 1e-14


class PatchLLE(BasePatchEmbedding):
    """Locally linear embedding of patch centres, on a graph without short circuits.

    Every point becomes the Gaussian of its neighbourhood, its patch. The centre of a patch is
    written as a weighted sum of the centres of its neighbours in the graph, with the ordinary
    weights of LLE.

    ``weights="entropic"`` is PELLE (:func:`patchfold.papers.pelle`). Its weights solve
    ``(d d' + reg I) w = 1``, where ``d`` are the divergences of a patch from its neighbours, and
    are divided by their sum (eq. 28-29, 9 and 10 of the paper). These weights depend on how far
    neighbours are, not on where they are, so they do not unroll a manifold. X-LLE
    (:func:`patchfold.papers.x_lle`) uses ordinary weights on the nearest neighbours under the
    divergence.

    Copies of a row count as one point: they share one place and one patch, and k neighbours are k
    other points. With ``supervision``, only copies with the same label count as one point. With a
    ``patch`` of your own and ``lengths="divergence"``, the method of the papers, every row is a
    point.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the embedding.
    n_neighbors : int, "auto" or None, default=15
        Number k of neighbours of a point in the graph; a point is not its own neighbour. A number
        above ``n_samples - 1`` is lowered to it, with a warning. ``"auto"`` chooses the best of 5,
        10, 20 and 40 by a criterion that needs no labels, see :mod:`patchfold.selection`.
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
    out_of_sample : {"nystrom", "krr", "grnn"} or regressor, default="nystrom"
        How ``transform`` places new points. ``"nystrom"`` joins them to the graph by their own
        patches. The other values map them by a regression from points to the embedding: kernel
        ridge (``"krr"``, which needs n x n memory), :class:`~patchfold.GRNN`, or any scikit-learn
        regressor with several outputs.
    metric : {"euclidean", "cosine", "correlation"}, default="euclidean"
        The distance of rows. For ``"cosine"`` rows are divided by their length first; for
        ``"correlation"`` they lose their mean before. Everything after is about these rows.
    knn : str, object or (indices, distances), default="auto"
        Neighbour search: ``"auto"``, ``"exact"``, ``"approximate"``, or an object shaped like
        scikit-learn's ``KNeighborsTransformer``. Or the neighbours themselves, as two arrays of
        shape (n_samples, at least k): new rows are then searched exactly.
    weights : {"euclidean", "entropic"}, default="euclidean"
        What the weights of the neighbours are computed from: the centres of the patches, or the
        lengths of the edges to the neighbours.
    reg : float, default=0.1
        Regularisation of the local matrices; relative to their trace for Euclidean weights. LLE in
        scikit-learn has 1e-3, which follows the noise within a neighbourhood.
    engine : {"auto", "threads", "cuda"} or distributed.Client, default="auto"
        Where the graph is built. ``"auto"`` follows the type of X: that of tensors of torch on
        their GPU, that of a Dask array or data frame on its cluster. ``"cuda"`` means the GPU, and
        a client its cluster. All other work runs in threads on this machine.
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
    embedding_ : array of shape (n_samples, n_components)
    eigenvalues_ : array of shape (n_components,)
        The eigenvalues of ``(I - W)'(I - W)`` that belong to the embedding, smallest first.
    reconstruction_error_ : float
        How badly places are written in their neighbours: the sum of ``eigenvalues_``.
    n_neighbors_ : int or None
        The number of neighbours, as given, lowered or chosen; None with a radius.
    patch_ : GaussianPatch or None
        The patch, as given or recommended (None for ``"euclidean"`` and ``"precomputed"``).
    patches_ : Patches or None
        The fitted Gaussians (None for ``"euclidean"`` and ``"precomputed"``).
    graph_ : csr_array of shape (n_samples, n_samples)
        The symmetric graph of lengths, which stores zeros. A copy of a row has one edge, of length
        zero, to the first copy.
    patch_graph_ : PatchGraph
        Neighbours, patches and graph in one frozen object, which also places new points.
    span_ : Span or None
        The leading directions that patches of a sparse X are fitted in, and the share of the
        variance that they hold; None for dense rows.
    fit_report_ : dict
        Seconds that each stage of the fit took.
    map_ : regressor or None
        The regressor that maps new points; None for ``"nystrom"``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold import PatchLLE
    >>> PatchLLE(n_neighbors=30).fit_transform(load_iris().data).shape
    (150, 2)
    """

    eigenvalues_: Floats

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | Auto | None = 15,
        divergence: str | Divergence = "kl",
        patch: GaussianPatch | None = None,
        lengths: LengthName = "pruned",
        graph: GraphName = "neighbors",
        radius: float | None = None,
        supervision: RuleName | LabelRule | None = None,
        out_of_sample: OutOfSample = "nystrom",
        metric: RowMetricName = "euclidean",
        knn: Knn = "auto",
        weights: WeightName = "euclidean",
        reg: float = 0.1,
        engine: Engine = "auto",
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.divergence = divergence
        self.patch = patch
        self.lengths = lengths
        self.graph = graph
        self.radius = radius
        self.supervision = supervision
        self.out_of_sample = out_of_sample
        self.metric = metric
        self.knn = knn
        self.weights = weights
        self.reg = reg
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def reconstruction_error_(self) -> float:
        """How badly places are written in their neighbours: the sum of ``eigenvalues_``."""
        check_is_fitted(self)
        return float(self.eigenvalues_.sum())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("weights", self.weights, WEIGHTS)
        check_positive("reg", self.reg)
        if self.weights == "euclidean" and self.divergence == "precomputed":
            raise ValueError(
                "weights='euclidean' needs points, and divergence='precomputed' has none; "
                "use weights='entropic'."
            )
        if self.weights == "euclidean" and self.graph == "neighbors":
            rule = label_rule(self.supervision)
            if rule is not None and not isinstance(rule, Cut):
                warn_user(
                    f"supervision={self.supervision!r} changes lengths, and weights='euclidean' "
                    "with graph='neighbors' uses none; take graph='divergence', "
                    "weights='entropic' or supervision='cut'."
                )

    def _embed(self, graph: PatchGraph, n_components: int) -> None:
        self._placing = self.weights, float(self.reg)
        with self._stage("embedding"):
            near = graph.neighborhoods
            if graph.pruned and self.weights == "euclidean":
                # Short circuits leave some points few neighbours; those that they are neighbours of
                # make up for it.
                near = rows_of(graph.matrix)
            n = len(near)
            weights = self._weights(near, graph)
            W = csr_array((weights, near.indices, near.indptr), (n, n))
            R = eye_array(n, format="csr", dtype=W.dtype) - W
            self.eigenvalues_, vectors = centred_bottom((R.T @ R).tocsr(), n_components)
            self.embedding_ = vectors.astype(near.distances.dtype, copy=False)

    def _bytes(self, points: Any, setting: GraphSetting) -> int:
        n, k = points.shape[0], setting.degree or DEFAULT_NEIGHBORS
        # Where there is a small cut: of others the factorisation itself says what it needs.
        return super()._bytes(points, setting) + int(FACTOR_BYTES * k * n * np.log2(n))

    def _needs_points(self) -> bool:
        return self.weights == "euclidean"

    def _extend(self, near: Neighborhoods, X: Any) -> Floats:
        """Write new points in their neighbours, and their places by the same weights."""
        weights = self._weights(near, self.patch_graph_, X)
        return weighted_places(near, weights, self.embedding_)

    def _weights(self, near: Neighborhoods, graph: PatchGraph, points: Any = None) -> Floats:
        """Return the weights of neighbours, of ``points`` if they are not those of the graph."""
        weights, reg = self._placing
        if weights == "entropic":
            return entropic_weights(near, reg)
        centres = graph.centres
        return euclidean_weights(near, centres if points is None else points, centres, reg)


def centred_bottom(M: csr_array, count: int) -> tuple[Floats, Floats]:
    """Return the bottom eigenpairs of ``(I - W)'(I - W)`` but the constant, which it maps to zero.

    Where points have few neighbours, or labels cut edges, parts of the graph are written in
    themselves alone. Then other vectors are mapped to zero, too, an eigensolver mixes the constant
    with them, and it is taken out again. If more than ``count`` are left, a warning says that
    there is no telling which are the embedding.
    """
    values, vectors = bottom_eigenvectors(M, count + 1, skip=0)
    largest = ZERO * float(abs(M).max())
    zeros = int((values <= largest).sum())
    if zeros <= 1 or float(np.abs(M.sum(axis=1)).max()) > largest * M.shape[0]:
        return values[1:], vectors[:, 1:]
    if zeros == count + 1 and bottom_eigenvectors(M, count + 2, skip=0)[0][-1] <= largest:
        warn_user(
            f"more than {zeros} parts of the graph of PatchLLE are written in themselves alone, "
            f"and rounding decides which {count} directions show them; raise n_neighbors or "
            "n_components, or use PatchIsomap."
        )
    mixed = vectors[:, :zeros] - vectors[:, :zeros].mean(axis=0)
    free = np.linalg.svd(mixed, full_matrices=False)[0][:, : zeros - 1]
    return values[1:], fix_signs(np.concatenate([free, vectors[:, zeros:]], axis=1))


def entropic_weights(near: Neighborhoods, reg: float) -> Floats:
    """Solve PELLE's ``(d d' + reg I) w = 1`` for every row and divide by the sum, in closed form.

    A rank-one update of a multiple of the identity has the solution
    ``w_j = (reg + k v + k a (a - d_j)) / (k reg + k^2 v)`` with ``a`` the mean and ``v`` the
    variance of the k divergences ``d``. Written so, nothing cancels however large they are, and
    the denominator is positive: the sum of ``w`` cannot vanish while ``reg`` is positive.
    """
    rows, k = near.sources, near.degrees
    counts = np.maximum(k, 1)
    d = near.distances.astype(np.float64)
    # Squares of lengths beyond LARGEST overflow: these are taken in units of the longest of a row.
    unit = np.ones(len(near))
    np.maximum.at(unit, rows, np.where(d > LARGEST, d, 1.0))
    d /= unit[rows]
    ridge = np.maximum(reg / unit / unit, np.finfo(float).tiny)
    # From the smallest on: the rounding of a mean of large, almost equal numbers would count.
    low = np.full(len(near), np.inf)
    np.minimum.at(low, rows, d)
    low[k == 0] = 0.0
    above = d - low[rows]
    shift = np.bincount(rows, above, minlength=len(near)) / counts
    mean, off = low + shift, above - shift[rows]
    variance = np.bincount(rows, off * off, minlength=len(near)) / counts
    numerator = (ridge + k * variance)[rows] - (k * mean)[rows] * off
    return np.asarray(numerator / (k * ridge + k * k * variance)[rows])


def euclidean_weights(near: Neighborhoods, points: Any, fitted: Any, reg: float) -> Floats:
    """Return the weights that write a point in its neighbours best, summing to one.

    ``G w = 1`` with the Gram matrix ``G`` of the neighbours seen from the point, regularised by
    ``reg tr(G)`` (``reg`` where the trace is zero), as scikit-learn does it.
    """
    weights = np.empty(len(near.indices))
    for k in np.unique(near.degrees[near.degrees > 0]):
        rows = np.flatnonzero(near.degrees == k)
        edges = near.indptr[rows][:, None] + np.arange(k)
        step = max(1, 2**16 // int(k * fitted.shape[1] + k * k))  # numbers that the cache holds
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            Z = fitted[near.indices[edges[part]]].astype(np.float64, copy=False)
            Z -= points[rows[part]][:, None, :]
            size = np.abs(Z).max(axis=(1, 2))
            odd = (size > LARGEST) | ((size < LEAST) & (size > 0))
            if odd.any():  # products would overflow or vanish; the unit of a row cancels
                Z[odd] /= size[odd, None, None]
            G = Z @ Z.transpose(0, 2, 1)
            trace = np.trace(G, axis1=1, axis2=2)
            ridge = np.where(trace > 0, reg * trace, reg)
            G[:, np.arange(k), np.arange(k)] += ridge[:, None]
            w = np.linalg.solve(G, np.ones((len(G), int(k), 1)))[..., 0]
            weights[edges[part]] = w / w.sum(axis=1, keepdims=True)
    return weights
