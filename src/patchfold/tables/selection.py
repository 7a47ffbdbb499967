"""From a table to features: which columns they are, and which rows are whole.

Everything that was decided is noted; what cannot be decided is refused by name.
"""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.validation import check_choice, warn_user
from patchfold.tables.columns import (
    Features,
    as_text,
    dashes_among,
    is_constant,
    known_text,
    new_numbers,
    said_of_dashes,
)
from patchfold.tables.problems import ColumnsError, Problem, TableError, counted, listed, quoted
from patchfold.tables.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from patchfold.base.types import Indices, Mask


MISSING_RULES = ("error", "drop", "impute")

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


# With fewer rows, a patch of 15 neighbours covers most of the data.
FEW_ROWS = 50


@dataclass(frozen=True, eq=False)
class Selection:
    """The features of a table, and what is told beside them."""

    # Columns of float64, and of categories as text (objects, or categories in declared order).
    features: Any
    rows: Indices  # the places of its rows in the table, from 0
    # The named columns, of the same rows; ids as they are written in the file.
    target: Any
    ids: Any
    label: Any  # the target, as it is written in the file
    # The columns of the table as they were read, without those left out, of the same rows.
    others: Any
    n_rows: int  # how many rows the table has
    notes: list[str] = field(default_factory=list)  # what was decided, one sentence each
    # How numbers and dates are written in columns of text where they became numbers.
    written: dict[str, str] = field(default_factory=dict)
    dates: dict[str, str] = field(default_factory=dict)
    # The shape of a row that was laid out as one line of numbers; empty for others.
    shape: tuple[int, ...] = ()
    # Whether the features are compared as they are, such as principal components.
    one_unit: bool = False
    roles: Roles = field(default_factory=Roles)  # what the columns are for
    genes: Any = None  # the values of genes beside points that are made of them, of the same rows


def select(
    frame: Any,
    *,
    target: str | None = None,
    ids: str | None = None,
    drop: Collection[str] = (),
    info: Collection[str] = (),
    missing: str = "error",
    written: Any = None,
    decimal: str = ".",
    dates: bool = False,
) -> Selection:
    """Choose the features of a table and see that every value can be used.

    All that cannot be used is named at once, in a :class:`~patchfold.tables.ColumnsError`. Columns
    ``target``, ``ids`` and ``info`` are no features: the first two are carried along, the others
    shown. Where values of features are missing, ``"error"`` refuses the table, ``"drop"`` leaves
    out their rows, and ``"impute"`` keeps them for a preprocessor that imputes. ``written`` has
    target and ids as they are written in the file, unless the frame has them so; dates become
    numbers if ``dates``.

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
    named = [*(name for name in (target, ids) if name is not None), *info]
    for name in (*named, *drop):
        check_column(name, list(frame.columns))
    twice = [name for name, count in Counter([*named, *drop]).items() if count > 1]
    if twice:
        raise TableError(
            f"the column {quoted(twice[0])} is named twice by --target, --id, --info and --drop; "
            "decide."
        )
    others = [name for name in frame.columns if name not in {*named, *drop}]
    if not others:
        raise TableError("no column is left as a feature; give at least one that is not named.")
    found = Features(frame, others, decimal, dates)
    if found.problems:
        texts = found.frame.empty and all(problem.texts for problem in found.problems)
        raise ColumnsError([*found.problems, *_missing(found.frame, missing)], only_texts=texts)
    notes = found.notes()
    kept = frame.drop(columns=list(drop))
    selection = _selection(kept, found.frame, target, ids, written, missing, notes)
    if target is not None:
        _check_target(selection.target, notes)
    return replace(selection, written=found.written, dates=found.dates)


def _missing(features: Any, rule: str) -> list[Problem]:
    """Return what is missing, to be named with the other problems."""
    broken = int(features.isna().any(axis=1).sum())
    if rule != "error" or not broken:
        return []
    words = f"{_have(broken, len(features))} a missing value; {REMEDIES['error']}"
    return [Problem(words, ("--missing", "impute"))]


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
    decimal: str = ".",
    dates: Mapping[str, str] | None = None,
    signs: Mapping[str, str] | None = None,
) -> Selection:
    """Bring new rows into the form of those a model was fitted to.

    The frame has all columns of the model in any order, ``numbers`` and ``categories`` with those
    that the model knows; features are in its order, and the model chooses them by name. Other
    categories are a note, a warning or an error, as ``unknown`` says. ``dates`` says how dates are
    written in the columns of numbers that they are, and ``signs`` the same of numbers in text.
    Other parameters are those of :func:`select`.

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
        features[name] = new_numbers(
            name,
            frame[name],
            decimal=decimal,
            order=(dates or {}).get(name),
            signs=(signs or {}).get(name, ""),
            remedy="correct it, or leave the cell empty",
        )
    for name, known in categories.items():
        dashes = dashes_among(frame[name], known)
        features[name] = known_text(
            frame[name].mask(dashes) if dashes.any() else frame[name], known
        )
        notes += said_of_dashes([name] if dashes.any() else [])
    selection = _selection(frame, features, target, ids, written, missing, notes, NEW_ROWS_REMEDIES)
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
            if unknown == "warn":
                warn_user(f"{words}.")
            else:
                notes.append(words)
    return selection


