"""An order of points in which those that are near each other follow each other.

Work that looks at a point and its neighbours goes through large data in it: what is read for one
point is then mostly still in the cache for the next. No exact result depends on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import KDTree

from patchfold.engines.pools import one_blas_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.intp]

# Bytes of points from which the order matters.
LARGE = 2**20

# Near each other means in so many random directions; where the data spread most, these do, too.
DIRECTIONS = 4


def walk(X: Any) -> Indices:
    """Return the rows of a dense or sparse matrix, each once, near ones one after the other.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(size=(50_000, 3))
    >>> steps = [np.linalg.norm(np.diff(rows, axis=0), axis=1).mean() for rows in (X, X[walk(X)])]
    >>> bool(steps[1] < 0.1 * steps[0])
    True
    """
    n, m = X.shape
    if n * m * X.dtype.itemsize < LARGE:
        return np.arange(n)
    directions = np.random.default_rng(0).standard_normal((m, DIRECTIONS)).astype(X.dtype)
    # The threads of BLAS stay awake for a while after a product, and would be in the way.
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        seen = np.nan_to_num(X @ directions)
    tree = KDTree(seen, compact_nodes=False, balanced_tree=False)
    return np.asarray(tree.indices, dtype=np.intp)


def places(order: Indices) -> Indices:
    """Return at which place of an order each row is.

    Examples
    --------
    >>> places(np.array([2, 0, 1]))
    array([1, 2, 0])
    """
    result = np.empty_like(order)
    result[order] = np.arange(len(order))
    return result
