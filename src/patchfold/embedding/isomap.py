"""Isomap on patches: geodesics through their graph, placed by least stress or classically."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
from scipy.sparse import csr_array, vstack
from sklearn.utils import gen_batches
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from patchfold.base.arrays import to_numpy
from patchfold.base.memory import check_memory
from patchfold.base.sampling import drawn_rows
from patchfold.base.threads import map_slices
from patchfold.base.types import ScalingName
from patchfold.base.validation import check_choice, check_count, warn_user
from patchfold.embedding.base_embedding import BasePatchEmbedding, widened
from patchfold.embedding.base_graph import ordinary_arithmetic
from patchfold.graph.geodesics import by_point, paths_on, shortest_paths, unit_of
from patchfold.mapping.nystrom import Triangulation, drift
from patchfold.neighbors.given import are_given
from patchfold.solvers import eigenvectors
from patchfold.solvers.scaling import (
    SAMPLED_FROM,
    START,
    classical_mds,
    least_stress,
    triangulation,
)

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
    from patchfold.distributed.graph import ClusterGraph
    from patchfold.divergences import Divergence
    from patchfold.graph.patch_graph import GraphSetting, PatchGraph
    from patchfold.neighbors.copies import Copies
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.neighbors.search import Knn
    from patchfold.patches import GaussianPatch
    from patchfold.supervision import LabelRule


# New points are placed by their geodesics to PLACING_POINTS of the fitted ones. That is as good as
# to all of them, and what has to be kept stays far below n x n.
PLACING_POINTS = 1000

# landmarks="auto" takes up to EXACT_POINTS points, else LANDMARKS of them. On 5000 images of MNIST
# and Fashion-MNIST (seed 100) the map then has up to 2 % more stress, and classes are as far apart.
EXACT_POINTS, LANDMARKS = 4000, 500

# Sources whose geodesics are divided by the unit at once.
UNIT_ROWS = 16

SCALINGS = get_args(ScalingName)

# Drift from which partial_fit suggests a fit. On swiss rolls of which a third or a half came first,
# it was 0.02 to 0.05, and places had a rank correlation of 0.999 with those of one fit; on spheres,
# digits, blobs and a plane whose first rows did not show what came later, it was 0.1 to 5 (seed 0).
LARGE_DRIFT = 0.1


def _can_grow(isomap: PatchIsomap) -> bool:
    """Tell whether rows can be added to a fit, or say why not."""
    if isomap.supervision is not None:
        raise ValueError(
            f"partial_fit adds rows without labels, and supervision={isomap.supervision!r} needs "
            "them; fit all rows again, or use supervision=None."
        )
    if isomap.divergence == "precomputed":
        raise ValueError(
            "partial_fit adds points, and divergence='precomputed' has distances; fit all of them "
            "again."
        )
    if are_given(isomap.knn):
        raise ValueError(
            "partial_fit adds rows, and knn=(indices, distances) are neighbours of the first ones; "
            "fit all rows again with the neighbours of all, or use knn='auto'."
        )
    return True


class PatchIsomap(BasePatchEmbedding):
    """Isomap on a graph of local Gaussians without short circuits.

    Every point becomes the Gaussian of its neighbourhood, its patch. The length of an edge is the
    distance between the centres of its two patches. Edges that short-circuit the manifold are
    removed. Geodesics are the shortest paths in this graph. Points are placed so that their
    distances in the embedding fit the geodesics best, by least squares. The start is the classical
    scaling of Isomap: ``B = -H D^2 H / 2`` gives the coordinates ``V sqrt(Lambda)``.

    With ``patch=GaussianPatch()``, ``lengths="divergence"`` and ``scaling="classical"``, the length
    of an edge is the divergence of its two patches, and geodesics are scaled as in Isomap. This is
    the method of the papers (:func:`patchfold.papers.isomap_kl`,
    :func:`~patchfold.papers.x_isomap`).

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
        two :class:`~patchfold.Patches`. ``"euclidean"`` compares points, without patches; with
        ``scaling="classical"``, this is the classical method. With ``"precomputed"``, X is a square
        matrix of distances, or a sparse graph of them.
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
    scaling : {"stress", "classical"}, default="stress"
        How geodesics become places. ``"stress"``: so that distances in the embedding fit them best,
        by least squares. Data that lie in ``n_components`` dimensions look the same as with
        ``"classical"``. Of other data, groups that classical scaling projects onto each other stay
        apart. ``"classical"``: the projection of Isomap and of the papers.
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
    landmarks : int, "auto" or None, default="auto"
        Number of points from which geodesics are computed. These points are scaled, and all others
        are placed by their geodesics to them. This needs memory for n x ``landmarks`` values
        instead of n x n. ``"auto"`` uses all of up to 4000 points, and 500 landmarks of more. None
        uses all points.
    engine : {"auto", "threads", "cuda"} or distributed.Client, default="auto"
        Where the work runs. ``"auto"`` follows the type of X: Dask arrays and data frames are
        fitted on their cluster, tensors of torch on their GPU, all other data in threads on this
        machine. ``"cuda"`` means the GPU, and a client its cluster.
    n_jobs : int or None, default=None
        Number of threads; None takes all cores that this process may use, unless a context of
        joblib says otherwise. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed for the landmarks, and for the start of an approximate search. With None every fit
        takes the same landmarks, and starts the search anew.
    verbose : int, default=0
        1 prints the stages and their times.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
    eigenvalues_ : array of shape (n_components,)
        The leading eigenvalues of ``B``, largest first; with landmarks, of the matrix of the
        landmarks. With ``scaling="stress"``, those of the classical start.
    landmarks_ : array of shape (n_landmarks,) or None
        The rows of the landmarks; None if geodesics were computed from all points.
    dist_matrix_ : array of shape (n_samples, n_samples)
        The geodesics between all points, found each time they are asked for.
    drift_ : float
        How far rows added by :meth:`partial_fit` have drifted from the landmarks' frame; 0 after
        ``fit``.
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
    >>> from patchfold import PatchIsomap
    >>> isomap = PatchIsomap(n_neighbors=30).fit(load_iris().data)
    >>> isomap.embedding_.shape
    (150, 2)
    >>> isomap.patch_
    GaussianPatch(covariance='low-rank', denoise=True, rank=10, size=7)
    """

    landmarks_: Indices | None
    eigenvalues_: Floats
    drift_: float
    _placing: Triangulation

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | Auto | None = 15,
        divergence: str | Divergence = "kl",
        patch: GaussianPatch | None = None,
        lengths: LengthName = "pruned",
        scaling: ScalingName = "stress",
        graph: GraphName = "neighbors",
        radius: float | None = None,
        supervision: RuleName | LabelRule | None = None,
        out_of_sample: OutOfSample = "nystrom",
        metric: RowMetricName = "euclidean",
        knn: Knn = "auto",
        landmarks: int | Auto | None = "auto",
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
        self.scaling = scaling
        self.graph = graph
        self.radius = radius
        self.supervision = supervision
        self.out_of_sample = out_of_sample
        self.metric = metric
        self.knn = knn
        self.landmarks = landmarks
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @available_if(_can_grow)  # type: ignore[untyped-decorator]
    @ordinary_arithmetic
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add rows to the fitted ones, which keep their places; the first call is a ``fit``.

        The graph is built again from all rows, as if they had been fitted together. The landmarks
        keep their places, and new rows get their places from their geodesics to the landmarks.
        Without landmarks, up to 1000 of the points that were fitted first become the landmarks. A
        row that equals a fitted row gets the place of that row.

        ``drift_`` tells how far the data have moved away from the landmarks' frame. It is the
        larger of two shares: how far the landmarks would move if they were placed again in the
        present graph, and how much worse the frame fits the new rows than the landmarks. Above 0.1
        a warning suggests fitting all rows again.

        Not available with ``supervision`` or ``divergence="precomputed"``.

        Parameters
        ----------
        X : array of shape (n_new, n_features)
            The rows to add: any number of them, after the first call.
        y : ignored

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from patchfold import PatchIsomap
        >>> from patchfold.datasets import make_manifold
        >>> X = make_manifold("swiss-roll", 1200, random_state=0).X
        >>> isomap = PatchIsomap(landmarks=100, random_state=0).partial_fit(X[:1000])
        >>> before = isomap.embedding_
        >>> isomap.partial_fit(X[1000:]).embedding_.shape
        (1200, 2)
        >>> bool((isomap.embedding_[:1000] == before).all()), bool(isomap.drift_ < 0.1)
        (True, True)
        """
        if not hasattr(self, "patch_graph_"):
            self.fit(X)
            return self
        if self._on_cluster is not None:
            raise ValueError(
                "partial_fit adds no rows to a fit on a cluster; fit all rows again, or use "
                "transform, which places new ones."
            )
        X = self._validate(X, reset=False)
        grown = self._copied()  # a growth that is stopped leaves the fit as it was
        grown._grow(X)  # noqa: SLF001 - of this estimator's own copy
        self._forget()
        vars(self).update(vars(grown))
        return self

    @property
    def dist_matrix_(self) -> Floats:
        """The geodesics between all fitted points, (n, n), found each time they are asked for."""
        check_is_fitted(self)
        return self._geodesics(None)

    def reconstruction_error(self) -> float:
        """Return how badly the embedding shows the geodesics, as scikit-learn's Isomap does.

        ``||K(D) - K(D_Y)|| / n`` (Frobenius) with the geodesics ``D``, the distances ``D_Y`` in the
        embedding, and ``K(D) = -H D^2 H / 2``. With landmarks, over the landmarks.

        Returns
        -------
        float

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from patchfold import PatchIsomap
        >>> X = load_iris().data
        >>> errors = [PatchIsomap(d, n_neighbors=30).fit(X).reconstruction_error() for d in (1, 2)]
        >>> errors[1] < errors[0]
        True
        """
        check_is_fitted(self)
        landmarks = self.landmarks_
        geodesics = self._geodesics(landmarks).astype(np.float64)
        places = self.embedding_ if landmarks is None else self.embedding_[landmarks]
        kernel = geodesics if landmarks is None else geodesics[:, landmarks]
        unit = float(kernel.max()) or 1.0  # so that squares neither overflow nor vanish
        kernel = -np.square(kernel / unit) / 2
        kernel -= kernel.mean(axis=0)
        kernel -= kernel.mean(axis=1, keepdims=True)
        centred = (places.astype(np.float64) - places.mean(axis=0, dtype=np.float64)) / unit
        return float(np.linalg.norm(kernel - centred @ centred.T) / len(kernel) * unit * unit)

    def _geodesics(self, sources: Indices | None) -> Floats:
        """Return the geodesics from some fitted points, None for all, to all."""
        if self._on_cluster is not None:
            raise AttributeError(
                "a fit on a cluster has its graph there; bring it here with "
                "patchfold.distributed.gather(estimator) for its geodesics."
            )
        matrix = self.patch_graph_.matrix
        n, count = matrix.shape[0], matrix.shape[0] if sources is None else len(sources)
        what = f"geodesics from {count} of {n} points"
        check_memory(3 * 8 * n * count, what, "ask shortest_paths(graph_, sources) for some")
        return shortest_paths(matrix, sources, n_jobs=self.n_jobs)

    def _grow(self, X: Any) -> None:
        """Build the graph of all rows, and place the new ones among the others."""
        old, placing, n = self.patch_graph_, self._placing, len(self.patch_graph_)
        same = old.fitted_as(X)
        both = old.table, X.astype(old.table.dtype)
        points = np.concatenate(both) if old.span is None else csr_array(vstack(both))
        self.landmarks_ = landmarks = self._targets()
        self._fit_graph(points)
        graph = self.patch_graph_
        nbytes = 2 * graph.matrix.data.itemsize * len(graph) * len(landmarks)
        what = f"PatchIsomap with {len(landmarks)} landmarks of {len(graph)} points"
        check_memory(nbytes, what, "fit fewer landmarks")
        with self._stage("geodesics"):
            geodesics = shortest_paths(graph.matrix, landmarks, n_jobs=self.n_jobs)
        with self._stage("embedding"):
            self._placing = placing.grown(geodesics, landmarks)
            new = replace(self._placing, paths=self._placing.paths[n:]).of_fitted(self.n_jobs)
            places = widened(new.astype(self.embedding_.dtype), self.embedding_.shape[1])
            places[same >= 0] = self.embedding_[same[same >= 0]]
            self.embedding_ = np.concatenate([self.embedding_, places])
            d = placing.axes.shape[1]
            self.drift_ = drift(self._placing, self.embedding_[:, :d], n, landmarks)
        self._fit_map(points)
        if self.drift_ > LARGE_DRIFT:
            warn_user(
                f"the data have drifted from the frame of the landmarks (drift_={self.drift_:.2g}, "
                f"more than {LARGE_DRIFT}); fit all {len(graph)} rows again for a better embedding."
            )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("scaling", self.scaling, SCALINGS)
        if isinstance(self.landmarks, str):
            check_choice("landmarks", self.landmarks, ("auto",))
        elif self.landmarks is not None:
            least = int(self.n_components) + 1  # as many span the embedding
            check_count("landmarks", self.landmarks, minimum=least)

    def _embed(
        self, graph: PatchGraph, n_components: int, *, placing_points: int = PLACING_POINTS
    ) -> None:
        self.drift_ = 0.0
        count = self._landmark_count(len(graph))
        self.landmarks_ = landmarks = None if count is None else self._drawn(graph, count)
        with self._stage("geodesics"):
            dtype = self._precision(len(graph), graph.matrix.dtype, pruned=graph.pruned)
            if self._device is not None:
                sources = np.arange(len(graph)) if landmarks is None else landmarks
                flat = geodesics = paths_on(self._device, graph.matrix, dtype)(sources)
            else:
                geodesics = shortest_paths(
                    graph.matrix,
                    landmarks,
                    n_jobs=self.n_jobs,
                    by_point=landmarks is not None,
                    dtype=dtype,
                )
                # In the order of memory; the shape does not matter.
                flat = geodesics if landmarks is None else geodesics.T.reshape(geodesics.shape)
            unit = _in_unit(flat, self.n_jobs)
        with self._stage("embedding"):
            # Where all geodesics are known, some of them place new points as well as all.
            some = drawn_rows(len(graph), placing_points, 0) if landmarks is None else slice(None)
            paths = by_point(geodesics[some], self._path_type(dtype), self.n_jobs)
            between = geodesics
            if landmarks is not None:
                between = geodesics[:, landmarks]
                if self._device is None:
                    between = np.ascontiguousarray(between)
            places, means = self._scaled(between, n_components, unit)
            frame = self._frame(places[some], means[some], unit, graph.matrix.dtype)
            placing = Triangulation(paths, **frame)
            found = places * unit if landmarks is None else placing.of_fitted(self.n_jobs)
            self._placing = replace(placing, paths=to_numpy(paths))
            self.embedding_ = found.astype(graph.matrix.dtype)

    def _targets(self) -> Indices:
        """Return the rows whose geodesics place new points."""
        if self.landmarks_ is not None:
            return self.landmarks_
        n, copies = len(self.patch_graph_), self.patch_graph_.copies
        rows = np.arange(n) if copies is None else copies.first
        return rows[drawn_rows(len(rows), PLACING_POINTS, 0)]

    def _find_paths(self) -> None:
        """Find the geodesics that place new points again, after they were left out of a file."""
        graph, placing, targets = self.patch_graph_, self._placing, self._targets()
        n = len(graph) if graph.copies is None else len(graph.copies.first)
        if len(targets) != len(placing.squared_means):
            raise ValueError(f"new points are placed by {len(targets)} others, not as many as are")
        what = f"geodesics from {len(targets)} of {len(graph)} points"
        check_memory(2 * 8 * len(graph) * len(targets), what, "fit fewer landmarks")
        dtype = self._precision(n, graph.matrix.dtype, pruned=graph.pruned)
        paths = shortest_paths(
            graph.matrix, targets, n_jobs=self.n_jobs, by_point=True, dtype=dtype
        )
        paths /= placing.unit
        if not np.isfinite(paths).all():
            raise ValueError("the graph has points without a path to each other")
        paths = by_point(paths, self._path_type(dtype), self.n_jobs)
        self._placing = replace(placing, paths=paths)

    def _expand(self, copies: Copies) -> None:
        super()._expand(copies)
        self._placing = replace(self._placing, paths=self._placing.paths[copies.point])
        if self.landmarks_ is not None:
            self.landmarks_ = copies.first[self.landmarks_]

    def _extend(self, near: Neighborhoods, X: Any) -> Floats:
        placing: Triangulation = self._placing
        return placing.of_new(near, self.n_jobs).astype(self.embedding_.dtype)

    def _embed_in_parts(
        self, graph: ClusterGraph, n_components: int
    ) -> tuple[list[Any], dict[str, Any]] | None:
        count = self._landmark_count(len(graph))
        if count is None:
            return None
        self.drift_ = 0.0
        self.landmarks_ = graph.landmarks(count, self._seed)
        with self._stage("geodesics"):
            paths, unit, between = graph.geodesics(self.landmarks_)
        with self._stage("embedding"):
            places, means = self._scaled(between, n_components, unit)
            frame = self._frame(places, means, unit, graph.dtype)
            dtype = self._path_type(graph.dtype)
            return graph.cluster.each(np.asarray, paths, dtype=dtype), frame

    def _path_type(self, dtype: Any) -> Any:
        """The precision of geodesics that place points; single is finer than any stress."""
        return np.float32 if self.scaling == "stress" else dtype

    def _precision(self, n: int, dtype: Any, *, pruned: bool) -> Any:
        """The precision of geodesics: single between many points, whose least stress is rough, too.

        Without short circuits lengths are about one, and neither overflow nor vanish.
        """
        many = n >= SAMPLED_FROM and self._landmark_count(n) is None
        return np.float32 if many and pruned and self.scaling == "stress" else dtype

    def _scaled(self, between: Floats, n_components: int, unit: float) -> tuple[Floats, Floats]:
        """Return places for distances in a unit, and the mean squares; ``between`` is used up."""
        limits = eigenvectors.LIMITS
        if self.scaling == "stress" and len(between) >= SAMPLED_FROM:
            limits = replace(limits, converged=START)
        values, vectors, means = classical_mds(
            between, n_components, n_jobs=self.n_jobs, limits=limits
        )
        places = vectors * np.sqrt(np.clip(values, 0, None))
        with np.errstate(over="ignore"):  # of lengths beyond the root of the largest number
            self.eigenvalues_ = values * np.square(unit)
        if self.scaling == "stress":
            places = least_stress(between, places, n_jobs=self.n_jobs)
        return places, means

    def _frame(self, places: Floats, means: Floats, unit: float, precision: Any) -> dict[str, Any]:
        """Return what places points beside some whose places are known."""
        return {
            "squared_means": means,
            "axes": triangulation(places, precision=precision),
            "unit": unit,
            "places": places if self.scaling == "stress" else None,
        }

    def _bytes(self, points: Any, setting: GraphSetting) -> int:
        n, pruned = points.shape[0], setting.pruned and setting.patch is not None
        precision = np.dtype(self._precision(n, points.dtype, pruned=pruned))
        itemsize, count = precision.itemsize, self._landmark_count(n)
        # All geodesics, and those that place new points, twice where their type changes.
        copies = 1 if self._path_type(precision) == precision else 2
        paths = n * n + 2 * n * min(n, PLACING_POINTS) if count is None else copies * n * count
        return super()._bytes(points, setting) + int(itemsize * paths)

    def _thrift(self, points: Any) -> str:
        if self._landmark_count(points.shape[0]) is None:
            return "give a number of landmarks, e.g. landmarks=500"
        return f"give fewer landmarks, or {super()._thrift(points)}"

    def _landmark_count(
        self, n: int, *, exact_points: int = EXACT_POINTS, many: int = LANDMARKS
    ) -> int | None:
        """Return of how many points geodesics are found, None for all."""
        count = self.landmarks
        if isinstance(count, str):
            least = int(self.n_components) + 1
            count = None if n <= exact_points else max(many, least)
        return None if count is None or count >= n else int(count)

    def _drawn(self, graph: PatchGraph, count: int) -> Indices:
        """Draw landmarks; copies of a point are one landmark, while there are others."""
        distinct = graph.distinct()
        if len(distinct) < count:
            return drawn_rows(len(graph), count, self._seed)
        return distinct[drawn_rows(len(distinct), count, self._seed)]

    @property
    def _seed(self) -> Seed:
        """The seed of the landmarks: without one, every fit takes the same."""
        return 0 if self.random_state is None else self.random_state


def _in_unit(geodesics: Floats, n_jobs: int | None) -> float:
    """Divide geodesics by the longest one, in place, and return it.

    So their squares neither overflow nor vanish.
    """
    blocks = list(gen_batches(len(geodesics), UNIT_ROWS))
    longest = max(map_slices(lambda rows: float(geodesics[rows].max()), blocks, n_jobs))
    unit = unit_of(longest, geodesics.dtype)

    def divide(rows: slice) -> None:
        geodesics[rows] /= unit

    map_slices(divide, blocks, n_jobs)
    return unit
