"""t-SNE on divergences: affinities of a given perplexity, embedded by openTSNE or scikit-learn."""

from __future__ import annotations

from importlib.util import find_spec
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array
from sklearn.manifold import TSNE
from sklearn.neighbors import sort_graph_by_row_values
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd

from patchfold._validation import check_choice, check_count, check_positive
from patchfold.embedding._embedding import BasePatchEmbedding
from patchfold.engines.pools import map_blocks, n_threads
from patchfold.graph.edges import symmetric
from patchfold.neighbors import DEFAULT_NEIGHBORS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.patches import GaussianPatch

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]

# Neighbours for each unit of perplexity; those beyond have next to no affinity (van der Maaten,
# JMLR 15, 2014).
NEIGHBORS_PER_PERPLEXITY = 3

# Steps with exaggerated affinities; scikit-learn's number cannot be changed, openTSNE's is equal.
EXAGGERATED_STEPS = 250

# Precisions are searched as powers of two between these, for squared distances of at most one: the
# lower end weighs all neighbours alike, the upper only those at the least distance. Sixty halvings
# leave an interval below rounding.
LEAST_POWER, LARGEST_POWER, HALVINGS = -64.0, 128.0, 60

# Squared distances that differ by no more than so many units of rounding are equal. Otherwise the
# search would tell neighbours at the same distance apart by their rounding errors.
TIE = 16.0

# The embedding starts this small, as in both optimisers, with a hundredth of it as noise: points
# that coincide at the start would never part.
START_DEVIATION, START_NOISE = 1e-4, 1e-6

# The start needs the leading eigenvectors only roughly; so many power iterations give them.
POWER_ITERATIONS = 20

# scikit-learn is told this distance for pairs without affinity. Where a point has fewer neighbours
# than the perplexity it widens the Gaussian a hundred times by two, in vain: exp(-7900) is left.
FAR = 1e17

# New points are placed among fewer neighbours than the perplexity says: a mean over many falls into
# the gaps between clusters. On digits (euclidean, 1200 fitted, 597 new) 5 nearest neighbours in the
# embedding name the class of 0.955 of them at 5, of 0.906 at 30. openTSNE has the same number.
PLACING_PERPLEXITY = 5.0


