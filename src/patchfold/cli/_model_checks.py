"""See that the arrays of a loaded model fit together, before anything is computed with them.

Compiled code reads beyond the end of an array that is too short, and NumPy stretches one of length
one without a word. Every object of this library checks itself; here are the steps of scikit-learn,
and what an estimator keeps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
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

from patchfold.base.arrays import check_stored
from patchfold.base.validation import check_count, check_positive
from patchfold.graph.patch_graph import check_csr
from patchfold.mapping import GRNN, DistanceScaler


def check_pipeline(pipeline: Pipeline) -> None:
    """Refuse a pipeline out of a file whose steps, or the arrays of one, do not fit together."""
    pipeline.get_params()  # fails where one is missing
    *steps, (_, estimator) = pipeline.steps
    for _, step in steps:
        _check_step(step)
    check_estimator(estimator)


def check_estimator(estimator: Any) -> None:
    """Refuse a fitted embedding out of a file whose arrays do not fit together."""
    graph, m = estimator.patch_graph_, check_count("n_features_in_", estimator.n_features_in_)
    n = len(graph)
    graph.check((n, m))
    check_stored("embedding_", estimator.embedding_, (n, None))
    d = estimator.embedding_.shape[1]
    learned = vars(estimator)
    if learned.get("eigenvalues_") is not None:
        # Those of Isomap are squares, and may be beyond the largest number.
        check_stored("eigenvalues_", estimator.eigenvalues_, (d,), finite="_placing" not in learned)
    if "_placing" in learned:
        learned["_placing"].check(n, d)
        if estimator.landmarks_ is not None:
            targets = learned["_placing"].paths.shape[1:]
            check_stored("landmarks_", estimator.landmarks_, targets, "i", least=0)
    if "affinities_" in learned:
        check_csr("affinities_", estimator.affinities_, n)
    if estimator.map_ is not None:
        _check_map(estimator.map_, n if graph.copies is None else len(graph.copies.first), m, d)


def _check_map(regressor: Any, n: int, m: int, d: int) -> None:
    """Refuse a map of new points that is not one from ``m`` features to ``d`` components."""
    if isinstance(regressor, GRNN):
        parts = vars(regressor)
        parts["_space"].check((n, m))
        check_stored("the values of the map", parts["_values"], (n, d))
        check_positive("bandwidth_", regressor.bandwidth_)
        if parts["_dtype"] not in (np.float32, np.float64):
            raise ValueError(f"the map gives {parts['_dtype']}")
        _check_number("n_features_in_", regressor.n_features_in_, m)
        return
    scaler, ridge = (step for _, step in regressor.steps)
    if not isinstance(scaler, DistanceScaler) or not isinstance(ridge, KernelRidge):
        raise TypeError(f"{type(scaler).__name__} and {type(ridge).__name__} are no map")
    check_stored("center_", scaler.center_, (m,))
    check_positive("unit_", scaler.unit_)
    check_stored("X_fit_", ridge.X_fit_, (n, m))
    check_stored("dual_coef_", ridge.dual_coef_, (n, d))
    check_positive("gamma", ridge.gamma)


def _check_step(step: Any) -> None:
    """Refuse a step that prepares features and whose arrays are not one number for each."""
    if isinstance(step, Pipeline):
        for _, inner in step.steps:
            _check_step(inner)
    elif isinstance(step, ColumnTransformer):
        for _, inner, columns in step.transformers_:
            if not isinstance(inner, str):  # "passthrough" and "drop"
                _check_step(inner)
                _check_number("columns", len(columns), inner.n_features_in_)
    elif isinstance(step, OneHotEncoder | OrdinalEncoder):
        _check_encoder(step)
    elif isinstance(step, StandardScaler | SimpleImputer):
        _check_numbers(step)
    elif not isinstance(step, FunctionTransformer) or step.func is not None:
        raise TypeError(f"a {type(step).__name__} is no step of a model")


def _check_numbers(step: StandardScaler | SimpleImputer) -> None:
    m = check_count("n_features_in_", step.n_features_in_)
    if isinstance(step, SimpleImputer):  # numbers, or categories
        _check_number("statistics_", step.statistics_.shape, (m,))
        return
    for name in ("mean_", "scale_", "var_"):
        if getattr(step, name) is not None:
            check_stored(name, getattr(step, name), (m,))


def _check_encoder(step: OneHotEncoder | OrdinalEncoder) -> None:
    _check_number("categories_", len(step.categories_), step.n_features_in_)
    _check_number("categories_", {known.ndim for known in step.categories_}, {1})
    if isinstance(step, OneHotEncoder):
        # Where its columns of 0 and 1 are: SciPy does not look whether they are there.
        widths = [len(known) for known in step.categories_]
        _check_number("drop", (step.drop_idx_, vars(step)["_infrequent_enabled"]), (None, False))
        _check_number("columns", list(vars(step)["_n_features_outs"]), widths)


def _check_number(name: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        raise ValueError(f"{name} is {found}, not {wanted}")
