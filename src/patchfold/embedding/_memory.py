"""What the graph of a fit will need, estimated before the first stage.

Estimates count the arrays that are alive at the peak. ``python -m benchmarks.memory`` prints them
beside measured peaks, which its constants were fitted to.
"""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

from patchfold.base.sampling import drawn_rows
from patchfold.base.threads import CACHE_BYTES
from patchfold.base.validation import is_sparse
from patchfold.graph.lengths import all_distances
from patchfold.graph.short_circuits import RECIPE
from patchfold.neighbors.points import TREE_FEATURES
from patchfold.patches.covariances import FULL, check_full
from patchfold.patches.span import DIRECTIONS

if TYPE_CHECKING:
    from patchfold.graph.patch_graph import GraphSetting

# Bytes of an edge at the peak: found by the search; compared with what is typical, judged, and
# stored both ways; measured by the divergence alone, or by the distance alone.
FOUND, JUDGED, MEASURED, PLAIN = 24, 120, 75, 80

# Points that tell how many neighbours are within a radius.
ASKED = 32


def graph_bytes(X: Any, setting: GraphSetting) -> int:
    """Return the bytes that building a graph needs beside its points.

    Parameters
    ----------
    X : array of shape (n, m)
        Points; for ``"precomputed"`` their distances, (n, n) or sparse.
    setting : GraphSetting
    """
    n = X.shape[0]
    reach = _reach(X, setting)
    if setting.precomputed:
        return CACHE_BYTES + int(n * reach * (FOUND + PLAIN))
    needed = CACHE_BYTES + 16 * n + _search_bytes(X) + FOUND * n * reach
    if setting.patch is None:
        return int(needed + n * reach * PLAIN)
    needed += _patch_bytes(X, setting, reach)
    if setting.pruned:
        judged = max(setting.degree or reach, min(setting.patch_size, RECIPE.nearest))
        needed += n * judged * JUDGED
    else:
        needed += n * (setting.degree or reach) * MEASURED
    return int(needed)


def _reach(X: Any, setting: GraphSetting) -> float:
    """Return how many neighbours of a point are found; of a radius, by asking some points."""
    n = X.shape[0]
    if setting.precomputed and is_sparse(X):
        return float(X.nnz / n)
    if setting.radius is None:
        return float(max(setting.degree or 0, setting.patch_size))
    rows = drawn_rows(n, ASKED, 0)
    apart = X[rows] if setting.precomputed else all_distances(X[rows], X)
    return float((apart <= setting.radius).sum() / len(rows))


def _search_bytes(X: Any) -> int:
    """Return what a search keeps: a tree, or a copy in single precision."""
    n, m = X.shape
    if is_sparse(X):
        return int(4 * 12 * X.nnz)
    return int(n * (8 * m + 64 if m <= TREE_FEATURES else 4 * m))


def _patch_bytes(X: Any, setting: GraphSetting, reach: float) -> int:
    n, m = X.shape
    m = min(m, DIRECTIONS) if is_sparse(X) else m
    patch: Any = setting.patch
    size = setting.patch_size or int(reach)
    rank = max(1, size)
    if patch.covariance == "low-rank" and isinstance(patch.rank, Integral):
        rank = max(1, min(rank, int(patch.rank)))
    factored = rank < m and patch.covariance not in FULL
    if not factored:
        check_full(m, patch.covariance)
    numbers = m * (1 + (rank if factored else 2 * m))
    needed = n * numbers * X.dtype.itemsize
    if patch.denoise:
        needed += n * m * X.dtype.itemsize + _search_bytes(X) + n * size * FOUND
    return int(needed)
