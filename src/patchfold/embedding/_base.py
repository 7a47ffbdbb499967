"""What all estimators share: from points, or given distances, to one connected graph."""

from __future__ import annotations

import time
from contextlib import contextmanager, nullcontext
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import gen_batches
from sklearn.utils.validation import validate_data

from patchfold import divergences, selection
from patchfold._validation import (
    check_choice,
    check_count,
    check_points,
    check_positive,
    is_sparse,
    warn_user,
)
from patchfold.engines.progress import shown
from patchfold.graph import components, edges
from patchfold.graph.disagreement import TYPICAL_NEIGHBORS
from patchfold.graph.lengths import KINDS, Lengths
from patchfold.neighbors import ApproximateNeighbors, SharedNeighbors, neighbor_search
from patchfold.neighbors.fitted_rows import RowTable
from patchfold.neighbors.given import at_zero, check_distances, given_neighbors, nearest_by_value
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.patches import GaussianPatch, recommended_patch
from patchfold.patches.denoising import DenoisedPatches
from patchfold.supervision import encode, label_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from patchfold.neighbors import NeighborSearch
    from patchfold.patches.gaussians import Patches

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

    # Whether patch=None means plain patches and their divergences instead of the recommended graph.
    _plain_patches: bool = False

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
            check_distances(points, square=reset)
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
            i, j, pairs = edges.undirected(near)
            # Without patches lengths are known from the search.
            known = self.patches_ is None
            plain = edges.shortest(near, pairs) if known else self._divergences(near, i, j, pairs)
            held = np.isfinite(plain)  # without short circuits
            lengths = plain.copy()
            lengths[held] = self._lengths.labelled(plain[held], i[held], j[held])
            near = edges.with_lengths(near, lengths[pairs])
        kept = np.isfinite(lengths)
        near = self._connect(near, i[kept], j[kept], lengths[kept])
        if self.supervision is not None and held.any():
            self._check_stretch(float(np.median(plain[held])))
        # Points that lost all their neighbours still are neighbours of others.
        near = edges.with_incoming(near, self.graph_)
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
        found = given_neighbors(X, k, self.radius, own=True) if precomputed else self._found(X, k)
        if self._has_patches():
            with self._stage("patches"):
                self.patches_ = self._lengths.patches = self._fit_patches(X, self._members(found))
                self._settle(found)
        if k is None or is_sparse(X):
            return found
        # Where neighbours are chosen by their lengths already, only labels can change the choice.
        if self.graph == "neighbors" or (self.patches_ is None and self.supervision is None):
            return found.nearest(k)
        lengths = self._lengths
        with self._stage("neighbours under the divergence"):
            if not precomputed and self._pools():
                return edges.nearest_among(found, k, lengths.ranking, lengths.order)
            order = None if self.supervision is None else lengths.order_of_rows
            return nearest_by_value(lengths.matrix(), k, own=True, order=order)

    def _fit_patches(self, X: Floats, members: Neighborhoods) -> Patches:
        """Fit the patches of points, of denoised ones if so wanted; shared ones only once."""
        recipe = self._recipe()
        recommended = self.patch is None and not self._plain_patches
        denoise = bool(recommended if self.denoise is None else self.denoise)
        make = partial(self._make_patches, X, members, recipe, denoise)
        if isinstance(self.knn, SharedNeighbors):
            key = repr(recipe), denoise, int(members.degrees.max())
            patches, self._denoised = self.knn.once(X, key, make)
        else:
            patches, self._denoised = make()
        return patches

    def _make_patches(
        self, X: Floats, members: Neighborhoods, recipe: GaussianPatch, denoise: bool
    ) -> tuple[Patches, DenoisedPatches | None]:
        if not denoise:
            return recipe.fit(X, members, n_jobs=self.n_jobs), None
        search = None
        # An approximate search would take as long again, and be no more exact than a refinement.
        if not isinstance(getattr(self._searcher, "origin", self._searcher), ApproximateNeighbors):
            size = None if self.radius is not None else int(members.degrees.max())
            search = self._search_like(X, size)
            if search is self._searcher:  # given by the user, and needed for the points themselves
                search = copy(search)
        denoised = DenoisedPatches(recipe, search)
        return denoised.fit(X, members, self.n_jobs), denoised

    def _patches_of_new(self, X: Floats, members: Neighborhoods) -> Patches:
        """Fit the patches of new points as those of the fitted ones were."""
        fitted = self._lengths.points
        if self._denoised is None:
            return self._recipe().fit(fitted, members, points=X, n_jobs=self.n_jobs)
        return self._denoised.of_new(X, fitted, members, self.n_jobs)

    def _settle(self, found: Neighborhoods) -> None:
        """Learn what is typical of neighbours, unless the edges of the graph will tell."""
        degree = self._degree()
        if not self._stretches() or degree is None:
            return
        # No more than are always found, whatever the pool of candidates.
        known = max(degree, self._recipe().reach(self.n_neighbors_, self._n_fit))
        known = min(known, TYPICAL_NEIGHBORS)
        if self.graph == "divergence" or degree < known:
            self._lengths.settle(*edges.undirected(found.nearest(known))[:2])

    def _stretches(self) -> bool:
        if not self._has_patches():
            return False
        if self.lengths is not None:
            return bool(self.lengths == "stretched")
        # Labels tell what belongs together better than any stretch does.
        return self.patch is None and self.supervision is None and not self._plain_patches

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
            self._searcher = self._search_like(X, self._wanted).build(X)
            return self._nearest_found()

    def _nearest_found(self, X: Any = None) -> Neighborhoods:
        """Query the search, which may find more than is wanted."""
        found = self._searcher.query(X)
        return found if self._wanted is None else found.nearest(self._wanted)

    def _search_like(self, X: Floats, n_neighbors: int | None) -> NeighborSearch:
        """Return a search that suits points like these."""
        return neighbor_search(
            self.knn,
            n_neighbors=n_neighbors,
            radius=self.radius,
            n_samples=X.shape[0],
            n_features=X.shape[1],
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )

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
            if self._plain_patches:
                return GaussianPatch()
            return recommended_patch(self._n_fit, sized=self.radius is None)
        recipe: GaussianPatch = self.patch
        return recipe

    def _divergences(self, near: Neighborhoods, i: Indices, j: Indices, pairs: Indices) -> Floats:
        if self._stretches():
            few = np.zeros(len(i), dtype=bool)
            few[pairs[near.among_nearest(TYPICAL_NEIGHBORS)]] = True
            lengths = self._lengths.stretched(i, j, few)
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
        self.graph_ = edges.symmetric(i, j, lengths, n)
        count, labels = components.n_components(self.graph_)
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
            a, b = components.bridges(labels, self._lengths.gaps)
        plain = self._lengths.plain(a, b)
        extra = self._lengths.order(plain, a, b).astype(lengths.dtype, copy=False)
        ends = np.concatenate([i, a]), np.concatenate([j, b])
        self.graph_ = edges.symmetric(*ends, np.concatenate([lengths, extra]), n)
        return edges.with_edges(near, a, b, extra)

    # ---------------------------------------------------------------- new points

    def _place(self, X: Any) -> Neighborhoods:
        """Return the neighbours of new points among the fitted ones, with lengths."""
        k = self._degree()
        if self.divergence == "precomputed":
            near = given_neighbors(X, k, self.radius, own=False)
            return edges.with_lengths(near, self._lengths.of_unlabelled(near.distances))
        found = self._nearest_found(X)
        if self.patches_ is None:
            near = found if k is None else found.nearest(k)
            return edges.with_lengths(near, self._lengths.of_unlabelled(near.distances))
        patches = self._patches_of_new(X, self._members(found))
        near, values = self._nearest_of_new(patches, found, k)
        return edges.with_lengths(near, self._lengths.of_new(patches, near, values, self.graph_))

    def _nearest_of_new(
        self, patches: Patches, found: Neighborhoods, k: int | None
    ) -> tuple[Neighborhoods, Floats]:
        """Return the neighbours of new points, and the divergences along these edges."""
        if self.graph == "neighbors" or k is None:
            near = found if k is None else found.nearest(k)
            return near, self._lengths.divergences_of_new(patches, near.sources, near.indices)
        parts = []
        for rows in gen_batches(len(patches), max(1, BLOCK_PAIRS // self._n_fit)):
            i, j = self._candidates(found, rows)
            values = self._lengths.divergences_of_new(patches, i, j)
            near = Neighborhoods.from_edges(i, j, values, len(patches)).nearest(k)
            parts.append(near[np.arange(len(patches))[rows]])
        near = edges.stacked(parts)
        return near, near.distances

    def _fitted_as(self, X: Any) -> Indices:
        """Return which fitted point each new one is (the first, if there are copies); -1 for none.

        Equal coordinates make it the same point; where distances are given, the distance zero.
        """
        if self.divergence == "precomputed":
            return at_zero(X)
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
