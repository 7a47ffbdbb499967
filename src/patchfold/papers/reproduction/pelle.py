"""PELLE (anonymous submission to TMLR): Table 1, accuracies.

The released program takes mean and covariance of every patch from the whole data set. All patches
are then equal, all divergences zero, and ``(d d' + alpha I) w = 1`` has equal weights: what it
computes is a locally linear embedding with the weights 1 / K, in which no divergence is left.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh

from patchfold import papers
from patchfold.papers.reproduction import baselines, experiment
from patchfold.papers.reproduction.cells import ACCOUNTS_NOTE, printed_tasks

if TYPE_CHECKING:
    from patchfold.base.types import Doubles


PROTOCOL = 2
TABLES = ("1",)
OWN = ("PELLE",)
NOTE = (
    f"{ACCOUNTS_NOTE} {experiment.HONEST_NOTE} The authors' program does not compute the paper's "
    "equations: it takes the mean and the covariance of every patch from the whole data set. All "
    "patches are then equal and all divergences are zero, so it computes a locally linear "
    "embedding with equal weights 1 / K."
)


def published(X: Doubles, k: int) -> Doubles:
    """Embed as the released program does: eigenvectors 2 and 3 of ``(I - W)'(I - W)``.

    Examples
    --------
    >>> X, _ = experiment.standardised("wine")
    >>> published(X, 10).shape
    (178, 2)
    """
    n = len(X)
    W = np.zeros((n, n))
    np.put_along_axis(W, baselines.old_neighbors(X, k), 1 / k, axis=1)
    R = np.eye(n) - W
    return np.asarray(eigh(R.T @ R, subset_by_index=(1, 2))[1])


tasks = partial(printed_tasks, "pelle", most=experiment.QUICK_ROWS, own="PELLE")
compute = partial(experiment.compute, own="PELLE", published=published, equations=papers.pelle)
