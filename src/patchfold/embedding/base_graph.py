"""What all estimators share: parameters become a setting, and points a graph."""

from __future__ import annotations

import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from patchfold import selection
from patchfold.analysis.bridges import Bridges, suspicious_edges
from patchfold.analysis.strangers import Strangers
from patchfold.base.estimators import BaseEstimator, TransformerMixin
from patchfold.base.memory import check_memory
from patchfold.base.progress import shown
from patchfold.base.row_metric import in_metric
from patchfold.base.validation import check_columns, check_points, is_sparse, kept, warn_user
from patchfold.embedding._memory import graph_bytes
from patchfold.embedding.parameters import AUTO, check_auto, check_device, check_parameters
from patchfold.gpu.devices import check_room, device_for, on_host
from patchfold.graph.all_rows import expanded
from patchfold.graph.building import build_graph
from patchfold.graph.lengths import has_patches
from patchfold.graph.patch_graph import GraphSetting, PatchGraph
from patchfold.graph.short_circuits import recommended_patch
from patchfold.neighbors.copies import Copies, has_few_values
from patchfold.neighbors.fitted_rows import RowTable
from patchfold.neighbors.given import as_search, check_distances
from patchfold.patches.span import DIRECTIONS, in_format
from patchfold.supervision import label_rule, targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from patchfold.base.types import Floats
    from patchfold.patches.gaussian_patch import GaussianPatch
    from patchfold.patches.gaussians import Patches
    from patchfold.patches.span import Span

# NumPy's ordinary answers to floating point errors: a fit works whatever ``np.seterr`` says.
ordinary_arithmetic = np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")


