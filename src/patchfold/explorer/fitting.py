"""Embeddings for a page: fitted over methods, divergences and k, or taken from estimators."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from patchfold.embedding import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE
from patchfold.embedding.tsne import NEIGHBORS_PER_PERPLEXITY
from patchfold.neighbors import find_neighbors
from patchfold.patches import GaussianPatch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from patchfold.gaussians import Patches
    from patchfold.neighborhoods import Neighborhoods

    Floats = NDArray[np.float64]
    Progress = Callable[[int, int, str], None]

ESTIMATORS: dict[str, Any] = {
    "isomap": PatchIsomap,
    "lle": PatchLLE,
    "eigenmaps": PatchEigenmaps,
    "tsne": PatchTSNE,
}

# The slider where the caller names no k: (up to so many points, values). Each step is a fit and a
# share of the page, so there are fewer for many points.
SLIDER = ((20_000, (6, 10, 15, 20, 30)), (100_000, (10, 15, 20)), (np.inf, (15,)))
# t-SNE's usual perplexity; few points have a smaller one.
PERPLEXITY = 30.0
# The divergence of edges whose lengths are not divergences.
COLOURING = "kl"


@dataclass(frozen=True, eq=False)
class Fitted:
    """One embedding, as an estimator found it.

    Attributes
    ----------
    method, divergence, k
        What the page's switches call it; None where there is nothing to switch.
    embedding : array of shape (n, n_components)
    graph : csr_array of shape (n, n)
        Lengths of edges, symmetric.
    measure : str
        What edges are coloured by.
    measured : bool
        Whether that is their length; if not, it is the divergence of their patches.
    patches, members : Patches and Neighborhoods, or None
        The patches of the points, and which points they were fitted to.
    notes : tuple of str
        What the fit had to say.
    """

    method: str
    divergence: str | None
    k: int | None
    embedding: NDArray[np.floating[Any]]
    graph: csr_array
    measure: str
    measured: bool
    patches: Patches | None
    members: Neighborhoods | None
    notes: tuple[str, ...] = ()


class Searched:
    """A neighbour search that was done once, for all fits."""

    def __init__(self, found: Neighborhoods) -> None:
        self.found = found

    def build(self, X: Any) -> Self:
        """Return the search; the points are those it was done for."""
        return self

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the points themselves."""
        return self.found


def fit_all(
    X: Floats,
    methods: Sequence[str],
    divergences: Sequence[str],
    ks: Sequence[int],
    *,
    n_jobs: int | None,
    random_state: Any,
    progress: Progress,
) -> list[Fitted]:
    """Fit one estimator a method, divergence and k, all on the same neighbours and patches."""
    perplexity = min(PERPLEXITY, (len(X) - 1) / NEIGHBORS_PER_PERPLEXITY)
    widest = max(ks)
    if "tsne" in methods:
        widest = max(widest, int(NEIGHBORS_PER_PERPLEXITY * perplexity))
    grid = list(product(methods, divergences, ks))
    progress(0, len(grid), "neighbours and patches")
    near = find_neighbors(X, widest, n_jobs=n_jobs, random_state=random_state)
    members = {k: near.nearest(k) for k in ks}
    patches = {k: GaussianPatch().fit(X, members[k], n_jobs=n_jobs) for k in ks}
    colouring = next((name for name in divergences if name != "euclidean"), COLOURING)
    fitted = []
    for done, (method, divergence, k) in enumerate(grid):
        progress(done, len(grid), f"{method}, {divergence}, k = {k}")
        estimator = ESTIMATORS[method](
            n_neighbors=k,
            divergence=divergence,
            knn=Searched(near),
            n_jobs=n_jobs,
            random_state=random_state,
            **_own_parameters(method, divergence, perplexity),
        )
        notes = _fit(estimator, X)
        fitted.append(
            Fitted(
                method,
                divergence,
                k,
                estimator.embedding_,
                estimator.graph_,
                colouring if divergence == "euclidean" else divergence,
                divergence != "euclidean",
                patches[k],
                members[k],
                notes,
            )
        )
    progress(len(grid), len(grid), "page")
    return fitted


def from_estimators(
    estimators: Mapping[Any, Any], X: Floats, n_jobs: int | None = None
) -> list[Fitted]:
    """Take what estimators have found; where there are no patches, fit the recommended ones."""
    fitted = []
    for label, estimator in estimators.items():
        _check_fitted(label, estimator, len(X))
        patches, members = estimator.patches_, None
        measure, measured = "distance", True
        if estimator.divergence != "precomputed":
            recipe = estimator.patch or GaussianPatch()
            members = _members(estimator, recipe, X, n_jobs)
            patches = recipe.fit(X, members, n_jobs=n_jobs) if patches is None else patches
            measure, measured = _measure_of(estimator)
        fitted.append(
            Fitted(
                str(label),
                None,
                None,
                estimator.embedding_,
                estimator.graph_,
                measure,
                measured,
                patches,
                members,
            )
        )
    return fitted


def slider(n: int) -> tuple[int, ...]:
    """Return the values of k for ``n`` points, all below ``n``.

    Examples
    --------
    >>> slider(1000), slider(12), slider(5)
    ((6, 10, 15, 20, 30), (6, 10), (4,))
    """
    values = next(values for most, values in SLIDER if n <= most)
    return tuple(k for k in values if k < n) or (n - 1,)


def _own_parameters(method: str, divergence: str, perplexity: float) -> dict[str, Any]:
    if method == "isomap":
        return {"landmarks": "auto"}
    if method == "tsne":
        return {"perplexity": perplexity}
    if method == "eigenmaps":
        return {"bandwidth": "median"}  # whatever the units of the data
    if method == "lle" and divergence == "euclidean":
        return {"weights": "euclidean"}  # ordinary LLE
    return {}


def _members(estimator: Any, recipe: GaussianPatch, X: Floats, n_jobs: int | None) -> Neighborhoods:
    """Return the points that the patches of an estimator are made of, themselves left out."""
    if estimator.radius is not None:
        found = find_neighbors(X, radius=estimator.radius, n_jobs=n_jobs)
        return found.nearest(recipe.size) if isinstance(recipe.size, int) else found
    return find_neighbors(X, recipe.reach(estimator.n_neighbors_, len(X)), n_jobs=n_jobs)


def _measure_of(estimator: Any) -> tuple[str, bool]:
    """Return the divergence that edges are coloured by, and whether it is their length."""
    divergence = estimator.divergence
    if callable(divergence):
        return getattr(divergence, "__name__", "divergence"), True
    if divergence == "euclidean":
        return COLOURING, False
    return divergence, estimator.supervision is None


def _fit(estimator: Any, X: Floats) -> tuple[str, ...]:
    """Fit an estimator and return its warnings, which the page shows beside the embedding."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        estimator.fit(X)
    return tuple(dict.fromkeys(str(warning.message) for warning in caught))


def _check_fitted(label: Any, estimator: Any, n: int) -> None:
    for name in ("embedding_", "graph_", "patches_"):
        if not hasattr(estimator, name):
            raise ValueError(
                f"the estimator {str(label)!r} is a {type(estimator).__name__} without {name}; "
                "give a fitted embedding of patchfold, such as PatchIsomap().fit(X)."
            )
    if len(estimator.embedding_) != n:
        raise ValueError(
            f"the estimator {str(label)!r} was fitted to {len(estimator.embedding_)} points and X "
            f"has {n}; give the X it was fitted to."
        )
