"""Views: embeddings laid over each other, with their graphs, trust, and patches as ellipses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.analysis.stability import turn
from patchfold.analysis.trust import pointwise_trust
from patchfold.base.arrays import to_numpy
from patchfold.base.row_metric import in_metric
from patchfold.base.threads import map_blocks
from patchfold.explorer.loadings import has_loadings, loadings_of, pack_loadings
from patchfold.graph.edges import side_by_side
from patchfold.neighbors.neighborhoods import Neighborhoods

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from patchfold.base.types import Doubles, Floats
    from patchfold.explorer.embeddings import Fitted
    from patchfold.explorer.packing import ArrayStore
    from patchfold.patches.gaussians import Patches


# Graphs with more edges are left out, because the page would be slow to open. With 15 neighbours,
# these are graphs of more than 300 000 points.
MOST_EDGES = 4_000_000


def views_of(
    fitted: list[Fitted],
    X: Doubles,
    *,
    named: bool = True,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> list[Fitted]:
    """Rotate embeddings onto a common one, and add the trust and the loadings of their points.

    There are no loadings of fits without features or of features that are not ``named``, nor where
    there are too many points or values.
    """
    reference = fitted[_reference(fitted)].plane
    turns = [turn(one.plane, reference) for one in fitted]
    planes = [one.plane @ by for one, by in zip(fitted, turns, strict=True)]
    trust: dict[int, Doubles] = {}
    for metric in dict.fromkeys(one.metric for one in fitted):
        alike = [place for place, one in enumerate(fitted) if one.metric == metric]
        points, some = in_metric(X, metric, n_jobs), [planes[place] for place in alike]
        found = pointwise_trust(points, some, random_state=random_state, n_jobs=n_jobs)
        trust |= zip(alike, found, strict=True)
    loaded = named and has_loadings(X, len(fitted))
    return [
        replace(
            one,
            plane=plane,
            ellipses=None if one.ellipses is None else turned_ellipses(one.ellipses, by),
            trust=trust[place],
            loadings=loadings_of(plane, one.graph, X, n_jobs)
            if loaded and one.ellipses is not None
            else None,
        )
        for place, (one, plane, by) in enumerate(zip(fitted, planes, turns, strict=True))
    ]


def pack_views(
    views: Sequence[Fitted], feature_names: Sequence[str], store: ArrayStore
) -> dict[str, Any]:
    """Put views into the store, and describe them and the features that move their points."""
    described = [pack_view(view, store) for view in views]
    names, loadings = pack_loadings([view.loadings for view in views], feature_names, store)
    found = zip(described, loadings, strict=True)
    return {"features": names, "views": [view | {"loadings": some} for view, some in found]}


def pack_view(view: Fitted, store: ArrayStore) -> dict[str, Any]:
    """Put the arrays of a view into the store, and return its description."""
    return {
        "method": view.method,
        "divergence": view.divergence,
        "k": view.k,
        "positions": store.add_rounded(view.plane),
        "ellipses": None if view.ellipses is None else _pack_ellipses(view.ellipses, store),
        "trust": store.add(np.round(255 * view.trust).astype(np.uint8)),
        "graph": _pack_graph(view, store),
        "notes": list(view.notes),
    }


def _reference(fitted: list[Fitted]) -> int:
    """Return the view to rotate the others onto: the middle k of the first patch divergence.

    Coordinates that others have computed stay as they are.
    """
    if fitted[0].divergence is None:
        return next((place for place, one in enumerate(fitted) if one.given), 0)
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


# ---------------------------------------------------------------- places in the plane

# Ridge of the map from features to the plane, as a share of the points' mean squared length: less
# than this share of a patch is noise to the map.
RIDGE = 1e-3


def placed(embedding: Any) -> Doubles:
    """Return the first two components, centred, at a mean squared distance of one from the centre.

    So embeddings in different units can be laid over each other. A missing component is zero.
    """
    plane = np.zeros((len(embedding), 2))
    plane[:, : min(2, embedding.shape[1])] = embedding[:, :2]
    plane -= plane.mean(axis=0)
    largest = np.abs(plane).max() or 1.0
    plane /= largest  # in this unit squares neither overflow nor vanish
    size = np.sqrt((plane**2).sum(axis=1).mean())
    return plane / (size or 1.0)


def turned_ellipses(found: Doubles, by: Doubles) -> Doubles:
    """Turn ellipses, as :func:`ellipses` returns them, with the plane they are in."""
    covariances = by.T @ found[:, [2, 3, 3, 4]].reshape(-1, 2, 2) @ by
    return np.column_stack([found[:, :2] @ by, covariances[:, [0, 0, 1], [0, 1, 1]]])


def ellipses(
    patches: Patches,
    members: Neighborhoods,
    planes: Sequence[Doubles],
    n_jobs: int | None = None,
) -> list[Doubles]:
    """Carry the Gaussians of patches into planes: centre and covariance of every ellipse.

    ``A`` is the linear map that predicts the places y of a patch's points from their features x
    best: ridge regression over the points that the patch was fitted to, smoothed if it denoises.
    The Gaussian ``N(mu, S)`` becomes ``N(mean(y) + A (mu - mean(x)), A S A')``.

    Members are the points around each patch, beside its own: at least one each. The results have
    the shape (n, 5): x and y of the centre, and the variances xx, xy, yy.
    """
    X, means = to_numpy(patches.points), to_numpy(patches.means)
    places = np.concatenate(planes, axis=1).astype(X.dtype, copy=False)
    n = len(members)
    members = side_by_side(Neighborhoods(np.arange(n + 1), np.arange(n), np.zeros(n)), members)
    widest, m = int(members.degrees.max()), X.shape[1]

    def carry(block: slice) -> Doubles:
        rows = np.arange(block.start, block.stop)
        near = members[rows]
        result = np.empty((len(planes), len(rows), 5))
        for degree in np.unique(near.degrees):
            some = np.flatnonzero(near.degrees == degree)
            who = near.indices[near.indptr[some][:, None] + np.arange(degree)]
            x, y = X[who], places[who]
            off = means[rows[some]] - x.mean(axis=1)
            x, centre = x - x.mean(axis=1, keepdims=True), y.mean(axis=1)
            A = _regression(x, y - centre[:, None, :])
            centres = centre + (A @ off[:, :, None])[:, :, 0]
            carried = _carried(patches[rows[some]], A)
            for number, found in enumerate(result):
                two = slice(2 * number, 2 * number + 2)
                found[some, :2] = centres[:, two]
                found[some, 2:] = carried[:, two, two][:, [0, 0, 1], [0, 1, 1]]
        return result

    # Covariances in full are as large as all features by all features.
    spread = widest if patches.factored else m
    d = places.shape[1]
    row_bytes = 8 * (3 * widest + 2 * d) * (m + 2 * d)
    row_bytes += 8 * widest**2 + 8 * m * (widest + spread)
    return list(np.concatenate(map_blocks(carry, len(patches), row_bytes, n_jobs), axis=1))


def _regression(x: Floats, y: Floats) -> Floats:
    """Return A of ``y = A x`` by ridge regression, for stacks of centred points in rows."""
    products = x @ np.swapaxes(x, 1, 2)
    degree = products.shape[1]
    ridge = RIDGE * np.trace(products, axis1=1, axis2=2) / degree
    products[:, np.arange(degree), np.arange(degree)] += np.where(ridge > 0, ridge, 1)[:, None]
    return np.asarray(np.swapaxes(np.linalg.solve(products, y), 1, 2) @ x)


def _carried(patches: Patches, A: Floats) -> Floats:
    """Return ``A S A'``."""
    turned = np.swapaxes(A, 1, 2)
    image: Floats
    if patches.factored:
        along = A @ to_numpy(patches.directions)
        image = (along * to_numpy(patches.variances)[:, None, :]) @ np.swapaxes(along, 1, 2)
        image += to_numpy(patches.ridge)[:, None, None] * (A @ turned)
    else:
        image = A @ to_numpy(patches.covariances()) @ turned
    return image
