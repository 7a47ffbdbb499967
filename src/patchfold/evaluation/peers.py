"""Embeddings of other packages that need not be installed."""

from __future__ import annotations

import warnings
from typing import Any


def umap(n_components: int, n_neighbors: int, random_state: int | None) -> Any:
    """Return an unfitted UMAP, or say how to install it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImportWarning)  # of a part that wants TensorFlow
            from umap import UMAP  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise ImportError(
            "method='UMAP' needs umap-learn; install it with: pip install 'patchfold[papers]'"
        ) from error
    return UMAP(
        n_components=n_components, n_neighbors=n_neighbors, random_state=random_state, n_jobs=1
    )
