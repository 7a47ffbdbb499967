"""Fitted estimators in files: pipelines, saved by skops, never by pickle.

A pickle runs whatever its writer wished. A file of skops holds named types and arrays, and only
types that embeddings consist of are loaded: those of this library listed here, those that skops
trusts itself, SciPy's sparse arrays and NumPy's types of numbers.

Patches and geodesics are many times as large as the data, and are not in a file: the functions that
found them in the fit find the same again, after what they work on was checked.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from copy import copy
from dataclasses import asdict, dataclass, replace
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from sklearn.pipeline import Pipeline

import patchfold
from patchfold.base.memory import check_memory
from patchfold.base.validation import require
from patchfold.cli.model_schema import SCHEMA, check_pipeline
from patchfold.embedding import PatchIsomap
from patchfold.embedding._memory import graph_bytes
from patchfold.embedding.methods import METHODS
from patchfold.patches import GaussianPatch, Patches
from patchfold.patches.denoising import Denoised, fit_denoised
from patchfold.supervision import Cut, Dissimilarity, MinSum
from patchfold.tables.coding import CountScaling, feature_name
from patchfold.tables.decoding import LIMIT, Limit, check_unpacked
from patchfold.tables.preparation import TablePreparation
from patchfold.tables.problems import TableError

# What a fitted embedding consists of. A list and not all of the package: some classes there start
# processes, and a file must not be able to name those.
TRUSTED = frozenset(
    f"{kind.__module__}.{kind.__qualname__}"
    for kind in (
        *METHODS.values(),
        *SCHEMA,
        CountScaling,
        TablePreparation,
        Cut,
        Dissimilarity,
        GaussianPatch,
        MinSum,
        Patches,  # of models of earlier formats, which are refused as such
        feature_name,
        np.dtype,
    )
)

# What a file of a model is like; grows with any change of what is in one.
FORMAT = 4

NO_MODEL = (
    "this is no model that 'patchfold embed --model' wrote, or it is damaged; pickles are not "
    "loaded."
)


class ModelError(ValueError):
    """What is wrong with a file of a model, in one line that says what to do."""


@dataclass(frozen=True)
class Origin:
    """Which program wrote a model."""

    version: str = patchfold.__version__  # of this library
    format: int = FORMAT


def dump_model(pipeline: Pipeline) -> bytes:
    """Return the bytes of a file with a fitted pipeline, which :func:`load_model` reads."""
    skops = require("skops.io", "a model in a file")
    lean, (*steps, (name, estimator)) = copy(pipeline), pipeline.steps
    lean.steps = [*steps, (name, _without_what_follows(estimator))]
    # In the pipeline, where the file has room for it; as text, which is loaded as such.
    lean.patchfold_origin_ = json.dumps(asdict(Origin()))
    return bytes(skops.dumps(lean, compression=ZIP_DEFLATED))


def load_model(data: bytes, limit: Limit = LIMIT) -> tuple[Pipeline, Origin]:
    """Return a pipeline and what wrote it, or say why the file is not loaded.

    ``limit`` is how much it may unpack to.

    Raises
    ------
    ModelError
        If it is no file of skops, holds types that are not trusted, another model, or arrays that
        do not fit together.
    """
    skops = require("skops.io", "a model in a file")
    _check_size(data, limit)
    try:
        found = skops.get_untrusted_types(data=data)
    except Exception as error:  # what is in a file of another kind may lead anywhere
        raise ModelError(NO_MODEL) from error
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
    try:
        ours = isinstance(pipeline, Pipeline) and isinstance(kept, str) and _embeds(pipeline)
    except Exception as error:  # what is not checked yet may lead anywhere
        raise ModelError(f"the model is damaged ({_words(error)}); fit it anew.") from error
    if not ours:
        raise ModelError(
            f"the file holds a {type(pipeline).__name__} that 'patchfold embed --model' did not "
            "write; give one that it wrote."
        )
    origin = _origin(str(kept))
    try:
        check_pipeline(pipeline)
        _find_what_follows(pipeline[-1])
    except MemoryError as error:
        raise ModelError(f"the model does not fit into memory: {_words(error)}.") from error
    except Exception as error:  # what is not checked yet may lead anywhere
        raise ModelError(f"the model is damaged ({_words(error)}); fit it anew.") from error
    return pipeline, origin


def _without_what_follows(estimator: Any) -> Any:
    """Return a copy of an estimator without its patches and geodesics.

    In the place of the patches is what they were fitted to; of denoised points only the neighbours
    are left, which would take long to find.
    """
    lean, graph = copy(estimator), estimator.patch_graph_
    if graph.patches is not None:
        sample, denoised = graph.patches.sample, graph.denoised
        if denoised is not None:
            search = getattr(denoised.search, "origin", denoised.search)
            search = None if search is None else copy(search).build(sample.data)
            denoised = Denoised(sample.data, search, denoised.near(graph.setting.n_jobs))
        lengths = replace(graph.lengths, patches=sample)
        lean.patch_graph_ = replace(graph, lengths=lengths, denoised=denoised)
    if isinstance(estimator, PatchIsomap):
        placing: Any = estimator._placing  # noqa: SLF001 - a file holds private attributes
        lean._placing = replace(placing, paths=None)  # noqa: SLF001
    return lean


def _find_what_follows(estimator: Any) -> None:
    """Find what is not in a file again, as the fit found it."""
    graph, setting = estimator.patch_graph_, estimator.patch_graph_.setting
    sample, denoised, patch = graph.lengths.patches, graph.denoised, setting.patch
    if sample is not None:
        X, members, near = sample.data, sample.members, denoised and denoised.members
        most = max(int(part.degrees.max(initial=0)) for part in (members, near or members))
        sized = replace(setting, patch_size=most)
        check_memory(graph_bytes(X, sized), f"patches of {len(X)} points", "load it elsewhere")
        if denoised is None:
            patches = patch.gaussians(X, members, n_jobs=setting.n_jobs)
        else:
            known = denoised.search, setting.n_jobs, near
            patches, denoised = fit_denoised(patch, X, members, *known)
        lengths = replace(graph.lengths, patches=patches.fitted_to(sample))
        estimator.patch_graph_ = replace(graph, lengths=lengths, denoised=denoised)
    if isinstance(estimator, PatchIsomap):
        estimator._find_paths()  # noqa: SLF001 - not for users


def _check_size(data: bytes, limit: Limit) -> None:
    """Refuse an archive that unpacks to far more than its size, also by naming one array often."""
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            sizes = {member.filename: member.file_size for member in archive.infolist()}
            whole = sum(member.file_size for member in archive.infolist())
            check_unpacked(whole, len(data), limit)
            named = Counter(re.findall(rb'"file":\s*"([^"]+)"', archive.read("schema.json")))
        again = sum(sizes.get(k.decode(), 0) * n for k, n in named.items())
        check_unpacked(again, len(data), limit)
    except TableError as error:
        raise ModelError(str(error)) from error
    except Exception as error:  # what is in a file of another kind may lead anywhere
        raise ModelError(NO_MODEL) from error


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
        told = json.loads(kept)
        origin = Origin(**told)
    except (RecursionError, TypeError, ValueError) as error:
        raise ModelError(
            "what wrote the model cannot be read, perhaps since it was another version of "
            "patchfold; fit the model anew."
        ) from error
    if not isinstance(origin.version, str):
        raise ModelError("what wrote the model is damaged; fit it anew.")
    if told.get("format") != FORMAT:
        raise ModelError(
            f"the model has format {told.get('format')}, of another version of patchfold, and this "
            f"one reads format {FORMAT}; fit it anew."
        )
    return origin


def _words(error: Exception) -> str:
    told = isinstance(error, TypeError | ValueError | MemoryError)
    words = str(error) if told else repr(error)
    return " ".join(words.split()).rstrip(".")
