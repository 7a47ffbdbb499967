"""PELLE (anonymous submission to TMLR): Table 1, accuracies.

The released program takes mean and covariance of every patch from the whole data set. All patches
are then equal, all divergences zero, and ``(d d' + alpha I) w = 1`` has equal weights: what it
computes is a locally linear embedding with the weights 1 / K, in which no divergence is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh

from patchfold import papers
from patchfold.papers.reproduction import baselines, experiment
from patchfold.papers.reproduction.cells import ACCOUNTS_NOTE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchfold.base.types import Doubles
    from patchfold.papers.reproduction.cells import Result, Task


PROTOCOL = 1
TABLES = ("1",)
NOTE = (
    f"{ACCOUNTS_NOTE} {experiment.HONEST_NOTE} The authors' program does not compute the paper's "
    "equations: it takes the mean and the covariance of every patch from the whole data set. All "
    "patches are then equal and all divergences are zero, so it computes a locally linear "
    "embedding with equal weights 1 / K."
)


def tasks(
    table: str, datasets: Sequence[str] | None, accounts: Sequence[str], quick: bool
) -> list[Task]:
    """List the cells of a table to compute."""
    return experiment.tasks("pelle", table, "PELLE", datasets, accounts, quick)


def compute(task: Task) -> list[Result]:
    """Compute a cell."""
    return experiment.compute(task, "PELLE", published, papers.pelle)


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
