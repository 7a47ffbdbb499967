"""What the file of a model may hold: one schema for all of its parts.

Compiled code reads beyond the end of an array that is too short, and NumPy stretches one of length
one without a word. So a loaded model is held against the schema before anything is computed with
it: the attributes of every class, with the sizes of arrays by name, and what has to agree.

An array is described by its numbers and its axes. ``"f n m"`` are finite floating point numbers of
shape (n, m), ``"f+ n"`` none of them negative, ``"i n < m"`` integers from 0 and below m. With a
question mark, as in ``"f? n"``, there may be none; ``"f! n"`` may be infinite, ``"i- n"`` negative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from patchfold import divergences
from patchfold.base.row_metric import check_row_metric
from patchfold.base.validation import check_choice, check_count, check_positive, check_radius
from patchfold.embedding import PatchEigenmaps, PatchIsomap, PatchLLE
from patchfold.embedding.lle import WEIGHTS
from patchfold.graph.lengths import Lengths, PrunedLengths
from patchfold.graph.patch_graph import GraphSetting, PatchGraph
from patchfold.graph.short_circuits import Typical
from patchfold.mapping import GRNN, DistanceScaler
from patchfold.mapping.nystrom import Triangulation
from patchfold.neighbors import ApproximateNeighbors, ExactNeighbors, RadiusNeighbors
from patchfold.neighbors.copies import Copies, DistinctNeighbors
from patchfold.neighbors.fitted_rows import RowTable
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.neighbors.points import SearchedPoints
from patchfold.patches.denoising import Denoised
from patchfold.patches.sample import Sample
from patchfold.tables.coding import CountScaling
from patchfold.tables.preparation import TablePreparation

# By name; a size that is not known is that of the first array that has it.
Sizes = dict[str, int]


class Part:
    """An object of one of some classes (None: there may be none), and its sizes in their order."""

    def __init__(self, sizes: str, *kinds: type | None) -> None:
        self.sizes = sizes
        self.kinds = kinds


def _divergence(name: str, value: Any) -> None:
    if not callable(value):
        check_choice(name, value, (*divergences.NAMES, "precomputed"))


def _count_or_none(name: str, value: Any) -> None:
    if value is not None:
        check_count(name, value)


def _none(name: str, value: Any) -> None:
    if value is not None:
        raise ValueError(f"there is a value of {name}, which no file has")


SEARCHES = (
    ApproximateNeighbors,
    DistinctNeighbors,
    ExactNeighbors,
    RadiusNeighbors,
)
# Arrays, parts, or what checks a name and a value.
Attributes = dict[str, str | Part | Callable[[str, Any], Any]]
LENGTHS: Attributes = {
    "divergence": _divergence,
    "patch_of": "i? n < p",
    "codes": "i-? n",
}
DEGREE: Attributes = {"n_neighbors": check_count, "_space": Part("n m", SearchedPoints)}

# The sizes of classes in their order, of others "n m".
SIZES: dict[type, str] = {
    PatchGraph: "n m distinct",
    csr_array: "n",
    Neighborhoods: "rows columns",
    Copies: "n distinct",
    Triangulation: "d targets",
    GRNN: "n m d",
    DistanceScaler: "m",
    KernelRidge: "n m d",
}

# The attributes of every class.
SCHEMA: dict[type, Attributes] = {
    PatchGraph: {
        "setting": Part("", GraphSetting),
        "matrix": Part("n", csr_array),
        "neighborhoods": Part("n n", Neighborhoods),
        "lengths": Part("n m", Lengths, PrunedLengths),
        "search": Part("n m", *SEARCHES, None),
        "reach": _count_or_none,
        "denoised": Part("points m", Denoised, None),
        "rows": Part("n m", RowTable, None),
        "copies": Part("n distinct", Copies, None),
    },
    GraphSetting: {
        "degree": _count_or_none,
        "metric": lambda _, metric: check_row_metric(metric),
        "patch_size": lambda name, value: check_count(name, value, minimum=0),
    },
    csr_array: {"indptr": "i starts", "indices": "i edges < n", "data": "f+ edges"},
    Neighborhoods: {"indptr": "i starts", "indices": "i edges < columns", "distances": "f+ edges"},
    # In the place of patches is what they are fitted to.
    Lengths: {"patches": Part("p m", Sample, None), **LENGTHS},
    PrunedLengths: {
        "patches": Part("p m", Sample),
        **LENGTHS,
        "typical": Part("", Typical),
    },
    Typical: {field.name: check_positive for field in fields(Typical)},
    Sample: {"data": "f n m", "rows": "i n < n", "members": Part("n n", Neighborhoods)},
    Denoised: {
        "points": "f n m",
        "search": Part("n m", *SEARCHES, None),
        "members": Part("n n", Neighborhoods),
    },
    Copies: {"first": "i distinct < n", "point": "i n < distinct"},
    RowTable: {"_points": "f n m"},
    SearchedPoints: {"points": "f n m"},
    ExactNeighbors: DEGREE,
    RadiusNeighbors: {
        "radius": lambda _, radius: check_radius(radius),
        "_space": Part("n m", SearchedPoints),
    },
    ApproximateNeighbors: DEGREE | {"_descent": _none},  # is built when it is asked for
    DistinctNeighbors: {
        "copies": Part("n distinct", Copies),
        "search": Part("distinct m", *SEARCHES),
    },
    Triangulation: {
        "paths": _none,  # are found again
        "squared_means": "f+ targets",
        "axes": "f targets axes",
        "unit": check_positive,
        "places": "f? targets axes",
    },
    GRNN: {
        "_space": Part("n m", SearchedPoints),
        "_values": "f n d",
        "bandwidth_": check_positive,
    },
    DistanceScaler: {"center_": "f m", "unit_": check_positive},
    KernelRidge: {"X_fit_": "f n m", "dual_coef_": "f n d", "gamma": check_positive},
    StandardScaler: {"mean_": "f? m", "scale_": "f? m", "var_": "f? m"},
    CountScaling: {"sum_": check_positive},
}

# What is stored and follows from the rest is what the class computes again.
COMPUTED: dict[type, Callable[[Any], Any]] = {
    Neighborhoods: lambda near: Neighborhoods(near.indptr, near.indices, near.distances),
    RowTable: lambda rows: RowTable(vars(rows)["_points"]),
    SearchedPoints: lambda space: SearchedPoints(space.points, space.n_jobs),
}


def _rises(indptr: Any, n_rows: int, n_edges: int) -> bool:
    ends = len(indptr) == n_rows + 1 and indptr[0] == 0 and indptr[-1] == n_edges
    return bool(ends and (np.diff(indptr) >= 0).all())


def _follow(patch_of: Any, copies: Copies | None) -> bool:
    """Whether the rows of a point share its patch."""
    return patch_of is None or (copies is not None and np.array_equal(patch_of, copies.point))


# What has to agree in an object of a class, in words, and what is true then.
RELATIONS: dict[type, dict[str, Callable[[Any, Sizes], Any]]] = {
    PatchGraph: {
        "the graph has points": lambda g, _: (
            g.setting.precomputed or not (g.search is None or g.rows is None)
        ),
        "patch_of follows from the copies": lambda g, _: (
            g.setting.precomputed or _follow(g.lengths.patch_of, g.copies)
        ),
        "every denoised point has a patch": lambda g, _: (
            g.denoised is None or len(g.denoised.points) == len(g.patches.data)
        ),
    },
    csr_array: {
        "the matrix is square": lambda matrix, s: matrix.shape == (s["n"], s["n"]),
        "indptr rises over the edges": lambda m, s: _rises(m.indptr, s["n"], s["edges"]),
    },
    Neighborhoods: {
        "indptr rises over the edges": lambda m, s: _rises(m.indptr, s["rows"], s["edges"]),
    },
    **{
        kind: {
            "points are there": lambda own, s: (
                own.divergence == "precomputed" or _check_numbers("points", own.points, "f n m", s)
            ),
            "every point has a patch": lambda own, s: (
                own.patches is None or own.patch_of is not None or s["p"] == s["n"]
            ),
        }
        for kind in (Lengths, PrunedLengths)
    },
    Copies: {
        "first follows from point": lambda copies, _: (
            np.array_equal(copies.first, np.unique(copies.point, return_index=True)[1])
            and np.array_equal(copies.point[copies.first], np.arange(len(copies.first)))
        ),
    },
    **{
        kind: {"there are more points than neighbours": lambda own, s: own.n_neighbors < s["n"]}
        for kind in (ExactNeighbors, ApproximateNeighbors)
    },
    Triangulation: {"there are as many components as axes": lambda _, s: s["axes"] <= s["d"]},
    GRNN: {
        "the features are those of the fit": lambda own, s: own.n_features_in_ == s["m"],
        "the map gives numbers": lambda own, _: vars(own)["_dtype"] in (np.float32, np.float64),
    },
}


def check_part(value: Any, **sizes: int) -> Sizes:
    """Refuse an object out of a file unless it is as the schema has it; return all of its sizes.

    Examples
    --------
    >>> check_part(Copies(np.array([0, 1]), np.array([0, 1, 0])), n=3)["distinct"]
    2
    >>> check_part(Copies(np.array([0, 1]), np.array([0, 1, 0])), n=4)
    Traceback (most recent call last):
        ...
    ValueError: point is of shape (3,) and int64, not (4) and 'i'
    """
    kind, stored = type(value), vars(value)
    attributes = SCHEMA[kind]
    for name, expected in attributes.items():
        _check(name, getattr(value, name), expected, sizes)
    for words, holds in RELATIONS.get(kind, {}).items():
        if not holds(value, sizes):
            raise ValueError(f"it is not so that {words}")
    if kind in COMPUTED:
        again = COMPUTED[kind](value)
        for name in (stored.keys() | vars(again).keys()) - attributes.keys():
            _check_follows(name, stored[name], getattr(again, name))
    return sizes


def _check(name: str, found: Any, expected: Any, sizes: Sizes) -> None:
    if isinstance(expected, str):
        _check_numbers(name, found, expected, sizes)
    elif not isinstance(expected, Part):
        expected(name, found)
    elif found is not None or None not in expected.kinds:
        if type(found) not in expected.kinds:
            raise TypeError(f"{name} is a {type(found).__name__}")
        # What the part calls its sizes, and what they are called here.
        own_sizes = SIZES.get(type(found), "n m")
        names = dict(zip(own_sizes.split(), expected.sizes.split(), strict=False))
        known = {own: sizes[here] for own, here in names.items() if here in sizes}
        inner = check_part(found, **known)
        sizes.update({here: inner[own] for own, here in names.items() if own in inner})


def _check_numbers(name: str, array: Any, expected: str, sizes: Sizes) -> bool:
    """Refuse an array that is not as described; see the top of this module."""
    described, _, most = expected.partition(" < ")
    first, *axes = described.split()
    kind, marks = first[0], first[1:]
    if array is None and "?" in marks:
        return True
    if type(array) is not np.ndarray:
        raise TypeError(f"{name} is no array but a {type(array).__name__}")
    fits = array.ndim == len(axes) and all(
        size == sizes.setdefault(axis, size) for axis, size in zip(axes, array.shape, strict=True)
    )
    known = array.dtype.kind == kind and array.dtype.itemsize in (4, 8) and array.dtype.isnative
    if not fits or not known:
        wanted = ", ".join(str(sizes.get(axis, "any")) for axis in axes)
        raise ValueError(
            f"{name} is of shape {array.shape} and {array.dtype}, not ({wanted}) and {kind!r}"
        )
    if kind == "f" and "!" not in marks and not np.isfinite(array).all():
        raise ValueError(f"{name} has values that are not finite")
    if ("+" in marks or (kind == "i" and "-" not in marks)) and array.min(initial=0) < 0:
        raise ValueError(f"{name} has values below 0")
    if most and array.max(initial=-1) >= sizes[most]:
        raise ValueError(f"{name} reach beyond the {sizes[most]} points")
    return True


def _check_follows(name: str, found: Any, computed: Any) -> None:
    """Refuse a value that is not the computed one, in type and all numbers."""
    alike = type(found) is type(computed) and (
        getattr(found, "dtype", None) == getattr(computed, "dtype", None)
    )
    if not alike or not np.array_equal(found, computed):
        raise ValueError(f"{name} does not follow from what it was computed of")


# ---------------------------------------------------------------- the pipeline and its steps


def check_pipeline(pipeline: Pipeline) -> None:
    """Refuse a pipeline out of a file whose steps, or the arrays of one, do not fit together."""
    pipeline.get_params()  # fails where one is missing
    *steps, (_, estimator) = pipeline.steps
    for _, step in steps:
        _check_step(step)
    _check_estimator(estimator)


def _check_estimator(estimator: Any) -> None:
    learned, graph = vars(estimator), estimator.patch_graph_
    sizes = {"n": len(graph), "m": check_count("n_features_in_", estimator.n_features_in_)}
    _check("patch_graph_", graph, Part("n m distinct", PatchGraph), sizes)
    _check("embedding_", estimator.embedding_, "f n d", sizes)
    isomap = isinstance(estimator, PatchIsomap)
    # Eigenvalues of Isomap are squares, and may be beyond the largest number.
    _check("eigenvalues_", learned.get("eigenvalues_"), "f!? d" if isomap else "f? d", sizes)
    if isomap:
        placing = Part("d targets", Triangulation)
        _check("_placing", learned["_placing"], placing, sizes)
        _check("landmarks_", estimator.landmarks_, "i? targets < n", sizes)
    elif isinstance(estimator, PatchLLE):
        weights, reg = learned["_placing"]
        check_choice("weights", weights, WEIGHTS)
        check_positive("reg", reg)
    elif isinstance(estimator, PatchEigenmaps):
        power, normalized = learned["_placing"]
        _check_equal("_placing", (power in (1, 2), type(normalized)), (True, bool))
    if "affinities_" in learned:
        _check("affinities_", estimator.affinities_, Part("n", csr_array), sizes)
    sizes["n"] = sizes.get("distinct", sizes["n"])  # a map is learned from distinct points
    if isinstance(estimator.map_, Pipeline):
        (_, scaler), (_, ridge) = estimator.map_.steps
        _check("the scaler of map_", scaler, Part("m", DistanceScaler), sizes)
        _check("the ridge of map_", ridge, Part("n m d", KernelRidge), sizes)
    else:
        _check("map_", estimator.map_, Part("n m d", GRNN, None), sizes)


def _check_step(step: Any) -> None:
    """Refuse a step that prepares features and whose arrays are not one number for each."""
    if isinstance(step, Pipeline | ColumnTransformer | TablePreparation):
        for inner in _parts(step):
            _check_step(inner)
    elif isinstance(step, OneHotEncoder | OrdinalEncoder):
        _check_encoder(step)
    elif isinstance(step, StandardScaler | CountScaling):
        check_part(step, m=check_count("n_features_in_", step.n_features_in_))
    elif isinstance(step, SimpleImputer):  # numbers, or categories
        _check_equal("statistics_", step.statistics_.shape, (step.n_features_in_,))
    elif not isinstance(step, FunctionTransformer) or step.func is not None:
        raise TypeError(f"a {type(step).__name__} is no step of a model")


def _parts(step: Pipeline | ColumnTransformer | TablePreparation) -> list[Any]:
    """Return the steps that a step consists of, or refuse columns that are not theirs."""
    if isinstance(step, Pipeline):
        return [inner for _, inner in step.steps]
    if isinstance(step, ColumnTransformer):
        parts = []
        for _, inner, columns in step.transformers_:
            if not isinstance(inner, str):  # "passthrough" and "drop"
                parts.append(inner)
                _check_equal("columns", len(columns), inner.n_features_in_)
        return parts
    named = [step.target_, step.id_, *step.beside_]
    for how in (step.dates_, step.written_):
        named += [*how, *how.values()]
    if not all(name is None or isinstance(name, str) for name in named):
        raise TypeError("a column of the preparation has no name")
    if type(step.coder_) is not ColumnTransformer:
        raise TypeError(f"a {type(step.coder_).__name__} is no coder of columns")
    step.kinds()
    return [step.coder_]


def _check_encoder(step: OneHotEncoder | OrdinalEncoder) -> None:
    _check_equal("categories_", len(step.categories_), step.n_features_in_)
    _check_equal("categories_", {known.ndim for known in step.categories_}, {1})
    if isinstance(step, OneHotEncoder):
        # Where its columns of 0 and 1 are: SciPy does not look whether they are there.
        widths = [len(known) for known in step.categories_]
        _check_equal("drop", (step.drop_idx_, vars(step)["_infrequent_enabled"]), (None, False))
        _check_equal("columns", list(vars(step)["_n_features_outs"]), widths)


def _check_equal(name: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        raise ValueError(f"{name} is {found}, not {wanted}")
