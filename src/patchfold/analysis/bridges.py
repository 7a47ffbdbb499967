"""Bridges: edges that join what should perhaps not touch, the most suspicious first.

They are judged as the recipe judges short circuits (:mod:`patchfold.graph.short_circuits`): by the
disagreement of the two patches, and by how long the way around is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.graph import building, edges
from patchfold.graph.short_circuits import verdict, ways_around

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.base.types import Floats, Indices, Mask
    from patchfold.graph.patch_graph import PatchGraph
    from patchfold.graph.short_circuits import Judgement
    from patchfold.neighbors.neighborhoods import Neighborhoods


# An edge of score 1 has DIVERGES times the typical divergence, and its way around is at least
# LONG_WAY times as long. Chosen on seeds 100 to 102 of benchmarks/bridges.py. With 2 instead of 4,
# twice as many edges are listed; with 6, short circuits of noisy rolls are missed.
DIVERGES, LONG_WAY = 4.0, 10.0

# Lines of a table that are printed.
SHOWN = 10

# What stands in a table, from left to right.
COLUMNS = ("source", "target", "score", "divergence", "detour", "shared", "removed")


@dataclass(frozen=True, eq=False)
class Bridges:
    """Suspicious edges, the most suspicious first; an index, slice or mask takes some of them.

    Attributes
    ----------
    source, target : arrays of int of shape (n_edges,)
        The two points that an edge joins, ``source < target``; copies of a row are one point, named
        by the first.
    score : array of shape (n_edges,)
        How suspicious the edge is: ``divergence * min(detour, 10) / 40``.
    divergence : array of shape (n_edges,)
        The divergence of the two patches, divided by the typical one of neighbours.
    detour : array of shape (n_edges,)
        The length of the way around the edge, divided by the length of the edge (a lower bound);
        infinite if no trusted way leads to the other side.
    shared : array of shape (n_edges,)
        How many of their ten nearest points both ends have in common.
    removed : array of bool of shape (n_edges,)
        Whether the edge was removed from the graph as a short circuit.
    around : pair of Neighborhoods
        Behind each end, the points that trusted edges join it to, and their distances.
    """

    source: Indices
    target: Indices
    score: Floats
    divergence: Floats
    detour: Floats
    shared: Indices
    removed: Mask
    around: tuple[Neighborhoods, Neighborhoods]

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, which: Any) -> Bridges:
        rows = np.atleast_1d(np.arange(len(self))[which])
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        ends = (parts.pop("around")[0][rows], self.around[1][rows])
        return Bridges(**{name: part[rows] for name, part in parts.items()}, around=ends)

    def __repr__(self) -> str:
        rows = zip(*(part[:SHOWN].tolist() for part in self.columns().values()), strict=True)
        lines = [
            "".join(f"{name:>12}" for name in COLUMNS),
            *("".join(map(_cell, r)) for r in rows),
        ]
        more = len(self) - SHOWN
        return "\n".join([*lines, f"and {more} more edges"] if more > 0 else lines)

    def behind(self, edge: int) -> tuple[Indices, Indices]:
        """Return the points on each side of an edge: those that trusted edges join its ends to.

        Parameters
        ----------
        edge : int
            Its place in the list, 0 for the most suspicious edge.

        Returns
        -------
        pair of arrays of int
            Behind ``source[edge]`` and ``target[edge]``, nearest first.
        """
        one = self[int(edge)]
        return one.around[0].indices, one.around[1].indices

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the table as a dictionary of columns, for any library of data frames."""
        return {name: getattr(self, name) for name in COLUMNS}

    def to_frame(self, names: Any = None, labels: Any = None) -> Any:
        """Return the table as a pandas data frame, one row per edge.

        Parameters
        ----------
        names : array of shape (n_samples,) or None
            Names of all points, which then stand in ``source`` and ``target``.
        labels : array of shape (n_samples,) or None
            Classes of all points; those of the two ends become the columns ``source_label`` and
            ``target_label``.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        Between which species of iris are the suspicious edges?

        >>> from sklearn.datasets import load_iris
        >>> from patchfold import PatchSpace
        >>> X, y = load_iris(return_X_y=True)
        >>> found = PatchSpace(n_neighbors=30).fit(X).bridges()
        >>> frame = found.to_frame(labels=y)
        >>> frame.groupby(["source_label", "target_label"]).size().to_dict()
        {(0, 1): 1}
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas; pip install 'patchfold[cli]', or give columns() to another "
                "library of data frames."
            ) from error
        table: dict[str, Any] = dict(self.columns())
        for end in ("source", "target"):
            place = table[end]
            if names is not None:
                table[end] = self._of_points("names", names)[place]
            if labels is not None:
                table[f"{end}_label"] = self._of_points("labels", labels)[place]
        return pd.DataFrame(table)

    def _of_points(self, name: str, values: Any) -> NDArray[Any]:
        found = np.asarray(values)
        last = int(max(self.target.max(initial=-1), self.source.max(initial=-1)))
        if found.ndim != 1 or len(found) <= last:
            raise ValueError(
                f"{name} has shape {found.shape}, and the bridges join points up to number {last}; "
                "give one entry for every fitted point."
            )
        return found


def suspicious_edges(graph: PatchGraph, min_score: float = 1.0) -> Bridges:
    """Return the suspicious edges of a fitted graph, which has patches.

    ``min_score`` is the least score of an edge that is listed; 0 lists all edges, also those that
    are trusted because their patches agree or a short way leads around them.

    Examples
    --------
    Of a roll of 500 points, 40 neighbours reach the next sheet.

    >>> from patchfold import PatchSpace
    >>> from patchfold.datasets import make_manifold
    >>> roll = make_manifold("swiss-roll", 500, random_state=0)
    >>> space = PatchSpace(n_neighbors=40).fit(roll.X)
    >>> worst = suspicious_edges(space.patch_graph_)[:100]
    >>> geodesics = roll.geodesics()[worst.source, worst.target]
    >>> bool((geodesics > 20).all())
    True
    """
    asked, distances, disagreement = building.compared(graph)
    i, j = asked.i, asked.j
    n = len(graph if graph.copies is None else graph.copies.first)
    n_jobs = graph.setting.n_jobs
    judgement = verdict(asked, distances, disagreement, n, n_jobs)
    distances = distances.astype(np.float64)
    ways = detours(edges.EdgeList(i, j, distances, n), judgement, n_jobs)
    score = disagreement * np.minimum(ways, LONG_WAY) / (LONG_WAY * DIVERGES)
    listed = asked.own & (score >= min_score) & (~judgement.trusted | (min_score == 0))
    rows = np.flatnonzero(listed)
    rows = rows[np.argsort(-score[rows], kind="stable")]
    kept = judgement.trusted
    trusted = edges.rows_of(edges.symmetric(i[kept], j[kept], distances[kept], n))
    i, j, copies = i[rows], j[rows], graph.copies
    around = trusted[i], trusted[j]
    if copies is not None:  # rows are named by the first of their copies
        # The first rows of points in an order of values do not rise.
        turned = copies.first[i] > copies.first[j]
        i, j = np.where(turned, j, i), np.where(turned, i, j)
        around = copies.named(trusted[i]), copies.named(trusted[j])
        i, j = copies.first[i], copies.first[j]
    return Bridges(
        source=i,
        target=j,
        score=score[rows],
        divergence=disagreement[rows],
        detour=ways[rows],
        shared=asked.common[rows],
        removed=np.isinf(judgement.factors[rows]) & graph.setting.pruned,
        around=around,
    )


def detours(edges_: edges.EdgeList, judgement: Judgement, n_jobs: int | None = None) -> Floats:
    """Return how many times as long as an edge the way around it is, at least.

    1 for trusted edges, infinite between two large parts that no trusted way joins. Ways lead
    through trusted edges and those of the minimum spanning tree of disagreement, and are bounded
    from below.
    """
    found = np.ones(len(edges_.i))
    found[judgement.between & ~judgement.trusted] = np.inf
    asked = np.flatnonzero(~judgement.trusted & ~judgement.between)
    if len(asked):
        ways = ways_around(edges_, judgement.held, asked, n_jobs)
        with np.errstate(divide="ignore", invalid="ignore"):  # of centres in one place
            found[asked] = np.fmax(ways / edges_.lengths[asked], 1.0)
    return found


def _cell(value: Any) -> str:
    return f"{value:12.3g}" if isinstance(value, float) else f"{value!s:>12}"
