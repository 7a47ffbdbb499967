"""Lower bounds of detours: how long a way through a graph is at least."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.arrays import to_numpy
from patchfold.graph.geodesics import paths_on, shortest_paths

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from patchfold.base.types import Floats, Indices


def landmark_ways(
    graph: csr_array,
    i: Indices,
    j: Indices,
    landmarks: int,
    n_jobs: int | None = None,
    *,
    names: Indices | None = None,
    compiled_work: int | None = None,
    device: str | None = None,
) -> Floats:
    """Return lower bounds of the geodesics between pairs, by those from ``landmarks`` points.

    ``|g(l, i) - g(l, j)| <= g(i, j)`` for every landmark ``l``. Landmarks are spread over the
    graph: the first is the point whose edges are the longest in sum, each of the others the point
    farthest from those before it, so that the order of points does not matter. Among equals it is
    the one of the last name, ``names`` being those of the points (None: their numbers).
    ``compiled_work`` is that of :func:`~patchfold.graph.geodesics.shortest_paths`, and ``device`` a
    device of torch that finds paths, or None.
    """
    sums = np.asarray(graph.sum(axis=1))
    nearest = np.full(graph.shape[0], np.inf)
    bounds: Floats = np.zeros(len(i))
    find: Any = partial(shortest_paths, graph, n_jobs=n_jobs, compiled_work=compiled_work)
    if device is not None:
        find = paths_on(device, graph)
    for _ in range(min(landmarks, graph.shape[0])):
        farthest = np.flatnonzero(nearest == nearest.max())
        equal = farthest[sums[farthest] == sums[farthest].max()]
        landmark = equal[-1:] if names is None else equal[[np.argmax(names[equal])]]
        paths = to_numpy(find(landmark))[0]
        nearest = np.minimum(nearest, paths)
        bounds = least_ways(bounds, paths[i], paths[j])
    return bounds


def least_ways(bounds: Floats, to_i: Floats, to_j: Floats) -> Floats:
    """Return lower bounds of geodesics, improved by those of both ends from one more landmark."""
    with np.errstate(invalid="ignore"):  # of points in another component nothing is learned
        differences = np.abs(to_i - to_j)
    return np.where(np.isfinite(differences), np.maximum(bounds, differences), bounds)
