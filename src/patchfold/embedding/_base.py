"""What all estimators share: from points, or given distances, to one connected graph."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from patchfold import divergences, graph
from patchfold._namespace import to_numpy
from patchfold._validation import (
    check_choice,
    check_count,
    check_points,
    check_positive,
    is_sparse,
)
from patchfold._warnings import warn_user
from patchfold.neighborhoods import Neighborhoods
from patchfold.neighbors import neighbor_search
from patchfold.patches import GaussianPatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from patchfold.gaussians import Patches

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]

GRAPHS = ("neighbors", "divergence")

# Euclidean neighbours looked at for each neighbour wanted under the divergence, where not all pairs
# can be: benchmarks/candidates.py reports how many of the true ones are among them.
CANDIDATES = 10

# New points are compared with all fitted ones in blocks of about this many pairs.
BLOCK_PAIRS = 2**20


class BasePatchGraph(TransformerMixin, BaseEstimator):
    """Fit the divergence graph of points, and find the place of new points in it."""

    n_neighbors: Any
    divergence: Any
    patch: Any
    graph: Any
    n_candidates: Any
    radius: Any
    knn: Any
    n_jobs: Any
    random_state: Any
    verbose: Any
    patches_: Patches | None
    _points: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = self.divergence == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ---------------------------------------------------------------- fitting

    def _validate(self, X: Any, *, reset: bool) -> Any:
        """Check points, and the parameters when fitting; columns are remembered and compared."""
        if reset:
            self._check_parameters()
        precomputed = self.divergence == "precomputed"
        points = check_points(X, accept_sparse=precomputed, min_samples=2 if reset else 1)
        # The values are checked; scikit-learn remembers and compares the columns.
        validate_data(self, X, reset=reset, skip_check_array=True)
        if precomputed:
            _check_distances(points, square=reset)
            if self.radius is not None and is_sparse(points):
                raise ValueError(
                    f"radius={self.radius} has no meaning for a sparse graph, whose entries are "
                    "the edges; leave it at None."
                )
        return points

    def _check_parameters(self) -> None:
        check_choice("graph", self.graph, GRAPHS)
        if not callable(self.divergence):
            check_choice("divergence", self.divergence, (*divergences.NAMES, "precomputed"))
        if self.patch is not None and not isinstance(self.patch, GaussianPatch):
            raise TypeError(
                f"patch={self.patch!r} must be a GaussianPatch, e.g. GaussianPatch(size=20), or "
                "None for the recommended settings."
            )
        if self.radius is None:
            check_count("n_neighbors", self.n_neighbors)
        else:
            check_positive("radius", self.radius)
            if self.graph == "divergence":
                raise ValueError(
                    f"radius={self.radius} and graph='divergence' exclude each other, a radius is "
                    "Euclidean; use graph='neighbors' or radius=None."
                )
        if self.n_candidates is not None:
            check_count("n_candidates", self.n_candidates)
            if self.radius is None and self.n_candidates < self.n_neighbors:
                raise ValueError(
                    f"n_candidates={self.n_candidates} is below n_neighbors={self.n_neighbors}; "
                    "raise it, or leave it at None."
                )

    def _degree(self) -> int | None:
        """Return the degree k of the graph; None where a radius decides."""
        return None if self.radius is not None else int(self.n_neighbors)

    def _fit_graph(self, X: Any) -> Neighborhoods:
        """Set ``graph_`` and ``patches_``; return the neighbourhoods, with lengths, joined."""
        self._n_fit = n = X.shape[0]
        if self.radius is None and self.n_neighbors >= n and not is_sparse(X):
            raise ValueError(
                f"n_neighbors={self.n_neighbors} needs more than {self.n_neighbors} samples, "
                f"got {n}; lower n_neighbors to at most {n - 1}."
            )
        k = self._degree()
        self._points = self.patches_ = None
        if self.divergence == "precomputed":
            near = _given_neighbors(X, k, self.radius, own=True)
        else:
            self._points = X
            near = self._search(X, k)
        with self._stage("divergences"):
            i, j = graph.undirected(near)
            lengths = self._lengths(near, i, j)
            values = graph.along(near, i, j, lengths)
            near = Neighborhoods.from_edges(near.sources, near.indices, values, n)
        return self._connect(X, near, i, j, lengths)

    def _search(self, X: Floats, k: int | None) -> Neighborhoods:
        """Search neighbours, fit patches, and choose the edges of the graph."""
        n = X.shape[0]
        self._all_pairs = n * n * X.itemsize <= sklearn.get_config()["working_memory"] * 2**20
        recipe = self._recipe()
        wanted = None
        if k is not None:
            pool = max(k, self.n_candidates or CANDIDATES * k) if self._pools() else k
            pool = min(pool, n - 1)
            wanted = max(pool, recipe.size or self.n_neighbors)
            if wanted >= n:
                raise ValueError(
                    f"patch size={recipe.size} needs more than {recipe.size} samples, got {n}; "
                    "lower the size."
                )
        with self._stage("neighbours"):
            self._searcher = neighbor_search(
                self.knn,
                n_neighbors=wanted,
                radius=self.radius,
                n_samples=n,
                n_features=X.shape[1],
                n_jobs=self.n_jobs,
                random_state=self.random_state,
            ).build(X)
            found = self._searcher.query()
        if self.divergence == "euclidean":
            return found if k is None else found.nearest(k)
        with self._stage("patches"):
            members = found if recipe.size or k is None else found.nearest(self.n_neighbors)
            self.patches_ = recipe.fit(X, members, n_jobs=self.n_jobs)
        if self.graph == "neighbors" or k is None:
            return found if k is None else found.nearest(k)
        with self._stage("neighbours under the divergence"):
            candidates = found if self._pools() else None
            return graph.nearest_patches(
                self.patches_, k, self.divergence, candidates, n_jobs=self.n_jobs
            )

    def _pools(self) -> bool:
        """Tell whether neighbours under the divergence are sought among candidates only."""
        return self.graph == "divergence" and not self._all_pairs

    def _recipe(self) -> GaussianPatch:
        return GaussianPatch() if self.patch is None else self.patch

    def _lengths(self, near: Neighborhoods, i: Indices, j: Indices) -> Floats:
        if self.patches_ is not None:
            values = divergences.paired(self.patches_, i, j, self.divergence, n_jobs=self.n_jobs)
            lengths = np.asarray(to_numpy(values))
            if len(lengths) and not lengths.any() and np.ptp(self._points, axis=0).any():
                warn_user(
                    "all divergences are zero although the points differ: every patch has the same "
                    "points. Lower n_neighbors, or the size of the patch."
                )
            return lengths
        # The lengths are those of the search; an edge known from one end only has them there.
        n = self._n_fit
        low, high = np.minimum(near.sources, near.indices), np.maximum(near.sources, near.indices)
        place = np.searchsorted(i * n + j, low * n + high)
        lengths = np.full(len(i), np.inf, dtype=near.distances.dtype)
        np.minimum.at(lengths, place, near.distances)
        return lengths

    def _connect(
        self, X: Any, near: Neighborhoods, i: Indices, j: Indices, lengths: Floats
    ) -> Neighborhoods:
        """Join components, each by the closest pair, and say so."""
        n = self._n_fit
        self.graph_ = graph.symmetric(i, j, lengths, n)
        count, labels = graph.n_components(self.graph_)
        if count == 1:
            return near
        which = "n_neighbors" if self.radius is None else "radius"
        if is_sparse(X):
            raise ValueError(
                f"the given graph has {count} components; add edges until it is connected, or "
                "pass all distances as a dense matrix."
            )
        warn_user(
            f"the neighbourhood graph has {count} components; they were joined by their closest "
            f"pairs. A larger {which} may connect them, or treat them separately."
        )
        given = self.divergence == "precomputed"
        distances = (lambda block: X[block]) if given else graph.point_distances(X)
        a, b = graph.bridges(labels, distances)
        if given:
            extra = np.minimum(X[a, b], X[b, a])
        elif self.patches_ is None:
            extra = np.linalg.norm(X[a] - X[b], axis=1)
        else:
            extra = to_numpy(divergences.paired(self.patches_, a, b, self.divergence))
        extra = extra.astype(lengths.dtype, copy=False)
        ends = np.concatenate([i, a]), np.concatenate([j, b])
        self.graph_ = graph.symmetric(*ends, np.concatenate([lengths, extra]), n)
        return graph.with_edges(near, a, b, extra)

    # ---------------------------------------------------------------- new points

    def _place(self, X: Any) -> tuple[Neighborhoods, Indices]:
        """Return the neighbours of new points, with lengths, and the fitted points they equal.

        A new point that coincides with a fitted one is that one (-1: it does not).
        """
        k = self._degree()
        if self.divergence == "precomputed":
            near = _given_neighbors(X, k, self.radius, own=False)
            return near, _coinciding(near)
        found = self._searcher.query(X)
        same = _coinciding(found)
        if self.patches_ is None:
            return (found if k is None else found.nearest(k)), same
        recipe = self._recipe()
        members = found if recipe.size or k is None else found.nearest(self.n_neighbors)
        patches = recipe.fit(self.patches_.points, members, points=X, n_jobs=self.n_jobs)
        if self.graph == "neighbors" or k is None:
            near = found if k is None else found.nearest(k)
            values = self._between(patches, near.sources, near.indices)
            return Neighborhoods.from_edges(near.sources, near.indices, values, len(near)), same
        parts = []
        for rows in gen_batches(len(patches), max(1, BLOCK_PAIRS // self._n_fit)):
            i, j = self._candidates(found, rows)
            values = self._between(patches, i, j)
            near = Neighborhoods.from_edges(i, j, values, len(patches)).nearest(k)
            parts.append(near[np.arange(len(patches))[rows]])
        return graph.stacked(parts), same

    def _candidates(self, found: Neighborhoods, rows: slice) -> tuple[Indices, Indices]:
        """Return the pairs of some new points with all fitted points that may be neighbours."""
        new = np.arange(len(found))[rows]
        if self._pools():
            pool = found[new]
            return new[pool.sources], pool.indices
        return np.repeat(new, self._n_fit), np.tile(np.arange(self._n_fit), len(new))

    def _between(self, patches: Patches, i: Indices, j: Indices) -> Floats:
        values = divergences.paired(
            patches, i, j, self.divergence, other=self.patches_, n_jobs=self.n_jobs
        )
        return np.asarray(to_numpy(values))

    # ---------------------------------------------------------------- progress

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Say what is being done and how long it took, when ``verbose`` asks for it."""
        if not self.verbose:
            yield
            return
        print(f"[{type(self).__name__}] {name} ...", end="", flush=True)  # noqa: T201
        start = time.perf_counter()
        try:
            yield
        finally:
            print(f" {time.perf_counter() - start:.1f} s", flush=True)  # noqa: T201


