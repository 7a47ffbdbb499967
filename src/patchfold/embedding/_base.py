"""What all estimators share: from points, or given distances, to one connected graph."""

from __future__ import annotations

import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import sklearn
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from patchfold import divergences, graph, selection
from patchfold._progress import shown
from patchfold._rows import RowTable
from patchfold._validation import (
    check_choice,
    check_count,
    check_points,
    check_positive,
    is_sparse,
)
from patchfold._warnings import warn_user
from patchfold.lengths import KINDS, TYPICAL_NEIGHBORS, Lengths
from patchfold.mapping import check_map, fit_map, predict_map
from patchfold.neighborhoods import Neighborhoods
from patchfold.neighbors import ApproximateNeighbors, neighbor_search
from patchfold.patches import GaussianPatch, patch_means, recommended_patch
from patchfold.supervision import encode, label_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from patchfold.gaussians import Patches
    from patchfold.neighbors import NeighborSearch

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]

GRAPHS = ("neighbors", "divergence")

# The degree that a criterion without labels chooses.
AUTO = "auto"

# Euclidean neighbours looked at for each neighbour wanted under the divergence, where not all pairs
# can be: benchmarks/candidates.py reports how many of the true ones are among them.
CANDIDATES = 10

# Edges this many times as long as most are the work of an exponential of data in large units.
STRETCH = 1e6

# New points are compared with all fitted ones in blocks of about this many pairs.
BLOCK_PAIRS = 2**20


