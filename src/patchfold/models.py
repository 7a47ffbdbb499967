"""The estimators by name, and fitted ones in files: pipelines, saved by skops, never by pickle.

A pickle runs whatever its writer wished. A file of skops holds named types and arrays, and only
types that embeddings consist of are loaded: those of this library listed here, those that skops
trusts itself, SciPy's sparse arrays and NumPy's types of numbers.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.pipeline import Pipeline

import patchfold
from patchfold._rows import RowTable
from patchfold._space import Space
from patchfold.denoising import DenoisedPatches
from patchfold.disagreement import Typical
from patchfold.embedding import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE
from patchfold.embedding.tsne import NEIGHBORS_PER_PERPLEXITY
from patchfold.gaussians import Patches
from patchfold.lengths import Lengths
from patchfold.mapping import GRNN, DistanceScaler
from patchfold.neighborhoods import Neighborhoods
from patchfold.neighbors import (
    ApproximateNeighbors,
    ExactNeighbors,
    RadiusNeighbors,
    _FoundNeighbors,
)
from patchfold.patches import GaussianPatch
from patchfold.supervision import Cut, Dissimilarity, MinSum
from patchfold.tables._naming import require
from patchfold.tables.coding import feature_name

if TYPE_CHECKING:
    from collections.abc import Sequence

METHODS: dict[str, Any] = {
    "isomap": PatchIsomap,
    "lle": PatchLLE,
    "eigenmaps": PatchEigenmaps,
    "tsne": PatchTSNE,
}
# t-SNE's usual perplexity; few points have a smaller one.
PERPLEXITY = 30.0

# What a fitted embedding consists of. A list and not all of the package: some classes there start
# processes, and a file must not be able to name those.
TRUSTED = frozenset(
    f"{kind.__module__}.{kind.__qualname__}"
    for kind in (
        *METHODS.values(),
        ApproximateNeighbors,
        Cut,
        DenoisedPatches,
        Dissimilarity,
        DistanceScaler,
        ExactNeighbors,
        GRNN,
        GaussianPatch,
        Lengths,
        MinSum,
        Neighborhoods,
        Patches,
        RadiusNeighbors,
        RowTable,
        Space,
        Typical,
        _FoundNeighbors,
        csr_array,
        feature_name,
        np.dtype,
    )
)


class ModelError(ValueError):
    """What is wrong with a file of a model, in one line that says what to do."""


@dataclass(frozen=True)
class Origin:
    """What a model remembers of the table it was fitted to, beside its features.

    Attributes
    ----------
    target, ids : str or None
        The columns that were carried along.
    dropped : list of str
        The columns that were left out.
    version : str
        The version of this library.
    """

    target: str | None = None
    ids: str | None = None
    dropped: Sequence[str] = ()
    version: str = patchfold.__version__


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


def dump_model(pipeline: Pipeline, origin: Origin) -> bytes:
    """Return the bytes of a file with a fitted pipeline; ``skops.io.load`` reads it, too."""
    skops = _skops()
    # In the pipeline, where the file has room for it; as text, which is loaded as such.
    pipeline.patchfold_origin_ = json.dumps(asdict(origin))
    return bytes(skops.dumps(pipeline))


def load_model(data: bytes) -> tuple[Pipeline, Origin]:
    """Return a pipeline and where it came from, or say why the file is not loaded.

    Raises
    ------
    ModelError
        If it is no file of skops, holds types that are not trusted, or another model.
    """
    skops = _skops()
    try:
        found = skops.get_untrusted_types(data=data)
    except Exception as error:  # what is in a file of another kind may lead anywhere
        raise ModelError(
            "this is no model that 'patchfold embed --model' wrote, or it is damaged; pickles are "
            "not loaded."
        ) from error
    strange = sorted(set(found) - TRUSTED)
    if strange:
        raise ModelError(
            f"the model holds types that are not trusted, and is not loaded: {', '.join(strange)}; "
            "if an earlier patchfold wrote it, fit it anew."
        )
    try:
        pipeline = skops.loads(data, trusted=found)
    except Exception as error:
        raise ModelError(
            f"the model cannot be loaded ({type(error).__name__}: {error}); fit it anew."
        ) from error
    kept = getattr(pipeline, "patchfold_origin_", None)
    if not isinstance(pipeline, Pipeline) or not isinstance(kept, str) or not _embeds(pipeline):
        raise ModelError(
            f"the file holds a {type(pipeline).__name__} that 'patchfold embed --model' did not "
            "write."
        )
    return pipeline, _origin(kept)


def _embeds(pipeline: Pipeline) -> bool:
    """Whether the last of several steps is a fitted embedding."""
    last = pipeline.steps[-1][1]
    return (
        len(pipeline.steps) > 1
        and isinstance(last, tuple(METHODS.values()))
        and hasattr(last, "embedding_")
    )


def _origin(kept: str) -> Origin:
    try:
        origin = Origin(**json.loads(kept))
    except (RecursionError, TypeError, ValueError) as error:
        raise ModelError(
            "what the model remembers of its table cannot be read, perhaps since another version "
            "of patchfold wrote it; fit it anew."
        ) from error
    named = [name for name in (origin.target, origin.ids) if name is not None]
    if not isinstance(origin.dropped, list | tuple) or not all(
        isinstance(name, str) for name in (*named, *origin.dropped, origin.version)
    ):
        raise ModelError("what the model remembers of its table is damaged; fit it anew.")
    return origin


def _skops() -> Any:
    return require("skops.io", "a model in a file")
