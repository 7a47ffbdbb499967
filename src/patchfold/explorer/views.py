"""Views: one embedding each, laid over the others, with its graph, its patches and its trust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.explorer.layout import turn, turned_ellipses
from patchfold.explorer.trust import pointwise_trust

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
    """Lay embeddings over each other, and add trust."""
    reference = fitted[_reference(fitted)].plane
    turns = [turn(one.plane, reference) for one in fitted]
    planes = [one.plane @ by for one, by in zip(fitted, turns, strict=True)]
    trust = pointwise_trust(X, planes, random_state=random_state, n_jobs=n_jobs)
    return [
        View(
            one,
            plane,
            None if one.ellipses is None else turned_ellipses(one.ellipses, by),
            trusted,
        )
        for one, plane, by, trusted in zip(fitted, planes, turns, trust, strict=True)
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


def _pack_graph(fitted: Fitted, store: ArrayStore) -> dict[str, Any]:
    """Describe a graph, every edge once; row i has ``degrees[i]`` edges to larger ``targets``."""
    upper = fitted.graph
    graph: dict[str, Any] = {"edges": len(upper.data)}
    if len(upper.data) > MOST_EDGES:
        return graph
    return graph | {
        "measure": fitted.measure,
        "degrees": store.add(np.diff(upper.indptr).astype(np.uint32)),
        "targets": store.add(upper.indices.astype(np.uint32), delta=True),
        "lengths": store.add(_single(upper.data)),
        "colours": store.add(_single(fitted.colours)),
    }


def _single(values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return lengths in single precision, finite and without -0.0: the page sorts their bits."""
    return 0 + np.asarray(np.minimum(values, np.finfo(np.float32).max), dtype=np.float32)