def _selection(
    frame: Any,
    features: Any,
    target: str | None,
    ids: str | None,
    written: Any,
    missing: str,
    notes: list[str],
    remedies: Mapping[str, str] = REMEDIES,
) -> Selection:
    rows = _whole_rows(features, missing, notes, remedies)
    kept = frame.iloc[rows].reset_index(drop=True)
    texts = kept.copy(deep=False)
    if written is not None:
        there = [name for name in (target, ids) if name in written]
        texts[there] = written.iloc[rows].reset_index(drop=True)[there]
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


def check_rows(selection: Selection) -> None:
    """Refuse features that say nothing: too few rows, or nothing that varies; note the rest."""
    features, n = selection.features, len(selection.features)
    if n < 3:
        raise TableError(f"there is no arranging of {counted(n, 'row')} alone; give at least 3.")
    if n < FEW_ROWS:
        selection.notes.append(
            f"{n} rows are few: a neighbourhood is most of the data, and the map may show no more "
            "than PCA does"
        )
    constant = [name for name in features.columns if is_constant(features[name])]
    if len(constant) == features.shape[1]:
        raise TableError(
            f"no column varies ({listed(constant)}): all rows are the same point; give others."
        )
    if constant:
        selection.notes.append(f"the same in every row, and so without effect: {listed(constant)}")


def classes(target: Any) -> tuple[Indices, list[str]]:
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
    codes, names = pd.factorize(as_text(target), sort=True)
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


def _check_target(values: Any, notes: list[str]) -> None:
    known = values.dropna()
    if known.map(lambda value: isinstance(value, list | dict | np.ndarray)).any():
        raise TableError(
            f"the target {quoted(values.name)} holds lists; name a column with one value per row."
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
        words = f"{_have(len(broken), len(features))} a missing value: {places}"
        options = ("--missing", "impute" if remedies is REMEDIES else "drop")
        raise ColumnsError([Problem(f"{words}; {remedies['error']}", options)])
    if len(broken) == len(features):
        raise TableError(f"every row has a missing value: {places}; {remedies['drop']}.")
    were = "was" if len(broken) == 1 else "were"
    notes.append(
        f"{_have(len(broken), len(features))} a missing value and {were} left out: {places}"
    )
    return np.setdiff1d(everyone, broken)


def _have(some: int, n: int) -> str:
    return f"{some} of {counted(n, 'row')} {'has' if some == 1 else 'have'}"


def _places(empty: Mask, broken: Indices, names: list[str]) -> str:
    """Name the first rows with what they lack."""
    most = 3
    shown = [
        f"row {row + 1} ({listed([names[column] for column in np.flatnonzero(empty[row])], 3)})"
        for row in broken[:most]
    ]
    more = f" and {len(broken) - most} more" if len(broken) > most else ""
    return ", ".join(shown) + more
