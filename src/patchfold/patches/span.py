"""Where patches of sparse rows live: in the span of the leading directions of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import PCA
from sklearn.utils.sparsefuncs import mean_variance_axis

from patchfold.base.threads import one_blas_thread
from patchfold.base.validation import is_sparse, warn_user

if TYPE_CHECKING:
    from patchfold.base.types import Floats


# Directions that a span has at most. Rows with no more columns are taken as dense ones.
DIRECTIONS = 100


# From this share of the variance on, the span of sparse rows loses nothing that shows.
ALL_KEPT = 0.995


def in_format(points: Any, spanned: bool) -> Any:
    """Return points as CSR of their own without stored zeros, or dense, as all steps take them.

    Sparse rows that have no more columns than a span has directions become dense.
    """
    if not is_sparse(points):
        return points if not spanned else csr_array(points)
    if not spanned:
        return points.toarray()
    rows = csr_array(points, copy=True)
    rows.eliminate_zeros()
    return rows


@dataclass(frozen=True, eq=False)
class Span:
    """The leading directions of sparse rows, and how much of the variance they hold."""

    centre: Floats = field(repr=False)  # (m,): the mean row
    directions: Floats = field(repr=False)  # (n_directions, m): orthonormal
    n_directions: int
    kept: float  # the share of the variance that lies in the span

    @classmethod
    def of(cls, X: Any, n_directions: int = DIRECTIONS) -> Self:
        """Find the leading directions of the rows of a sparse matrix, without a dense copy.

        Examples
        --------
        >>> from scipy.sparse import random_array
        >>> X = random_array((300, 2000), density=0.01, rng=0).tocsr()
        >>> span = Span.of(X, 20)
        >>> span.n_directions, span(X).shape, 0 < span.kept < 1
        (20, (300, 20), True)
        """
        n, m = X.shape
        count = min(n_directions, n - 1, m - 1)
        mean, variances = mean_variance_axis(X, axis=0)
        if count < 1 or not variances.any():  # rows that are all the same
            return cls(mean.astype(X.dtype), np.eye(1, m, dtype=X.dtype), 1, 1.0)
        with one_blas_thread():
            found = PCA(count, svd_solver="arpack", random_state=0).fit(X)
        kept = min(1.0, float(found.explained_variance_ratio_.sum(dtype=np.float64)))
        directions = np.ascontiguousarray(found.components_, dtype=X.dtype)
        return cls(found.mean_.astype(X.dtype), directions, count, kept)

    def warn(self) -> None:
        """Say what patches do not see of sparse rows."""
        if self.kept < ALL_KEPT:
            warn_user(
                f"X is sparse: its patches are fitted in the span of {self.n_directions} leading "
                f"directions, which hold {self.kept:.0%} of the variance. Neighbours are those in "
                "all columns."
            )

    def __call__(self, X: Any) -> Floats:
        """Return the coordinates of sparse rows in the span, (n, n_directions)."""
        # Products of sparse rows do not depend on what other rows there are.
        return np.asarray(X @ self.directions.T - self.centre @ self.directions.T)

    def features(self, coordinates: Floats) -> Floats:
        """Return the rows that coordinates in the span belong to, (n, m), dense."""
        return np.asarray(coordinates @ self.directions + self.centre)
