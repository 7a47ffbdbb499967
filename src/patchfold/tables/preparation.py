"""From a table to points: which columns are features, which rows are whole, how they are coded.

Numbers are standardised and categories become one column each (one-hot), unless asked otherwise.
Everything that was decided is noted; what cannot be decided is refused by name.
"""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold._validation import check_choice
from patchfold.tables._naming import TableError, counted, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

CATEGORIES = ("onehot", "ordinal")
MISSING_RULES = ("error", "drop", "impute")

# A text column is taken for categories up to this many, or up to half as many as there are rows:
# beyond, it holds names, free text or numbers that could not be read.
FEW_CATEGORIES, MOST_CATEGORIES = 10, 1000
# What to do about missing values: refused all of them, or left with no row. Saved models leave
# less to choose.
REMEDIES = {
    "error": "choose --missing drop or --missing impute, or leave columns out with --drop",
    "drop": "choose --missing impute, or leave columns out with --drop",
}
NEW_ROWS_REMEDIES = {
    "error": "fill it in, or choose --missing drop",
    "drop": "fill some in, or fit the model anew with --missing impute",
}
# The fewest rows that can lie in any arrangement at all.
FEWEST_ROWS = 3
PLAIN_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
# Numbers with decimal commas, with signs between thousands, with a unit of money or a percent sign.
ODD_NUMBER = r"[+-]?[$€£]? ?\d[\d.,' ]*[%€]?"
# A number with a zero before others is a code.
CODE = r"[+-]?0\d+"
CLOCK = r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[AaPp][Mm])?"
DAY = r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d\d))"
TIME = rf"{CLOCK}|{DAY}([T ]+\d{{1,2}}:\d\d.*)?"


@dataclass(frozen=True, eq=False)
class Selection:
    """The features of a table, and what is told beside them.

    Attributes
    ----------
    features : pandas.DataFrame
        Columns of float64, and of categories as text (objects, or categories in declared order).
    rows : ndarray of int
        The places of its rows in the table, from 0.
    target, ids : pandas.Series or None
        The named columns, of the same rows; the second as it is written in the file.
    label : pandas.Series or None
        The target, as it is written in the file.
    others : pandas.DataFrame
        All columns of the table as they were read, of the same rows.
    n_rows : int
        How many rows the table has.
    notes : list of str
        What was decided, one sentence each.
    """

    features: Any
    rows: NDArray[np.intp]
    target: Any
    ids: Any
    label: Any
    others: Any
    n_rows: int
    notes: list[str] = field(default_factory=list)


def select(
    frame: Any,
    *,
    target: str | None = None,
    ids: str | None = None,
    drop: Collection[str] = (),
    missing: str = "error",
    written: Any = None,
) -> Selection:
    """Choose the features of a table and see that every value can be used.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table as :func:`~patchfold.tables.read_table` gives it.
    target, ids : str or None
        Columns that are no features but are carried along.
    drop : collection of str
        Columns to leave out.
    missing : {"error", "drop", "impute"}, default="error"
        What to do where values of features are missing: refuse the table, leave out their rows, or
        keep them for a preprocessor that imputes.
    written : pandas.DataFrame or None
        Target and ids as they are written in the file; None where the frame has them so.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1, 2, None, 4], "kind": list("aabb"), "name": list("pqrs")})
    >>> selection = select(frame, target="kind", ids="name", missing="drop")
    >>> selection.features["x"].tolist(), selection.rows.tolist()
    ([1.0, 2.0, 4.0], [0, 1, 3])
    >>> selection.notes
    ["1 of 4 rows has a missing value and was left out: row 3 ('x')"]
    """
    check_choice("missing", missing, MISSING_RULES)
    named = [name for name in (target, ids) if name is not None]
    for name in (*named, *drop):
        check_column(name, list(frame.columns))
    twice = [name for name, count in Counter([*named, *drop]).items() if count > 1]
    if twice:
        raise TableError(
            f"the column {quoted(twice[0])} is named twice by --target, --id and --drop; decide."
        )
    others = [name for name in frame.columns if name not in {*named, *drop}]
    if not others:
        raise TableError("no column is left as a feature; give at least one that is not named.")
    notes: list[str] = []
    features = _features(frame, others)
    selection = _selection(
        frame, features, target=target, ids=ids, written=written, missing=missing, notes=notes
    )
    if target is not None:
        _check_target(selection.target, notes)
    return selection