class BasePatchEmbedding(ClassNamePrefixFeaturesOutMixin, BasePatchGraph):
    """An embedding of the divergence graph: ``fit``, ``fit_transform`` and ``transform``."""

    n_components: Any
    embedding_: Floats

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit the graph and embed it.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Points; with ``divergence="precomputed"`` square distances, or a sparse graph.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        X = self._validate(X, reset=True)
        near = self._fit_graph(X)
        with self._stage("embedding"):
            self._embed(near)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit, and return the embedding of the points, (n_samples, n_components)."""
        self.fit(X)
        return self.embedding_

    def transform(self, X: Any) -> Floats:
        """Map new points into the embedding.

        Each is placed by its own neighbours among the fitted points; new points do not influence
        each other, and a point that was fitted gets its place (that of its first copy, if there are
        several).

        Parameters
        ----------
        X : array of shape (n_new, n_features)
            With ``divergence="precomputed"`` distances to the fitted points, (n_new, n_samples).

        Returns
        -------
        array of shape (n_new, n_components)
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        near, same = self._place(X)
        if (near.degrees == 0).any():
            row = int(np.argmin(near.degrees))
            raise ValueError(
                f"row {row} of X has no neighbour among the fitted points (radius={self.radius}); "
                "enlarge the radius, or drop the row."
            )
        mapped = np.empty((len(near), self.embedding_.shape[1]), dtype=self.embedding_.dtype)
        known = same >= 0
        mapped[known] = self.embedding_[same[known]]
        if not known.all():
            new = np.flatnonzero(~known)
            mapped[new] = self._extend(near[new], X[new])
        return mapped

    def _embed(self, near: Neighborhoods) -> None:
        raise NotImplementedError

    def _extend(self, near: Neighborhoods, X: Any) -> Floats:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        check_count("n_components", self.n_components)
        super()._check_parameters()

    def _check_components(self) -> None:
        if self.n_components >= self._n_fit:
            raise ValueError(
                f"n_components={self.n_components} needs more than {self.n_components} samples, "
                f"got {self._n_fit}."
            )

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


