"""Landmark Isomap of a graph on a cluster: geodesics, and the places of rows by them, in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.distributed.graph import located
from patchfold.mapping.nystrom import Triangulation

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.graph import ClusterGraph
    from patchfold.distributed.halo import Table
    from patchfold.distributed.placing import Placed, Placing


def scaled_paths(graph: ClusterGraph, landmarks: Indices) -> tuple[list[Any], float, Floats]:
    """Return futures of geodesics in units of the longest, that one, and those of the landmarks."""
    cluster = graph.fitted.cluster
    blocks, longest = graph.geodesics(landmarks)
    unit = longest or 1.0
    if np.isinf(unit):  # all points are connected
        raise ValueError(
            f"geodesics between the points overflow {graph.dtype}; rescale X, or convert it to "
            "float64."
        )
    paths = cluster.each(_side_by_side, blocks, unit=unit)
    del blocks  # workers forget those that are done with
    rows = cluster.get(cluster.each(_rows_at, paths, graph.fitted.ids, rows=landmarks))
    # Columns are contiguous, as where columns were taken out of all geodesics: the order in memory
    # decides the last bits of sums.
    between = np.empty((len(landmarks), len(landmarks)), dtype=graph.dtype, order="F")
    for lanes, values in rows:
        between[:, lanes] = values.T
    return paths, unit, between


@dataclass(frozen=True, eq=False)
class PartedTriangulation:
    """What :class:`~patchfold.mapping.nystrom.Triangulation` is in one place, in parts.

    Attributes
    ----------
    paths : list of futures of arrays of shape (n, n_landmarks)
        Geodesics of the rows of every part, in units of the longest.
    squared_means : array of shape (n_landmarks,)
    axes : array of shape (n_landmarks, n_components)
    unit : float
    places : array of shape (n_landmarks, n_components) or None
    """

    paths: list[Any]
    squared_means: Floats
    axes: Floats
    unit: float
    places: Floats | None = None

    def of_fitted(self, graph: ClusterGraph) -> list[Any]:
        """Return futures of the places of the rows of every part."""
        cluster = graph.fitted.cluster
        found = cluster.each(_places, self.paths, dtype=graph.dtype, **self._frame())
        cluster.wait(found)
        return found

    def of_new(self, placing: Placing) -> list[Any]:
        """Return futures of the places of chunks of new rows."""
        cluster = placing.cluster
        placed = placing.placed()
        tables = cluster.each(_table, placed)
        paths = placing.fetched(tables, self.paths)
        dtype = placing.graph.dtype
        return cluster.each(_places_of_new, placed, paths, dtype=dtype, **self._frame())

    def _frame(self) -> dict[str, Any]:
        """Return what a Triangulation needs beside the paths."""
        return {
            "squared_means": self.squared_means,
            "axes": self.axes,
            "unit": self.unit,
            "places": self.places,
        }


def _side_by_side(blocks: list[Floats], unit: float) -> Floats:
    """Return the geodesics of all landmarks in other units."""
    paths = np.concatenate(blocks, axis=1)
    paths /= unit
    return paths


def _rows_at(paths: Floats, ids: Indices, rows: Indices) -> tuple[Indices, Floats]:
    """Return which of some rows are in a part, and their geodesics."""
    here, places = located(ids, rows)
    return here, paths[places]


def _places(paths: Floats, dtype: Any, **frame: Any) -> Floats:
    return Triangulation(paths, **frame).of_fitted(1).astype(dtype)


def _table(placed: Placed) -> Table:
    return placed.table


def _places_of_new(placed: Placed, halo: list[Floats], dtype: Any, **frame: Any) -> Floats:
    paths = placed.table.filled(halo[0][:0], halo)
    return Triangulation(paths, **frame).of_new(placed.near, 1).astype(dtype)