def conform(
    frame: Any,
    *,
    numbers: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    target: str | None = None,
    ids: str | None = None,
    missing: str = "error",
    written: Any = None,
    unknown: str = "note",
) -> Selection:
    """Bring new rows into the form of those a model was fitted to.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table with all columns of the model, in any order.
    numbers : sequence of str
        The columns of numbers.
    categories : mapping of str to sequence of str
        The columns of categories, with those that the model knows.
    target, ids, missing, written
        As for :func:`select`.
    unknown : {"note", "error"}, default="note"
        What to do about categories that the model does not know.

    Returns
    -------
    Selection
        Its features are in the order of the frame's columns; the model chooses them by name.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"kind": ["a", "c"], "x": [1, 2]})
    >>> conform(frame, numbers=["x"], categories={"kind": ["a", "b"]}).notes
    ["column 'kind' has values that the model does not know, such as 'c' in row 2"]
    """
    check_choice("missing", missing, MISSING_RULES)
    notes: list[str] = []
    features = frame[[*numbers, *categories]].copy()
    for name in numbers:
        features[name] = _as_numbers(name, frame[name], "correct it, or leave the cell empty")
    for name in categories:
        features[name] = _as_text(frame[name])
    selection = _selection(
        frame,
        features,
        target=target,
        ids=ids,
        written=written,
        missing=missing,
        notes=notes,
        remedies=NEW_ROWS_REMEDIES,
    )
    for name, known in categories.items():
        values = selection.features[name]
        strange = values[values.notna() & ~values.isin(list(known))]
        if len(strange):
            row = selection.rows[strange.index[0]] + 1
            words = (
                f"column {quoted(name)} has values that the model does not know, such as "
                f"{quoted(strange.iloc[0])} in row {row}"
            )
            if unknown == "error":
                raise TableError(f"{words}; correct it, or fit the model anew.")
            notes.append(words)
    return selection


def _selection(
    frame: Any,
    features: Any,
    *,
    target: str | None,
    ids: str | None,
    written: Any,
    missing: str,
    notes: list[str],
    remedies: Mapping[str, str] = REMEDIES,
) -> Selection:
    rows = _whole_rows(features, missing, notes, remedies)
    kept = frame.iloc[rows].reset_index(drop=True)
    texts = kept if written is None else written.iloc[rows].reset_index(drop=True)
    if ids is not None:
        kept[ids] = texts[ids]
    return Selection(
        features.iloc[rows].reset_index(drop=True),
        rows,
        None if target is None else kept[target],
        None if ids is None else kept[ids],
        None if target is None else texts[target],
        kept,
        len(frame),
        notes,
    )


def check_rows(selection: Selection, rows: int = FEWEST_ROWS) -> None:
    """Refuse features that say nothing: too few rows, or nothing that varies; note the rest."""
    features, n = selection.features, len(selection.features)
    if n < rows:
        raise TableError(
            f"there is no arranging of {counted(n, 'row')} alone; give at least {rows}."
        )
    constant = [name for name in features.columns if _is_constant(features[name])]
    if len(constant) == features.shape[1]:
        raise TableError(
            f"no column varies ({listed(constant)}): all rows are the same point; give others."
        )
    if constant:
        selection.notes.append(f"the same in every row, and so without effect: {listed(constant)}")


def classes(target: Any) -> tuple[NDArray[np.intp], list[str]]:
    """Return the classes of a target as codes, -1 where there is none, and their names in order.

    Measurements are refused. Numbers are classes by their names, so that one of -1 is a class, too.

    Examples
    --------
    >>> import pandas as pd
    >>> classes(pd.Series([1, -1, None, 1], name="y"))
    (array([ 1,  0, -1,  1]), ['-1', '1'])
    """
    import pandas as pd

    if is_continuous(target):
        value = next(value for value in target.dropna() if value % 1)
        raise TableError(
            f"the target {quoted(target.name)} holds measurements, such as {value}, and no classes."
        )
    codes, names = pd.factorize(_as_text(target), sort=True)
    return np.asarray(codes, dtype=np.intp), [str(name) for name in names]


def is_continuous(target: Any) -> bool:
    """Whether a target holds numbers that are not all whole."""
    from pandas.api import types

    if types.is_bool_dtype(target) or not types.is_numeric_dtype(target):
        return False
    return bool((target.dropna() % 1 != 0).any())


def check_column(name: str, columns: Sequence[str]) -> str:
    """Return the name of a column, or suggest the nearest one."""
    if name in columns:
        return name
    near = difflib.get_close_matches(name, columns, n=1)
    hint = f"did you mean {quoted(near[0])}?" if near else f"there are {listed(columns, 10)}."
    raise TableError(f"there is no column {quoted(name)}; {hint}")


