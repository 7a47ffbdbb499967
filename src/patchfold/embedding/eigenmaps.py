"""Laplacian eigenmaps on a kernel of divergences."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from scipy.sparse import csr_array

from patchfold.base.types import BandwidthName, KernelName, LaplacianName
from patchfold.base.validation import check_choice, warn_user
from patchfold.embedding.base_embedding import BasePatchEmbedding
from patchfold.evaluation.legibility import visible_share
from patchfold.graph import components
from patchfold.graph.edges import laplacian, symmetric
from patchfold.graph.lengths import MEAN_PAIRS, even_pairs
from patchfold.mapping.nystrom import extended_eigenvectors, total_weights
from patchfold.neighbors import DEFAULT_NEIGHBORS
from patchfold.solvers.eigenvectors import bottom_eigenvectors
from patchfold.supervision import Cut, label_rule

if TYPE_CHECKING:
    from patchfold.base.types import (
        Auto,
        Engine,
        Floats,
        GraphName,
        Indices,
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


KERNELS = get_args(KernelName)
# The quantiles of the lengths of all pairs that X-space takes for sigma (section 6).
PAIRWISE = {"pairwise-0.25": 0.25, "pairwise-median": 0.5, "pairwise-0.75": 0.75}
# bandwidth="median" is enlarged until the longest edge that the graph needs to stay connected keeps
# the weight exp(-5), about 0.007.
LEAST_EXPONENT = 5.0
# A point whose weights sum to less than this share of the largest sum is as good as alone.
LOOSE = 1e-6
# Short circuits get the first of these weights with which a plot tells at least this part of the
# points apart that it does if they count like other edges. Chosen on the tables and images of
# benchmarks/real.py and seeds 4 and 5 of the rolls in docs/evidence/stability.md: one weight of
# 0.25 for all data makes the same pictures readable, but short-circuits rolls.
WEIGHTS, VISIBLE = (0.03, 0.1, 0.3), 0.55
LAPLACIANS = get_args(LaplacianName)
# Bytes that the weights, the Laplacian and its solver need for each edge (benchmarks/memory.py).
SOLVER_BYTES = 30


class PatchEigenmaps(BasePatchEmbedding):
    """Laplacian eigenmaps on a graph of local Gaussians without short circuits.

    Every point becomes the Gaussian of its neighbourhood, its patch. Edges that short-circuit the
    manifold are removed, and all others have the same weight. The embedding consists of the
    eigenvectors of the graph's Laplacian with the smallest eigenvalues above zero. If a plot of the
    embedding would hide most points, short circuits get back a small weight.

    A finite bandwidth ``t`` gives edges the weight ``exp(-d^2 / t)`` (ELAP eq. 42) or
    ``exp(-d / t)`` (X-space, section 4.1) of their length ``d``. Points that the kernel leaves
    without weight stay at the origin, with a warning.

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
    kernel : {"gaussian", "exponential"}, default="gaussian"
        ``exp(-d^2 / t)`` or ``exp(-d / t)``.
    bandwidth : float or str, default=inf
        ``t``. If it is infinite, all edges have the weight 1, as in scikit-learn's
        ``SpectralEmbedding``; then long edges do not tear a few points off the rest. ``"median"``
        takes the median length of the edges (squared for the Gaussian kernel), or more if an edge
        that holds the graph together would lose its weight. The median also replaces an infinite
        bandwidth if all pairs of points are edges, as in tables with few rows, because equal
        weights would carry no information there. ELAP uses 1 (:func:`patchfold.papers.elap`).
        ``"pairwise-0.25"``, ``"pairwise-median"`` and ``"pairwise-0.75"`` take a quantile of the
        lengths of all pairs of points, edges or not (X-space, section 6), or of about half a
        million of them, squared for the Gaussian kernel.
    laplacian : {"unnormalized", "random-walk", "symmetric"}, default="random-walk"
        ``L = D - W`` (ELAP), or one of the two normalised ones. These share their spectrum; both
        give the embedding ``D^(-1/2) u`` for the eigenvectors ``u`` of ``D^(-1/2) L D^(-1/2)``, as
        scikit-learn's ``SpectralEmbedding`` does.
    engine : {"auto", "threads", "cuda"} or distributed.Client, default="auto"
        Where the work runs. ``"auto"`` follows the type of X: tensors of torch are fitted on their
        GPU, and the graph of a Dask array or data frame is built on its cluster. All other work
        runs in threads on this machine. ``"cuda"`` means the GPU, and a client its cluster.
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
        The eigenvalues that belong to the embedding, smallest first.
    bandwidth_ : float
        The bandwidth used.
    short_circuit_weight_ : float
        The weight of short circuits, relative to other edges: 0, or more if the embedding would
        otherwise hide most points.
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
    >>> from patchfold import PatchEigenmaps
    >>> PatchEigenmaps(n_neighbors=30).fit_transform(load_iris().data).shape
    (150, 2)
    """

    eigenvalues_: Floats
    bandwidth: Any
    bandwidth_: float
    short_circuit_weight_: float

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
        kernel: KernelName = "gaussian",
        bandwidth: float | BandwidthName = np.inf,
        laplacian: LaplacianName = "random-walk",
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
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.laplacian = laplacian
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("kernel", self.kernel, KERNELS)
        check_choice("laplacian", self.laplacian, LAPLACIANS)
        if isinstance(self.bandwidth, str):
            check_choice("bandwidth", self.bandwidth, get_args(BandwidthName))
        elif type(self.bandwidth) is bool or not (
            isinstance(self.bandwidth, Real) and float(self.bandwidth) > 0
        ):
            names = ", ".join(map(repr, get_args(BandwidthName)))
            raise ValueError(f"bandwidth={self.bandwidth!r} must be positive, or {names}.")
        elif float(self.bandwidth) == np.inf and self.graph == "neighbors":
            rule = label_rule(self.supervision)
            if rule is not None and not isinstance(rule, Cut):
                warn_user(
                    f"supervision={self.supervision!r} changes lengths, and bandwidth=inf gives "
                    "edges of any length the same weight; take bandwidth='median' or "
                    "supervision='cut'."
                )

    def _embed(self, graph: PatchGraph, n_components: int) -> None:
        with self._stage("embedding"):
            pairwise = isinstance(self.bandwidth, str) and self.bandwidth in PAIRWISE
            chosen = self._pairwise_bandwidth(graph) if pairwise else self._bandwidth(graph.matrix)
            self.bandwidth_ = chosen
            self._placing = 2 if self.kernel == "gaussian" else 1, self.laplacian != "unnormalized"
            W = graph.matrix.astype(np.float64)
            W.data = self._kernel(W.data)
            parts = self._parts(W, graph.matrix)
            self.eigenvalues_, places = self._eigenvectors(W, parts, graph, n_components)
            self.short_circuit_weight_ = 0.0
            if np.isinf(self.bandwidth_) and self.supervision is None and n_components > 1:
                places = self._readable(places, W, graph)
            self.embedding_ = places.astype(graph.matrix.dtype, copy=False)

    def _eigenvectors(
        self, W: csr_array, parts: Indices, graph: PatchGraph, n_components: int
    ) -> tuple[Floats, Floats]:
        """Return the eigenvalues and places of points with weights that hold parts together."""
        # A point without weight is a part of its own, whose eigenvector has the eigenvalue zero
        # and is left out with those of the other parts: it stays at the origin.
        held = np.flatnonzero(np.bincount(parts)[parts] > 1)
        labels, of_held = np.unique(parts[held], return_inverse=True)
        count = min(n_components, len(held) - len(labels))
        eigenvalues, places = np.zeros(n_components), np.zeros((len(graph), n_components))
        if count < 1:
            return eigenvalues, places
        L, degrees = laplacian(csr_array(W[held][:, held]))
        root = np.ones_like(degrees)
        if self.laplacian != "unnormalized":
            root = np.sqrt(degrees)
            L = csr_array(L.multiply(1 / root[:, None]).multiply(1 / root[None, :]))
        values, vectors = bottom_eigenvectors(
            L,
            count,
            skip=len(labels),
            kernel=root,
            parts=of_held if len(labels) > 1 else None,
            device=self._device,
        )
        eigenvalues[:count] = np.clip(values, 0, None)
        places[held, :count] = vectors / root[:, None]
        return eigenvalues, places

    def _readable(self, places: Floats, W: csr_array, graph: PatchGraph) -> Floats:
        """Give short circuits some weight back, if that makes much more of the points visible."""
        share = visible_share(places)
        if share >= VISIBLE or graph.removed is None or not len(graph.removed):
            return places
        i, j = graph.removed.T
        removed = symmetric(i, j, np.ones(len(i)), len(graph))

        def solved(weight: float) -> tuple[Floats, Floats]:
            weights = csr_array(W.maximum(weight * removed))
            parts = components.n_components(weights)[1]
            return self._eigenvectors(weights, parts, graph, places.shape[1])

        alike = solved(1.0)
        needed = VISIBLE * visible_share(alike[1])
        if share >= needed:
            return places
        for weight in WEIGHTS:
            self.short_circuit_weight_, found = weight, solved(weight)
            if visible_share(found[1]) >= needed:
                break
        else:
            self.short_circuit_weight_, found = 1.0, alike
        self.eigenvalues_ = found[0]
        return found[1]

    def _bytes(self, points: Any, setting: GraphSetting) -> int:
        n, k = points.shape[0], setting.degree or DEFAULT_NEIGHBORS
        return super()._bytes(points, setting) + int(SOLVER_BYTES * k * n)

    def _extend(self, near: Neighborhoods, X: Any) -> Floats:
        weights = self._kernel(near.distances)
        alone = int((total_weights(near, weights) == 0).sum())
        if alone:
            raise ValueError(
                f"bandwidth={self.bandwidth_:.3g} leaves {alone} new points without a neighbour; "
                "they are too far from all fitted points, or bandwidth is too small for them."
            )
        return extended_eigenvectors(
            near,
            weights,
            self.embedding_,
            self.eigenvalues_,
            normalized=self._placing[1],
        )

    def _is_smooth(self) -> bool:
        return bool(np.isfinite(self.bandwidth_))

    def _bandwidth(self, graph: csr_array) -> float:
        """Return the bandwidth; the median one never lets the graph fall apart."""
        n = graph.shape[0]
        # If all pairs are edges, equal weights would make every embedding as good as any other.
        blind = self.bandwidth == np.inf and n > 2 and graph.nnz == n * (n - 1)
        if not isinstance(self.bandwidth, str) and not blind:
            return float(self.bandwidth)
        lengths = graph.data[graph.data > 0]
        if not len(lengths):
            return 1.0
        # Duplicates, at distance zero, say nothing about the scale of the rest.
        typical, needed = float(np.median(lengths)), components.longest_needed(graph)
        power = 2 if self.kernel == "gaussian" else 1
        with np.errstate(over="ignore"):  # an infinite bandwidth then weighs all edges alike
            widths = np.power([typical, needed], power) / [1.0, LEAST_EXPONENT]
        return float(max(*widths, np.finfo(float).tiny))

    def _pairwise_bandwidth(self, graph: PatchGraph) -> float:
        """Return a quantile of the lengths of all pairs, edges or not."""
        lengths = graph.lengths
        if lengths.points is None or (lengths.patches is None) != (graph.setting.patch is None):
            raise ValueError(
                f"bandwidth={self.bandwidth!r} needs points and patches, which given distances and "
                "a cluster do not leave here; give a number, such as a quantile of a sample."
            )
        plain = lengths.plain(*even_pairs(len(graph), MEAN_PAIRS))
        power = 2 if self.kernel == "gaussian" else 1
        width = float(np.quantile(plain.astype(np.float64), PAIRWISE[self.bandwidth])) ** power
        return max(width, float(np.finfo(float).tiny))

    def _kernel(self, lengths: Floats) -> Floats:
        if np.isinf(self.bandwidth_):
            return np.ones(len(lengths))
        power, _ = self._placing
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.exp(-(lengths.astype(np.float64) ** power) / self.bandwidth_))

    def _parts(self, W: csr_array, graph: csr_array) -> Indices:
        """Tell which points weights hold together, and warn where that is not all of them."""
        degrees = np.asarray(W.sum(axis=1))
        largest = float(degrees.max())
        kept = W.copy()
        # Below this no eigensolver sees a weight.
        kept.data[kept.data < len(degrees) * np.finfo(float).eps * largest] = 0
        kept.eliminate_zeros()
        count, parts = components.n_components(kept)
        loose = int((degrees < LOOSE * largest).sum())
        if count > 1 or loose:
            needed = components.longest_needed(graph)
            warn_user(
                f"bandwidth={self.bandwidth_:.3g} is small beside the longest edge that the graph "
                f"needs, {needed:.3g}, and its weight vanishes: the graph falls into {count} "
                f"parts, and {loose} points have next to no weight. Enlarge bandwidth, or use "
                "bandwidth='median'."
            )
        return parts
