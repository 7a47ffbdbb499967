"""Where the work runs: an engine is a small table of kernels, and everything else is written once.

:mod:`~patchfold.graph.local` is the default engine; :mod:`~patchfold.distributed` works on a Dask
cluster.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from patchfold.base.validation import check_choice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Indices = NDArray[np.intp]
    Floats = NDArray[np.floating[Any]]

# What ``engine`` may be; "auto" follows the type of the data.
NAMES = ("auto", "threads")


@runtime_checkable
class Engine(Protocol):
    """The six kernels that carry every estimator; eigenvectors have two ends."""

    n_jobs: int | None

    def neighbors(self, search: Any, X: Any) -> tuple[Any, Any]:
        """Build a search on points; return it, and the neighbours of the points."""
        ...

    def patches(self, recipe: Any, X: Any, members: Any, search: Any = None) -> tuple[Any, Any]:
        """Fit one Gaussian per neighbourhood; return them, and what denoising has learned.

        ``search`` finds the neighbours of denoised points.
        """
        ...

    def patches_of_new(
        self, recipe: Any, X: Any, fitted: Any, members: Any, denoised: Any, part: Any = None
    ) -> Any:
        """Fit the Gaussians of new points ``X`` as those of the fitted ones were."""
        ...

    def divergences(
        self, patches: Any, i: Indices, j: Indices, divergence: Any, other: Any = None
    ) -> Floats:
        """Return the divergences of the patches ``i`` from ``j``, those of ``other`` if given."""
        ...

    def geodesics(self, graph: csr_array, sources: Indices | None = None) -> Floats:
        """Return the lengths of the shortest paths from the sources to all points."""
        ...

    def leading_eigenvectors(self, distances: Floats, count: int) -> tuple[Floats, Floats, Floats]:
        """Scale distances classically: the leading eigenpairs of ``-H D^2 H / 2``.

        ``distances`` is overwritten with its squares.
        """
        ...

    def least_stress(self, squared: Floats, places: Floats) -> Floats:
        """Move points until their distances fit the known ones best; return their places.

        ``squared`` holds the squares of the known distances, in units of the longest, and may be
        overwritten.
        """
        ...

    def bottom_eigenvectors(
        self, matrix: Any, count: int, skip: int, **kernel: Any
    ) -> tuple[Floats, Floats]:
        """Return the eigenpairs at the bottom of a sparse positive semi-definite matrix."""
        ...


def is_client(engine: Any) -> bool:
    """Tell whether ``engine`` is a client of a Dask cluster; this does not import dask.

    Examples
    --------
    >>> is_client("threads")
    False
    """
    return any(kind.__module__.startswith("distributed.") for kind in type(engine).__mro__)


def engine_for(engine: Any, n_jobs: int | None = None) -> Engine:
    """Return the engine that the parameter ``engine`` means.

    Examples
    --------
    >>> engine_for("auto", n_jobs=2)
    Threads(n_jobs=2)
    """
    if isinstance(engine, Engine) and not isinstance(engine, type):
        return engine
    if not is_client(engine):  # what a cluster leaves to this process runs in its threads
        check_choice("engine", engine, NAMES)
    # Imported when it is asked for: an engine knows the steps, and the steps know no engine.
    threads: Engine = import_module("patchfold.graph.local").Threads(n_jobs)
    return threads