class PatchTSNE(BasePatchEmbedding):
    """t-SNE whose affinities come from the divergences of patches (X-tSNE).

    The divergence stands where t-SNE has the Euclidean distance (X-space, sections 4.2 and 6), and
    enters the Gaussian squared as that does: ``p_j|i`` is proportional to ``exp(-b_i d_ij^2)`` over
    the ``3 perplexity`` neighbours of point i, with ``b_i`` such that they have the given
    perplexity, and ``P = (p_j|i + p_i|j) / 2n``. So ``divergence="euclidean"`` is ordinary t-SNE.

    openTSNE optimises the embedding where it is installed (``pip install 'patchfold[tsne]'``) and
    there are one or two components, scikit-learn otherwise. Both start from the leading
    eigenvectors of the affinities, which put the clusters into an order that a random start leaves
    to chance, and need no points, only divergences.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the embedding. With more than three scikit-learn computes all pairs.
    n_neighbors : int or "auto", default=15
        Points in a patch, where ``patch`` has no size of its own; the point itself not counted.
        ``"auto"`` takes the best of 5, 10, 20 and 40 by a criterion without labels, see
        :mod:`patchfold.selection`.
    divergence : str or callable, default="kl"
        Length of an edge: a name of :data:`patchfold.divergences.NAMES`, a function of two
        :class:`~patchfold.Patches`, ``"euclidean"`` for the classical method, or ``"precomputed"``
        where X holds distances (square), or is a sparse graph of them.
    patch : GaussianPatch or None
        How a neighbourhood becomes a Gaussian. None means ``GaussianPatch()``: of plain patches
        t-SNE separates classes better than of the denoised ones that the other estimators have.
    denoise : bool or None, default=None
        Whether patches are fitted to smoothed points ``z`` and centred at
        ``z + Sigma (x - z) / l``, ``l`` the largest eigenvalue of ``Sigma``. None means False.
    lengths : {"divergence", "stretched"} or None, default=None
        Whether edges are as long as the divergence of their patches, or as the distance of their
        centres, in units of the typical edge, without short circuits. None means ``"divergence"``.
    graph : {"neighbors", "divergence"}, default="neighbors"
        Whether the ``3 perplexity`` neighbours are the nearest points, or the nearest patches under
        the divergence: of all, while all pairs fit in scikit-learn's ``working_memory``, else of
        ``n_candidates``.
    n_candidates : int or None
        Euclidean neighbours among which the nearest patches are sought where there is no room for
        all pairs; None means ten times as many as wanted.
    radius : float or None
        Neighbours are the points within this distance; the nearest ``3 perplexity`` of them count.
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
    perplexity : float, default=30.0
        Effective number of neighbours of a point, at least 1 and below the number of samples.
    learning_rate : float or "auto", default="auto"
        Length of a step; ``"auto"`` leaves it to the optimiser.
    early_exaggeration : float, default=12.0
        Factor of the affinities in the first 250 steps.
    n_iter : int, default=500
        Steps after those.
    n_jobs : int or None
        Number of threads. Results do not depend on it.
    random_state : int, RandomState or None
        Seed of the start, and of an approximate neighbour search.
    verbose : int, default=0
        1 prints the stages and their times, 2 also the optimiser's progress.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
    affinities_ : csr_array of shape (n_samples, n_samples)
        The symmetric ``P``, with sum one.
    kl_divergence_ : float
        What the optimiser reached: the Kullback-Leibler divergence of ``P`` and the embedding.
    n_neighbors_ : int or None
        ``n_neighbors``, as given or chosen; None with a radius.
    graph_ : csr_array of shape (n_samples, n_samples)
        The symmetric graph of lengths; zeros are stored. It may have several components.
    patches_ : Patches or None
        The fitted Gaussians (None for ``"euclidean"`` and ``"precomputed"``).
    fit_report_ : dict
        Seconds that each stage of the fit took.
    map_ : regressor or None
        What maps new points; None for ``"nystrom"``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold import PatchTSNE
    >>> PatchTSNE(random_state=0).fit_transform(load_iris().data).shape
    (150, 2)
    """

    _plain_patches = True

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
        perplexity: float = 30.0,
        learning_rate: Any = "auto",
        early_exaggeration: float = 12.0,
        n_iter: int = 500,
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
        self.perplexity = perplexity
        self.learning_rate = learning_rate
        self.early_exaggeration = early_exaggeration
        self.n_iter = n_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if check_positive("perplexity", self.perplexity) < 1:
            raise ValueError(
                f"perplexity={self.perplexity} is below 1, the effective number of neighbours; "
                "give at least 1."
            )
        if isinstance(self.learning_rate, str):
            check_choice("learning_rate", self.learning_rate, ("auto",))
        else:
            check_positive("learning_rate", self.learning_rate)
        if check_positive("early_exaggeration", self.early_exaggeration) < 1:
            raise ValueError(
                f"early_exaggeration={self.early_exaggeration} is below 1, which exaggerates "
                "nothing; give at least 1."
            )
        check_count("n_iter", self.n_iter)

    def _draft(self) -> Any:
        # 250 steps without exaggeration choose better than exaggerated ones, which draw neighbours
        # together until they cannot be told apart, and nearly as all 750 do (docs/choosing-k.md).
        return self._plain().set_params(early_exaggeration=1.0, n_iter=1)

    def _candidates_to_choose(self, n: int) -> list[int] | None:
        # Patches alone depend on n_neighbors, and not where they have a size of their own.
        size = None if self.patch is None else self.patch.size
        if not self._has_patches() or isinstance(size, Integral):
            return [min(DEFAULT_NEIGHBORS, n - 1)]
        return None

    def _most(self) -> int:
        """Return how many neighbours have an affinity."""
        return min(int(self._n_fit) - 1, int(NEIGHBORS_PER_PERPLEXITY * self.perplexity))

    def _degree(self) -> int | None:
        return None if self.radius is not None else self._most()

    def _fit_graph(self, X: Any, y: Any = None) -> Neighborhoods:
        n = X.shape[0]
        if self.perplexity > n - 1:
            raise ValueError(
                f"perplexity={self.perplexity} needs more than {self.perplexity} samples, got {n}; "
                f"lower perplexity to at most {n - 1}, better below {max(1, n // 3)}."
            )
        return super()._fit_graph(X, y)

    def _search(self, X: Any, k: int | None) -> Neighborhoods:
        near = super()._search(X, k)
        self._check_degrees(near)  # where labels leave fewer neighbours, these will count alike
        return near

    def _connect(
        self, near: Neighborhoods, i: Indices, j: Indices, lengths: Floats
    ) -> Neighborhoods:
        """Build the graph; t-SNE needs no connected one, only neighbours for every point."""
        if self.supervision is not None:  # labels may have taken all of them
            return super()._connect(near, i, j, lengths)
        self.graph_ = symmetric(i, j, lengths, self._n_fit)
        return near

    def _embed(self, near: Neighborhoods) -> None:
        self._check_components()
        near = near.nearest(self._most())
        exponents = gaussian_exponents(near, self.perplexity, self.n_jobs)
        self.affinities_ = joint_affinities(near, exponents)
        start = spectral_start(self.affinities_, self.n_components, self.random_state)
        if self.n_components <= 2 and find_spec("openTSNE") is not None:
            embedding = self._optimise_with_opentsne(start)
        else:
            embedding = self._optimise_with_sklearn(near, exponents, start)
        self.embedding_ = embedding.astype(near.distances.dtype, copy=False)

    def _check_degrees(self, near: Neighborhoods) -> None:
        fewest = int(near.degrees.min())
        if fewest < self.perplexity:
            which = "the given graph has" if self.radius is None else f"radius={self.radius} leaves"
            remedy = "add edges" if self.radius is None else "enlarge radius"
            raise ValueError(
                f"perplexity={self.perplexity} needs at least as many neighbours of every point, "
                f"{which} a point with {fewest}; {remedy} or lower perplexity."
            )

    def _optimise_with_opentsne(self, start: Floats) -> Floats:
        import openTSNE

        optimiser = openTSNE.TSNE(
            n_components=self.n_components,
            learning_rate=self.learning_rate,
            early_exaggeration=self.early_exaggeration,
            early_exaggeration_iter=EXAGGERATED_STEPS,
            n_iter=self.n_iter,
            n_jobs=n_threads(self.n_jobs),
            verbose=self.verbose > 1,
        )
        # A copy, because exaggeration multiplies the affinities in place.
        affinities = openTSNE.affinity.PrecomputedAffinities(self.affinities_.copy())
        embedding = optimiser.fit(affinities=affinities, initialization=start)
        self.kl_divergence_ = float(embedding.kl_divergence)
        return np.array(embedding)

    def _optimise_with_sklearn(
        self, near: Neighborhoods, exponents: Floats, start: Floats
    ) -> Floats:
        every = self.n_components > 3  # no tree of more dimensions, all pairs instead
        optimiser = TSNE(
            self.n_components,
            perplexity=self.perplexity,
            learning_rate=self.learning_rate,
            early_exaggeration=self.early_exaggeration,
            max_iter=EXAGGERATED_STEPS + self.n_iter,
            metric="precomputed",
            init=start.astype(np.float32),
            n_jobs=self.n_jobs,
            verbose=max(0, int(self.verbose) - 1),
            method="exact" if every else "barnes_hut",
        )
        least = len(near) - 1 if every else int(NEIGHBORS_PER_PERPLEXITY * self.perplexity + 1)
        distances = calibrated_distances(near, exponents, least)
        embedding = optimiser.fit_transform(distances.toarray() if every else distances)
        self.kl_divergence_ = float(optimiser.kl_divergence_)
        return np.asarray(embedding)

    def _extend(self, near: Neighborhoods, X: Any) -> Floats:
        """Place new points at the mean of their neighbours, weighted by affinity."""
        perplexity = min(self.perplexity, PLACING_PERPLEXITY)
        weights = np.exp(-gaussian_exponents(near, perplexity, self.n_jobs))
        W = csr_array((weights, near.indices, near.indptr), (len(near), self._n_fit))
        return np.asarray((W @ self.embedding_) / np.asarray(W.sum(axis=1))[:, None])


