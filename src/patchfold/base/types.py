"""Names for the types of arrays and options."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Indices: TypeAlias = NDArray[np.intp]
Floats: TypeAlias = NDArray[np.floating[Any]]  # of the precision of the data
Doubles: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

# Entered with the name of a stage of a fit while it runs: progress, and the time it takes.
Stage: TypeAlias = Callable[[str], AbstractContextManager[None]]

# What options may be. Each step checks its own, against ``get_args`` of these.
Auto: TypeAlias = Literal["auto"]
Seed: TypeAlias = int | np.random.RandomState | None
BandwidthName: TypeAlias = Literal["median", "pairwise-0.25", "pairwise-median", "pairwise-0.75"]
CenterName: TypeAlias = Literal["mean", "point"]
CovarianceName: TypeAlias = Literal[
    "empirical",
    "ridge",
    "ridge-if-singular",
    "shrinkage",
    "diagonal-shrinkage",
    "ledoit-wolf",
    "oas",
    "low-rank",
    "hazan",
    "graphical-lasso",
]
CriterionName: TypeAlias = Literal[
    "energy",
    "residual-variance",
    "stress",
    "trustworthiness",
    "continuity",
    "lcmc",
    "area",
    "visible-share",
    "stability",
    "cross-validation",
    "agreement",
]
EngineName: TypeAlias = Literal["auto", "threads", "cuda"]
GraphName: TypeAlias = Literal["neighbors", "divergence"]
KernelName: TypeAlias = Literal["gaussian", "exponential"]
KnnName: TypeAlias = Literal["auto", "exact", "approximate"]
LaplacianName: TypeAlias = Literal["unnormalized", "random-walk", "symmetric"]
LengthName: TypeAlias = Literal["pruned", "divergence"]
MapName: TypeAlias = Literal["nystrom", "krr", "grnn"]
MethodName: TypeAlias = Literal["isomap", "lle", "eigenmaps", "tsne"]
MetricName: TypeAlias = Literal["euclidean", "precomputed"]
NodeName: TypeAlias = Literal["points", "means"]
RowMetricName: TypeAlias = Literal["euclidean", "cosine", "correlation"]
RuleName: TypeAlias = Literal["dissimilarity", "cut", "min-sum"]
ScalingName: TypeAlias = Literal["stress", "classical"]
WeightName: TypeAlias = Literal["euclidean", "entropic"]


class Client(Protocol):
    """A client of a Dask cluster."""

    def submit(self, *args: Any, **kwargs: Any) -> Any:
        """Run a function on a worker."""
        ...


class Regressor(Protocol):
    """A regressor of scikit-learn, or one shaped like it."""

    def fit(self, X: Any, y: Any) -> Any:
        """Learn to predict ``y`` from ``X``."""
        ...

    def predict(self, X: Any) -> Any:
        """Return the ``y`` that is predicted for ``X``."""
        ...


Engine: TypeAlias = EngineName | Client
OutOfSample: TypeAlias = MapName | Regressor
