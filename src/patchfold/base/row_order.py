"""An order of points in which near ones follow each other.

Steps that read a point and its neighbours go through large data in this order: most of what they
read for one point is still in the cache for the next. No exact result depends on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import is_array_api_obj, is_torch_array
from scipy.spatial import KDTree

from patchfold.base.arrays import to_numpy
from patchfold.base.threads import one_blas_thread

if TYPE_CHECKING:
    from patchfold.base.types import Indices


# Bytes of points from which the order matters.
LARGE = 2**20

# Random directions in which nearness is judged; they vary most where the data do.
DIRECTIONS = 4


def walk(X: Any, *, large: float = LARGE) -> Indices:
    """Return the rows of a dense or sparse matrix, each once, near ones one after the other.

    A matrix of fewer than ``large`` bytes keeps its order, and so does a tensor of torch.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(size=(50_000, 3))
    >>> steps = [np.linalg.norm(np.diff(rows, axis=0), axis=1).mean() for rows in (X, X[walk(X)])]
    >>> bool(steps[1] < 0.1 * steps[0])
    True
    """
    n, m = X.shape
    if is_torch_array(X):
        return np.arange(n)
    X = to_numpy(X) if is_array_api_obj(X) else X
    if n * m * X.dtype.itemsize < large:
        return np.arange(n)
    directions = np.random.default_rng(0).standard_normal((m, DIRECTIONS)).astype(X.dtype)
    # Threads of BLAS stay awake for a while after a product, and would slow down what follows.
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        seen = np.nan_to_num(X @ directions)
    tree = KDTree(seen, compact_nodes=False, balanced_tree=False)
    return np.asarray(tree.indices, dtype=np.intp)


def inverse(order: Indices) -> Indices:
    """Return the place of each row in an order."""
    result = np.empty_like(order)
    result[order] = np.arange(len(order))
    return result
