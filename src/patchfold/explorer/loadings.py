"""Loadings on the page: the features that move every point most in the plane, and where to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.graph.edges import symmetric
from patchfold.mapping.loadings import fitted_slopes, neighbors_to_fit
from patchfold.neighbors.fitted_rows import RowTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from patchfold.base.types import Doubles, Indices
    from patchfold.explorer.packing import ArrayStore


# Features that the page keeps of every point.
STRONGEST = 5
# A page has loadings of at most MOST_VALUES values and MOST_POINTS points in all its views.
# They then take less than 4 MB before compression.
MOST_VALUES, MOST_POINTS = 5_000_000, 200_000
# Coordinates are kept by 8 bits, as shares of the longest move of a point.
STEPS = 127


@dataclass(frozen=True, eq=False)
class Loadings:
    """Where a standard deviation more of its strongest features moves every point."""

    features: Indices  # the strongest of every point, the strongest first: (n, s)
    moves: Doubles  # in the coordinates of the plane: (n, s, 2)


def has_loadings(X: NDArray[Any], n_views: int) -> bool:
    """Tell whether loadings of ``n_views`` views are quick to find and take little room."""
    return X.size <= MOST_VALUES and len(X) * n_views <= MOST_POINTS


def loadings_of(
    plane: Doubles, upper: csr_array, X: NDArray[Any], n_jobs: int | None = None
) -> Loadings:
    """Find the features that move every point most.

    The slopes are those of :meth:`patchfold.PatchIsomap.local_loadings` at fitted points, of the
    plane instead of the embedding. ``upper`` are the edges of the graph above the diagonal.

    Examples
    --------
    >>> from scipy.sparse import triu
    >>> from patchfold import PatchSpace
    >>> X = np.random.default_rng(0).standard_normal((40, 4)) * [9, 5, 1, 1]
    >>> found = loadings_of(X[:, :2], triu(PatchSpace().fit(X).graph_, format="csr"), X)
    >>> found.features.shape, found.moves.shape
    ((40, 4), (40, 4, 2))
    """
    ends = np.repeat(np.arange(len(X)), np.diff(upper.indptr)), upper.indices.astype(np.intp)
    graph = symmetric(*ends, upper.data, len(X))
    rows = RowTable(X).first()
    near = neighbors_to_fit(graph, rows, np.unique(rows))
    slopes = fitted_slopes(X, plane, near, X[rows], n_jobs)
    moves = np.swapaxes(slopes, 1, 2) * X.std(axis=0, dtype=np.float64)[:, None]
    lengths = np.hypot(moves[:, :, 0], moves[:, :, 1])
    features = np.argsort(-lengths, axis=1, kind="stable")[:, :STRONGEST]
    return Loadings(features, np.take_along_axis(moves, features[:, :, None], axis=1))


def pack_loadings(
    found: Sequence[Loadings | None], names: Sequence[str], store: ArrayStore
) -> tuple[list[str], list[dict[str, int] | None]]:
    """Put the loadings of views into the store: the names of their features, and descriptions.

    A description has the places of features in the names, the lengths of the longest moves, and the
    coordinates of all moves as shares of these, by 8 bits.
    """
    features = [one.features.ravel() for one in found if one is not None]
    used = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *features]))
    small = np.min_scalar_type(max(len(used) - 1, 0))
    packed: list[dict[str, int] | None] = []
    for one in found:
        if one is None:
            packed.append(None)
            continue
        longest = np.hypot(*one.moves.transpose(2, 0, 1)).max(axis=1)
        shares = one.moves / np.where(longest > 0, longest, 1.0)[:, None, None]
        codes = np.round(STEPS * shares) + STEPS
        packed.append(
            {
                "features": store.add(np.searchsorted(used, one.features).astype(small)),
                "longest": store.add_positive(longest),
                "moves": store.add(codes.astype(np.uint8)),
            }
        )
    return [names[feature] for feature in used], packed
