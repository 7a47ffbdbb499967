"""The graph of patches on a cluster: every part has the edges at its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.memory import check_memory
from patchfold.base.sampling import drawn_rows
from patchfold.distributed import whole
from patchfold.distributed.geodesics import geodesics, grounds_of
from patchfold.distributed.halo import Exchange
from patchfold.graph.edges import symmetric, with_edges, with_incoming
from patchfold.neighbors.neighborhoods import Neighborhoods

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.connection import Cluster
    from patchfold.distributed.fitting import Packed, PartPatches
    from patchfold.distributed.links import Links
    from patchfold.distributed.rows import Shared
    from patchfold.distributed.searching import Found, Search
    from patchfold.graph.patch_graph import GraphSetting
    from patchfold.graph.short_circuits import Typical


@dataclass(frozen=True, eq=False)
class Fitted:
    """The rows that were fitted, and where they are.

    Attributes
    ----------
    cluster : Cluster
    shared : Shared
        The rows of every part.
    search : Search
    scale : float
        The mean variance of the features.
    recall : float
        The share of the nearest rows that the search has found, measured on a sample; 1 if exact.
    """

    cluster: Cluster
    shared: Shared
    search: Search
    scale: float
    recall: float

    @property
    def ids(self) -> list[Any]:
        """Futures of the numbers of the rows of every part."""
        return self.shared.ids

    @property
    def points(self) -> list[Any]:
        """Futures of the points of these rows."""
        return self.shared.points


@dataclass(frozen=True, eq=False)
class ClusterGraph:
    """What :class:`~patchfold.graph.patch_graph.PatchGraph` is in one place, in parts.

    Attributes
    ----------
    setting : GraphSetting
    fitted : Fitted
    found : list of futures of Found
        The neighbours of all rows.
    parted : PartPatches or None
        The patches of all rows.
    links : list of futures of Links
    edge_lengths : list of futures of arrays
        One length per edge, infinite for edges that were removed.
    typical : Typical or None
    bridges : list of triples of int, int and float
        The edges that join components: both rows, and the length.
    """

    setting: GraphSetting
    fitted: Fitted
    found: list[Any]
    parted: PartPatches | None
    links: list[Any]
    edge_lengths: list[Any]
    typical: Typical | None
    bridges: tuple[tuple[int, int, float], ...] = ()

    def __getattr__(self, name: str) -> Any:
        """Refuse what a graph in one place has and this one has not."""
        raise AttributeError(
            f"a fit on a cluster has no {name} in this process, and patches_, trust, bridges, "
            "stability, inverse_transform, local_loadings and off_manifold need what it has not; "
            "fit a sample with engine='threads' for them."
        )

    def __len__(self) -> int:
        return self.fitted.shared.n

    @property
    def dtype(self) -> Any:
        """The floating point type of lengths."""
        return self.fitted.shared.chunks.dtype

    @property
    def recall(self) -> float:
        """The share of nearest rows that the search has found, on a sample; 1 if it is exact."""
        return self.fitted.recall

    @property
    def matrix(self) -> csr_array:
        """The symmetric graph of lengths, collected in this process."""
        n, degree = len(self), self.setting.degree or 0
        check_memory(
            2 * 24 * n * degree,
            f"the graph of {n} points in this process",
            "embed it on the cluster, with PatchIsomap(landmarks=...)",
        )
        cluster = self.fitted.cluster
        parts = cluster.get(cluster.each(_edges, self.links, self.edge_lengths))
        i, j, lengths = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((j, i))
        return symmetric(i[order], j[order], lengths[order], n)

    @cached_property
    def centres(self) -> Floats:
        """Where the patches are, or the rows themselves: collected in this process."""
        n, m = len(self), self.fitted.shared.chunks.n_features
        check_memory(
            2 * n * m * np.dtype(self.dtype).itemsize,
            f"the centres of {n} patches in this process",
            "use another estimator, or weights='entropic'",
        )
        cluster = self.fitted.cluster
        parted = self.fitted.points
        if self.parted is not None:
            parted = cluster.each(_patch_points, self.parted.packed)
        centres = np.empty((n, m), dtype=self.dtype)
        for both in zip(self.fitted.ids, parted, strict=True):  # one part at a time
            ids, values = cluster.get(both)
            centres[ids] = values
        return centres

    def landmarks(self, count: int, random_state: Any) -> Indices:
        """Draw rows, each as likely as another, copies of a row as one while there are others."""
        cluster, n = self.fitted.cluster, len(self)
        parts = cluster.get(cluster.each(_copies, self.fitted.ids, self.found))
        copies = np.sort(np.concatenate(parts))
        distinct = n - len(copies)
        if distinct < count:
            copies, distinct = copies[:0], n
        if random_state is None or isinstance(random_state, (int, np.integer)):
            # A permutation of all rows is drawn for it, which is left to a worker.
            drawn = cluster.get([cluster.run(drawn_rows, distinct, count, random_state)])[0]
        else:
            drawn = drawn_rows(distinct, count, random_state)
        return np.asarray(drawn + np.searchsorted(copies - np.arange(len(copies)), drawn, "right"))

    def geodesics(
        self, landmarks: Indices, together: int | None = None
    ) -> tuple[list[list[Any]], float]:
        """Return the geodesics of the rows of every part from landmarks, and the longest.

        They are as :func:`patchfold.distributed.geodesics.geodesics` returns them. Up to
        ``together`` edges, None for as many as workers can hold, each worker gets all of them.
        """
        cluster = self.fitted.cluster
        exchange = Exchange(cluster, cluster.each(table_of_links, self.links))
        found = cluster.get(cluster.each(located, self.fitted.ids, rows=landmarks))
        homes = {
            int(lane): (part, int(place))
            for part, (lanes, places) in enumerate(found)
            for lane, place in zip(lanes, places, strict=True)
        }
        sources = [homes[lane] for lane in range(len(landmarks))]
        if whole.is_small(cluster, self.edge_lengths, together):
            every = whole.whole_graph(exchange, self.links, self.edge_lengths)
            return whole.geodesics(cluster, every, sources, self.dtype)
        grounds = grounds_of(exchange, self.links, self.edge_lengths)
        return geodesics(exchange, grounds, sources, self.dtype)

    def with_bridges(
        self, links: list[Any], lengths: list[Any], bridges: list[tuple[int, int, float]]
    ) -> ClusterGraph:
        """Return the same graph with further edges."""
        return replace(self, links=links, edge_lengths=lengths, bridges=tuple(bridges))

    def collected(self) -> Collected:
        """Return the edges of the graph in this process, for embeddings that need all of them."""
        cluster, n = self.fitted.cluster, len(self)
        matrix = self.matrix
        args = self.fitted.ids, self.found, self.links, self.edge_lengths
        parts = cluster.get(cluster.each(_chosen_lengths, *args, degree=self.setting.degree))
        rows, columns, lengths = (np.concatenate(column) for column in zip(*parts, strict=True))
        left = np.isfinite(lengths)
        near = Neighborhoods.from_edges(rows[left], columns[left], lengths[left], n)
        removed = np.sort(np.column_stack([rows[~left], columns[~left]]), axis=1)
        if self.bridges:
            i, j, extra = zip(*self.bridges, strict=True)
            ends = np.array(i, dtype=np.intp), np.array(j, dtype=np.intp)
            near = with_edges(near, *ends, np.array(extra, dtype=self.dtype))
        return Collected(
            self.setting, with_incoming(near, matrix), matrix, self, np.unique(removed, axis=0)
        )


@dataclass(frozen=True, eq=False)
class Collected:
    """The edges of a graph that was built on a cluster, in this process.

    Attributes
    ----------
    setting : GraphSetting
    neighborhoods : Neighborhoods
    matrix : csr_array of shape (n, n)
    lengths : ClusterGraph
        Which knows what is typical, and has no points here.
    removed : array of shape (n_removed, 2)
        The ends of the edges that were left out as short circuits.
    """

    setting: GraphSetting
    neighborhoods: Neighborhoods
    matrix: csr_array
    lengths: ClusterGraph
    removed: Indices

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def centres(self) -> Floats:
        """Where the patches are, or the rows themselves."""
        return self.lengths.centres


def _chosen_lengths(
    own: Indices, found: Found, links: Links, lengths: Floats, degree: int
) -> tuple[Indices, Indices, Floats]:
    """Return the edges from rows to their nearest neighbours, by numbers."""
    table, ids = links.table, found.nodes.ids[:, :degree]
    starts, ends = np.repeat(own, ids.shape[1]), ids.ravel()
    a, b = table.find(starts), table.find(ends)
    n = len(table)
    codes = np.minimum(a, b) * n + np.maximum(a, b)
    return starts, ends, lengths[np.searchsorted(links.i * n + links.j, codes)]


def _patch_points(patches: Packed) -> Floats:
    points: Floats = patches.arrays["points"]
    return points


def table_of_links(links: Links) -> Any:
    """Return the table of edges."""
    return links.table


def _edges(links: Links, lengths: Floats) -> tuple[Indices, Indices, Floats]:
    """Return the edges that count in a part, by the numbers of their ends."""
    kept = links.mine & np.isfinite(lengths)
    ids = links.table.nodes.ids
    return ids[links.i[kept]], ids[links.j[kept]], lengths[kept]


def _copies(ids: Indices, found: Found) -> Indices:
    """Return the rows that are equal to an earlier one."""
    first = found.nodes.ids[:, 0]
    copies: Indices = ids[(found.distances[:, 0] == 0) & (first < ids)]
    return copies


def located(ids: Indices, rows: Indices) -> tuple[Indices, Indices]:
    """Return which of some rows are in a part, and where."""
    places = np.minimum(np.searchsorted(ids, rows), len(ids) - 1)
    here = np.flatnonzero(ids[places] == rows)
    return here, places[here]
