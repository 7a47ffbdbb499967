"""How sure a mean is, and how far scores are spread, over repeated splits."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from patchfold.evaluation.significance import ALPHA

# What scores of repeated halves share: as many test as training rows.
HALVES_OVERLAP = 1.0


def standard_error(scores: Any, *, overlap: float = 0.0) -> float:
    """Return the standard error of a mean: ``s sqrt(1/J + overlap)`` for J scores.

    Scores of repeated splits of the same data are not independent, and without ``overlap`` the
    error is too small for them. With the ratio of test to training rows it is that of Nadeau and
    Bengio ("Inference for the generalization error", Machine Learning 52, 2003).

    Parameters
    ----------
    scores : array-like of shape (n_scores,)
        At least two.
    overlap : float, default=0.0
        What the scores of different splits share, :data:`HALVES_OVERLAP` for halves.

    Examples
    --------
    >>> round(standard_error([0.8, 0.9, 0.85]), 4)
    0.0289
    """
    values = np.asarray(scores, dtype=np.float64)
    n = len(values)
    return float(np.std(values, ddof=1) / np.sqrt(n / (1 + n * overlap)))


def mean_interval(
    scores: Any, *, overlap: float = 0.0, level: float = 1 - ALPHA
) -> tuple[float, float, float]:
    """Return the mean of repeated scores, and Student's interval for it.

    ``m -+ t e`` with e the :func:`standard_error`.

    Parameters
    ----------
    scores : array-like of shape (n_scores,)
        At least two.
    overlap : float, default=0.0
        As for the standard error.
    level : float, default=0.95
        How often the interval should cover the mean.

    Returns
    -------
    (float, float, float)
        Mean, lower and upper end.

    Examples
    --------
    >>> [round(number, 3) for number in mean_interval([0.8, 0.9, 0.85])]
    [0.85, 0.726, 0.974]
    """
    mean = float(np.mean(np.asarray(scores, dtype=np.float64)))
    t = float(stats.t.ppf((1 + level) / 2, len(scores) - 1))
    half = standard_error(scores, overlap=overlap) * t
    return mean, mean - half, mean + half


def score_range(scores: Any, *, tail: float = ALPHA / 2) -> tuple[float, float]:
    """Return between which two quantiles most of some repeated scores lie.

    The range says how far single scores are spread, and does not shrink with their number. How sure
    their mean is says :func:`mean_interval`.

    Parameters
    ----------
    scores : array-like of shape (n_scores,)
        At least one.
    tail : float, default=0.025
        The share of the scores beyond each end.

    Returns
    -------
    (float, float)
        Lower and upper end.

    Examples
    --------
    >>> [round(number, 2) for number in score_range(range(101), tail=0.05)]
    [5.0, 95.0]
    """
    low, high = np.quantile(np.asarray(scores, dtype=np.float64), [tail, 1 - tail])
    return float(low), float(high)
