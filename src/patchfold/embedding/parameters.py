"""What the parameters of a graph may be, each by itself and beside the others."""

from __future__ import annotations

from reprlib import repr as short
from typing import Any

from patchfold import divergences
from patchfold.base.engine import check_engine
from patchfold.base.row_metric import check_row_metric
from patchfold.base.validation import (
    check_choice,
    check_count,
    check_jobs,
    check_radius,
    check_seed,
    is_sparse,
)
from patchfold.graph.lengths import KINDS as LENGTHS
from patchfold.graph.patch_graph import KINDS as GRAPHS
from patchfold.neighbors import DEFAULT_NEIGHBORS
from patchfold.neighbors.given import are_given
from patchfold.patches.gaussian_patch import GaussianPatch
from patchfold.supervision import label_rule

# The degree that a criterion without labels chooses.
AUTO = "auto"


def check_parameters(estimator: Any) -> None:
    """Refuse values that the parameters of a graph cannot have, also beside each other."""
    label_rule(estimator.supervision)
    check_jobs(estimator.n_jobs)
    check_seed(estimator.random_state)
    check_engine(estimator.engine)
    check_choice("graph", estimator.graph, GRAPHS)
    check_choice("lengths", estimator.lengths, LENGTHS)
    if not callable(estimator.divergence):
        check_choice("divergence", estimator.divergence, (*divergences.NAMES, "precomputed"))
    check_row_metric(estimator.metric)
    if estimator.metric != "euclidean" and estimator.divergence == "precomputed":
        raise ValueError(
            f"metric={estimator.metric!r} is a distance of rows, and divergence='precomputed' has "
            "distances already; use metric='euclidean'."
        )
    if estimator.patch is not None and not isinstance(estimator.patch, GaussianPatch):
        raise TypeError(
            f"patch={estimator.patch!r} must be a GaussianPatch, e.g. GaussianPatch(size=20), or "
            "None for the recommended settings."
        )
    _check_neighbors(estimator)


def _check_neighbors(estimator: Any) -> None:
    if isinstance(estimator.n_neighbors, str):
        check_choice("n_neighbors", estimator.n_neighbors, (AUTO,))
        if estimator.radius is not None:
            raise ValueError(
                f"n_neighbors='auto' and radius={estimator.radius} exclude each other, a radius "
                "leaves no degree to choose; leave n_neighbors at its default, or use "
                "radius=None."
            )
        if are_given(estimator.knn):
            raise ValueError(
                "n_neighbors='auto' compares several degrees, also on samples, and "
                "knn=(indices, distances) are of all rows; give a number, or knn='auto'."
            )
    elif estimator.n_neighbors is not None or estimator.radius is None:
        check_count("n_neighbors", estimator.n_neighbors)
    if estimator.radius is not None:
        check_radius(estimator.radius)
        if estimator.graph == "divergence":
            raise ValueError(
                f"radius={estimator.radius} and graph='divergence' exclude each other, a radius is "
                "Euclidean; use graph='neighbors' or radius=None."
            )
        if estimator.n_neighbors not in (None, DEFAULT_NEIGHBORS):
            raise ValueError(
                f"n_neighbors={estimator.n_neighbors} and radius={estimator.radius} exclude each "
                "other; use n_neighbors=None, or radius=None."
            )


def check_device(estimator: Any, X: Any) -> None:
    """Refuse what has no way on a GPU, with what to do instead."""
    knn = estimator.knn
    own_search = not isinstance(knn, str) or knn == "approximate"
    refused = {
        "X": (is_sparse(X), "pass a dense array"),
        "divergence": (estimator.divergence == "precomputed", "give points and another divergence"),
        "n_neighbors": (estimator.n_neighbors == AUTO, "give a number"),
        "radius": (estimator.radius is not None, "use n_neighbors"),
        "knn": (own_search, "use 'auto', which searches exactly there"),
    }
    for name, (unknown, remedy) in refused.items():
        if unknown:
            value = "a sparse matrix" if name == "X" else short(getattr(estimator, name))
            raise ValueError(
                f"{name}={value} does not work on a GPU; {remedy}, or use engine='threads'."
            )


def check_auto(points: Any, *, precomputed: bool) -> None:
    """Refuse to choose ``n_neighbors`` of sparse points, or of a sparse graph."""
    if not is_sparse(points):
        return
    if precomputed:
        raise ValueError(
            "n_neighbors='auto' has nothing to choose in a sparse graph, whose entries are the "
            "edges; leave it at its default."
        )
    raise ValueError("n_neighbors='auto' compares dense rows, and X is sparse; give a number.")
