"""An outlier detector: points that are unlikely under the Gaussian of their neighbours."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from patchfold.analysis.strangers import NEIGHBORS, Strangers
from patchfold.base.estimators import BaseEstimator, OutlierMixin
from patchfold.base.validation import (
    check_columns,
    check_count,
    check_jobs,
    check_points,
    check_seed,
    checked_points,
    kept,
    warn_user,
)
from patchfold.embedding.base_graph import ordinary_arithmetic
from patchfold.neighbors.fitted_rows import RowTable
from patchfold.neighbors.search import neighbor_search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.base.types import Auto, Floats, Seed
    from patchfold.neighbors.search import Knn


AUTO: Final = "auto"

# Without a known contamination, an outlier is as strange as one fitted point in ONE_IN.
ONE_IN = 100


class PatchOutliers(OutlierMixin, BaseEstimator):
    """Outlier detector: finds points that are unlikely under the Gaussian of their neighbours.

    Every point is judged by its likelihood under the Gaussian of its nearest other points. The
    likelihood is low far from these points, and also beside them, across the directions in which
    they spread. So the detector finds points off a curved sheet as well as points far out. It
    judges fitted points and new ones. The four embeddings and :class:`~patchfold.PatchSpace` have
    the same ``score_samples`` for new points; but there copies of a row are one point, and here
    each copy counts.

    Parameters
    ----------
    n_neighbors : int, default=15
        Number of neighbours that judge a point. A number above ``n_samples - 1`` is lowered to it,
        with a warning.
    contamination : float or "auto", default="auto"
        Share of outliers among the fitted points, above 0 and at most 0.5. With ``"auto"``, a point
        is an outlier if it is stranger than 99 of 100 fitted points.
    knn : str, object or (indices, distances), default="auto"
        Neighbour search: ``"auto"``, ``"exact"``, ``"approximate"``, or an object shaped like
        scikit-learn's ``KNeighborsTransformer``. Or the neighbours themselves, as two arrays of
        shape (n_samples, at least k): new rows are then searched exactly.
    n_jobs : int or None, default=None
        Number of threads; None takes all cores that this process may use, unless a context of
        joblib says otherwise. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed for the start of an approximate search.

    Attributes
    ----------
    offset_ : float
        Points with a score below it are outliers.
    n_neighbors_ : int
        The number of neighbours, as given or lowered.
    strangers_ : Strangers
        The fitted points and their likelihoods.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from patchfold import PatchOutliers
    >>> X, _ = make_swiss_roll(500, random_state=0)
    >>> X[0] = 0  # in the middle of the roll, beside the sheet
    >>> PatchOutliers().fit_predict(X)[0]
    np.int64(-1)
    """

    def __init__(
        self,
        *,
        n_neighbors: int = NEIGHBORS,
        contamination: float | Auto = AUTO,
        knn: Knn = "auto",
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.contamination = contamination
        self.knn = knn
        self.n_jobs = n_jobs
        self.random_state = random_state

    @ordinary_arithmetic
    def fit(self, X: Any, y: Any = None) -> Self:
        """Judge every point by its neighbours, and find the score below which it is an outlier.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        wanted = check_count("n_neighbors", self.n_neighbors)
        self._check_contamination()
        check_jobs(self.n_jobs)
        check_seed(self.random_state)
        points = kept(check_points(X), X)
        check_columns(self, X, reset=True)
        n = len(points)
        self.n_neighbors_ = min(wanted, n - 1)
        if self.n_neighbors_ < wanted:
            warn_user(
                f"{n} samples have fewer neighbours than asked for: "
                f"n_neighbors={self.n_neighbors_} instead of {wanted}."
            )
        search = neighbor_search(
            self.knn,
            n_neighbors=self.n_neighbors_,
            n_samples=n,
            n_features=points.shape[1],
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        ).build(points)
        self.strangers_ = Strangers.among(points, search, self.n_neighbors_, self.n_jobs)
        self._rows = RowTable(points)
        self.offset_ = float(-np.log(ONE_IN))
        if not isinstance(self.contamination, str):
            scores = self.strangers_.log_p(self.strangers_.own)
            self.offset_ = float(np.percentile(scores, 100 * self.contamination))
        return self

    def score_samples(self, X: Any) -> Floats:
        """Return the scores of points: near 0 if ordinary, far below 0 if strange.

        The logarithm of the share of fitted points that are at least as strange; see
        :meth:`PatchIsomap.score_samples <patchfold.PatchIsomap.score_samples>`. A fitted point is
        judged without itself.

        Parameters
        ----------
        X : array of shape (n_points, n_features)

        Returns
        -------
        array of shape (n_points,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from patchfold import PatchOutliers
        >>> X = load_iris().data
        >>> PatchOutliers().fit(X).score_samples(X).shape
        (150,)
        """
        check_is_fitted(self)
        X = checked_points(self, X, reset=False)
        found = self.strangers_.log_p(self.strangers_.likelihoods(X, self._rows.find(X)))
        return found.astype(self.strangers_.data.dtype, copy=False)

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of points minus ``offset_``: negative for outliers.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from patchfold import PatchOutliers
        >>> X = load_iris().data
        >>> bool((PatchOutliers(contamination=0.1).fit(X).decision_function(X) < 0).sum() == 15)
        True
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return -1 for outliers and 1 for others.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from patchfold import PatchOutliers
        >>> outliers = PatchOutliers().fit(load_iris().data)
        >>> outliers.predict([[5.1, 3.5, 1.4, 0.2], [5.1, 3.5, 5.0, 0.2]])
        array([ 1, -1])
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _check_contamination(self) -> None:
        share: Any = self.contamination
        if isinstance(share, str) and share == AUTO:
            return
        number = isinstance(share, Real) and not isinstance(share, bool | np.bool_)
        if not number or not 0 < float(share) <= 0.5:
            raise ValueError(f"contamination={share!r} must be above 0 and at most 0.5, or 'auto'.")
