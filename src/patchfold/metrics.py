"""How good an embedding or a clustering is, and how many components the data need.

Of n x n values only blocks of rows are held, except for distances that you pass. Values are exact,
except where a function says that it takes a sample of large data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics.cluster import contingency_matrix

from patchfold.analysis.trust import trust
from patchfold.base.validation import check_count, check_points, warn_user
from patchfold.embedding import PatchIsomap
from patchfold.evaluation.coranking import (
    Coranking,
    auc_log_rnx,
    continuity,
    coranking,
    lcmc,
    trustworthiness,
)
from patchfold.evaluation.correlations import rank_correlation, residual_variance, stress
from patchfold.evaluation.legibility import Unreadable, unreadable, visible_share
from patchfold.graph.geodesics import shortest_paths

if TYPE_CHECKING:
    from patchfold.base.types import Doubles


__all__ = [
    "Coranking",
    "IntrinsicDimension",
    "Unreadable",
    "auc_log_rnx",
    "continuity",
    "coranking",
    "intrinsic_dimension",
    "lcmc",
    "purity",
    "rank_correlation",
    "residual_variance",
    "stress",
    "trust",
    "trustworthiness",
    "unreadable",
    "visible_share",
]

# A component counts if it removes this share of the residual variance that was left ...
COUNTING_SHARE = 1 / 3
# ... and this much of the whole: what is below is rounding, and paths that zigzag.
COUNTING_FLOOR = 0.002
# Geodesics from more points than this change the curve by less than 0.001.
MOST_SOURCES = 1000


@dataclass(frozen=True, eq=False)
class IntrinsicDimension:
    """The intrinsic dimension, and the curve it was read from.

    Attributes
    ----------
    dimension : int
    residual_variances : array of shape (n_components,)
        Entry d - 1 is the residual variance of an embedding with d components.
    """

    dimension: int
    residual_variances: Doubles


def intrinsic_dimension(
    X: Any, estimator: PatchIsomap | None = None, *, max_components: int = 10
) -> IntrinsicDimension:
    """Find how many components an Isomap embedding needs: where its residual variance flattens.

    The data are embedded once, and the first d components are the embedding in d dimensions
    (SA-Isomap, section 2.1, after Tenenbaum, de Silva and Langford 2000). A component counts if it
    removes a third of the residual variance that was left, and 0.002 of the whole, which is 1
    without components; the dimension is the last one that counts. If none does, the curve falls
    slowly and the dimension is at least ``max_components``; a warning says so.

    This is the dimension of a flat space that holds the geodesics: 2 for a swiss roll, which can be
    unrolled, but 3 for the surface of a sphere and 2 for a closed curve. Short circuits across
    a fold of the data add components, and so does a divergence whose scale changes from place to
    place, as ``"kl"`` does where the density of the data falls off.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Whatever the estimator takes.
    estimator : PatchIsomap or None
        How the data are embedded, its ``n_components`` aside, by classical scaling, whose
        components are nested; None means ``PatchIsomap()``. It is not changed.
    max_components : int, default=10
        The longest embedding looked at, at most ``n_samples - 1``.

    Returns
    -------
    IntrinsicDimension

    See Also
    --------
    patchfold.plotting.plot_residual_variance : The curve as a picture.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> X, _ = make_swiss_roll(1000, random_state=0)
    >>> intrinsic_dimension(X).dimension
    2
    """
    if estimator is not None and not isinstance(estimator, PatchIsomap):
        raise TypeError(
            f"estimator={estimator!r} is not a PatchIsomap, whose components can be nested; give "
            "one, or None."
        )
    n = check_points(X, accept_sparse=True).shape[0]
    count = min(check_count("max_components", max_components), n - 1)
    isomap = PatchIsomap() if estimator is None else clone(estimator)
    isomap.set_params(n_components=count, scaling="classical").fit(X)
    sources = np.arange(n)
    if n > MOST_SOURCES:
        sources = np.random.default_rng(0).choice(n, MOST_SOURCES, replace=False)
    geodesics = shortest_paths(isomap.graph_, sources)
    curve = np.array(
        [
            residual_variance(
                geodesics, isomap.embedding_[:, :d], sources=sources, n_jobs=isomap.n_jobs
            )
            for d in range(1, count + 1)
        ]
    )
    dimension = _last_that_counts(curve)
    if dimension == count < n - 1 and curve[-1] > COUNTING_FLOOR:
        warn_user(
            f"the residual variance does not flatten within max_components={max_components} "
            f"({curve[-1]:.2g} is left); the dimension may be higher, raise max_components."
        )
    return IntrinsicDimension(dimension, curve)


def _last_that_counts(curve: Doubles) -> int:
    """Return the number of the last component that counts; of all, where none does."""
    # Components that were added make distances longer, and may be less alike: what counts is the
    # best so far.
    best = np.minimum.accumulate(np.concatenate([[1.0], curve]))
    removed = best[:-1] - best[1:]
    counting = np.flatnonzero(removed > np.maximum(COUNTING_FLOOR, COUNTING_SHARE * best[:-1]))
    return int(counting[-1]) + 1 if len(counting) else len(curve)


def purity(labels_true: Any, labels_pred: Any) -> float:
    """Return the share of points that belong to the commonest class of their cluster.

    Manning, Raghavan and Schuetze, "Introduction to information retrieval", 2008, section 16.3. It
    is not symmetric, and 1 for clusters of one point each.

    Parameters
    ----------
    labels_true : array of shape (n_samples,)
        Classes.
    labels_pred : array of shape (n_samples,)
        Clusters.

    Returns
    -------
    float

    Examples
    --------
    >>> purity(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.75
    """
    shapes = np.shape(labels_true), np.shape(labels_pred)
    if shapes[0] != shapes[1] or len(shapes[0]) != 1 or not shapes[0][0]:
        raise ValueError(
            f"labels_true and labels_pred have shapes {shapes[0]} and {shapes[1]}; "
            "give one label per point in each."
        )
    # Sparse, as there may be as many clusters as points.
    table = contingency_matrix(labels_true, labels_pred, sparse=True)
    return float(table.max(axis=0).sum() / shapes[0][0])
