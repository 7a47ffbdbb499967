"""t-SNE on divergences: affinities of a given perplexity, embedded by openTSNE or scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import cpu_count
from scipy.sparse import csr_array, diags_array, eye_array
from sklearn.manifold import TSNE
from sklearn.neighbors import sort_graph_by_row_values
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd

from patchfold.base.threads import map_blocks, n_threads
from patchfold.base.validation import check_choice, check_count, check_positive
from patchfold.embedding.base_embedding import BasePatchEmbedding
from patchfold.graph.lengths import has_patches
from patchfold.mapping.nystrom import total_weights, weighted_places
from patchfold.neighbors import DEFAULT_NEIGHBORS

if TYPE_CHECKING:
    from patchfold.base.types import (
        Auto,
        Doubles,
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
    from patchfold.neighbors.copies import Copies
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.neighbors.search import Knn
    from patchfold.patches import GaussianPatch
    from patchfold.supervision import LabelRule


# Neighbours for each unit of perplexity; those beyond have next to no affinity (van der Maaten,
# JMLR 15, 2014).
NEIGHBORS_PER_PERPLEXITY = 3

# Steps with exaggerated affinities. The spectral start has the order of clusters already, which a
# random start finds in 250 steps; scikit-learn's 250 cannot be changed.
EXAGGERATED_STEPS, SKLEARN_STEPS = 100, 250

# Steps that a draft of a map takes, without exaggeration.
DRAFT_STEPS = 250

# Precisions are searched as powers of two between these, for squared distances of at most one: the
# lower end weighs all neighbours alike, the upper only those at the least distance. Sixty halvings
# leave an interval below rounding.
LEAST_POWER, LARGEST_POWER, HALVINGS = -64.0, 128.0, 60

# Squared distances that differ by at most TIE units of rounding count as equal. Otherwise the
# search would tell neighbours at the same distance apart by their rounding errors.
TIE = 16.0

# The embedding starts this small, as in both optimisers, with a hundredth of it as noise: points
# that coincide at the start would never part.
START_DEVIATION, START_NOISE = 1e-4, 1e-6

# Bytes that affinities and the optimiser need for each neighbour (benchmarks/memory.py).
AFFINITY_BYTES = 20

# The start needs the leading eigenvectors only roughly: POWER_ITERATIONS suffice.
POWER_ITERATIONS = 20

# scikit-learn is told this distance for pairs without affinity. Where a point has fewer neighbours
# than the perplexity it widens the Gaussian a hundred times by two, in vain: exp(-7900) is left.
FAR = 1e17

# Points of a recommended patch at most: chosen on the tuning tables and images
# (docs/evidence/recipe.md).
PATCH_POINTS = 5

# New points are placed among fewer neighbours than the perplexity says: a mean over many falls into
# the gaps between clusters. On digits (euclidean, 1200 fitted, 597 new) 5 nearest neighbours in the
# embedding name the class of 0.955 of them at 5, of 0.906 at 30. openTSNE has the same number.
PLACING_PERPLEXITY = 5.0


class PatchTSNE(BasePatchEmbedding):
    """t-SNE on a graph of local Gaussians, in which short circuits of the data are removed.

    Every point becomes the Gaussian of its neighbourhood, its patch. The length ``d_ij`` of the
    edge between two patches replaces the Euclidean distance of t-SNE, and is squared in the same
    way. With ``lengths="divergence"`` it is the divergence of the two patches: X-tSNE (X-space,
    sections 4.2 and 6). ``p_j|i`` is proportional to ``exp(-b_i d_ij^2)`` over the ``3 perplexity``
    neighbours of point i. ``b_i`` is chosen so that ``p_j|i`` has the given perplexity, and
    ``P = (p_j|i + p_i|j) / 2n``. So ``divergence="euclidean"`` is ordinary t-SNE.

    openTSNE optimises the embedding if it is installed (``pip install 'patchfold[tsne]'``) and
    there are one or two components; scikit-learn does so otherwise. Both start from the leading
    eigenvectors of the affinities, which need only divergences and no points. They give the
    clusters an order that a random start would leave to chance.

    Copies of a row count as one point: they share one place and one patch, and k neighbours are k
    other points. With ``supervision``, only copies with the same label count as one point. With a
    ``patch`` of your own and ``lengths="divergence"``, the method of the papers, every row is a
    point.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the embedding. With more than three scikit-learn computes all pairs.
    n_neighbors : int, "auto" or None, default=15
        Number of neighbours in a patch, if you give a ``patch`` without a size of its own; a point
        is not its own neighbour. A number above ``n_samples - 1`` is lowered to it, with a warning.
        ``"auto"`` chooses the best of 5, 10, 20 and 40 by a criterion that needs no labels, see
        :mod:`patchfold.selection`.
    divergence : str or callable, default="kl"
        How to compare two patches: a name in :data:`patchfold.divergences.NAMES`, or a function of
        two :class:`~patchfold.Patches`. ``"euclidean"`` is the classical method, without patches.
        With ``"precomputed"``, X is a square matrix of distances, or a sparse graph of them.
    patch : GaussianPatch or None, default=None
        How a neighbourhood becomes a Gaussian. None means a patch of 5 points, fitted to denoised
        points. ``patch_`` shows it. t-SNE is about the nearest neighbours: with the larger patches
        of the other estimators it separates classes less well (docs/evidence/recipe.md).
    lengths : {"pruned", "divergence"}, default="pruned"
        The length of an edge. ``"pruned"``: the distance between the centres of its two patches,
        in units of the typical edge. Short circuits, whose patches disagree and whose way around is
        long, are removed. Edges between clusters become up to 4 times as long.
        ``"divergence"``: the divergence of its two patches, as in the papers. Without patches, the
        length is the distance between the two points.
    graph : {"neighbors", "divergence"}, default="neighbors"
        What the ``3 perplexity`` neighbours are: the nearest points, or the nearest patches under
        the divergence. The nearest patches are searched among all points if all pairs fit into
        scikit-learn's ``working_memory``, otherwise among ten times as many nearest points. So they
        are if there are more columns than rows, and comparing all pairs would take minutes.
    radius : float or None, default=None
        Only points within this distance are neighbours; the nearest ``3 perplexity`` of them count.
        Leave ``n_neighbors`` at its default then, or set it to None.
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
    perplexity : float, default=30.0
        Effective number of neighbours of a point, at least 1. A value above a third of
        ``n_samples - 1`` is lowered to it, with a warning.
    learning_rate : float or "auto", default="auto"
        Length of a step; ``"auto"`` leaves it to the optimiser.
    early_exaggeration : float, default=12.0
        Factor of the affinities in the first 100 steps; with scikit-learn in the first 250.
    n_iter : int, default=250
        Number of steps after these. More steps separate clusters further, and hardly change who is
        whose neighbour.
    engine : {"auto", "threads", "cuda"} or distributed.Client, default="auto"
        Where the graph is built. ``"auto"`` follows the type of X: that of tensors of torch on
        their GPU, that of a Dask array or data frame on its cluster. ``"cuda"`` means the GPU, and
        a client its cluster. All other work runs in threads on this machine.
    n_jobs : int or None, default=None
        Number of threads; None takes all cores that this process may use, unless a context of
        joblib says otherwise. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed for the start of the optimiser, and of an approximate search. With None every fit draws
        again, as in scikit-learn.
    verbose : int, default=0
        1 prints the stages and their times, 2 also the optimiser's progress.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
    affinities_ : csr_array of shape (n_samples, n_samples)
        The symmetric ``P``, with sum one. Of several copies of a row, only the first has
        affinities.
    kl_divergence_ : float
        The Kullback-Leibler divergence of ``P`` and the embedding that the optimiser reached.
    perplexity_ : float
        The perplexity, as given or lowered.
    n_neighbors_ : int or None
        The number of neighbours in a patch, as given, lowered or chosen; None with a radius.
    patch_ : GaussianPatch or None
        The patch, as given or recommended (None for ``"euclidean"`` and ``"precomputed"``).
    patches_ : Patches or None
        The fitted Gaussians (None for ``"euclidean"`` and ``"precomputed"``).
    graph_ : csr_array of shape (n_samples, n_samples)
        The symmetric graph of lengths, which stores zeros. A copy of a row has one edge, of length
        zero, to the first copy. The graph may have several components.
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
    >>> from patchfold import PatchTSNE
    >>> PatchTSNE(random_state=0).fit_transform(load_iris().data).shape
    (150, 2)
    """

    affinities_: csr_array
    kl_divergence_: float
    perplexity_: float

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
        perplexity: float = 30.0,
        learning_rate: float | Auto = "auto",
        early_exaggeration: float = 12.0,
        n_iter: int = 250,
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
        self.perplexity = perplexity
        self.learning_rate = learning_rate
        self.early_exaggeration = early_exaggeration
        self.n_iter = n_iter
        self.engine = engine
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
        # together until they cannot be told apart, and nearly as well as all steps do
        # (docs/evidence/choosing-k.md).
        steps = DRAFT_STEPS - EXAGGERATED_STEPS
        return self._plain().set_params(early_exaggeration=1.0, n_iter=steps)

    def _candidates_to_choose(self, n: int) -> list[int] | None:
        # Only a given patch without a size of its own depends on n_neighbors.
        size = PATCH_POINTS if self.patch is None else self.patch.size
        if not has_patches(self.divergence) or isinstance(size, Integral):
            return [min(DEFAULT_NEIGHBORS, n - 1)]
        return None

    def _cut_to(self, n: int, *, given: bool) -> list[str]:
        cut = super()._cut_to(n, given=given)
        most = max(1.0, (n - 1) / NEIGHBORS_PER_PERPLEXITY)
        self.perplexity_ = min(float(self.perplexity), most)
        if self.perplexity_ < self.perplexity:
            cut.append(f"perplexity={self.perplexity_:.3g} instead of {self.perplexity:.3g}")
        return cut

    def _patch_for(self, n: int) -> GaussianPatch:
        patch = super()._patch_for(n)
        if self.patch is None and patch.size is not None:
            patch.set_params(size=min(patch.size, PATCH_POINTS))
        return patch

    def _setting(self, n: int) -> GraphSetting:
        return replace(
            super()._setting(n),
            degree=None if self.radius is not None else self._most(n),
            joined=False,  # a graph in parts does, with neighbours for every point
            needs=("perplexity", self.perplexity_),
        )

    def _most(self, n: int) -> int:
        """Return how many neighbours have an affinity."""
        return min(n - 1, int(NEIGHBORS_PER_PERPLEXITY * self.perplexity_))

    def _bytes(self, points: Any, setting: GraphSetting) -> int:
        n = points.shape[0]
        most = min(setting.degree or self._most(n), self._most(n))
        return super()._bytes(points, setting) + int(AFFINITY_BYTES * n * most)

    def _embed(self, graph: PatchGraph, n_components: int) -> None:
        with self._stage("embedding"):
            near = graph.neighborhoods.nearest(self._most(len(graph)))
            exponents = gaussian_exponents(near, self.perplexity_, self.n_jobs)
            self.affinities_ = joint_affinities(near, exponents)
            start = spectral_start(self.affinities_, n_components, self.random_state)
            if n_components <= 2 and find_spec("openTSNE") is not None:
                embedding = self._optimise_with_opentsne(start)
            else:
                embedding = self._optimise_with_sklearn(near, exponents, start)
            self.embedding_ = embedding.astype(near.distances.dtype, copy=False)

    def _optimise_with_opentsne(self, start: Floats) -> Floats:
        import openTSNE

        optimiser = openTSNE.TSNE(
            n_components=start.shape[1],
            learning_rate=self.learning_rate,
            early_exaggeration=self.early_exaggeration,
            early_exaggeration_iter=EXAGGERATED_STEPS,
            n_iter=self.n_iter,
            n_jobs=min(
                n_threads(self.n_jobs), cpu_count()
            ),  # OpenMP starts all, or ends the process
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
        every = start.shape[1] > 3  # no tree of more dimensions, all pairs instead
        optimiser = TSNE(
            start.shape[1],
            perplexity=self.perplexity_,
            learning_rate=self.learning_rate,
            early_exaggeration=self.early_exaggeration,
            max_iter=SKLEARN_STEPS + self.n_iter,
            metric="precomputed",
            init=start.astype(np.float32),
            n_jobs=self.n_jobs,
            verbose=max(0, int(self.verbose) - 1),
            method="exact" if every else "barnes_hut",
        )
        least = len(near) - 1 if every else int(NEIGHBORS_PER_PERPLEXITY * self.perplexity_ + 1)
        distances = calibrated_distances(near, exponents, least)
        embedding = optimiser.fit_transform(distances.toarray() if every else distances)
        self.kl_divergence_ = float(optimiser.kl_divergence_)
        return np.asarray(embedding)

    def _expand(self, copies: Copies) -> None:
        super()._expand(copies)
        n, P = len(copies.point), self.affinities_.tocoo()
        ends = copies.first[P.row], copies.first[P.col]
        self.affinities_ = csr_array((P.data, ends), shape=(n, n))

    def _extend(self, near: Neighborhoods, X: Any) -> Floats:
        """Place new points at the mean of their neighbours, weighted by affinity."""
        perplexity = min(self.perplexity_, PLACING_PERPLEXITY)
        weights = np.exp(-gaussian_exponents(near, perplexity, self.n_jobs))
        return weighted_places(near, weights, self.embedding_) / total_weights(near, weights)


def gaussian_exponents(
    near: Neighborhoods, perplexity: float, n_jobs: int | None = None
) -> Doubles:
    """Return ``b_i d_ij^2``, less their least, for every edge, the rows having the perplexity.

    The affinities ``exp(-exponent)``, divided by their sum, have the entropy ``log(perplexity)``;
    a row that cannot have it comes as close as it can: with fewer neighbours than the perplexity
    all count alike, with more at the same least distance only these do.
    """
    target = np.log(perplexity)
    tie = TIE * np.finfo(near.distances.dtype).eps

    def calibrate(block: slice) -> Doubles:
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


def spectral_start(P: csr_array, n_components: int, random_state: Any) -> Doubles:
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
