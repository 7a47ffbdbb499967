"""Between an embedding and its features: back from a place, and which feature moves a point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from patchfold.base.memory import check_memory
from patchfold.base.validation import check_points
from patchfold.mapping.inverse import fit_inverse
from patchfold.mapping.loadings import fitted_slopes, map_slopes, neighbors_to_fit

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Floats, Indices
    from patchfold.graph.patch_graph import PatchGraph
    from patchfold.mapping.inverse import Inverse
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.neighbors.protocol import NeighborSearch


class FeaturesMixin:
    """``inverse_transform`` and ``local_loadings`` of a fitted embedding."""

    n_jobs: Any
    patch_graph_: PatchGraph
    embedding_: Floats
    map_: Any
    _fitted_points: Callable[[str, str], Floats]
    _validate: Callable[..., Any]
    _mapped: Callable[[Any, Indices], Floats]
    _placed: Callable[[Any, Indices], Neighborhoods]
    _inverse: Inverse

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
        points = self._fitted_points("inverse_transform", "fit points to get features back")
        Z = check_points(Z, name="Z", min_samples=1)
        d = self.embedding_.shape[1]
        if Z.shape[1] != d:
            raise ValueError(
                f"Z has {Z.shape[1]} columns, and the embedding has n_components={d}; give places "
                "in the embedding, one column per component."
            )
        if "_inverse" not in vars(self):
            rows = self.patch_graph_.distinct()
            self._inverse = fit_inverse(self.embedding_[rows], points[rows], self.n_jobs)
        return self._inverse(Z, self.n_jobs)

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
        points = self._fitted_points("local_loadings", "fit points to get loadings")
        if X is None:
            self._check_loadings_fit(len(points))
            return self._fitted_loadings(np.arange(len(points)))
        X = self._validate(X, reset=False)
        self._check_loadings_fit(len(X))
        same = self.patch_graph_.fitted_as(X)
        shape = (len(X), self.embedding_.shape[1], X.shape[1])
        loadings = np.empty(shape, dtype=self.embedding_.dtype)
        fitted, new = np.flatnonzero(same >= 0), np.flatnonzero(same < 0)
        if len(fitted):
            loadings[fitted] = self._fitted_loadings(same[fitted])
        if len(new):
            loadings[new] = self._loadings_of_new(X[new], new)
        return loadings

    def _fitted_loadings(self, rows: Indices) -> Floats:
        graph, points = self.patch_graph_, self.patch_graph_.lengths.points
        rows = graph.fitted_as(points[rows])  # copies are joined to the first of them only
        near = neighbors_to_fit(graph.matrix, rows, graph.distinct())
        return fitted_slopes(points, self.embedding_, near, points[rows], self.n_jobs)

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

    def _check_loadings_fit(self, n: int) -> None:
        d, m = self.embedding_.shape[1], self.patch_graph_.lengths.points.shape[1]
        check_memory(
            2 * self.embedding_.itemsize * n * d * m,
            f"the loadings of {n} points, {d} components and {m} features",
            "give some of the points as X",
        )

    def _forget_inverse(self) -> None:
        vars(self).pop("_inverse", None)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the way back, which is found again on demand."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_inverse"}
