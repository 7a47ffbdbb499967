"""Views: one embedding each, laid over the others, with its graph, its patches and its trust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import triu

from patchfold.divergences import paired
from patchfold.explorer.layout import ellipses, placed, turned
from patchfold.explorer.trust import pointwise_trust
from patchfold.neighborhoods import Neighborhoods, edge_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.explorer.fitting import Fitted
    from patchfold.explorer.packing import ArrayStore

    Floats = NDArray[np.float64]

# Graphs with more edges than this are left out: they would make the page slow to open. With 15
# neighbours that is beyond 300 000 points.
MOST_EDGES = 4_000_000


@dataclass(frozen=True, eq=False)
class View:
    """What a pane of the page shows: an embedding, the ellipses of patches, the trust of points."""

    fitted: Fitted
    plane: Floats
    ellipses: Floats | None
    trust: Floats


def views_of(
    fitted: list[Fitted], X: Floats, *, n_jobs: int | None = None, random_state: Any = 0
) -> list[View]:
    """Lay embeddings over each other, and add ellipses and trust."""
    planes = [placed(one.embedding) for one in fitted]
    reference = planes[_reference(fitted)]
    planes = [turned(plane, reference) for plane in planes]
    trust = pointwise_trust(X, planes, random_state=random_state, n_jobs=n_jobs)
    return [
        View(one, plane, _ellipses(one, plane, n_jobs), trusted)
        for one, plane, trusted in zip(fitted, planes, trust, strict=True)
    ]


def pack_view(view: View, store: ArrayStore) -> dict[str, Any]:
    """Keep the arrays of a view in the store and describe it."""
    fitted = view.fitted
    return {
        "method": fitted.method,
        "divergence": fitted.divergence,
        "k": fitted.k,
        "positions": store.add(view.plane.astype(np.float32)),
        "ellipses": None
        if view.ellipses is None
        else store.add(view.ellipses.T.astype(np.float32)),
        "trust": store.add(np.round(255 * view.trust).astype(np.uint8)),
        "graph": _pack_graph(fitted, store),
        "notes": list(fitted.notes),
    }


def _reference(fitted: list[Fitted]) -> int:
    """Choose what the others are laid over: the middle k of the first divergence of patches."""
    first = [
        place
        for place, one in enumerate(fitted)
        if one.divergence not in {None, "euclidean"} and one.method == fitted[0].method
    ]
    same = [place for place in first if fitted[place].divergence == fitted[first[0]].divergence]
    return same[len(same) // 2] if same else 0


def _ellipses(fitted: Fitted, plane: Floats, n_jobs: int | None) -> Floats | None:
    if fitted.patches is None or fitted.members is None:
        return None
    return ellipses(fitted.patches, _with_self(fitted.members), plane, n_jobs)


def _with_self(near: Neighborhoods) -> Neighborhoods:
    """Put every point before its neighbours."""
    starts = edge_starts(near.degrees + 1)
    indices = np.empty(starts[-1], dtype=np.intp)
    own = np.zeros(starts[-1], dtype=bool)
    own[starts[:-1]] = True
    indices[own], indices[~own] = np.arange(len(near)), near.indices
    return Neighborhoods(starts, indices, np.zeros(len(indices)))


def _pack_graph(fitted: Fitted, store: ArrayStore) -> dict[str, Any]:
    """Describe a graph, every edge once; row i has ``degrees[i]`` edges to larger ``targets``."""
    # Explicit zeros are edges, which triu keeps.
    upper = triu(fitted.graph, k=1, format="csr")
    upper.sort_indices()
    degrees = np.diff(upper.indptr)
    graph: dict[str, Any] = {"edges": len(upper.data)}
    if len(upper.data) > MOST_EDGES:
        return graph
    lengths = _single(upper.data)
    colours = lengths
    if not fitted.measured and fitted.patches is not None:
        ends = np.repeat(np.arange(len(degrees)), degrees), upper.indices.astype(np.intp)
        colours = _single(paired(fitted.patches, *ends, fitted.measure))
    return graph | {
        "measure": fitted.measure,
        "degrees": store.add(degrees.astype(np.uint32)),
        "targets": store.add(upper.indices.astype(np.uint32), delta=True),
        "lengths": store.add(lengths),
        "colours": store.add(colours),
    }


def _single(values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return lengths in single precision, finite and without -0.0: the page sorts their bits."""
    return 0 + np.asarray(np.minimum(values, np.finfo(np.float32).max), dtype=np.float32)
