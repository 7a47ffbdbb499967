"""The estimators by name, and the parameters that suit any table."""

from __future__ import annotations

from typing import Any

from patchfold.embedding import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE
from patchfold.embedding.tsne import NEIGHBORS_PER_PERPLEXITY

METHODS: dict[str, Any] = {
    "isomap": PatchIsomap,
    "lle": PatchLLE,
    "eigenmaps": PatchEigenmaps,
    "tsne": PatchTSNE,
}


# t-SNE's usual perplexity; few points have a smaller one.
PERPLEXITY = 30.0


def own_parameters(
    method: str, divergence: str, n_samples: int, *, supervised: bool = False
) -> dict[str, Any]:
    """Return the parameters that a method has beside those of all, chosen for any table.

    Parameters
    ----------
    method : str
        A key of :data:`METHODS`.
    divergence : str
        With "euclidean" the method is the classical one.
    n_samples : int
        How many points are fitted.
    supervised : bool, default=False
        Whether classes change the lengths of edges.

    Examples
    --------
    >>> own_parameters("tsne", "kl", 31), own_parameters("lle", "euclidean", 31)
    ({'perplexity': 10.0}, {'weights': 'euclidean'})
    """
    if method == "isomap":
        return {"landmarks": "auto"}  # all points, where there is memory for them
    if method == "tsne":
        most = max((n_samples - 1) / NEIGHBORS_PER_PERPLEXITY, 1.0)  # no perplexity is below 1
        return {"perplexity": min(PERPLEXITY, most)}
    if supervised:  # by default these two do not use lengths, which classes change
        return {"weights": "entropic"} if method == "lle" else {"bandwidth": "median"}
    if method == "lle" and divergence == "euclidean":
        return {"weights": "euclidean"}
    return {}
