"""What a neighbour search is: built on points once, then queried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, runtime_checkable

from sklearn.exceptions import NotFittedError

if TYPE_CHECKING:
    from patchfold.neighbors.neighborhoods import Neighborhoods


State = TypeVar("State")


@runtime_checkable
class NeighborSearch(Protocol):
    """A neighbour search: built on points once, then queried."""

    def build(self, X: Any) -> Self:
        """Prepare the search on the rows of ``X`` and return it."""
        ...

    def query(self, X: Any = None) -> Neighborhoods:
        """Return the neighbours of the built points, or of new points ``X`` among them.

        Without ``X`` no point is its own neighbour; with it, copies at distance zero count.
        """
        ...


@runtime_checkable
class GraphTransformer(Protocol):
    """Anything shaped like ``sklearn.neighbors.KNeighborsTransformer``."""

    def fit(self, X: Any) -> Any:
        """Prepare the search on the rows of ``X``."""
        ...

    def transform(self, X: Any) -> Any:
        """Return a sparse (rows of ``X``, fitted rows) matrix of distances to neighbours."""
        ...


def built(search: Any, state: State | None) -> State:
    """Return what a search was built on, or say that it was not."""
    if state is None:
        raise NotFittedError(f"{type(search).__name__} is not built; call build(X) before query.")
    return state


def check_fewer_than_samples(n_neighbors: int, n_samples: int) -> None:
    """Refuse more neighbours than there are other points."""
    if n_neighbors >= n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors} needs more than {n_neighbors} samples, got {n_samples}; "
            f"lower n_neighbors to at most {n_samples - 1}."
        )