class BasePatchGraph(TransformerMixin, BaseEstimator):
    """Fit the divergence graph of points, and find the place of new points in it."""

    n_neighbors: Any
    divergence: Any
    patch: Any
    denoise: Any
    lengths: Any
    graph: Any
    n_candidates: Any
    radius: Any
    knn: Any
    n_jobs: Any
    random_state: Any
    verbose: Any
    supervision: Any
    n_neighbors_: Any
    fit_report_: dict[str, float]
    patches_: Patches | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.supervision is not None
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
            if reset and self.n_neighbors == AUTO and is_sparse(points):
                raise ValueError(
                    "n_neighbors='auto' has nothing to choose in a sparse graph, whose entries are "
                    "the edges; leave it at its default."
                )
        return points

    def _check_parameters(self) -> None:
        label_rule(self.supervision)
        check_choice("graph", self.graph, GRAPHS)
        if not callable(self.divergence):
            check_choice("divergence", self.divergence, (*divergences.NAMES, "precomputed"))
        if self.patch is not None and not isinstance(self.patch, GaussianPatch):
            raise TypeError(
                f"patch={self.patch!r} must be a GaussianPatch, e.g. GaussianPatch(size=20), or "
                "None for the recommended settings."
            )
        self._check_recipe()
        if isinstance(self.n_neighbors, str):
            check_choice("n_neighbors", self.n_neighbors, (AUTO,))
            if self.radius is not None:
                raise ValueError(
                    f"n_neighbors='auto' and radius={self.radius} exclude each other, a radius "
                    "leaves no degree to choose; leave n_neighbors at its default, or use "
                    "radius=None."
                )
        elif self.radius is None:
            check_count("n_neighbors", self.n_neighbors)
        if self.radius is not None:
            check_positive("radius", self.radius)
            if self.graph == "divergence":
                raise ValueError(
                    f"radius={self.radius} and graph='divergence' exclude each other, a radius is "
                    "Euclidean; use graph='neighbors' or radius=None."
                )
        if self.n_candidates is not None:
            check_count("n_candidates", self.n_candidates)
            chosen = self.radius is not None or self.n_neighbors == AUTO
            if not chosen and self.n_candidates < self.n_neighbors:
                raise ValueError(
                    f"n_candidates={self.n_candidates} is below n_neighbors={self.n_neighbors}; "
                    "raise it, or leave it at None."
                )

    def _fit_chosen(self, X: Any, y: Any) -> None:
        """Choose ``n_neighbors`` and become the fit that was chosen."""
        self.fit_report_ = {}
        with self._stage("choosing n_neighbors"):
            ks = self._candidates_to_choose(X.shape[0])
            fitted = selection.fit_best(self._plain(), X, y, draft=self._draft(), candidates=ks)
        report = {**self.fit_report_, **fitted.fit_report_}
        parameters = self.get_params(deep=False)
        for name, value in vars(fitted).items():
            if name not in parameters:
                setattr(self, name, value)
        self.fit_report_ = report

    def _plain(self) -> Any:
        """Return an estimator whose fit, with the chosen ``n_neighbors``, is the one wanted."""
        return clone(self).set_params(verbose=0)

    def _draft(self) -> Any:
        """Return an estimator that is quicker to fit, to judge ``n_neighbors`` by; None for none.

        Without one, what was judged is what was wanted, and is not fitted again.
        """
        return None

    def _candidates_to_choose(self, n: int) -> list[int] | None:
        """Return what there is to choose from, for ``n`` points; None for the usual ones."""
        return None

    def _check_recipe(self) -> None:
        if self.denoise is not None and not isinstance(self.denoise, bool | np.bool_):
            raise TypeError(f"denoise={self.denoise!r} must be True, False or None.")
        if self.lengths is not None:
            check_choice("lengths", self.lengths, KINDS)
        given = {"denoise=True": self.denoise, "lengths='stretched'": self.lengths == "stretched"}
        for setting, wanted in given.items():
            if wanted and not self._has_patches():
                raise ValueError(
                    f"{setting} needs patches, and divergence={self.divergence!r} has none; leave "
                    "it at None, or choose another divergence."
                )

    def _has_patches(self) -> bool:
        return callable(self.divergence) or self.divergence not in ("euclidean", "precomputed")

    def _degree(self) -> int | None:
        """Return the degree k of the graph; None where a radius decides."""
        return None if self.radius is not None else self.n_neighbors_

    def _fit_graph(self, X: Any, y: Any = None) -> Neighborhoods:
        """Set ``graph_`` and ``patches_``; return the neighbourhoods, with lengths, joined."""
        self.fit_report_ = {}
        self.n_neighbors_ = None if self.radius is not None else int(self.n_neighbors)
        self._n_fit = n = X.shape[0]
        if self.radius is None and self.n_neighbors >= n and not is_sparse(X):
            raise ValueError(
                f"n_neighbors={self.n_neighbors} needs more than {self.n_neighbors} samples, "
                f"got {n}; lower n_neighbors to at most {n - 1}, or use 'auto'."
            )
        rule = label_rule(self.supervision)
        codes = None if rule is None else encode(y, n, type(self).__name__)
        if self.divergence != "precomputed":
            self._rows = RowTable(X)
        self._lengths = Lengths(X, None, self.divergence, rule, codes, self.n_jobs)
        self.patches_ = None
        near = self._search(X, self._degree())
        with self._stage("divergences"):
            i, j = graph.undirected(near)
            # Without patches lengths are known from the search.
            known = self.patches_ is None
            plain = graph.shortest(near, i, j) if known else self._divergences(near, i, j)
            lengths = self._lengths.labelled(plain, i, j)
            near = graph.with_lengths(near, graph.along(near, i, j, lengths))
        kept = np.isfinite(lengths)
        near = self._connect(near, i[kept], j[kept], lengths[kept])
        if self.supervision is not None:
            if len(plain):
                self._check_stretch(float(np.median(plain)))
            # Points that lost all their neighbours still are neighbours of others.
            near = graph.with_incoming(near, self.graph_)
        if self.divergence == "precomputed":
            self._forget_given()
        return near

    def _forget_given(self) -> None:
        """Drop the given distances: of them, new points may need the mean alone."""
        if self.supervision is not None:
            _ = self._lengths.mean
        self._lengths.points = None

    def _search(self, X: Any, k: int | None) -> Neighborhoods:
        """Choose the edges of the graph; fit patches where there are points."""
        precomputed = self.divergence == "precomputed"
        found = _given_neighbors(X, k, self.radius, own=True) if precomputed else self._found(X, k)
        if self._has_patches():
            with self._stage("patches"):
                self._fit_patches(X, found)
                self._settle(found)
        if k is None or is_sparse(X):
            return found
        # Where neighbours are chosen by their lengths already, only labels can change the choice.
        if self.graph == "neighbors" or (self.patches_ is None and self.supervision is None):
            return found.nearest(k)
        lengths = self._lengths
        with self._stage("neighbours under the divergence"):
            if not precomputed and self._pools():
                return graph.nearest_among(found, k, lengths.plain, lengths.order)
            order = None if self.supervision is None else lengths.order_of_rows
            return graph.nearest_by_value(lengths.matrix(), k, own=True, order=order)

    def _fit_patches(self, X: Floats, found: Neighborhoods) -> None:
        """Fit the patches of points, denoised ones if so wanted."""
        members = self._members(found)
        self._denoised: Floats | None = None
        if self.patch is None if self.denoise is None else self.denoise:
            self._denoised = patch_means(X, members, n_jobs=self.n_jobs)
            both, members = (self._denoised, self._denoised), self._denoised_members(members)
            self.patches_ = self._recipe().fit(X, members, denoised=both, n_jobs=self.n_jobs)
        else:
            self.patches_ = self._recipe().fit(X, members, n_jobs=self.n_jobs)
        self._lengths.patches = self.patches_

    def _settle(self, found: Neighborhoods) -> None:
        """Learn what is typical of neighbours, unless the edges of the graph will tell."""
        if not self._stretches() or self.radius is not None:
            return
        # No more than are always found, whatever the pool of candidates.
        known = max(self.n_neighbors_, self._recipe().reach(self.n_neighbors_, self._n_fit))
        known = min(known, TYPICAL_NEIGHBORS)
        if self.graph == "divergence" or self.n_neighbors_ < known:
            self._lengths.settle(*graph.undirected(found.nearest(known)))

    def _denoised_members(self, members: Neighborhoods) -> Neighborhoods:
        """Search the neighbours that denoised points have among each other."""
        denoised = cast("Floats", self._denoised)
        self._denoised_search: NeighborSearch | None = None
        self._known_members: Neighborhoods | None = None
        if isinstance(self._searcher, ApproximateNeighbors):
            # Another search would take as long as the first, and be no more exact than this.
            self._known_members = members
            return self._refined(denoised, members)
        size = None if self.radius is not None else int(members.degrees.max())
        self._denoised_search = self._search_of(denoised, size)
        return self._denoised_search.query()

    def _refined(self, *places: Any) -> Neighborhoods:
        # Here and not above: small data should not wait for the compiler to be imported.
        from patchfold.refining import refined_neighbors

        return refined_neighbors(*places, n_jobs=self.n_jobs)

    def _patches_of_new(self, X: Floats, found: Neighborhoods) -> Patches:
        """Fit the patches of new points as those of the fitted ones were."""
        recipe, fitted, members = self._recipe(), self._lengths.points, self._members(found)
        if self._denoised is None:
            return recipe.fit(fitted, members, points=X, n_jobs=self.n_jobs)
        denoised = patch_means(fitted, members, points=X, n_jobs=self.n_jobs)
        if self._denoised_search is not None:
            members = self._denoised_search.query(denoised)
        elif self._known_members is not None:
            members = self._refined(self._denoised, self._known_members, denoised, members)
        both = self._denoised, denoised
        return recipe.fit(fitted, members, points=X, denoised=both, n_jobs=self.n_jobs)

    def _stretches(self) -> bool:
        if self.lengths is not None:
            return bool(self.lengths == "stretched")
        # Labels tell what belongs together better than any stretch does.
        return self.patch is None and self.supervision is None

    def _found(self, X: Floats, k: int | None) -> Neighborhoods:
        """Search the Euclidean neighbours that patches and edges are made of."""
        n = X.shape[0]
        self._all_pairs = n * n * X.itemsize <= sklearn.get_config()["working_memory"] * 2**20
        self._wanted = None
        if k is not None:
            pool = max(k, self.n_candidates or CANDIDATES * k) if self._pools() else k
            size = self._recipe().reach(self.n_neighbors_, n)
            self._wanted = max(min(pool, n - 1), size)
            if self._wanted >= n:
                raise ValueError(
                    f"patch size={size} needs more than {size} samples, got {n}; lower the size."
                )
        with self._stage("neighbours"):
            self._searcher = self._search_of(X, self._wanted)
            return self._nearest_found()

    def _nearest_found(self, X: Any = None) -> Neighborhoods:
        """Query the search, which may find more than is wanted."""
        found = self._searcher.query(X)
        return found if self._wanted is None else found.nearest(self._wanted)

    def _search_of(self, X: Floats, n_neighbors: int | None) -> NeighborSearch:
        return neighbor_search(
            self.knn,
            n_neighbors=n_neighbors,
            radius=self.radius,
            n_samples=X.shape[0],
            n_features=X.shape[1],
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        ).build(X)

    def _members(self, found: Neighborhoods) -> Neighborhoods:
        """Return which of the neighbours make up a patch."""
        if self.radius is not None:
            return found
        return found.nearest(self._recipe().reach(self.n_neighbors_, self._n_fit))

    def _pools(self) -> bool:
        """Tell whether neighbours under the divergence are sought among candidates only."""
        return self.graph == "divergence" and not self._all_pairs

    def _recipe(self) -> GaussianPatch:
        if self.patch is None:
            return recommended_patch(self._n_fit, sized=self.radius is None)
        recipe: GaussianPatch = self.patch
        return recipe

    def _divergences(self, near: Neighborhoods, i: Indices, j: Indices) -> Floats:
        if self._stretches() and self._lengths.typical is None:
            few = graph.undirected(near.nearest(TYPICAL_NEIGHBORS))
            lengths = self._lengths.settle(i, j, graph.places(*few, i, j))
        else:
            lengths = self._lengths.plain(i, j)
        if len(lengths) and not lengths.any() and np.ptp(self._lengths.points, axis=0).any():
            warn_user(
                "all divergences are zero although the points differ: every patch has the same "
                "points. Lower n_neighbors, or the size of the patch."
            )
        return lengths

    def _check_stretch(self, plain: float) -> None:
        """Warn where labels have made an edge so long beside the others that these do not count.

        ``plain`` is the median length before.
        """
        longest = int(np.argmax(self.graph_.data))
        i = np.searchsorted(self.graph_.indptr, longest, side="right") - 1
        before = float(self._lengths.plain(*np.array([[i], [self.graph_.indices[longest]]]))[0])
        length, typical = float(self.graph_.data[longest]), float(np.median(self.graph_.data))
        if length > STRETCH * typical > 0 and length * plain > 10 * before * typical:
            warn_user(
                f"supervision={self.supervision!r} stretches edges to {length:.2g}, where "
                f"{typical:.2g} is the median, so that nothing else shows in the embedding; "
                "multiply X by a small number, or give Dissimilarity(beta=...) a larger beta."
            )

    def _connect(
        self, near: Neighborhoods, i: Indices, j: Indices, lengths: Floats
    ) -> Neighborhoods:
        """Join components, each by the closest pair, and say so where labels do not explain it."""
        n = self._n_fit
        self.graph_ = graph.symmetric(i, j, lengths, n)
        count, labels = graph.n_components(self.graph_)
        if count == 1:
            return near
        if is_sparse(self._lengths.points):
            under = "" if self.supervision is None else f" under supervision={self.supervision!r}"
            raise ValueError(
                f"the given graph has {count} components{under}; add edges until it is connected, "
                "or pass all distances as a dense matrix."
            )
        if self.supervision is None:
            which = "n_neighbors" if self.radius is None else "radius"
            warn_user(
                f"the neighbourhood graph has {count} components; they were joined by their "
                f"closest pairs. A larger {which} may connect them, or treat them separately."
            )
        with self._stage("joining components"):
            a, b = graph.bridges(labels, self._lengths.gaps)
        plain = self._lengths.plain(a, b)
        extra = self._lengths.order(plain, a, b).astype(lengths.dtype, copy=False)
        ends = np.concatenate([i, a]), np.concatenate([j, b])
        self.graph_ = graph.symmetric(*ends, np.concatenate([lengths, extra]), n)
        return graph.with_edges(near, a, b, extra)

    # ---------------------------------------------------------------- new points

    def _place(self, X: Any) -> Neighborhoods:
        """Return the neighbours of new points among the fitted ones, with lengths."""
        k = self._degree()
        if self.divergence == "precomputed":
            near = _given_neighbors(X, k, self.radius, own=False)
            return graph.with_lengths(near, self._lengths.of_unlabelled(near.distances))
        found = self._nearest_found(X)
        if self.patches_ is None:
            near = found if k is None else found.nearest(k)
            return graph.with_lengths(near, self._lengths.of_unlabelled(near.distances))
        patches = self._patches_of_new(X, found)
        if self.graph == "neighbors" or k is None:
            near = found if k is None else found.nearest(k)
            values = self._lengths.of_new(patches, near.sources, near.indices)
            return graph.with_lengths(near, values)
        parts = []
        for rows in gen_batches(len(patches), max(1, BLOCK_PAIRS // self._n_fit)):
            i, j = self._candidates(found, rows)
            values = self._lengths.of_new(patches, i, j)
            near = Neighborhoods.from_edges(i, j, values, len(patches)).nearest(k)
            parts.append(near[np.arange(len(patches))[rows]])
        return graph.stacked(parts)

    def _fitted_as(self, X: Any) -> Indices:
        """Return which fitted point each new one is (the first, if there are copies); -1 for none.

        Equal coordinates make it the same point; where distances are given, the distance zero.
        """
        if self.divergence == "precomputed":
            return _at_zero(X)
        return self._rows.find(X)

    def _candidates(self, found: Neighborhoods, rows: slice) -> tuple[Indices, Indices]:
        """Return the pairs of some new points with all fitted points that may be neighbours."""
        new = np.arange(len(found))[rows]
        if self._pools():
            pool = found[new]
            return new[pool.sources], pool.indices
        return np.repeat(new, self._n_fit), np.tile(np.arange(self._n_fit), len(new))

    # ---------------------------------------------------------------- progress

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Keep how long a stage of fitting took; say so, too, when ``verbose`` asks for it."""
        start = time.perf_counter()
        try:
            with shown(f"[{type(self).__name__}] {name}") if self.verbose else nullcontext():
                yield
        finally:
            self.fit_report_[name] = time.perf_counter() - start


class BasePatchEmbedding(ClassNamePrefixFeaturesOutMixin, BasePatchGraph):
    """An embedding of the divergence graph: ``fit``, ``fit_transform`` and ``transform``."""

    n_components: Any
    out_of_sample: Any
    embedding_: Floats

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit the graph and embed it.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Points; with ``divergence="precomputed"`` square distances, or a sparse graph.
        y : array of shape (n_samples,) or None
            Classes, where ``supervision`` uses them; -1, NaN or None for points without a label.
            Ignored otherwise.

        Returns
        -------
        self
        """
        X = self._validate(X, reset=True)
        if isinstance(self.n_neighbors, str):
            self._fit_chosen(X, y)
        else:
            prepared = self._prepare(self._fit_graph(X, y))
            with self._stage("embedding"):
                self._embed(prepared)
            del prepared
        self.map_ = None
        if self._map() != "nystrom":
            with self._stage("map for new points"):
                self.map_ = fit_map(self._map(), X, self.embedding_, self.n_jobs)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit, and return the embedding of the points, (n_samples, n_components)."""
        self.fit(X, y)
        return self.embedding_

    def transform(self, X: Any) -> Floats:
        """Map new points into the embedding.

        New points do not influence each other, and have no labels. A point that was fitted gets its
        place (that of its first copy, if there are several), even where the map would take a point
        next to it elsewhere: with supervision the places of fitted points know their labels, and a
        score on fitted points says nothing about new ones.

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
        same = self._fitted_as(X)
        new = np.flatnonzero(same < 0)
        mapped = self.embedding_[same]
        if len(new):
            mapped[new] = self._mapped(X[new], new)
        return mapped

    def _mapped(self, X: Any, rows: Indices) -> Floats:
        if self.map_ is not None:
            return predict_map(self.map_, X, self.embedding_.shape[1])
        near = self._place(X)
        if (near.degrees == 0).any():
            row = int(rows[np.argmin(near.degrees)])
            remedy = "drop the row" if self.radius is None else "enlarge radius, or drop the row"
            raise ValueError(
                f"row {row} of X has no neighbour among the fitted points "
                f"(radius={self.radius}); {remedy}."
            )
        return self._extend(near, X)

    def _plain(self) -> Any:
        # The map is fitted once, to the embedding that was chosen.
        return super()._plain().set_params(out_of_sample="nystrom")

    def _map(self) -> Any:
        """Return what ``out_of_sample`` means: regression needs points, and suits labels."""
        if self.out_of_sample is not None:
            return self.out_of_sample
        supervised = self.supervision is not None and self.divergence != "precomputed"
        return "krr" if supervised else "nystrom"

    def _prepare(self, near: Neighborhoods) -> Any:
        """Return what is embedded: the neighbourhoods, with lengths."""
        return near

    def _embed(self, prepared: Any) -> None:
        raise NotImplementedError

    def _extend(self, near: Neighborhoods, X: Any) -> Floats:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        check_count("n_components", self.n_components)
        super()._check_parameters()
        check_map(self._map())
        if self.divergence == "precomputed" and self._map() != "nystrom":
            raise ValueError(
                f"out_of_sample={self.out_of_sample!r} is a regression on points, and "
                "divergence='precomputed' has none; use out_of_sample='nystrom'."
            )

    def _check_components(self) -> None:
        if self.n_components >= self._n_fit:
            raise ValueError(
                f"n_components={self.n_components} needs more than {self.n_components} samples, "
                f"got {self._n_fit}."
            )

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


def _at_zero(X: Any) -> Indices:
    """Return the first column with an entry of zero in every row, -1 where there is none."""
    if is_sparse(X):
        zero = csr_array(X)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(zero.indptr))[zero.data == 0]
        columns = zero.indices[zero.data == 0]
    else:
        rows, columns = np.nonzero(X == 0)
    same = np.full(X.shape[0], X.shape[1], dtype=np.intp)
    np.minimum.at(same, rows, columns)
    return np.where(same < X.shape[1], same, -1)


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
