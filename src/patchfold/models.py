"""Fitted embeddings in files: scikit-learn pipelines, saved by skops and never by pickle.

A pickle runs whatever its writer wished. A file of skops holds named types and arrays, and only
types that embeddings consist of are loaded: those of this library listed here, those that skops
trusts itself, SciPy's sparse arrays and NumPy's types of numbers.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from scipy.sparse import csr_array
from sklearn.pipeline import Pipeline

import patchfold
from patchfold._rows import RowTable
from patchfold._space import Space
from patchfold.embedding import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE
from patchfold.gaussians import Patches
from patchfold.lengths import Lengths, Typical
from patchfold.mapping import GRNN, DistanceScaler
from patchfold.neighborhoods import Neighborhoods
from patchfold.neighbors import ApproximateNeighbors, ExactNeighbors, RadiusNeighbors
from patchfold.patches import GaussianPatch
from patchfold.supervision import Cut, Dissimilarity, MinSum
from patchfold.tables._naming import require

if TYPE_CHECKING:
    from collections.abc import Sequence

METHODS = {
    "isomap": PatchIsomap,
    "lle": PatchLLE,
    "eigenmaps": PatchEigenmaps,
    "tsne": PatchTSNE,
}

# What a fitted embedding consists of. A list and not all of the package: some classes there start
# processes, and a file must not be able to name those.
TRUSTED = frozenset(
    f"{kind.__module__}.{kind.__qualname__}"
    for kind in (
        *METHODS.values(),
        ApproximateNeighbors,
        Cut,
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
        csr_array,
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
    except (BadZipFile, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(
            "this is no model that 'patchfold embed --model' wrote, or it is damaged; pickles are "
            "not loaded."
        ) from error
    strange = sorted(set(found) - TRUSTED)
    if strange:
        raise ModelError(
            f"the model holds types that are not trusted, and is not loaded: {', '.join(strange)}."
        )
    try:
        pipeline = skops.loads(data, trusted=found)
    except Exception as error:
        raise ModelError(
            f"the model cannot be loaded ({type(error).__name__}: {error}); fit it anew."
        ) from error
    kept = getattr(pipeline, "patchfold_origin_", None)
    if not isinstance(pipeline, Pipeline) or not isinstance(kept, str):
        raise ModelError(
            f"the file holds a {type(pipeline).__name__} that 'patchfold embed --model' did not "
            "write."
        )
    origin = Origin(**json.loads(kept))
    return pipeline, origin


def _skops() -> Any:
    return require("skops.io", "a model in a file")