class BasePatchGraph(TransformerMixin, BaseEstimator):
    """Fit the graph of patches, and find the place of new points in it."""

    n_neighbors: Any
    divergence: Any
    patch: Any
    lengths: Any
    graph: Any
    radius: Any
    supervision: Any
    metric: Any
    knn: Any
    engine: Any
    n_jobs: Any
    random_state: Any
    verbose: Any
    n_neighbors_: int | None
    patch_: GaussianPatch | None
    patch_graph_: PatchGraph
    fit_report_: dict[str, float]

    # The device of torch that the last fit ran on; None for threads.
    _device: str | None = None

    # Whether rows had few values, before a metric made others of them.
    _few_values: bool

    @property
    def graph_(self) -> csr_array:
        """The symmetric graph of lengths; zeros are stored."""
        return self.patch_graph_.matrix

    @property
    def patches_(self) -> Patches | None:
        """The fitted Gaussians (None for ``"euclidean"`` and ``"precomputed"``)."""
        return self.patch_graph_.patches_of_rows

    @property
    def span_(self) -> Span | None:
        """What patches of a sparse X are fitted in; None for dense rows."""
        return getattr(self.patch_graph_, "span", None)  # a graph on a cluster has none

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.supervision is not None
        precomputed = self._precomputed()
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ---------------------------------------------------------------- checks

    def _validate(self, X: Any, *, reset: bool) -> Any:
        """Check points, and the parameters when fitting; columns are remembered and compared."""
        if reset:
            self._check_parameters()
            self._device = device_for(self.engine, X)
            if self._device is not None:
                check_device(self, X)
        X = on_host(X)
        # New points are compared as the fit did, whatever parameters were set afterwards.
        precomputed = self._precomputed() if reset else self.patch_graph_.setting.precomputed
        points = check_points(X, accept_sparse=True, min_samples=2 if reset else 1)
        check_columns(self, X, reset=reset)
        if precomputed:
            # Entries of a sparse matrix are matrices themselves, those of an array are numbers.
            points = csr_array(points) if is_sparse(points) else points
            check_distances(points, square=reset)
        else:
            wide = is_sparse(points) and points.shape[1] > DIRECTIONS
            points = in_format(points, wide if reset else self.span_ is not None)
            if reset:
                self._few_values = has_few_values(points)
            metric = self.metric if reset else self.patch_graph_.setting.metric
            points = in_metric(points, metric, self.n_jobs)
        if reset and self.n_neighbors == AUTO:
            check_auto(points, precomputed=precomputed)
        if reset and not precomputed:
            points = kept(points, X)
        return points

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _precomputed(self) -> bool:
        return bool(self.divergence == "precomputed")

    # ---------------------------------------------------------------- fitting

    def _fit_graph(self, X: Any, y: Any = None) -> PatchGraph:
        """Decide what is left to the data, and build the graph.

        Set ``patch_graph_``, that of all rows, and return that of the points to embed: rows that
        are copies of others are one point.
        """
        self.fit_report_ = {}
        self._forget()
        codes = self._codes(X, y)
        rows = None if self._precomputed() else RowTable(X)
        copies = None if rows is None else self._merged(rows, codes)
        points = X if copies is None else X[copies.first]
        n = points.shape[0]
        setting = self._decided(n, X.shape[0], given=self._precomputed() and is_sparse(X))
        setting = replace(setting, knn=as_search(setting.knn, copies))
        self._check_memory(points, setting, merged=copies is not None)
        if copies is None or rows is None:
            graph = build_graph(X, setting, codes, self._stage, rows)
            self.patch_graph_ = graph
        else:
            own = None if codes is None else codes[copies.first]
            graph = build_graph(points, setting, own, self._stage)
            self.patch_graph_ = expanded(graph, copies, X, rows, codes)
        return graph

    def _check_memory(self, points: Any, setting: GraphSetting, *, merged: bool) -> None:
        """Refuse a fit that will not fit into memory, before its first stage."""
        n, m = points.shape
        what = f"{type(self).__name__} of {n} points" + ("" if m == n else f" of {m} features")
        needed = self._bytes(points, setting)
        if merged:  # the distinct points are kept beside all rows
            needed += (points.nnz * 2 if is_sparse(points) else points.size) * points.dtype.itemsize
        check_memory(needed, what, self._thrift(points))
        if self._device is not None:
            check_room(needed, what, self._thrift(points), self._device)

    def _bytes(self, points: Any, setting: GraphSetting) -> int:
        """Return about how many bytes a fit of distinct points needs beside them."""
        return graph_bytes(points, setting)

    def _thrift(self, points: Any) -> str:
        """Say how a fit would need less memory."""
        which = "n_neighbors" if self.radius is None else "radius"
        return f"fit fewer rows, reduce the features, e.g. with PCA, or lower {which}"

    def _codes(self, X: Any, y: Any) -> Any:
        """Return the classes as numbers, or measured values; None without supervision."""
        rule = label_rule(self.supervision)
        return None if rule is None else targets(y, X.shape[0], type(self).__name__, rule)

    def _merged(self, rows: RowTable, codes: Any) -> Copies | None:
        """Return which rows are one point; None where every row is a point of its own.

        Rows of few values have many equal distances. Their points come in an order of values, so
        that the order of rows does not decide between equal distances.

        A patch that is given is taken literally where its divergence is the length, as in the
        papers: copies are points of it, as they are in the data of their tables.
        """
        if self.patch is not None and self.lengths == "divergence":
            return None
        copies = Copies.of(rows, codes, by_value=self._few_values)
        # A single point has no neighbours, and no graph.
        least = len(copies.point) + self._few_values
        return copies if 1 < len(copies.first) < least else None

    def _decided(self, n: int, n_rows: int, *, given: bool) -> GraphSetting:
        """Set what depends on the number of distinct points; return what their graph is made of.

        A ``given`` graph has the neighbours that it has.
        """
        cut = self._cut_to(n, given=given)
        self.patch_ = self._patch_for(n) if has_patches(self.divergence) else None
        if cut:
            counted = f"{n} samples" if n == n_rows else f"{n} distinct samples"
            warn_user(f"{counted} have fewer neighbours than asked for: {'; '.join(cut)}.")
        return self._setting(n)

    def _cut_to(self, n: int, *, given: bool) -> list[str]:
        """Set ``n_neighbors_``; return what had to be cut to what ``n`` samples have.

        A ``given`` graph has the neighbours that it has.
        """
        if self.radius is not None:
            self.n_neighbors_ = None
            return []
        # Rows that are added to a fit keep the degree that was chosen.
        auto = isinstance(self.n_neighbors, str)
        wanted = int((self.n_neighbors_ or 0) if auto else self.n_neighbors)
        self.n_neighbors_ = wanted if given else min(wanted, n - 1)
        if self.n_neighbors_ == wanted:
            return []
        return [f"n_neighbors={self.n_neighbors_} instead of {wanted}"]

    def _patch_for(self, n: int) -> GaussianPatch:
        """Return the patch that is given, or the recommended one for ``n`` points."""
        if self.patch is None:
            return recommended_patch(n, sized=self.radius is None)
        return clone(self.patch)  # type: ignore[no-any-return]

    def _setting(self, n: int) -> GraphSetting:
        """Return what the graph of ``n`` points is made of."""
        k = self.n_neighbors_
        return GraphSetting(
            degree=k,
            radius=self.radius,
            divergence=self.divergence,
            metric=self.metric,
            patch=self.patch_,
            patch_size=0 if self.patch_ is None or k is None else self.patch_.reach(k, n),
            pruned=self.lengths == "pruned",
            by_divergence=self.graph == "divergence",
            supervision=self.supervision,
            knn=self.knn,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            device=self._device,
        )

    def _fit_chosen(self, X: Any, y: Any) -> None:
        """Choose ``n_neighbors`` and take over the fit that was chosen."""
        self.fit_report_ = {}
        self._forget()
        with self._stage("choosing n_neighbors"):
            copies = None if self._precomputed() else self._merged(RowTable(X), self._codes(X, y))
            points, own = X, y
            if copies is not None:  # a point and its copies would be each other's neighbours
                points, own = X[copies.first], None if y is None else np.asarray(y)[copies.first]
            ks = self._candidates_to_choose(points.shape[0])
            plain = self._plain()
            fitted = selection.fit_best(plain, points, own, draft=self._draft(), candidates=ks)
        choosing = self.fit_report_["choosing n_neighbors"]
        if copies is not None:
            self.n_neighbors_ = fitted.n_neighbors
            self._fit_decided(X, y)
        else:  # the fit that was chosen is one of those that were compared
            choosing -= sum(fitted.fit_report_.values())
            given = {*self.get_params(deep=False), "_few_values"}
            vars(self).update({k: v for k, v in vars(fitted).items() if k not in given})
            setting = replace(self.patch_graph_.setting, metric=self.metric)
            self.patch_graph_ = replace(self.patch_graph_, setting=setting)
        self.fit_report_ = {"choosing n_neighbors": choosing, **self.fit_report_}

    def _fit_decided(self, X: Any, y: Any) -> None:
        """Fit with the ``n_neighbors`` that was given, or chosen."""
        self._fit_graph(X, y)

    def _plain(self) -> Any:
        """Return an estimator whose fit, with the chosen ``n_neighbors``, is the one wanted.

        It is fitted to rows that are already what ``metric`` makes of them.
        """
        return clone(self).set_params(verbose=0, metric="euclidean")

    def _draft(self) -> Any:
        """Return an estimator that is quicker to fit, to judge ``n_neighbors`` by; None for none.

        If None, candidates are fits of this estimator itself, and the best is not fitted again
        unless it was judged by a sample.
        """
        return None

    def _candidates_to_choose(self, n: int) -> list[int] | None:
        """Return what there is to choose from, for ``n`` points; None for the usual ones."""
        return None

    # ---------------------------------------------------------------- bridges

    @ordinary_arithmetic
    def bridges(self, min_score: float = 1.0) -> Bridges:
        """List suspicious edges: their patches disagree, and the way around them is long.

        These are the edges to the nearest neighbours that short-circuit a manifold, or join
        clusters that no other edge joins. They are judged before short circuits are removed, and
        labels change nothing.

        Parameters
        ----------
        min_score : float, default=1.0
            The least score of an edge that is listed; 0 lists all edges, also those that are
            trusted because their patches agree or a short way leads around them.

        Returns
        -------
        Bridges
            The two ends of every edge, how suspicious it is and why, the most suspicious first.
            ``to_frame()`` makes a data frame of it,
            :func:`patchfold.plotting.plot_bridges` a picture.

        Examples
        --------
        >>> from patchfold import PatchSpace
        >>> from patchfold.datasets import make_manifold
        >>> roll = make_manifold("swiss-roll", 500, random_state=0)
        >>> PatchSpace(n_neighbors=40).fit(roll.X).bridges()[:2].to_frame().shape
        (2, 7)
        """
        check_is_fitted(self)
        if self.patch_graph_.patches is None:
            raise ValueError(
                f"bridges are judged by patches, and divergence={self.divergence!r} has none; fit "
                "with another divergence, such as 'kl'."
            )
        if not min_score >= 0:
            raise ValueError(f"min_score={min_score!r} is negative; give 0 to list all edges.")
        return suspicious_edges(self.patch_graph_, min_score)

    # ---------------------------------------------------------------- strangers

    def score_samples(self, X: Any) -> Floats:
        """Return how well points fit the manifold of the fitted points: 0 is well, -10 is badly.

        The log-likelihood of a point under the Gaussian of its 15 nearest fitted points, on a known
        scale: the logarithm of the share of fitted points that are at least as strange. So minus
        the score of fitted points, and of new points of the same kind, is exponentially distributed
        with mean 1. If no fitted point is as strange, the score keeps falling with the likelihood,
        at the rate of the strangest twentieth of the fitted points.

        A fitted point is judged in the same way as a new one: by its neighbours, without itself.
        ``transform`` does not use this score: it places strangers, too.

        Parameters
        ----------
        X : array of shape (n_points, n_features)

        Returns
        -------
        array of shape (n_points,)

        Examples
        --------
        >>> from sklearn.datasets import make_swiss_roll
        >>> from patchfold import PatchIsomap
        >>> X, _ = make_swiss_roll(1000, random_state=0)
        >>> isomap = PatchIsomap().fit(X[:500])
        >>> beside = X[500:] + [3.0, 0.0, 0.0]
        >>> bool(isomap.score_samples(beside).mean() < isomap.score_samples(X[500:]).mean() - 3)
        True
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        strangers, graph = self._strangers("score_samples"), self.patch_graph_
        points, same = graph.coordinates(X), graph.fitted_as(X)
        found: Floats = strangers.log_p(strangers.likelihoods(points, same))
        return found.astype(self.patch_graph_.matrix.dtype, copy=False)

    def off_manifold(self, X: Any) -> Floats:
        """Return a p-value for every point: small if the point is off the manifold.

        The p-value is the share of fitted points that are at least as strange. It is the
        exponential of :meth:`score_samples`, but at least ``1 / (n_samples + 1)``, because the
        fitted points cannot show less. New points from the same source as the fitted ones have
        p-values that are spread evenly between 0 and 1: a test at 0.01 calls one in a hundred of
        them a stranger.

        Parameters
        ----------
        X : array of shape (n_points, n_features)

        Returns
        -------
        array of shape (n_points,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from patchfold import PatchIsomap
        >>> isomap = PatchIsomap(n_neighbors=30).fit(load_iris().data)
        >>> isomap.off_manifold([[5.1, 3.5, 1.4, 0.2], [5.1, 3.5, 5.0, 0.2]]).round(2)
        array([0.99, 0.01])
        """
        scores = self.score_samples(X)
        least = self._strangers("off_manifold").least_p
        return np.clip(np.exp(scores), scores.dtype.type(least), 1.0)

    def _strangers(self, asked: str) -> Strangers:
        self._points(asked, "fit points")
        found: Strangers = self._found("strangers", lambda: Strangers.of_graph(self.patch_graph_))
        return found

    def _points(self, asked: str, remedy: str) -> Floats:
        """Return the fitted points, sparse ones in their span, or say that there are none."""
        check_is_fitted(self)
        if self.patch_graph_.setting.precomputed:
            raise ValueError(
                f"{asked} needs points, and divergence='precomputed' has distances; {remedy}."
            )
        graph = self.patch_graph_
        points: Floats = graph.coordinates(graph.lengths.points)
        return points

    # ---------------------------------------------------------------- found when first asked for

    def _found(self, name: str, find: Callable[[], Any]) -> Any:
        """Return what is found when first asked for, and kept until the next fit."""
        if name not in self._kept:
            self._kept[name] = find()
        return self._kept[name]

    def _copied(self, **changes: Any) -> Self:
        """Return another estimator with the same parameters and attributes, but for changes."""
        copied = object.__new__(type(self))
        vars(copied).update({**vars(self), **changes})
        return copied

    def _forget(self) -> None:
        """Forget what was found of an earlier fit."""
        self._kept: dict[str, Any] = {}
        vars(self).pop("stability_", None)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is found again when it is asked for."""
        state = {name: value for name, value in super().__getstate__().items() if name != "_device"}
        return {name: {} if name == "_kept" else value for name, value in state.items()}

    # ---------------------------------------------------------------- progress

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Keep how long a stage of fitting took; say so, too, when ``verbose`` asks for it."""
        start = time.perf_counter()
        try:
            with shown(f"[{type(self).__name__}] {name}") if self.verbose else nullcontext():
                yield
        finally:
            self.fit_report_[name] = time.perf_counter() - start