def gaussian_exponents(
    near: Neighborhoods, perplexity: float, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Return ``b_i d_ij^2``, less their least, for every edge, the rows having the perplexity.

    The affinities ``exp(-exponent)``, divided by their sum, have the entropy ``log(perplexity)``;
    a row that cannot have it comes as close as it can: with fewer neighbours than the perplexity
    all count alike, with more at the same least distance only these do.
    """
    target = np.log(perplexity)
    tie = TIE * np.finfo(near.distances.dtype).eps

    def calibrate(block: slice) -> NDArray[np.float64]:
        bounds = near.indptr[block.start : block.stop + 1]
        starts, degrees = bounds[:-1] - bounds[0], np.diff(bounds)
        d = near.distances[bounds[0] : bounds[-1]].astype(np.float64)
        largest = np.maximum.reduceat(d, starts)
        # The unit cancels; in units of the largest nothing overflows.
        squared = np.square(d / np.repeat(np.where(largest > 0, largest, 1.0), degrees))
        beyond = squared - np.repeat(np.minimum.reduceat(squared, starts), degrees)
        beyond[beyond <= tie * squared] = 0.0
        low, high = np.full(len(degrees), LEAST_POWER), np.full(len(degrees), LARGEST_POWER)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            exponents = beyond * np.repeat(np.exp2(middle), degrees)
            weights = np.exp(-exponents)
            total = np.add.reduceat(weights, starts)
            entropy = np.log(total) + np.add.reduceat(weights * exponents, starts) / total
            wide = entropy > target
            low, high = np.where(wide, middle, low), np.where(wide, high, middle)
        return np.asarray(beyond * np.repeat(np.exp2(high), degrees))

    widest = int(near.degrees.max(initial=1))
    return np.concatenate(map_blocks(calibrate, len(near), 8 * 8 * widest, n_jobs))


def joint_affinities(near: Neighborhoods, exponents: Floats) -> csr_array:
    """Return ``P = (p_j|i + p_i|j) / 2n`` with ``p_j|i`` proportional to ``exp(-exponent)``."""
    n = len(near)
    weights = np.exp(-exponents)
    weights /= np.bincount(near.sources, weights, minlength=n)[near.sources]
    conditional = csr_array((weights, near.indices, near.indptr), (n, n))
    return csr_array((conditional + conditional.T) / (2 * n))


def spectral_start(P: csr_array, n_components: int, random_state: Any) -> NDArray[np.float64]:
    """Return the leading eigenvectors of the random walk on the affinities, small, with noise.

    They are found by a randomised decomposition, roughly: that suffices for a start, takes the same
    time for every graph, and does not mind one in several components.
    """
    random = check_random_state(random_state)
    root = np.sqrt(np.asarray(P.sum(axis=1)))
    scale = diags_array(1 / root)
    # The walk that stays with probability 1/2 has no negative eigenvalues.
    lazy = csr_array(eye_array(P.shape[0]) + scale @ P @ scale) / 2
    vectors, _, _ = randomized_svd(
        lazy, n_components + 1, n_iter=POWER_ITERATIONS, random_state=random
    )
    start = vectors[:, 1:] / root[:, None]
    start -= start.mean(axis=0)
    start *= START_DEVIATION / start.std()
    return np.asarray(start + START_NOISE * random.standard_normal(start.shape))


def calibrated_distances(near: Neighborhoods, exponents: Floats, least: int) -> csr_array:
    """Return distances from which scikit-learn's ``TSNE`` finds the affinities ``exp(-exponent)``.

    It looks for the perplexity itself, beginning with the Gaussian ``exp(-distance^2)``: with
    the roots of the exponents as distances that is the one, and the search is over at once. Rows
    are filled with far points up to the ``least`` number of neighbours it asks for.
    """
    n = len(near)
    fill = min(least, n - 1)
    others = (np.arange(n)[:, None] + np.arange(1, fill + 1)) % n
    rows = np.concatenate([np.arange(n), near.sources, np.repeat(np.arange(n), fill)])
    columns = np.concatenate([np.arange(n), near.indices, others.ravel()])
    known = np.concatenate([np.zeros(n), np.minimum(np.sqrt(exponents), FAR)])
    distances = np.concatenate([known, np.full(n * fill, FAR)])
    # The first entry of a pair counts: itself, then a neighbour, then a filler.
    code, first = np.unique(rows * n + columns, return_index=True)
    starts = np.searchsorted(code, np.arange(n + 1) * n)
    graph = csr_array((distances[first], code % n, starts), shape=(n, n))
    return csr_array(sort_graph_by_row_values(graph, copy=False, warn_when_not_sorted=False))
