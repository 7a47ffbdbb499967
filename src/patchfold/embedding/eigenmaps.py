"""Laplacian eigenmaps on a kernel of divergences."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from patchfold._validation import check_choice, warn_user
from patchfold.embedding._embedding import BasePatchEmbedding
from patchfold.engines.eigenvectors import bottom_eigenvectors
from patchfold.graph import components
from patchfold.graph.edges import laplacian
from patchfold.supervision import Cut, label_rule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.patches import GaussianPatch

    Floats = NDArray[np.floating[Any]]
    Indices = NDArray[np.intp]

KERNELS = ("gaussian", "exponential")
# bandwidth="median" is enlarged until the longest edge that the graph needs to stay connected keeps
# the weight exp(-5), about 0.007.
LEAST_EXPONENT = 5.0
# A point whose weights sum to less than this share of the largest sum is as good as alone.
LOOSE = 1e-6
LAPLACIANS = ("unnormalized", "random-walk", "symmetric")


class PatchEigenmaps(BasePatchEmbedding):
    """Laplacian eigenmaps on a graph of local Gaussians without its short circuits.

    Edges that short-circuit the manifold are removed, all others count alike. A finite bandwidth
    ``t`` gives them the weight ``exp(-d^2 / t)`` (ELAP eq. 42) or ``exp(-d / t)`` (X-space, section
    4.1) of their length ``d``. The embedding consists of the eigenvectors of the Laplacian with the
    smallest eigenvalues above zero. Points that the kernel leaves without weight stay at the
    origin, with a warning.

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
    n_jobs : int or None
        Number of threads. Results do not depend on it.
    random_state : int, RandomState or None
        Seed of an approximate neighbour search.
    verbose : int, default=0
        1 prints the stages and their times.
    kernel : {"gaussian", "exponential"}, default="gaussian"
        ``exp(-d^2 / t)`` or ``exp(-d / t)``.
    bandwidth : float or "median", default=inf
        ``t``. Infinite, all edges have the weight 1, as in scikit-learn's ``SpectralEmbedding``;
        long edges then do not tear a few points off the rest. ``"median"`` takes the median length
        of the edges (squared for the Gaussian kernel), or more where an edge that holds the graph
        together would lose its weight. ELAP has 1 (:func:`patchfold.papers.elap`).
    laplacian : {"unnormalized", "random-walk", "symmetric"}, default="random-walk"
        ``L = D - W`` (ELAP), or one of the two normalised ones. These share their spectrum; both
        give the embedding ``D^(-1/2) u`` for the eigenvectors ``u`` of ``D^(-1/2) L D^(-1/2)``, as
        scikit-learn's ``SpectralEmbedding`` does.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
    eigenvalues_ : array of shape (n_components,)
        The eigenvalues that belong to the embedding, rising.
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
    bandwidth_ : float
        The bandwidth used.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold import PatchEigenmaps
    >>> X = load_iris().data
    >>> PatchEigenmaps(n_neighbors=30).fit_transform(X).shape
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
        kernel: str = "gaussian",
        bandwidth: Any = np.inf,
        laplacian: str = "random-walk",
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
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.laplacian = laplacian
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("kernel", self.kernel, KERNELS)
        check_choice("laplacian", self.laplacian, LAPLACIANS)
        if isinstance(self.bandwidth, str):
            check_choice("bandwidth", self.bandwidth, ("median",))
        elif type(self.bandwidth) is bool or not (
            isinstance(self.bandwidth, Real) and float(self.bandwidth) > 0
        ):
            raise ValueError(f"bandwidth={self.bandwidth!r} must be positive, or 'median'.")
        elif float(self.bandwidth) == np.inf and self.graph == "neighbors":
            rule = label_rule(self.supervision)
            if rule is not None and not isinstance(rule, Cut):
                warn_user(
                    f"supervision={self.supervision!r} changes lengths, and bandwidth=inf gives "
                    "edges of any length the same weight; take bandwidth='median' or "
                    "supervision='cut'."
                )

    def _embed(self, near: Neighborhoods) -> None:
        self._check_components()
        self.bandwidth_ = self._bandwidth()
        W = self.graph_.astype(np.float64)
        W.data = self._kernel(W.data)
        parts = self._parts(W)
        # A point without weight is a part of its own, whose eigenvector has the eigenvalue zero and
        # is left out with those of the other parts: it stays at the origin.
        held = np.flatnonzero(np.bincount(parts)[parts] > 1)
        labels, of_held = np.unique(parts[held], return_inverse=True)
        skip = len(labels)
        count = min(self.n_components, len(held) - skip)
        self.eigenvalues_ = np.zeros(self.n_components)
        self.embedding_ = np.zeros((len(near), self.n_components), dtype=near.distances.dtype)
        if count < 1:
            return
        L, degrees = laplacian(csr_array(W[held][:, held]))
        root = np.ones_like(degrees)
        if self.laplacian != "unnormalized":
            root = np.sqrt(degrees)
            L = csr_array(L.multiply(1 / root[:, None]).multiply(1 / root[None, :]))
        values, vectors = bottom_eigenvectors(
            L, count, skip=skip, kernel=root, parts=of_held if skip > 1 else None
        )
        self.eigenvalues_[:count] = np.clip(values, 0, None)
        self.embedding_[held, :count] = vectors / root[:, None]

    def _extend(self, near: Neighborhoods, X: Any) -> Floats:
        """Extend the eigenvectors by Nystrom: ``f(x) = sum_j w_j f_j / (degree - lambda)``."""
        weights = self._kernel(near.distances)
        W = csr_array((weights, near.indices, near.indptr), (len(near), self._n_fit))
        degree = np.asarray(W.sum(axis=1), dtype=weights.dtype)[:, None]
        if (degree == 0).any():
            raise ValueError(
                f"bandwidth={self.bandwidth_:.3g} leaves {int((degree == 0).sum())} new points "
                "without a neighbour; they are too far from all fitted points, or bandwidth is too "
                "small for them."
            )
        eigenvalues = self.eigenvalues_
        if self.laplacian == "unnormalized":
            scale = degree - eigenvalues
        else:
            scale = degree * (1 - eigenvalues)
        return np.asarray((W @ self.embedding_) / _away_from_zero(scale, degree))

    def _bandwidth(self) -> float:
        """Return the bandwidth; the median one never lets the graph fall apart."""
        if not isinstance(self.bandwidth, str):
            return float(self.bandwidth)
        lengths = self.graph_.data[self.graph_.data > 0]
        if not len(lengths):
            return 1.0
        # Duplicates, at distance zero, say nothing about the scale of the rest.
        typical, needed = float(np.median(lengths)), components.longest_needed(self.graph_)
        power = 2 if self.kernel == "gaussian" else 1
        return max(typical**power, needed**power / LEAST_EXPONENT, np.finfo(float).tiny)

    def _kernel(self, lengths: Floats) -> Floats:
        power = 2 if self.kernel == "gaussian" else 1
        return np.asarray(np.exp(-(lengths.astype(np.float64) ** power) / self.bandwidth_))

    def _parts(self, W: csr_array) -> Indices:
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
            needed = components.longest_needed(self.graph_)
            warn_user(
                f"bandwidth={self.bandwidth_:.3g} is small beside the longest edge that the graph "
                f"needs, {needed:.3g}, and its weight vanishes: the graph falls into {count} "
                f"parts, and {loose} points have next to no weight. Enlarge bandwidth, or use "
                "bandwidth='median'."
            )
        return parts


def _away_from_zero(scale: Floats, degree: Floats) -> Floats:
    """Keep a denominator from vanishing: eigenvalues reach degrees only for isolated points."""
    least = 1e-3 * degree
    return np.where(np.abs(scale) < least, np.copysign(least, scale), scale)