def _coinciding(near: Neighborhoods) -> Indices:
    """Return the nearest neighbour of every row where it is at distance zero, else -1."""
    same = np.full(len(near), -1, dtype=np.intp)
    some = near.degrees > 0
    first = near.indptr[:-1][some]
    same[some] = np.where(near.distances[first] == 0, near.indices[first], -1)
    return same


def _given_neighbors(X: Any, k: int | None, radius: Any, *, own: bool) -> Neighborhoods:
    """Neighbours by given distances: the entries of a sparse graph, the k least, or a radius."""
    n = X.shape[0]
    if not is_sparse(X) and k is not None:
        return graph.nearest_by_value(X, k, own=own)
    if is_sparse(X):
        X = csr_array(X)
        rows, columns, values = np.repeat(np.arange(n), np.diff(X.indptr)), X.indices, X.data
    else:
        rows, columns = np.nonzero(radius >= X)
        values = X[rows, columns]
    keep = np.flatnonzero((columns != rows) | (not own))
    return Neighborhoods.from_edges(rows[keep], columns[keep].astype(np.intp), values[keep], n)


def _check_distances(X: Any, *, square: bool) -> None:
    if square and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"divergence='precomputed' needs a square matrix of distances, X has shape {X.shape}."
        )
    values = X.data if is_sparse(X) else X
    if values.size and values.min() < 0:
        raise ValueError(
            f"divergence='precomputed' needs distances >= 0, X has {values.min():.3g}."
        )
