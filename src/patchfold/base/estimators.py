"""scikit-learn's base classes of estimators, with types.

scikit-learn has none, and mypy allows any attribute of a class whose base it does not know. So it
reads what stands here instead, and misspelt attributes of a fitted estimator are errors. Python,
and other type checkers, take scikit-learn's own classes.
"""

from __future__ import annotations

from typing import Any, Self

MYPY = False  # mypy takes it for true

if MYPY:

    class BaseEstimator:
        """Parameters that can be read, set and copied."""

        n_features_in_: int
        feature_names_in_: Any

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters."""

        def set_params(self, **params: Any) -> Self:
            """Set parameters."""

        def get_metadata_routing(self) -> Any:
            """Tell what metadata is asked for."""

        def __sklearn_clone__(self) -> Any: ...
        def __sklearn_tags__(self) -> Any: ...
        def __getstate__(self) -> dict[str, Any]: ...

    class TransformerMixin:
        """A transformer, whose output may be a data frame."""

        def set_output(self, *, transform: str | None = None) -> Self:
            """Choose the type of the output."""

    class ClassNamePrefixFeaturesOutMixin:
        """Names of the columns that a transformer returns."""

        def get_feature_names_out(self, input_features: Any = None) -> Any:
            """Return the names."""

    class MultiOutputMixin:
        """An estimator of several outputs."""

    class OutlierMixin:
        """An outlier detector."""

        def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Any:
            """Fit, and tell outliers (-1) from other points (1)."""

    class RegressorMixin:
        """A regressor."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Return the coefficient of determination."""


else:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        MultiOutputMixin,
        OutlierMixin,
        RegressorMixin,
        TransformerMixin,
    )

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "MultiOutputMixin",
    "OutlierMixin",
    "RegressorMixin",
    "TransformerMixin",
]
