"""What a neighbour search is: built on points once, then queried."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

from sklearn.exceptions import NotFittedError

from patchfold.neighbors.neighborhoods import Neighborhoods

State = TypeVar("State")


@runtime_checkable
class NeighborSearch(Protocol):
    """A neighbour search: built on points once, then queried."""

    def build(self, X: Any) -> NeighborSearch:
        """Prepare the search on the rows of ``X`` and return it, or the one that suits them."""
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


def moved(search: Any, device: str | None) -> Any:
    """Return the same search on a device of torch, or in threads."""
    if not hasattr(search, "on"):
        raise ValueError(
            f"the fit has searched neighbours by {type(search).__name__}, which does not run on a "
            "GPU; use engine='threads', or fit with engine='cuda'."
        )
    return search.on(device)


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


def check_found(search: Any, near: Any, n_rows: int, n_points: int) -> Neighborhoods:
    """Return what a search has found, unless it is not the neighbours of rows among the points."""
    name = f"knn={type(search).__name__}"
    if not isinstance(near, Neighborhoods):
        raise TypeError(
            f"{name} gave a {type(near).__name__}; its query has to return "
            "patchfold.neighbors.Neighborhoods."
        )
    if len(near) != n_rows:
        raise ValueError(f"{name} gave neighbours of {len(near)} rows, and there are {n_rows}.")
    low, high = near.indices.min(initial=0), near.indices.max(initial=0)
    if low < 0 or high >= n_points:
        raise ValueError(
            f"{name} gave the neighbours {low} to {high}; give rows from 0 to {n_points - 1}."
        )
    if not (near.distances >= 0).all():
        raise ValueError(f"{name} gave negative distances or NaN; give distances of 0 or more.")
    return near
