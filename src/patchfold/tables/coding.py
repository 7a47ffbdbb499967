"""From features to points.

Numbers are standardised and categories become one column each (one-hot), unless asked otherwise.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.estimators import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from patchfold.base.validation import check_choice
from patchfold.tables.columns import is_numeric
from patchfold.tables.problems import TableError, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchfold.base.types import Doubles

# What becomes of numbers: mean 0 and variance 1 in every column, nothing, or logarithms of counts.
SCALES = ("standardize", "raw", "counts")


class CountScaling(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Give every row of counts the same sum, that of the middle row, then take ``log(1 + x)``.

    How many cells of a gene were read, or how long a text is, then says nothing; and a count of 200
    beside 100 is as far as one of 20 beside 10.

    Examples
    --------
    >>> CountScaling().fit_transform([[0, 4], [8, 8], [2, 6]]).round(2)
    array([[0.  , 2.2 ],
           [1.61, 1.61],
           [1.1 , 1.95]])
    """

    def fit(self, X: Any, y: Any = None) -> CountScaling:
        """Learn the sum of the middle row."""
        sums = np.asarray(X, dtype=float).sum(axis=1)
        self.n_features_in_ = np.shape(X)[1]
        self.sum_ = float(np.median(sums[sums > 0])) if (sums > 0).any() else 1.0
        return self

    def transform(self, X: Any) -> Doubles:
        """Return scaled logarithms; a row of zeros stays one."""
        counts = np.asarray(X, dtype=float)
        if counts.min(initial=0) < 0:
            raise TableError(f"counts are negative, such as {counts.min():g}; correct them.")
        sums = counts.sum(axis=1, keepdims=True)
        return np.asarray(np.log1p(counts * (self.sum_ / np.where(sums > 0, sums, 1))))


def preprocessor(
    features: Any, *, categories: str = "onehot", scale: str = "standardize", impute: bool = False
) -> Any:
    """Return an unfitted ColumnTransformer that makes points of features.

    Of categories, ``"onehot"`` makes one column of 0 and 1 for each, and ``"ordinal"`` the place of
    the category in the declared, else in the alphabetical order. With the scale ``"standardize"``,
    numbers and places of categories get mean 0 and variance 1; columns of 0 and 1 stay what they
    are, since a rare category would weigh the more the rarer it is. ``"raw"`` leaves numbers as
    they are, and ``"counts"`` makes a :class:`CountScaling` of them. With ``impute``, missing
    numbers become the median, missing categories the most frequent one.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1.0, 3.0], "kind": ["a", "b"]})
    >>> preprocessor(frame).fit_transform(frame)
    array([[-1.,  1.,  0.],
           [ 1.,  0.,  1.]])
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    check_choice("categories", categories, ("onehot", "ordinal"))
    check_choice("scale", scale, SCALES)
    texts = [name for name in features.columns if not is_numeric(features[name])]
    numbers = [name for name in features.columns if name not in texts]
    scaler = {"standardize": StandardScaler, "raw": None, "counts": CountScaling}[scale]
    steps = {
        "numbers": (numbers, [("scale", scaler())] if scaler else []),
        "categories": (texts, []),
    }
    if categories == "onehot":
        orders = _orders(features, texts)
        _check_feature_names(numbers, dict(zip(texts, orders, strict=True)))
        encoder = OneHotEncoder(
            categories=orders,
            handle_unknown="ignore",
            sparse_output=False,
            feature_name_combiner=feature_name,
        )
        steps["categories"][1].append(("encode", encoder))
    else:
        encoder = OrdinalEncoder(categories=_orders(features, texts))
        steps["categories"][1].append(("encode", encoder))
        if scale != "raw":
            steps["categories"][1].append(("scale", StandardScaler()))
    if impute:
        for kind, strategy in (("numbers", "median"), ("categories", "most_frequent")):
            steps[kind][1].insert(0, ("impute", SimpleImputer(strategy=strategy)))
    return ColumnTransformer(
        [
            (kind, Pipeline(chain) if chain else "passthrough", names)
            for kind, (names, chain) in steps.items()
            if names
        ],
        verbose_feature_names_out=False,
    )


def feature_name(column: str, category: Any) -> str:
    """Name the column of 0 and 1 of a category, such as ``"colour = red"``."""
    return f"{column} = {category}"


def _orders(features: Any, names: Sequence[str]) -> Any:
    """Return the declared orders of categories; alphabetical where none is declared."""
    import pandas as pd

    return [
        np.array(
            [category for category in values.cat.categories if (values == category).any()], object
        )
        if isinstance(values.dtype, pd.CategoricalDtype)
        else np.array(sorted(values.dropna().unique()), dtype=object)
        for values in (features[name] for name in names)
    ]


def _check_feature_names(numbers: Sequence[str], categories: Mapping[str, Sequence[Any]]) -> None:
    made = [feature_name(name, value) for name, order in categories.items() for value in order]
    twice = [name for name, count in Counter([*numbers, *made]).items() if count > 1]
    if twice:
        raise TableError(
            f"two features would be named {quoted(twice[0])}, a column or one of its categories; "
            "rename a column."
        )
