"""The graph of patches: the frozen result of the steps from points to lengths.

:func:`~patchfold.graph.building.build_graph` makes it; estimators embed it and keep it, and new
points find their place in it (:mod:`patchfold.graph.new_points`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from patchfold.base.arrays import to_numpy
from patchfold.base.types import GraphName
from patchfold.base.validation import is_sparse
from patchfold.gpu.devices import on
from patchfold.graph import new_points
from patchfold.graph.lengths import Lengths, PrunedLengths
from patchfold.neighbors.given import at_zero
from patchfold.neighbors.protocol import moved
from patchfold.supervision import label_rule

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from patchfold.base.types import Floats, Indices, RowMetricName, RuleName, Seed
    from patchfold.divergences import Divergence
    from patchfold.neighbors.copies import Copies
    from patchfold.neighbors.fitted_rows import RowTable
    from patchfold.neighbors.neighborhoods import Neighborhoods
    from patchfold.neighbors.protocol import NeighborSearch
    from patchfold.neighbors.search import Knn
    from patchfold.patches.denoising import Denoised
    from patchfold.patches.gaussian_patch import GaussianPatch
    from patchfold.patches.gaussians import Patches
    from patchfold.patches.span import Span
    from patchfold.supervision import LabelRule


# What ``graph`` may be: the nearest points, or the nearest patches under the divergence.
KINDS = get_args(GraphName)

# Euclidean neighbours looked at for each neighbour wanted under the divergence, where not all pairs
# can be: benchmarks/candidates.py reports how many of the true ones are among them.
CANDIDATES = 10


@dataclass(frozen=True, eq=False)
class GraphSetting:
    """What a graph is made of. Nothing here is left to be decided."""

    degree: int | None  # None where a radius decides; a given sparse graph has its own
    radius: float | None = None  # join all points within this distance
    divergence: str | Divergence = "kl"
    metric: RowMetricName = "euclidean"  # how rows became its points
    patch: GaussianPatch | None = None  # None where there are no patches
    patch_size: int = 0  # neighbours that a patch has at most
    # Whether lengths are distances in a graph without short circuits, and not divergences
    pruned: bool = True
    # Whether edges join the nearest patches, and not the nearest points
    by_divergence: bool = False
    supervision: RuleName | LabelRule | None = None  # how labels change lengths
    joined: bool = True  # whether components are joined even without supervision
    # A parameter and its value: every point needs at least as many neighbours
    needs: tuple[str, float] = ("n_neighbors", 0)
    knn: Knn = "auto"
    device: str | None = None  # of torch, while a graph is built there; None for threads
    random_state: Seed = None  # of an approximate search
    n_jobs: int | None = None

    @property
    def precomputed(self) -> bool:
        """Whether distances are given, and there are no points."""
        return self.divergence == "precomputed"

    @property
    def rule(self) -> LabelRule | None:
        """The rule that ``supervision`` means."""
        return label_rule(self.supervision)

    def reach(self, n: int, *, pooled: bool = False) -> int | None:
        """Return how many neighbours of ``n`` points are searched; None for all within the radius.

        ``pooled`` asks for candidates of the nearest patches, where there is no room for all pairs.
        """
        if self.degree is None:
            return None
        wanted = CANDIDATES * self.degree if pooled else self.degree
        reach = max(min(wanted, n - 1), self.patch_size)
        if reach >= n:
            size = self.patch_size
            raise ValueError(
                f"patch size={size} needs more than {size} samples, got {n}; lower the size."
            )
        return reach

    def members(self, found: Neighborhoods) -> Neighborhoods:
        """Return the neighbours that make up patches, of those that were found."""
        return found if self.radius is not None else found.nearest(self.patch_size)


@dataclass(frozen=True, eq=False)
class PatchGraph:
    """Neighbourhoods, patches, how lengths are made, the sparse matrix, and where new points go.

    Attributes
    ----------
    setting : GraphSetting
        What it was made of.
    neighborhoods : Neighborhoods
        The neighbours of every point and the lengths to them; components are joined.
    matrix : csr_array of shape (n, n)
        The same as a symmetric graph; zeros are stored.
    lengths : Lengths
        How long an edge is; it holds the patches.
    search : NeighborSearch or None
        What found the neighbours; None where distances are given.
    reach : int or None
        How many of the neighbours it finds are looked at; None for all.
    pooled : bool
        Whether the nearest patches were sought among candidates only.
    denoised : Denoised or None
        What patches of new points need where patches are those of denoised points.
    rows : RowTable or None
        The points, to find them again.
    copies : Copies or None
        Which rows were merged to one point; None where none were.
    span : Span or None
        What makes coordinates of sparse rows; None where rows are dense.
    removed : array of shape (n_removed, 2) or None
        The ends of the edges that were left out as short circuits; None in a graph out of a file.
    """

    setting: GraphSetting
    neighborhoods: Neighborhoods
    matrix: csr_array
    lengths: Lengths
    search: NeighborSearch | None = None
    reach: int | None = None
    pooled: bool = False
    denoised: Denoised | None = None
    rows: RowTable | None = None
    copies: Copies | None = None
    span: Span | None = None
    removed: Indices | None = None

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        # What can be computed again, or is of use in a fit only, is not in a file.
        left_out = ["removed", "patches_of_rows"] + ["span"] * (self.span is None)
        return {name: value for name, value in vars(self).items() if name not in left_out}

    @property
    def patches(self) -> Patches | None:
        """The Gaussians, one per distinct point; None where lengths are Euclidean or given."""
        return self.lengths.patches

    @property
    def table(self) -> Any:
        """The rows, dense or sparse, as neighbours were searched among them."""
        return self.lengths.points if self.rows is None else self.rows.points

    @property
    def pruned(self) -> bool:
        """Whether short circuits were removed."""
        return isinstance(self.lengths, PrunedLengths)

    @property
    def centres(self) -> Any:
        """Where the patches are: denoised, or the points themselves."""
        if self.patches is None:
            return self.coordinates(self.lengths.points)
        points, which = to_numpy(self.patches.points), self.lengths.patch_of
        return points if which is None else points[which]

    @cached_property
    def patches_of_rows(self) -> Patches | None:
        """The Gaussian of every row; those of copies are written out when first asked for."""
        which = self.lengths.patch_of
        return self.patches if self.patches is None or which is None else self.patches[which]

    def coordinates(self, X: Any) -> Any:
        """Return dense rows as they are, and sparse ones in the span that patches are fitted in."""
        return X if self.span is None or not is_sparse(X) else self.span(X)

    def neighbors_of_new(self, X: Any) -> Neighborhoods:
        """Return the neighbours of new points among the fitted ones, and the lengths to them."""
        return new_points.neighbors_of_new(self, X)

    def on(self, device: str | None) -> PatchGraph:
        """Return the same graph with points, patches and searches on a device, or in threads."""
        lengths, denoised, search = self.lengths, self.denoised, moved(self.search, device)
        if lengths.patches is not None:
            lengths = replace(lengths, patches=lengths.patches.mapped(partial(on, device)))
        if denoised is not None:
            near = moved(denoised.search, device)
            denoised = replace(denoised, points=on(device, denoised.points), search=near)
        return replace(self, lengths=lengths, denoised=denoised, search=search)

    def divergences(self, X: Any) -> Floats:
        """Return the divergences of points from all fitted ones, (n_new, n)."""
        return new_points.divergences(self, X)

    def distinct(self) -> Indices:
        """Return the points without their copies, the first of each."""
        every = np.arange(len(self))
        return every if self.rows is None else np.flatnonzero(self.rows.first() == every)

    def fitted_as(self, X: Any) -> Indices:
        """Return which fitted point each new one is (the first, if there are copies); -1 for none.

        Equal coordinates make it the same point; where distances are given, the distance zero.
        """
        return at_zero(X) if self.rows is None else self.rows.find(X)
