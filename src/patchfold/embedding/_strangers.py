"""How well new points lie on the manifold of the fitted ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from patchfold.analysis.strangers import Strangers

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Floats
    from patchfold.graph.patch_graph import PatchGraph


class StrangersMixin:
    """``score_samples`` and ``off_manifold`` of points beside the fitted ones."""

    patch_graph_: PatchGraph
    _validate: Callable[..., Any]

    # The fitted points as judges of others, and the graph that they are points of.
    _judges: tuple[PatchGraph, Strangers] | None = None

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
        strangers = self._strangers("score_samples")
        found: Floats = strangers.log_p(strangers.likelihoods(X, self.patch_graph_.fitted_as(X)))
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
        graph = self.patch_graph_
        if graph.setting.precomputed:
            raise ValueError(
                f"{asked} needs points, and divergence='precomputed' has distances; fit points."
            )
        if self._judges is None or self._judges[0] is not graph:
            self._judges = graph, Strangers.of_graph(graph)
        return self._judges[1]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the judges, which are found again on demand."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_judges"}