def preprocessor(
    features: Any, *, categories: str = "onehot", standardize: bool = True, impute: bool = False
) -> Any:
    """Return an unfitted ColumnTransformer that makes points of features.

    Parameters
    ----------
    features : pandas.DataFrame
        The features of a :class:`Selection`.
    categories : {"onehot", "ordinal"}, default="onehot"
        One column of 0 and 1 for each category, or the place of the category in the declared, else
        in the alphabetical order.
    standardize : bool, default=True
        Whether numbers and places of categories get mean 0 and variance 1; columns of 0 and 1 stay
        what they are, since a rare category would weigh the more the rarer it is.
    impute : bool, default=False
        Whether missing numbers become the median, missing categories the most frequent one.

    Returns
    -------
    sklearn.compose.ColumnTransformer

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

    check_choice("categories", categories, CATEGORIES)
    texts = [name for name in features.columns if not _is_numeric(features[name])]
    numbers = [name for name in features.columns if name not in texts]
    scale = [("scale", StandardScaler())] if standardize else []
    steps = {"numbers": (numbers, [*scale]), "categories": (texts, [])}
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
        steps["categories"][1].extend([("encode", encoder), *scale])
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
    """Name the column of 0 and 1 of a category.

    Examples
    --------
    >>> feature_name("colour", "red")
    'colour = red'
    """
    return f"{column} = {category}"


# ---------------------------------------------------------------- columns


def _features(frame: Any, names: Sequence[str]) -> Any:
    """Return columns as float64 or as text, or say of the first that cannot be why."""
    import pandas as pd
    from pandas.api import types

    dtypes = dict(zip(frame.columns, frame.dtypes, strict=True))
    # Numbers at once, since there may be thousands of columns; column by column in memory, as
    # pandas reads them, so that sums of columns are rounded as they are there.
    numbers = [
        name
        for name in names
        if types.is_numeric_dtype(dtypes[name]) and not types.is_complex_dtype(dtypes[name])
    ]
    matrix = np.asfortranarray(frame[numbers].to_numpy(dtype=float, na_value=np.nan))
    settled = np.isfinite(matrix).any(axis=0) & ~np.isinf(matrix).any(axis=0)
    whole = [name for name, good in zip(numbers, settled, strict=True) if good]
    parts = [pd.DataFrame(matrix[:, settled], columns=whole)]
    rest = set(names) - set(whole)
    parts += [_feature(name, frame[name]).rename(name) for name in names if name in rest]
    return pd.concat(parts, axis=1)[list(names)]


def _feature(name: str, values: Any) -> Any:
    """Return a column as float64 or as text, or say why it is neither."""
    import pandas as pd
    from pandas.api import types

    if values.isna().all():
        raise TableError(f"column {quoted(name)} has no values; {_leave_out(name)}.")
    if types.is_datetime64_any_dtype(values) or types.is_timedelta64_dtype(values):
        raise TableError(f"column {quoted(name)} holds dates; {_leave_out(name)}.")
    if types.is_complex_dtype(values):
        raise TableError(f"column {quoted(name)} holds complex numbers; {_leave_out(name)}.")
    if isinstance(values.dtype, pd.CategoricalDtype):
        if types.is_numeric_dtype(values.cat.categories):
            return values.astype(float)
        _check_categories(name, values, declared=True)
        return values.cat.rename_categories(values.cat.categories.astype(str).astype(object))
    if types.is_numeric_dtype(values) or not _has_text(values):
        return _as_numbers(name, values, f"correct it, or {_leave_out(name)}")
    _check_categories(name, values)
    return _as_text(values)


def _has_text(values: Any) -> bool:
    return bool(values.dropna().map(lambda value: isinstance(value, str | bytes)).any())


def _as_numbers(name: str, values: Any, remedy: str) -> Any:
    """Return a column as float64; True is 1, and decimals of Parquet are numbers, too."""
    import pandas as pd
    from pandas.api import types

    try:
        if types.is_numeric_dtype(values):
            numbers = values.astype(float)
        else:
            plain = values.astype(object).where(values.notna(), np.nan)
            numbers = pd.to_numeric(plain).astype(float)
    except (TypeError, ValueError) as error:
        other = plain[pd.to_numeric(plain, errors="coerce").isna() & plain.notna()]
        raise TableError(
            f"column {quoted(name)} should hold numbers, but row {other.index[0] + 1} has "
            f"{quoted(other.iloc[0])}; {remedy}."
        ) from error
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise TableError(
            f"column {quoted(name)} is infinite in row {infinite[0] + 1}; correct it, or leave "
            "the cell empty."
        )
    return numbers


def _as_text(values: Any) -> Any:
    """Return a column as text; whole numbers are written without a point."""

    def text(value: Any) -> str:
        whole = isinstance(value, float) and value.is_integer()
        return str(int(value)) if whole else str(value)

    return values.astype(object).where(values.notna(), np.nan).map(text, na_action="ignore")


def _check_categories(name: str, values: Any, *, declared: bool = False) -> None:
    """Refuse a text column that is no set of categories."""
    known = values.dropna().astype(str)
    if known.str.fullmatch(TIME).all():
        raise TableError(f"column {quoted(name)} holds dates or times; {_leave_out(name)}.")
    odd = known[~known.str.fullmatch(PLAIN_NUMBER)]
    if len(odd) and odd.str.fullmatch(ODD_NUMBER).all():
        raise TableError(
            f"column {quoted(name)} seems to hold numbers, but row {odd.index[0] + 1} has "
            f"{quoted(odd.iloc[0])}; write it with a decimal point and without other signs."
        )
    codes = declared or known.str.fullmatch(CODE).any()
    if 0 < len(odd) < len(known) / 2 and not codes:
        raise TableError(
            f"column {quoted(name)} seems to hold numbers, but row {odd.index[0] + 1} has "
            f"{quoted(odd.iloc[0])}; correct it, leave the cell empty, or begin every cell with a "
            "letter if these are categories."
        )
    distinct = known.nunique()
    if distinct <= max(FEW_CATEGORIES, min(MOST_CATEGORIES, len(known) // 2)):
        return
    raise TableError(
        f"column {quoted(name)} has {distinct} different texts in {len(known)} rows, such as "
        f"{quoted(known.iloc[0])}, too many for categories; {_leave_out(name)}, or name it "
        "with --id or --target."
    )


def _leave_out(name: str) -> str:
    return f"leave it out with --drop {quoted(name)}"


def _is_constant(values: Any) -> bool:
    if _is_numeric(values):
        return bool(values.min() == values.max())
    return int(values.nunique()) < 2


def _is_numeric(values: Any) -> bool:
    return bool(values.dtype == np.float64)


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


def _check_target(values: Any, notes: list[str]) -> None:
    known = values.dropna()
    if known.map(lambda value: isinstance(value, list | dict | np.ndarray)).any():
        raise TableError(
            f"the target {quoted(values.name)} holds lists; name a column with one value a row."
        )
    if known.nunique() < 2:
        found = f"one value only, {quoted(known.iloc[0])}" if len(known) else "no values"
        raise TableError(
            f"the target {quoted(values.name)} has {found}; name another column, or none."
        )
    if len(known) < len(values):
        notes.append(
            f"the target {quoted(values.name)} is missing in "
            f"{len(values) - len(known)} of {counted(len(values), 'row')}"
        )


# ---------------------------------------------------------------- rows


def _whole_rows(features: Any, missing: str, notes: list[str], remedies: Mapping[str, str]) -> Any:
    """Return the rows to keep."""
    empty = features.isna().to_numpy()
    broken = np.flatnonzero(empty.any(axis=1))
    everyone = np.arange(len(features))
    if not len(broken):
        return everyone
    if missing == "impute":
        filled = [name for name in features.columns if features[name].isna().any()]
        notes.append(
            f"{counted(int(empty.sum()), 'missing value')} imputed (median, most frequent "
            f"category) in {listed(filled)}"
        )
        return everyone
    places = _places(empty, broken, list(features.columns))
    if missing == "error":
        raise TableError(
            f"{_have(len(broken), len(features))} a missing value: {places}; {remedies['error']}."
        )
    if len(broken) == len(features):
        raise TableError(f"every row has a missing value: {places}; {remedies['drop']}.")
    were = "was" if len(broken) == 1 else "were"
    notes.append(
        f"{_have(len(broken), len(features))} a missing value and {were} left out: {places}"
    )
    return np.setdiff1d(everyone, broken)


def _have(some: int, n: int) -> str:
    return f"{some} of {counted(n, 'row')} {'has' if some == 1 else 'have'}"


def _places(empty: NDArray[np.bool_], broken: NDArray[np.intp], names: list[str]) -> str:
    """Name the first rows with what they lack."""
    most = 3
    shown = [
        f"row {row + 1} ({listed([names[column] for column in np.flatnonzero(empty[row])], 3)})"
        for row in broken[:most]
    ]
    more = f" and {len(broken) - most} more" if len(broken) > most else ""
    return ", ".join(shown) + more
