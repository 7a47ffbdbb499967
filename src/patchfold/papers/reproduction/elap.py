"""ELAP (Levada and Haddad, 2021): Table I, silhouettes, and Table II, accuracies.

The released program does not compute the paper's equations. Pairs that are not neighbours have no
divergence there, zero, and so get the weight exp(0) = 1 where eq. 42 gives them none: the graph is
complete, and the bottom of its spectrum is the high-frequency end of the graph of neighbours. The
matrix is not symmetric, and the eigensolver reads its lower triangle only.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array, tril
from scipy.sparse.linalg import LinearOperator, eigsh

from patchfold import divergences, papers
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.papers.reproduction import baselines, experiment
from patchfold.papers.reproduction.cells import ACCOUNTS_NOTE, printed_tasks
from patchfold.patches import GaussianPatch

if TYPE_CHECKING:
    from patchfold.base.types import Doubles


PROTOCOL = 2
TABLES = ("I", "II")
OWN = ("ELAP",)
# Above this a full matrix takes minutes for every K, and Lanczos finds the same vectors.
DENSE_ROWS = 3000
NOTE = (
    f"{ACCOUNTS_NOTE} {experiment.HONEST_NOTE} The authors' program does not compute the paper's "
    "equations: it gives pairs that are not neighbours the weight 1, where equation 42 gives them "
    f"none. {baselines.LAP_NOTE}"
)


def published(X: Doubles, k: int, *, dense_rows: int = DENSE_ROWS) -> Doubles:
    """Embed as the released program does.

    Patches without their own point, divisor k - 1, 0.001 on the diagonal of singular covariances,
    weights ``exp(-d^2)`` for neighbours and 1 for all other pairs, ``L = D - W`` with the sums of
    rows in D, eigenvectors 2 and 3 of the lower triangle. With more than ``dense_rows`` points
    Lanczos' iteration finds them.

    Examples
    --------
    >>> from sklearn.metrics import silhouette_score
    >>> X, y = experiment.standardised("parity5")
    >>> f"{silhouette_score(published(X, 4), y):.3f}"
    '0.540'
    """
    n = len(X)
    near = baselines.old_neighbors(X, k)
    start, end = np.repeat(np.arange(n), k), near.ravel()
    around = Neighborhoods(np.arange(0, n * k + 1, k), end, np.zeros(n * k))
    patch = GaussianPatch(include_self=False, covariance="ridge-if-singular", gamma=1e-3)
    lengths = divergences.paired(patch.fit(X, around), start, end, "kl")
    weights = np.exp(-(lengths**2))
    if n <= dense_rows:
        W = np.ones((n, n))
        W[start, end] = weights
        return np.asarray(eigh(np.diag(W.sum(axis=1)) - W, subset_by_index=(1, 2))[1])
    # W = 11' - S with a sparse S, so L = n I - diag(S 1) - 11' + S.
    S = csr_array((1 - weights, (start, end)), (n, n))
    below = tril(S, -1)
    A = (below + below.T - diags_array(S.sum(axis=1))).tocsr()
    L = LinearOperator((n, n), matvec=lambda v: n * v + A @ v - v.sum(), dtype=np.float64)
    v0: Any = np.random.default_rng(0).standard_normal(n)
    return np.asarray(eigsh(L, k=3, which="SA", v0=v0)[1][:, 1:])


tasks = partial(printed_tasks, "elap", most=experiment.QUICK_ROWS, own="ELAP")
compute = partial(experiment.compute, own="ELAP", published=published, equations=papers.elap)
