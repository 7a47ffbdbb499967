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
        n_features_in_: int
        feature_names_in_: Any

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def __sklearn_clone__(self) -> Any: ...
        def __sklearn_tags__(self) -> Any: ...
        def __getstate__(self) -> dict[str, Any]: ...

    class TransformerMixin:
        def set_output(self, *, transform: str | None = None) -> Self: ...

    class ClassNamePrefixFeaturesOutMixin:
        def get_feature_names_out(self, input_features: Any = None) -> Any: ...

    class MultiOutputMixin: ...

    class OneToOneFeatureMixin:
        def get_feature_names_out(self, input_features: Any = None) -> Any: ...

    class OutlierMixin:
        def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Any: ...

    class RegressorMixin:
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

else:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        MultiOutputMixin,
        OneToOneFeatureMixin,
        OutlierMixin,
        RegressorMixin,
        TransformerMixin,
    )

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "MultiOutputMixin",
    "OneToOneFeatureMixin",
    "OutlierMixin",
    "RegressorMixin",
    "TransformerMixin",
]
