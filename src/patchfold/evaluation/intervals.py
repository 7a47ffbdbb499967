"""The interval of a mean over splits that overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from patchfold.evaluation.significance import ALPHA

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def mean_interval(
    scores: Any, *, overlap: float = 0.0, level: float = 1 - ALPHA
) -> tuple[float, float, float]:
    """Return the mean of repeated scores and Student's interval for it.

    ``m -+ t s sqrt(1/J + overlap)`` for J scores with standard deviation s. Scores of repeated
    splits of the same data are not independent, and the interval without an overlap is too narrow
    for them; with ``overlap`` the ratio of test to training points it is that of Nadeau and Bengio
    ("Inference for the generalization error", Machine Learning 52, 2003), 1 for halves.

    Parameters
    ----------
    scores : array-like of shape (n_scores,)
        At least two.
    overlap : float, default=0.0
        What the scores of different splits share.
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
    values = np.asarray(scores, dtype=np.float64)
    n = len(values)
    mean = np.mean(values)
    spread = np.std(values, ddof=1) / np.sqrt(n / (1 + n * overlap))
    half = spread * stats.t.ppf((1 + level) / 2, n - 1)
    return float(mean), float(mean - half), float(mean + half)
