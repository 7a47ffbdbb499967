"""What all embeddings share: fitting, and mapping new points."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from patchfold.analysis.stability import FEWEST_REFITS, stability_of
from patchfold.analysis.trust import NEIGHBORS, trust
from patchfold.base.engine import (
    clone_beside_client,
    is_client,
    is_collection,
    refuse_collection,
)
from patchfold.base.estimators import ClassNamePrefixFeaturesOutMixin
from patchfold.base.memory import check_memory
from patchfold.base.validation import (
    check_count,
    check_points,
    collected_warnings,
    is_sparse,
    warn_user,
)
from patchfold.embedding.base_graph import BasePatchGraph, ordinary_arithmetic
from patchfold.embedding.parameters import AUTO
from patchfold.evaluation.legibility import unreadable
from patchfold.gpu.devices import device_for, like
from patchfold.graph.new_points import check_neighbors
from patchfold.mapping import check_map, fit_map, predict_map
from patchfold.mapping.inverse import fit_inverse
from patchfold.mapping.kernel_ridge import check_kernel_memory
from patchfold.mapping.loadings import fitted_slopes, map_slopes, neighbors_to_fit
from patchfold.mapping.nystrom import check_places
from patchfold.neighbors.given import are_given
from patchfold.supervision import label_rule

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.graph import ClusterGraph
    from patchfold.graph.patch_graph import GraphSetting, PatchGraph
    from patchfold.mapping.inverse import Inverse
    from patchfold.neighbors.copies import Copies
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.neighbors.protocol import NeighborSearch


# Stability leaves out a fifth of the points, at least one.
FEWEST_POINTS = 5


class BasePatchEmbedding(ClassNamePrefixFeaturesOutMixin, BasePatchGraph):
    """An embedding of the graph of patches: ``fit``, ``fit_transform`` and ``transform``."""

    n_components: Any
    out_of_sample: Any
    embedding_: Floats
    eigenvalues_: Floats
    stability_: Floats
    map_: Any

    # What places new rows after a fit on a cluster.
    _on_cluster: Any = None

    @ordinary_arithmetic
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the graph and embed it.

        A warning tells if a plot of the first two components cannot be read, and names the points
        to blame (:func:`patchfold.metrics.unreadable`).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points. Patches of sparse ones are fitted in the span of their leading directions. With
            ``divergence="precomputed"`` square distances, or a sparse graph. A Dask array or data
            frame is fitted on its cluster, and never collected.
        y : array of shape (n_samples,) or None
            Classes for ``supervision``; -1, NaN or None for points without a label. Numbers with
            fractions are measured values, and count the more the less they differ; NaN or None
            where they are not known. Ignored without ``supervision``.

        Returns
        -------
        self
        """
        if is_client(self.engine) or is_collection(X):
            from patchfold import distributed  # most fits need none of it

            distributed.fit(self, X, self.engine, y)
            return self
        X = self._validate(X, reset=True)
        self._on_cluster = None
        (self._fit_chosen if self.n_neighbors == AUTO else self._fit_decided)(X, y)
        self._fit_map(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit, and return the embedding of the points, (n_samples, n_components).

        It is a tensor on the same device if ``X`` is one.
        """
        self.fit(X, y)
        places: Floats = like(X, self.embedding_)
        return places

    @ordinary_arithmetic
    def transform(self, X: Any) -> Floats:
        """Map new points into the embedding.

        New points do not influence each other, and have no labels. A point that was fitted gets its
        place (that of its first copy, if there are several), even where the map would take a point
        next to it elsewhere: with supervision the places of fitted points know their labels, and a
        score on fitted points says nothing about new ones.

        Parameters
        ----------
        X : array of shape (n_new, n_features)
            With ``divergence="precomputed"`` distances to the fitted points, (n_new, n_samples).

        Returns
        -------
        array of shape (n_new, n_components)
            A tensor on the same device if ``X`` is one.
        """
        check_is_fitted(self)
        mapped: Floats
        if self._on_cluster is not None:
            mapped = self._on_cluster.transform(self, X)
            return mapped
        refuse_collection(self, X, "X.map_blocks(estimator.transform)")
        given, device = X, device_for(self.engine, X)
        X = self._validate(X, reset=False)
        same = self.patch_graph_.fitted_as(X)
        new = np.flatnonzero(same < 0)
        mapped = self.embedding_[same]
        if len(new):
            mapped[new] = self._mapped(X[new], new, device)
        mapped = like(given, mapped)
        return mapped

    def _fit_decided(self, X: Any, y: Any) -> None:
        graph = self._fit_graph(X, y)
        self._embed_spanned(graph, merged=len(graph) < len(self.patch_graph_))
        if self.patch_graph_.copies is not None:
            self._expand(self.patch_graph_.copies)
        elif self.patch_graph_.rows is not None and not self.patch_graph_.rows.first().any():
            self.embedding_[:] = 0  # a single point, wherever rounding takes its copies
        self._warn_unreadable(X)

    def _fit_map(self, X: Any) -> None:
        """Fit the regression that maps new points, where it is asked for."""
        self.map_ = None
        if not self._by_graph():
            copies = self.patch_graph_.copies
            some = slice(None) if copies is None else copies.first
            with self._stage("map for new points"):
                points = self.patch_graph_.coordinates(X[some])
                self.map_ = fit_map(self.out_of_sample, points, self.embedding_[some], self.n_jobs)

    def _mapped(self, X: Any, rows: Indices, device: str | None = None) -> Floats:
        points = self.patch_graph_.coordinates(X)
        if self.map_ is not None:
            return predict_map(self.map_, points, self.embedding_.shape[1])
        near = self._placed(X, rows, device)
        places = self._extend(near, points)
        check_places(places, rows)
        return widened(places, self.embedding_.shape[1])

    def _placed(self, X: Any, rows: Indices, device: str | None = None) -> Neighborhoods:
        """Return the neighbours of new points in the graph; refuse a point without any."""
        graph = self.patch_graph_ if device is None else self.patch_graph_.on(device)
        near: Neighborhoods = graph.neighbors_of_new(X)
        check_neighbors(near, rows, self.patch_graph_.setting.radius)
        return near

    def _embed_spanned(self, graph: PatchGraph, *, merged: bool) -> None:
        """Embed the graph; dimensions that too few points cannot span are zero.

        ``merged`` tells whether rows that are copies of others were left out.
        """
        spanned = min(int(self.n_components), len(graph) - 1)
        self._embed(graph, spanned)
        if spanned < self.n_components:
            distinct = "distinct " if merged else ""
            warn_user(
                f"{len(graph)} {distinct}samples span {spanned} of "
                f"n_components={self.n_components} dimensions; the others are zero."
            )
            self.embedding_ = widened(self.embedding_, self.n_components)
            if hasattr(self, "eigenvalues_"):
                self.eigenvalues_ = widened(self.eigenvalues_[None], self.n_components)[0]

    def _warn_unreadable(self, X: Any) -> None:
        """Warn if a plot of the embedding would show a dot and a few strays."""
        found = unreadable(self.embedding_, None if is_sparse(X) else X)
        if found is None or found.crowd == found.n_samples:
            return  # all in one place: equal rows, or divergences that were warned of
        # Supervision may gather a class on a dot; a few points far out are no class.
        if found.rows or self.supervision is None:
            warn_user(str(found))

    def _check_memory(self, points: Any, setting: GraphSetting, *, merged: bool) -> None:
        n, d = points.shape[0], int(self.n_components)
        what = f"an embedding of {n} points in n_components={d} dimensions"
        check_memory(2 * points.dtype.itemsize * n * d, what, "lower n_components")
        super()._check_memory(points, setting, merged=merged)
        if isinstance(self.out_of_sample, str) and self.out_of_sample == "krr":
            check_kernel_memory(points.shape[0])

    def _plain(self) -> Any:
        # The map is fitted once, to the embedding that was chosen.
        return super()._plain().set_params(out_of_sample="nystrom")

    def _by_graph(self) -> bool:
        """Whether new points get their place by the graph, and not by a regression."""
        return isinstance(self.out_of_sample, str) and self.out_of_sample == "nystrom"

    def _embed(self, graph: PatchGraph, n_components: int) -> None:
        """Set ``embedding_``, (n, n_components), and what else is learned with it."""
        raise NotImplementedError

    def _embed_in_parts(
        self, graph: ClusterGraph, n_components: int
    ) -> tuple[list[Any], dict[str, Any]] | None:
        """Return what places the rows of a graph on a cluster where they are; None if nothing can.

        Futures of the paths of a :class:`~patchfold.mapping.nystrom.Triangulation`, part by part,
        and its frame. Without them the graph is embedded in this process.
        """
        return None

    def _needs_points(self) -> bool:
        """Tell whether the embedding needs the coordinates of points beside lengths."""
        return False

    def _expand(self, copies: Copies) -> None:
        """Give all rows what was learned of the distinct points."""
        self.embedding_ = self.embedding_[copies.point]

    def _extend(self, near: Neighborhoods, X: Any) -> Floats:
        """Return the places of new points, given their neighbours in the graph and the lengths."""
        raise NotImplementedError

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted estimator with equal parameters, a client among them."""
        return clone_beside_client(self) if is_client(self.engine) else super().__sklearn_clone__()

    def __getstate__(self) -> Any:
        """Refuse to pickle what lives on a cluster."""
        if self._on_cluster is not None:
            raise TypeError(
                "a fit on a cluster lives there and cannot be pickled or saved; bring it here with "
                "patchfold.distributed.gather(estimator), or save its embedding_ alone."
            )
        if is_client(self.engine):
            raise TypeError(
                "a client of a cluster cannot be pickled or saved; set engine='auto' before."
            )
        return super().__getstate__()

    def _check_parameters(self) -> None:
        check_count("n_components", self.n_components)
        super()._check_parameters()
        check_map(self.out_of_sample)
        if self._precomputed() and not self._by_graph():
            raise ValueError(
                f"out_of_sample={self.out_of_sample!r} is a regression on points, and "
                "divergence='precomputed' has none; use out_of_sample='nystrom'."
            )

    # ---------------------------------------------------------------- how far to trust a place

    def trust(self, n_neighbors: int = NEIGHBORS) -> Floats:
        """Return how far the neighbours of each point in the embedding are neighbours in the data.

        Values are from 0 to 1. 1 means that the ``n_neighbors`` nearest points in the embedding are
        also the nearest in the data. :func:`patchfold.metrics.trust` does the same for any
        embedding. The mean over all points is :func:`patchfold.metrics.trustworthiness`.

        Parameters
        ----------
        n_neighbors : int, default=15
            Neighbours in the embedding, from 1 to ``n_samples - 2``.

        Returns
        -------
        array of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from patchfold import PatchIsomap
        >>> isomap = PatchIsomap(n_neighbors=30).fit(load_iris().data)
        >>> isomap.trust().shape
        (150,)
        """
        X = self._points("trust", "use patchfold.metrics.trust(..., metric='precomputed')")
        found = trust(X, self.embedding_, n_neighbors, n_jobs=self.n_jobs)
        return found.astype(self.embedding_.dtype, copy=False)

    def stability(self, n_refits: int = 10) -> Floats:
        """Refit samples of the data, and return how well each point keeps its place.

        Every refit leaves out a fifth of the points, and is shifted, turned and scaled to match
        ``embedding_``. A point that moves by ``r`` (root mean square over its refits) has the
        stability ``1 - r / R``, at least 0; ``R`` is the root mean square distance of two points of
        the embedding. So a point with 1 stays where it is, and a point with 0 could be anywhere.
        The result is kept as ``stability_`` until the next ``fit``.

        This takes as long as ``n_refits`` fits. Refits use the ``n_neighbors`` of the first fit,
        and show no warnings.

        Parameters
        ----------
        n_refits : int, default=10
            At least 2. ``random_state`` of the estimator draws the samples.

        Returns
        -------
        array of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from patchfold import PatchIsomap
        >>> isomap = PatchIsomap(n_neighbors=30, random_state=0).fit(load_iris().data)
        >>> bool(isomap.stability(n_refits=3).mean() > 0.9)
        True
        """
        self._points("stability", "give points instead of distances")
        X = self.patch_graph_.table
        n = X.shape[0]
        if are_given(self.knn):
            raise ValueError(
                "stability fits samples of the rows, and knn=(indices, distances) are neighbours "
                "of all of them; fit with a search, such as knn='auto'."
            )
        n_refits = check_count("n_refits", n_refits, minimum=FEWEST_REFITS)
        if n < FEWEST_POINTS:
            raise ValueError(
                f"stability leaves out points, and {n} samples are too few for that; fit at "
                f"least {FEWEST_POINTS}."
            )
        codes = self.patch_graph_.lengths.codes
        refitted = self._plain()
        if self.n_neighbors_ is not None:
            refitted.set_params(n_neighbors=self.n_neighbors_)
        rule = label_rule(self.supervision)
        if codes is not None and codes.dtype.kind == "f" and getattr(rule, "bandwidth", 0) is None:
            # Measured values of a sample may all be whole numbers, which would count as classes.
            measuring: Any = copy(rule)
            measuring.bandwidth = self.patch_graph_.lengths.bandwidth
            refitted.set_params(supervision=measuring)

        def refit(rows: Indices) -> Floats:
            y = None if codes is None else codes[rows]
            with collected_warnings():
                found: Floats = refitted.fit_transform(X[rows], y)
            return found

        found = stability_of(
            refit, self.embedding_, n_refits=n_refits, random_state=self.random_state
        )
        self.stability_ = found.astype(self.embedding_.dtype, copy=False)
        return self.stability_

    # ---------------------------------------------------------------- between places and features

    def inverse_transform(self, Z: Any) -> Floats:
        """Return the features that belong to places in the embedding.

        Around a place, features are modelled as an affine function of the coordinates of the
        embedding. This function is fitted to the nearest 8 to 120 fitted points in the embedding,
        with larger weights for nearer points, and with six ridges. The functions are mixed so that
        they predict left-out fitted points best. The first call finds the mixture, and it is kept
        until the next ``fit``. An embedding may squeeze some directions. So a second step adds
        functions that are fitted to the points whose features are nearest to the result of the
        first step.

        Fitted points come back near themselves, without the noise that the embedding does not show.
        Outside of the embedding, features stay similar to those at its border.

        Parameters
        ----------
        Z : array of shape (n_places, n_components)
            Places in the embedding, such as those of ``transform``.

        Returns
        -------
        array of shape (n_places, n_features)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from patchfold import PatchIsomap
        >>> isomap = PatchIsomap(n_neighbors=30).fit(load_iris().data)
        >>> isomap.inverse_transform(isomap.embedding_.mean(axis=0, keepdims=True)).shape
        (1, 4)
        """
        points = self._points("inverse_transform", "fit points to get features back")
        Z = check_points(Z, name="Z", min_samples=1)
        d = self.embedding_.shape[1]
        if Z.shape[1] != d:
            raise ValueError(
                f"Z has {Z.shape[1]} columns, and the embedding has n_components={d}; give places "
                "in the embedding, one column per component."
            )

        def find() -> Inverse:
            rows = self.patch_graph_.distinct()
            return fit_inverse(self.embedding_[rows], points[rows], self.n_jobs)

        back: Floats = self._found("inverse", find)(Z, self.n_jobs)
        return back if self.span_ is None else self.span_.features(back)

    def local_loadings(self, X: Any = None) -> Floats:
        """Return the Jacobian of the embedding: which feature moves each point, and where to.

        ``loadings[i, c, f]`` is how fast component ``c`` changes with feature ``f`` at point ``i``.

        At fitted points, an affine function of the features is fitted to the places of the
        neighbours in the graph (at most 30), in the directions in which they spread. The loadings
        are its slope. A direction that leaves the data has no slope. At new points, the loadings
        are the derivative of ``transform``, by central differences. This maps each point
        ``2 n_features`` times. It holds for regressions as ``out_of_sample``, too; a regression
        that is constant between jumps, such as a forest, has derivatives of zero. If new points get
        the plain mean of their neighbours (``PatchEigenmaps`` with an infinite bandwidth), the
        slope is fitted to these neighbours.

        Parameters
        ----------
        X : array of shape (n_points, n_features) or None
            Points; None for the fitted ones. A row that equals a fitted point has the loadings of
            that point.

        Returns
        -------
        array of shape (n_points, n_components, n_features)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from patchfold import PatchIsomap
        >>> isomap = PatchIsomap(n_neighbors=30).fit(load_iris().data)
        >>> isomap.local_loadings().shape
        (150, 2, 4)
        """
        points = self._points("local_loadings", "fit points to get loadings")
        if self.span_ is not None:
            raise ValueError(
                "local_loadings has a value for each point, component and column, too many for a "
                "sparse X; fit the columns that matter as dense ones."
            )
        X = points if X is None else self._validate(X, reset=False)
        n, d, m = len(X), self.embedding_.shape[1], points.shape[1]
        check_memory(
            2 * self.embedding_.itemsize * n * d * m,
            f"the loadings of {n} points, {d} components and {m} features",
            "give some of the points as X",
        )
        graph = self.patch_graph_
        same = graph.fitted_as(X)
        loadings = np.empty((n, d, m), dtype=self.embedding_.dtype)
        fitted, new = np.flatnonzero(same >= 0), np.flatnonzero(same < 0)
        if len(fitted):
            near = neighbors_to_fit(graph.matrix, same[fitted], graph.distinct())
            slopes = fitted_slopes(points, self.embedding_, near, X[fitted], self.n_jobs)
            loadings[fitted] = slopes
        if len(new):
            loadings[new] = self._loadings_of_new(X[new], new)
        return loadings

    def _loadings_of_new(self, X: Floats, rows: Indices) -> Floats:
        graph = self.patch_graph_
        if self.map_ is None and not self._is_smooth():
            near = self._placed(X, rows)
            return fitted_slopes(graph.lengths.points, self.embedding_, near, X, self.n_jobs)
        near = cast("NeighborSearch", graph.search).query(X)
        reach = np.bincount(near.sources, near.distances, len(X)) / np.maximum(near.degrees, 1)
        return map_slopes(lambda moved, at: self._mapped(moved, rows[at]), X, reach)

    def _is_smooth(self) -> bool:
        """Whether the place of a new point changes with its features between its neighbours."""
        return True

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


def widened(places: Floats, width: int) -> Floats:
    """Append columns of zeros, up to ``width``.

    Examples
    --------
    >>> widened(np.ones((1, 1)), 3)
    array([[1., 0., 0.]])
    """
    return np.pad(places, ((0, 0), (0, width - places.shape[1])))
