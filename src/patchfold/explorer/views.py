"""Views: embeddings aligned with each other, with their graphs, patches and trust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.analysis.stability import turn
from patchfold.analysis.trust import pointwise_trust
from patchfold.explorer.layout import turned_ellipses
from patchfold.explorer.loadings import has_loadings, loadings_of, pack_loadings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from patchfold.base.types import Doubles, Floats
    from patchfold.explorer.embeddings import Fitted
    from patchfold.explorer.loadings import Loadings
    from patchfold.explorer.packing import ArrayStore


# Graphs with more edges are left out, because the page would be slow to open. With 15 neighbours,
# these are graphs of more than 300 000 points.
MOST_EDGES = 4_000_000


@dataclass(frozen=True, eq=False)
class View:
    """One pane of the page: an embedding, its patches, and the trust and loadings of its points."""

    fitted: Fitted
    plane: Doubles
    ellipses: Doubles | None
    trust: Doubles
    loadings: Loadings | None = None


def views_of(
    fitted: list[Fitted],
    X: Doubles,
    *,
    named: bool = True,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> list[View]:
    """Rotate embeddings onto a common one, and add the trust and the loadings of their points.

    There are no loadings of fits without features or of features that are not ``named``, nor where
    there are too many points or values.
    """
    reference = fitted[_reference(fitted)].plane
    turns = [turn(one.plane, reference) for one in fitted]
    planes = [one.plane @ by for one, by in zip(fitted, turns, strict=True)]
    trust = pointwise_trust(X, planes, random_state=random_state, n_jobs=n_jobs)
    loaded = named and has_loadings(X, len(fitted))
    return [
        View(
            one,
            plane,
            None if one.ellipses is None else turned_ellipses(one.ellipses, by),
            trusted,
            loadings_of(plane, one.graph, X, n_jobs)
            if loaded and one.ellipses is not None
            else None,
        )
        for one, plane, by, trusted in zip(fitted, planes, turns, trust, strict=True)
    ]


def pack_views(
    views: Sequence[View], feature_names: Sequence[str], store: ArrayStore
) -> dict[str, Any]:
    """Put views into the store, and describe them and the features that move their points."""
    described = [pack_view(view, store) for view in views]
    loaded = [place for place, view in enumerate(views) if view.loadings is not None]
    found = [one for view in views if (one := view.loadings) is not None]
    names, packed = pack_loadings(found, feature_names, store) if found else ([], [])
    for place, loadings in zip(loaded, packed, strict=True):
        described[place]["loadings"] = loadings
    return {"features": names, "views": described}


def pack_view(view: View, store: ArrayStore, *, most_edges: int = MOST_EDGES) -> dict[str, Any]:
    """Put the arrays of a view into the store, and return its description."""
    fitted = view.fitted
    return {
        "method": fitted.method,
        "divergence": fitted.divergence,
        "k": fitted.k,
        "positions": store.add_rounded(view.plane),
        "ellipses": None if view.ellipses is None else _pack_ellipses(view.ellipses, store),
        "trust": store.add(np.round(255 * view.trust).astype(np.uint8)),
        "graph": _pack_graph(fitted, store, most_edges),
        "loadings": None,
        "notes": list(fitted.notes),
    }


def _reference(fitted: list[Fitted]) -> int:
    """Return the view to rotate the others onto: the middle k of the first patch divergence."""
    first = [
        place
        for place, one in enumerate(fitted)
        if one.divergence not in {None, "euclidean"} and one.method == fitted[0].method
    ]
    same = [place for place in first if fitted[place].divergence == fitted[first[0]].divergence]
    return same[len(same) // 2] if same else 0


def _pack_graph(fitted: Fitted, store: ArrayStore, most_edges: int) -> dict[str, Any]:
    """Describe a graph, every edge once; row i has ``degrees[i]`` edges to larger ``targets``."""
    upper = fitted.graph
    graph: dict[str, Any] = {"edges": len(upper.data)}
    if len(upper.data) > most_edges:
        return graph
    return graph | {
        "measure": fitted.measure,
        "degrees": store.add(np.diff(upper.indptr).astype(np.uint32)),
        "targets": store.add(upper.indices.astype(np.uint32), delta=True),
        "lengths": store.add_positive(_single(upper.data)),
        "colours": store.add_positive(_single(fitted.colours)),
    }


def _pack_ellipses(found: Doubles, store: ArrayStore) -> dict[str, int]:
    """Keep centres, half axes of one standard deviation (long, short), and angles of ellipses."""
    xx, xy, yy = found[:, 2:].T
    mean, root = (xx + yy) / 2, np.hypot((xx - yy) / 2, xy)
    axes = np.sqrt(np.clip(np.stack([mean + root, mean - root], axis=1), 0, None))
    return {
        "centres": store.add_rounded(found[:, :2]),
        "axes": store.add_positive(axes),
        "angles": store.add_rounded(np.arctan2(2 * xy, xx - yy) / 2),
    }


def _single(values: Floats) -> NDArray[np.float32]:
    """Return lengths in single precision, finite and without -0.0: the page sorts their bits."""
    return 0 + np.asarray(np.minimum(values, np.finfo(np.float32).max), dtype=np.float32)
