"""Coordinates that others computed: arrays, fitted estimators of any library, and AnnData."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError

from patchfold.anndata import MOST_VARIABLES, Expression, expression
from patchfold.base.arrays import to_doubles
from patchfold.base.validation import check_points

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from patchfold.base.types import Doubles


# What cells are compared by, in this order of preference.
REDUCTIONS = ("X_pca", "X_pca_harmony", "X_scVI", "X_lsi")
# What is said where the maps of an AnnData are all there is.
OFFER = (
    'methods=["isomap"] adds a map of patches to those of the AnnData, and so does '
    "patchfold.anndata.isomap(adata) beforehand"
)


@dataclass(frozen=True, eq=False)
class Source:
    """Points, and what is known beside them."""

    points: Any  # an array of shape (n, m), or what becomes one
    embeddings: dict[Any, Any] = field(default_factory=dict)
    columns: dict[Any, Any] = field(default_factory=dict)
    ids: Any = None
    feature_names: Any = None
    notes: list[str] = field(default_factory=list)  # what was decided
    genes: Expression | None = None  # of cells
    images: Any = None  # pictures of the points
    target: str | None = None  # the column to colour by


def is_anndata(X: Any) -> bool:
    """Whether ``X`` is an AnnData, known by its parts, as the package need not be there."""
    return all(hasattr(X, name) for name in ("obs", "obsm", "obs_names", "var_names"))


def source_of(X: Any, embeddings: Mapping[Any, Any] | None, layer: str | None = None) -> Source:
    """Return the points, and the embeddings to show beside those that are given.

    An AnnData has both, and genes, which are those of the ``layer``. Without any ``X`` the first
    coordinates are the points themselves.
    """
    if layer is not None and not is_anndata(X):
        raise ValueError(
            f"layer={layer!r} is for an AnnData and X is a {type(X).__name__}; leave layer out."
        )
    given = dict(embeddings or {})
    if embeddings is not None and not given:
        raise ValueError("embeddings is empty; give at least one, {label: coordinates}.")
    if isinstance(X, Source):
        return replace(X, embeddings=X.embeddings | given)
    if is_anndata(X):
        return _cells(X, given, layer)
    if X is not None:
        return Source(X, given)
    if not given:
        raise ValueError("X is None; give points, or coordinates as embeddings={label: ...}.")
    label, first = next(iter(given.items()))
    note = f"without X, neighbours, patches and trust are those of the coordinates {str(label)!r}"
    return Source(coordinates(label, first), given, notes=[note])


def coordinates(label: Any, given: Any, X: Any = None) -> Doubles:
    """Return the coordinates of an array, or of an estimator fitted to ``X``, as float64.

    They are its ``embedding_``, or what it transforms ``X`` to, as PCA does.

    Examples
    --------
    >>> from sklearn.manifold import MDS
    >>> coordinates("mine", [[0, 1], [2, 3]])
    array([[0., 1.],
           [2., 3.]])
    >>> coordinates("MDS", MDS())
    Traceback (most recent call last):
        ...
    ValueError: embeddings['MDS'] is a MDS without embedding_; fit it first, or give ...
    """
    name = f"embeddings[{str(label)!r}]"
    # The last step of a pipeline has found the coordinates.
    last = given[-1] if hasattr(given, "named_steps") else given
    found = getattr(given, "embedding_", getattr(last, "embedding_", given))
    if hasattr(found, "get_params"):
        found = _transformed(name, given, X)
    array = to_doubles(check_points(found, name=name))
    if X is not None and len(array) != len(X):
        raise ValueError(
            f"{name} has coordinates of {len(array)} points and X has {len(X)}; give the X that "
            "they were computed from."
        )
    return array


def _transformed(name: str, estimator: Any, X: Any) -> Any:
    """Return where a fitted transformer without ``embedding_`` maps the points."""
    remedy = "fit it first, or give the coordinates that it returns, such as its fit_transform(X)."
    if X is None or not hasattr(estimator, "transform"):
        raise ValueError(f"{name} is a {type(estimator).__name__} without embedding_; {remedy}")
    try:
        return estimator.transform(X)
    except NotFittedError as error:
        kind = type(estimator).__name__
        raise ValueError(f"{name} is a {kind} that is not fitted; {remedy}") from error
    except ValueError as error:
        raise ValueError(
            f"{name} does not map X ({error}); give the X that it was fitted to."
        ) from error


def _cells(adata: Any, given: dict[Any, Any], layer: str | None) -> Source:
    """Take the points, the coordinates, the annotations and the genes of an AnnData."""
    key = next((key for key in REDUCTIONS if key in adata.obsm), None)
    seen = {
        str(name).removeprefix("X_"): np.asarray(values)
        for name, values in adata.obsm.items()
        # Coordinates to look at have two columns, or three.
        if name != key and np.ndim(values) == 2 and np.shape(values)[1] in {2, 3}
    }
    if key is None:
        if adata.X is None or not 0 < adata.n_vars <= MOST_VARIABLES:
            has = f"{adata.n_vars} variables" if adata.X is not None else "no X"
            first = next(iter(seen), None)
            alone = f"embeddings={{{first!r}: ...}} with X=None" if seen else "explore(adata.X)"
            shows = "shows the coordinates alone" if seen else "insists on all variables"
            raise ValueError(
                f"the AnnData has {has} and nothing to compare cells by in .obsm, such as 'X_pca'; "
                f"run scanpy.pp.pca(adata) first ({alone} {shows})."
            )
        points = adata.X.toarray() if hasattr(adata.X, "toarray") else np.asarray(adata.X)
        names: Iterable[Any] | None = list(adata.var_names)
        words = f"all {adata.n_vars} variables of the AnnData (X); scanpy.pp.pca is the usual way"
    else:
        points, names = np.asarray(adata.obsm[key]), None
        names = [f"{key.removeprefix('X_')} {place}" for place in range(1, points.shape[1] + 1)]
        words = f"obsm[{key!r}] of the AnnData"
    notes = [f"the points are {words}"]
    if seen:
        notes.append(f"the maps of the AnnData are {', '.join(seen)}")
    columns = {name: adata.obs[name] for name in adata.obs.columns}
    genes = expression(adata, layer)
    if key is None and layer is None and adata.raw is None:
        genes = None  # the points are the genes, and columns as such
    return Source(points, seen | given, columns, list(adata.obs_names), names, notes, genes)
