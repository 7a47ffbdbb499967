"""From a table to points, as one scikit-learn transformer: what the command does, and in Python."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from patchfold.base.estimators import BaseEstimator, TransformerMixin
from patchfold.base.validation import check_choice, check_columns, check_points, require
from patchfold.tables.coding import SCALES, preprocessor
from patchfold.tables.columns import holds_whole, is_constant, is_numeric
from patchfold.tables.dates import ORDERS
from patchfold.tables.numbers import DECIMAL_COMMA, POINTS_BETWEEN, decimal_in
from patchfold.tables.one_unit import genes_in_rows, unit_of
from patchfold.tables.problems import TableError, check_names, listed, quoted
from patchfold.tables.roles import Roles, assign
from patchfold.tables.selection import Selection, check_column, conform, select
from patchfold.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from patchfold.base.types import Doubles

# What becomes of numbers that share a unit.
SCALE_OF = {"pixels": "raw", "grid": "raw", "counts": "counts"}
# MANY_COLUMNS columns of numbers, or more, may well have one unit.
MANY_COLUMNS = 100
SCALED = {
    "standardize": "standardised",
    "raw": "as it is",
    "counts": "logarithm of counts, rows with the same sum",
}
# The words of the command, and what they are called here.
IN_PYTHON = (
    (r"choose --missing drop or --missing impute", 'give missing="impute", or leave out such rows'),
    (r"choose --missing drop", "leave out such rows"),
    (r"leave them out with --drop", "leave them out with X.drop(columns=[...])"),
    (r"--missing (\w+)", r'missing="\1"'),
    (r"--(standardize|raw)\b", r'scale="\1"'),
    (r"--dates\b", "dates=True"),
    (r"--(info|drop|feature) '([^']*)'", r"\1=['\2']"),
    # Names without quotes are those that a shell takes so.
    (r"--(info|drop|feature) (?!and\b)([\w@%+=:,./-]+)", r"\1=['\2']"),
    (r"--(info|drop|feature|target|id)\b", r"\1"),
)


class TablePreparation(TransformerMixin, BaseEstimator):
    """Turn a data frame into points: numbers are standardised, and categories coded as 0 and 1.

    Names of rows and classes are found and left out. Numbers in text, such as ``"1.234,50 €"``, are
    read. Pixels, spectra and counts are recognised, and not standardised. It is what the command
    ``patchfold`` does to a table, and the first step of the models that it saves.

    Parameters
    ----------
    target, id : str or None
        Columns that are no features: classes or values, and the names of the rows. None looks for
        columns that are called so, or number or name the rows.
    info, drop, feature : sequence of str
        Columns that are only shown, that are left out, and that are features whatever they look
        like.
    scale : {"auto", "standardize", "raw", "counts"}
        What becomes of numbers: mean 0 and variance 1 in every column; nothing; rows with the same
        sum, then ``log(1 + x)``. "auto" takes pixels, spectra and other curves as they are, counts
        as counts, and standardises other numbers.
    categories : {"onehot", "ordinal"}
        Categories become a column of 0 and 1 each, or their place in the declared, else in the
        alphabetical order.
    missing : {"error", "impute"}
        Missing values are named, or become the median or the most frequent category.
    dates : bool
        Dates become numbers: days since 1970, or hours of the day. They are an error otherwise.

    Attributes
    ----------
    columns_ : dict of str to str
        What became of every column, in words.
    notes_ : list of str
        What was decided, one sentence each.
    target_, id_ : str or None
        The columns of the classes or values, and of the names of the rows.
    unit_ : {"pixels", "grid", "counts", ""}
        The unit that all numbers share, if any was recognised.
    scale_ : {"standardize", "raw", "counts"}
        What became of numbers.
    coder_ : sklearn.compose.ColumnTransformer
        Makes points of features that are numbers and text.

    Examples
    --------
    >>> import pandas as pd
    >>> price = [f"{euros},50 €" for euros in range(12)]
    >>> frame = pd.DataFrame({"nr": range(1, 13), "price": price})
    >>> frame["kind"] = ["tea", "tea", "coffee"] * 4
    >>> prepare = TablePreparation().fit(frame)
    >>> for name, words in prepare.columns_.items():
    ...     print(f"{name}: {words}")
    nr: names the rows
    price: number (decimal comma, in €), standardised
    kind: 2 categories, a column of 0 and 1 each
    >>> prepare.transform(frame)[:2].round(2)
    array([[-1.59,  0.  ,  1.  ],
           [-1.3 ,  0.  ,  1.  ]])
    >>> prepare.get_feature_names_out().tolist()
    ['price', 'kind = coffee', 'kind = tea']

    In a pipeline, it takes a table to the plane:

    >>> from sklearn.pipeline import make_pipeline
    >>> from patchfold import PatchIsomap
    >>> make_pipeline(TablePreparation(), PatchIsomap(n_neighbors=5)).fit_transform(frame).shape
    (12, 2)
    """

    notes_: list[str]

    def __init__(
        self,
        *,
        target: str | None = None,
        id: str | None = None,  # noqa: A002 - as the command calls it
        info: Sequence[str] = (),
        drop: Sequence[str] = (),
        feature: Sequence[str] = (),
        scale: str = "auto",
        categories: str = "onehot",
        missing: str = "error",
        dates: bool = False,
    ) -> None:
        self.target = target
        self.id = id
        self.info = info
        self.drop = drop
        self.feature = feature
        self.scale = scale
        self.categories = categories
        self.missing = missing
        self.dates = dates

    def fit(self, X: Any, y: Any = None) -> TablePreparation:
        """Learn what becomes of every column.

        Parameters
        ----------
        X : data frame of pandas or polars, or array of shape (n_samples, n_columns)
            Columns of an array have no names, and are all features.
        y : ignored

        Returns
        -------
        TablePreparation
        """
        self.fit_table(X)
        return self

    def transform(self, X: Any) -> Doubles:
        """Return the points of rows.

        Parameters
        ----------
        X : data frame or array, as for ``fit``
            Columns of a data frame are found by their names. Those that are no features may be
            there or not.

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        with in_parameters():
            selection = self.conform(self._table(X, reset=False), unknown="warn")
        return self.points(selection)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the features: columns, and ``"kind = tea"`` for a category."""
        check_is_fitted(self)
        return self.coder_.get_feature_names_out()

    # ------------------------------------------------------------ the steps of the command

    def fit_table(self, X: Any) -> Selection:
        """Fit, and return the features of a table and what stands beside them."""
        check_choice("missing", self.missing, ("error", "impute"))
        for role in ("info", "drop", "feature"):
            if isinstance(names := getattr(self, role), str):
                raise TypeError(f"{role}={names!r} is one text; give a list, {role}=[{names!r}].")
        with in_parameters():
            table = self._table(X, reset=True)
            # Columns are called by text here, also those that a frame numbers.
            target, ids = (None if one is None else str(one) for one in (self.target, self.id))
            beside = (tuple(map(str, names)) for names in (self.info, self.drop, self.feature))
            roles, notes = Roles(target, ids, *beside), list[str]()
            if hasattr(X, "columns"):
                for name in roles.features:
                    check_column(name, list(table.frame.columns))
                roles, notes = assign(table, roles)
            selection = chosen(table, roles, notes, missing=self.missing, dates=self.dates)
            notes = self.fit_selection(selection).notes_
        self.notes_ = [_in_python(note) for note in notes]
        return replace(selection, notes=self.notes_)

    def fit_selection(self, selection: Selection) -> TablePreparation:
        """Learn what becomes of the columns of a table whose features are chosen."""
        check_choice("scale", self.scale, ("auto", *SCALES))
        roles, features = selection.roles, selection.features
        self.target_, self.id_ = roles.target, roles.ids
        self.beside_ = [*roles.info, *roles.drop]
        self.dates_, self.written_ = dict(selection.dates), dict(selection.written)
        self.unit_ = "pixels" if len(selection.shape) > 1 else unit_of(features)
        self.scale_ = self.scale
        if self.scale == "auto":
            self.scale_ = "raw" if selection.one_unit else SCALE_OF.get(self.unit_, "standardize")
        self.coder_ = self.coder(features).fit(features)
        looked = self.scale == "auto" and not selection.one_unit
        said = _said_of_units(self.unit_, selection) if looked else []
        named = () if selection.ids is None else selection.ids
        if genes_in_rows(list(features.columns), named):
            said.append(
                "rows look like genes, and columns like cells or samples: every gene becomes a "
                "point; to map cells, transpose the table, e.g. by pandas' frame.set_index(...).T"
            )
        self.notes_ = [*selection.notes, *said]
        self.columns_ = self._described(selection)
        return self

    def coder(self, features: Any) -> Any:
        """Return an unfitted transformer of features, which scales as this one does."""
        return preprocessor(
            features,
            categories=self.categories,
            scale=self.scale_,
            impute=self.missing == "impute",
        )

    def conform(
        self,
        table: Table,
        *,
        id: str | None = None,  # noqa: A002 - as the command calls it
        drop: Collection[str] = (),
        missing: str = "error",
        unknown: str = "note",
    ) -> Selection:
        """Bring new rows into the form of the fitted ones; other columns are refused.

        ``missing`` says what becomes of rows with missing values where they are not imputed.
        """
        numbers, categories = self.kinds()
        frame, there = table.frame, set(table.frame.columns) - set(drop)
        names = [*numbers, *categories]
        allowed = {*drop, id, self.id_, self.target_, *self.beside_}
        _check_known(list(frame.columns), names, id, drop, allowed)
        selection = conform(
            frame,
            numbers=numbers,
            categories=categories,
            target=self.target_ if self.target_ in there else None,
            ids=id or (self.id_ if self.id_ in there else None),
            missing="impute" if self.missing == "impute" else missing,
            written=table.kept,
            unknown="error" if self.categories == "ordinal" else unknown,
            decimal=table.decimal,
            dates=self.dates_,
            signs=self.written_,
        )
        selection.notes[:0] = table.notes
        return selection

    def selected_again(self, X: Any, id: str | None = None) -> Selection:  # noqa: A002
        """Return new rows as :meth:`fit_table` does, in the form of the fitted ones."""
        return self.conform(self._table(X, reset=False), id=id)

    def points(self, selection: Selection) -> Doubles:
        """Return the points of rows whose features are chosen."""
        return np.asarray(self.coder_.transform(selection.features), dtype=float)

    def held_whole(self, name: str) -> bool:
        """Tell whether a column held whole numbers with points between thousands."""
        return holds_whole(self.written_.get(name, ""))

    def had_commas(self) -> bool:
        """Tell whether all numbers of the fitted table had decimal commas."""
        numbers, _ = self.kinds()
        signs = {decimal_in(self.written_[name]) for name in numbers if name in self.written_}
        return "," in signs and "." not in signs and all(n in self.written_ for n in numbers)

    def kinds(self) -> tuple[list[str], dict[str, Any]]:
        """Return the columns of numbers, and those of categories with the known ones of each."""
        numbers, categories = list[str](), dict[str, Any]()
        for kind, steps, names in self.coder_.transformers_:
            if kind == "numbers":
                numbers = list(names)
            elif kind == "categories":
                known = steps.named_steps["encode"].categories_
                categories = dict(zip(names, known, strict=True))
        return numbers, categories

    # ------------------------------------------------------------ helpers

    def _table(self, X: Any, *, reset: bool) -> Table:
        """Return what was given as a table; columns of an array are called by their place."""
        pandas = require("pandas", "preparing tables")
        if hasattr(X, "columns"):
            frame = X if isinstance(X, pandas.DataFrame) else X.to_pandas()
            frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
            check_names(list(frame.columns))
            if reset:
                check_columns(self, frame, reset=True)
            return Table(frame.reset_index(drop=True))
        array = X if hasattr(X, "dtype") else np.asarray(X)
        text = not hasattr(X, "nnz") and getattr(array.dtype, "kind", "") in "OUS"
        if not (text and array.ndim == 2):
            array = check_points(X, finite=self.missing != "impute", min_samples=1, name="X")
        check_columns(self, array, reset=reset)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"column {place}" for place in range(1, array.shape[1] + 1)]
        return Table(pandas.DataFrame(array, columns=list(names)))

    def _described(self, selection: Selection) -> dict[str, str]:
        """Say of every column what became of it."""
        roles, features, found = selection.roles, selection.features, dict[str, str]()
        _, categories = self.kinds()
        beside: dict[str | None, str] = {
            roles.target: "target, not embedded",
            roles.ids: "names the rows",
            **dict.fromkeys(roles.info, "shown, not embedded"),
        }
        for name in (*features.columns, *beside, *roles.drop):
            if name in roles.drop:
                found[name] = "left out"
            elif name in beside:
                found[name] = beside[name]
            elif is_constant(features[name]):
                found[name] = "the same in every row, without effect"
            elif is_numeric(features[name]):
                found[name] = f"{_number(name, selection)}, {SCALED[self.scale_]}"
            else:
                n = len(categories[name])
                coded = {"onehot": "a column of 0 and 1 each", "ordinal": "by their order"}
                found[name] = f"{n} categories, {coded[self.categories]}"
        order = [*selection.others.columns, *roles.drop]
        return {name: found[name] for name in order if name in found}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "impute"
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def chosen(
    table: Table, roles: Roles, notes: Sequence[str], *, missing: str, dates: bool
) -> Selection:
    """Return the features of a table whose columns have their roles."""
    selection = select(
        table.frame,
        target=roles.target,
        ids=roles.ids,
        info=roles.info,
        drop=roles.drop,
        missing=missing,
        written=table.kept,
        decimal=table.decimal,
        dates=dates,
    )
    codes = [name for name in table.codes if name in selection.features]
    if codes:
        words = "numbers with a zero before others may be codes, and are embedded as numbers"
        notes = [*notes, f"{words}: {listed(codes)} (--info {quoted(codes[0])} only shows it)"]
    selection.notes[:0] = [*table.notes, *notes]
    # What pandas read has no texts left to show how its numbers were written.
    signs = dict.fromkeys(table.apart, POINTS_BETWEEN)
    if table.decimal == ",":
        signs = dict.fromkeys(table.frame.select_dtypes("number").columns, DECIMAL_COMMA) | signs
    signs = {name: how for name, how in signs.items() if name in selection.features}
    selection = replace(selection, written=signs | selection.written)
    genes = table.genes and replace(table.genes, values=table.genes.values[selection.rows])
    return replace(selection, roles=roles, shape=table.shape, one_unit=table.one_unit, genes=genes)


def pixel_shape(selection: Selection) -> tuple[int, ...]:
    """Return the shape of the images whose pixels the features are."""
    side = isqrt(selection.features.shape[1])
    return tuple(selection.shape) or (side, side)


@contextmanager
def in_parameters(of: str = "") -> Iterator[None]:
    """Call the options of the command by parameters, and say what they are parameters ``of``."""
    try:
        yield
    except TableError as error:
        words = _in_python(str(error))
        if of and words != str(error.__cause__ or error):
            words = f"{words} These are parameters of {of}."
        raise TableError(words) from error


def _in_python(words: str) -> str:
    for option, parameter in IN_PYTHON:
        words = re.sub(option, parameter, words)
    return words


def _number(name: str, selection: Selection) -> str:
    if name in selection.dates:
        return f"date ({ORDERS[selection.dates[name]]}) as a number"
    how = selection.written.get(name)
    return "number" if how is None else f"number ({how})"


def _said_of_units(unit: str, selection: Selection) -> list[str]:
    """Say why columns are not standardised, or are though there are many of them."""
    names = list(selection.features.columns)
    if unit == "pixels":
        size = " x ".join(map(str, pixel_shape(selection)))
        words = (
            f"the features look like the pixels of images of {size}: they are taken as they are "
            "(--standardize gives every pixel the same weight)"
        )
    elif unit == "grid":
        words = (
            f"the features look like a spectrum or another curve, from {quoted(names[0])} to "
            f"{quoted(names[-1])}: they are taken as they are (--standardize gives every column "
            "the same weight, also where there is no signal)"
        )
    elif unit == "counts":
        words = (
            "the numbers look like counts: every row gets the same sum, then log(1 + x) is taken "
            "(--raw takes them as they are, --standardize gives every column the same weight)"
        )
    elif selection.features.dtypes.eq(float).sum() >= MANY_COLUMNS:
        words = (
            f"{len(names)} columns are standardised, as if each had a unit of its own; if they "
            "have one, such as expression or intensity, use --raw"
        )
    else:
        return []
    return [words]


def _check_known(
    columns: list[str],
    wanted: list[str],
    ids: str | None,
    drop: Collection[str],
    allowed: Collection[str | None],
) -> None:
    """Refuse columns that are not there, not known, or left out though they are needed."""
    for name in (*([] if ids is None else [ids]), *drop):
        check_column(name, columns)
    needed = [name for name in drop if name in {*wanted, ids}]
    if needed:
        what = "names the rows" if needed[0] == ids else "is a feature of the model"
        raise TableError(f"the column {quoted(needed[0])} {what}; take it out of --drop.")
    lacking = [name for name in wanted if name not in columns]
    extra = [name for name in columns if name not in {*wanted, *allowed}]
    if lacking:
        there = f"; there are {listed(extra)} that it does not know" if extra else ""
        raise TableError(
            f"the model needs the columns {listed(lacking)}{there}; add them to the table."
        )
    if extra:
        raise TableError(
            f"the model does not know the columns {listed(extra)}; leave them out with --drop."
        )
