"""How far to trust the place of a point: its neighbours in the data, and refits of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from patchfold.analysis.stability import FEWEST_REFITS, stability_of
from patchfold.analysis.trust import NEIGHBORS, trust
from patchfold.base.validation import check_count, collected_warnings

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Floats, Indices
    from patchfold.graph.patch_graph import PatchGraph


# A refit leaves out one of so few points.
FEWEST_POINTS = 5


class TrustMixin:
    """``trust`` and ``stability`` of the points of a fitted embedding."""

    n_jobs: Any
    random_state: Any
    n_neighbors_: int | None
    patch_graph_: PatchGraph
    embedding_: Floats
    stability_: Floats
    _plain: Callable[[], Any]  # an unfitted copy, with the plain map of new points

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
        X = self._fitted_points("trust", "use patchfold.metrics.trust(..., metric='precomputed')")
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
        X = self._fitted_points("stability", "give points instead of distances")
        n_refits = check_count("n_refits", n_refits, minimum=FEWEST_REFITS)
        if len(X) < FEWEST_POINTS:
            raise ValueError(
                f"stability leaves out points, and {len(X)} samples are too few for that; fit at "
                f"least {FEWEST_POINTS}."
            )
        codes = self.patch_graph_.lengths.codes
        refitted = self._plain()
        if self.n_neighbors_ is not None:
            refitted.set_params(n_neighbors=self.n_neighbors_)

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

    def _forget_stability(self) -> None:
        vars(self).pop("stability_", None)

    def _fitted_points(self, asked: str, remedy: str) -> Floats:
        """Return the points, or say that there are none."""
        check_is_fitted(self)
        graph = self.patch_graph_
        if graph.setting.precomputed:
            raise ValueError(
                f"{asked} needs points, and divergence='precomputed' has distances; {remedy}."
            )
        points: Floats = graph.lengths.points
        return points
