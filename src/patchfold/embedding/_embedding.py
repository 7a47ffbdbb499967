"""What all embeddings share: fitting, and mapping new points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from patchfold.base.engine import (
    clone_beside_client,
    is_client,
    is_collection,
    refuse_collection,
)
from patchfold.base.estimators import ClassNamePrefixFeaturesOutMixin
from patchfold.base.validation import check_count, is_sparse, warn_user
from patchfold.embedding._base import BasePatchGraph, ordinary_arithmetic
from patchfold.embedding._features import FeaturesMixin
from patchfold.embedding._trust import TrustMixin
from patchfold.evaluation.legibility import unreadable
from patchfold.mapping import check_map, fit_map, predict_map
from patchfold.mapping.kernel_ridge import check_kernel_memory

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.graph import ClusterGraph
    from patchfold.graph.patch_graph import GraphSetting, PatchGraph
    from patchfold.neighbors.copies import Copies
    from patchfold.neighbors.neighborhoods import Neighborhoods


class BasePatchEmbedding(
    FeaturesMixin, TrustMixin, ClassNamePrefixFeaturesOutMixin, BasePatchGraph
):
    """An embedding of the graph of patches: ``fit``, ``fit_transform`` and ``transform``."""

    out_of_sample: Any
    n_components: Any
    embedding_: Floats
    eigenvalues_: Floats
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
        X : array of shape (n_samples, n_features)
            Points; with ``divergence="precomputed"`` square distances, or a sparse graph. A Dask
            array or data frame is fitted on its cluster, and never collected.
        y : array of shape (n_samples,) or None
            Classes for ``supervision``; -1, NaN or None for points without a label. Ignored without
            ``supervision``.

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
        self._forget_stability()
        self._forget_inverse()
        if isinstance(self.n_neighbors, str):
            self._fit_chosen(X, y)
        else:
            graph = self._fit_graph(X, y)
            self._embed_spanned(graph, merged=self.patch_graph_.copies is not None)
            if self.patch_graph_.copies is not None:
                self._expand(self.patch_graph_.copies)
            elif self.patch_graph_.rows is not None and (X[0] == X).all():
                self.embedding_[:] = 0  # a single point, wherever rounding takes its copies
            self._warn_unreadable(X)
        self._fit_map(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit, and return the embedding of the points, (n_samples, n_components)."""
        self.fit(X, y)
        return self.embedding_

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
        """
        check_is_fitted(self)
        mapped: Floats
        if self._on_cluster is not None:
            mapped = self._on_cluster.transform(self, X)
            return mapped
        refuse_collection(self, X, "X.map_blocks(estimator.transform)")
        X = self._validate(X, reset=False)
        same = self.patch_graph_.fitted_as(X)
        new = np.flatnonzero(same < 0)
        mapped = self.embedding_[same]
        if len(new):
            mapped[new] = self._mapped(X[new], new)
        return mapped

    def _fit_map(self, X: Any) -> None:
        """Fit the regression that maps new points, where it is asked for."""
        self.map_ = None
        if not self._by_graph():
            copies = self.patch_graph_.copies
            some = slice(None) if copies is None else copies.first
            with self._stage("map for new points"):
                self.map_ = fit_map(self.out_of_sample, X[some], self.embedding_[some], self.n_jobs)

    def _mapped(self, X: Any, rows: Indices) -> Floats:
        if self.map_ is not None:
            return predict_map(self.map_, X, self.embedding_.shape[1])
        near = self._placed(X, rows)
        places = self._extend(near, X)
        lost = np.flatnonzero(~np.isfinite(places).all(axis=1))
        if len(lost):
            raise ValueError(
                f"row {rows[lost[0]]} of X lies so far from the fitted points that its place "
                "overflows; drop the row."
            )
        return widened(places, self.embedding_.shape[1])

    def _placed(self, X: Any, rows: Indices) -> Neighborhoods:
        """Return the neighbours of new points in the graph; every one has some, or is named."""
        near = self.patch_graph_.place(X)
        if (near.degrees == 0).any():
            row = int(rows[np.argmin(near.degrees)])
            remedy = "drop the row" if self.radius is None else "enlarge radius, or drop the row"
            raise ValueError(
                f"row {row} of X has no neighbour among the fitted points "
                f"(radius={self.radius}); {remedy}."
            )
        return near

    def _embed_spanned(self, graph: PatchGraph, *, merged: bool) -> None:
        """Embed the graph; so few points that they span fewer dimensions leave the others zero.

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
            if "eigenvalues_" in self._own:
                self.eigenvalues_ = widened(self.eigenvalues_[None], self.n_components)[0]

    def _warn_unreadable(self, X: Any) -> None:
        """Warn where a plot of the embedding would be a dot and strays."""
        found = unreadable(self.embedding_, None if is_sparse(X) else X)
        if found is None or found.crowd == found.n_samples:
            return  # all in one place: equal rows, or divergences that were warned of
        # Labels gather classes, on dots if need be; a few points far out are no class.
        if found.rows or self.supervision is None:
            warn_user(str(found))

    def _check_memory(self, points: Any, setting: GraphSetting, *, merged: bool) -> None:
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
        """Set ``embedding_`` of so many dimensions, and what else is learned with it."""
        raise NotImplementedError

    def _embed_in_parts(self, graph: ClusterGraph, n_components: int) -> Any:
        """Return what places the rows of a graph on a cluster where they are; None if nothing can.

        The graph is then embedded in this process.
        """
        return None

    def _needs_points(self) -> bool:
        """Tell whether the embedding asks where points are, and not for lengths alone."""
        return False

    def _expand(self, copies: Copies) -> None:
        """Give all rows what was learned of the distinct points."""
        self.embedding_ = self.embedding_[copies.point]

    def _extend(self, near: Neighborhoods, X: Any) -> Floats:
        raise NotImplementedError

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted estimator with equal parameters, a client among them."""
        return clone_beside_client(self) if is_client(self.engine) else super().__sklearn_clone__()

    def __getstate__(self) -> Any:
        """Refuse to be written to a file with what lives on a cluster."""
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
