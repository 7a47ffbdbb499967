"""What a column of a table holds: numbers, categories, or what cannot be a feature."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.tables.dates import ORDERS, are_dates, as_days, lacking, order_of
from patchfold.tables.numbers import (
    DECIMAL_COMMA,
    POINTS_BETWEEN,
    decimal_in,
    mixed_units,
    read_numbers,
    unit_in,
)
from patchfold.tables.problems import ColumnsError, Problem, TableError, beside, listed, quoted
from patchfold.tables.sniffing import DASHES, MISSING_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

# A text column is taken for categories up to this many, or up to half as many as there are rows:
# beyond, it holds names, free text or numbers that could not be read.
FEW_CATEGORIES, MOST_CATEGORIES = 10, 1000
# Whole numbers in a text can be larger than any float64.
LARGEST = float(np.finfo(np.float64).max)
PLAIN_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
# Numbers with signs between digits that do not fit together.
ODD_NUMBER = r"[+-]?[$€£]? ?\d[\d.,' ]*[%€]?"
# How truth values are written.
TRUTH = frozenset(("True", "False"))
# A number with a zero before others is a code.
CODE = r"[+-]?0\d.*"


class Features:
    """Columns as float64 or as text, and all that keeps others from being either.

    ``decimal`` is the decimal sign of the file. Dates become numbers if ``takes_dates``, else they
    are problems.
    """

    def __init__(self, frame: Any, names: Sequence[str], decimal: str, takes_dates: bool) -> None:
        self._decimal = decimal
        self._takes_dates = takes_dates
        self.problems: list[Problem] = []
        # How the numbers of a column are written, where they are not plain.
        self.written: dict[str, str] = {}
        # How the dates of a column are written, for those that became numbers.
        self.dates: dict[str, str] = {}
        # The dates and categories among which a dash stands for a missing value.
        self.dashed: list[str] = []
        import pandas as pd
        from pandas.api import types

        dtypes = dict(zip(frame.columns, frame.dtypes, strict=True))
        # Numbers at once, since there may be thousands of columns; column by column in memory, as
        # pandas reads them, so that sums of columns are rounded as they are there.
        numbers = [
            name
            for name in names
            if types.is_numeric_dtype(dtypes[name])
            and not types.is_complex_dtype(dtypes[name])
            and not types.is_bool_dtype(dtypes[name])
        ]
        matrix = np.asfortranarray(frame[numbers].to_numpy(dtype=float, na_value=np.nan))
        settled = np.isfinite(matrix).any(axis=0) & ~np.isinf(matrix).any(axis=0)
        whole = [name for name, good in zip(numbers, settled, strict=True) if good]
        parts = [pd.DataFrame(matrix[:, settled], columns=whole)]
        rest = set(names) - set(whole)
        for name in (name for name in names if name in rest):
            try:
                parts.append(self._feature(name, frame[name]).rename(name))
            except ColumnsError as error:
                self.problems += error.problems
            except TableError as error:
                self.problems.append(Problem(str(error).rstrip("."), ("--info", name)))
        found = pd.concat(parts, axis=1)
        self.frame = found[[name for name in names if name in found.columns]]

    def notes(self) -> list[str]:
        """Say what was understood, once for all columns of which it is true."""
        written, orders = _inverted(self.written), _inverted(self.dates)
        hours = "hours" if set(orders) == {"clock"} else "days since 1970"
        return [
            *(f"read as numbers ({how}): {listed(names)}" for how, names in written.items()),
            *(
                f"dates became {hours} ({ORDERS[order]}): {listed(names)}"
                for order, names in orders.items()
            ),
            *said_of_dashes(self.dashed),
        ]

    def _feature(self, name: str, values: Any) -> Any:
        """Return a column as float64 or as text, or say why it is neither."""
        import pandas as pd
        from pandas.api import types

        leave_out = f"leave it out with --drop {quoted(name)}"
        if values.isna().all():
            words = f"column {quoted(name)} has no values; {leave_out}"
            raise ColumnsError([Problem(words, ("--drop", name))])
        if are_dates(values):
            return self._days(name, self._without(name, values, lacking(values, MISSING_NUMBERS)))
        if types.is_complex_dtype(values):
            raise ColumnsError([beside(name, "holds complex numbers")])
        if isinstance(values.dtype, pd.CategoricalDtype):
            if types.is_numeric_dtype(values.cat.categories):
                return values.astype(float)
            _check_categories(name, values, declared=True)
            return values.cat.rename_categories(values.cat.categories.astype(str).astype(object))
        if types.is_numeric_dtype(values) or not _has_text(values):
            remedy = f"correct it, or {leave_out}"
            # True and False are as yes and no.
            return as_text(values) if _is_boolean(values) else as_numbers(name, values, remedy)
        known = values.dropna().astype(str)
        plain = known.str.fullmatch(PLAIN_NUMBER)
        if self._decimal == ",":  # a point is none of decimals
            plain &= ~known.str.contains(".", regex=False)
        if not plain.all() and not known.str.fullmatch(CODE).any():
            written = read_numbers(values, self._decimal)
            if written is not None:
                numbers, how = written
                self.written[name] = how
                return pd.Series(numbers, index=values.index)
        values = self._without(name, values, dashes_among(values))
        _check_categories(name, values)
        return as_text(values)

    def _without(self, name: str, values: Any, dashes: Any) -> Any:
        if not dashes.any():
            return values
        self.dashed.append(name)
        return values.mask(dashes)

    def _days(self, name: str, values: Any) -> Any:
        order = order_of(values)
        if not self._takes_dates:
            words = (
                f"column {quoted(name)} holds dates or times, such as "
                f"{quoted(values.dropna().iloc[0])}; --dates makes numbers of them, "
                f"--info {quoted(name)} only shows them"
            )
            raise ColumnsError([Problem(words, ("--dates",))])
        try:
            days = as_days(values, order)
        except ValueError as error:
            raise ColumnsError(
                [beside(name, f"holds dates of which some do not exist ({error})")]
            ) from error
        self.dates[name] = order
        return days


def _inverted(kinds: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of every kind."""
    found: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        found.setdefault(kind, []).append(name)
    return found


def dashes_among(values: Any, known: Collection[Any] = ()) -> Any:
    """Tell where a category is a dash that stands for a missing value.

    It does where there are two others or more, and no plus sign: beside a cross alone, it says no.
    A dash among the ``known`` categories of a model is one of them.

    Examples
    --------
    >>> import pandas as pd
    >>> dashes_among(pd.Series(["yes", "-", "no"])).tolist()
    [False, True, False]
    >>> dashes_among(pd.Series(["x", "-", "x"])).tolist()
    [False, False, False]
    """
    if len(known):
        return lacking(values, DASHES - set(known))
    dashes = lacking(values, DASHES)
    others = set(values[~dashes].dropna().astype(str).str.strip())
    return dashes & (len(others) > 1 and not others & {"+", "++"})


def said_of_dashes(names: Sequence[str]) -> list[str]:
    """Return a note on columns in which a dash stands for a missing value."""
    words = "a dash or a point alone counts as missing (a word, such as none, would be a category)"
    return [f"{words}: {listed(names)}"] if names else []


def new_numbers(
    name: str,
    values: Any,
    *,
    decimal: str = ".",
    order: str | None = None,
    signs: str = "",
    remedy: str,
) -> Any:
    """Return a column of new rows as float64, read as that of the fitted rows was.

    ``order`` says how dates are written, where the fitted rows had some; ``signs``, what
    :func:`~patchfold.tables.numbers.read_numbers` understood of them; ``remedy``, what to do about
    a value that is no number.
    """
    import pandas as pd

    if order is not None:
        values = values.mask(lacking(values, MISSING_NUMBERS))
        known = values.dropna()
        if len(known) and not are_dates(values):
            raise TableError(
                f"column {quoted(name)} should hold dates, but has {quoted(known.iloc[0])}; "
                f"{remedy}."
            )
        try:
            return as_days(values, order_of(values) if order == "typed" and len(known) else order)
        except ValueError as error:
            raise TableError(
                f"column {quoted(name)} holds a date that cannot be read ({error}); write it as in "
                "the fitted table, or as 2024-12-31."
            ) from error
    if len(values.dropna()) and _has_text(values):
        # Few new rows may not tell whether 1.234 is more than a thousand; the fitted ones did.
        sign = decimal_in(signs) or decimal
        if (
            holds_whole(signs)
            and not values.dropna().astype(str).str.contains(".", regex=False).any()
        ):
            sign = "."  # another file may have commas between thousands
        written = read_numbers(values, sign)
        if written is not None:
            units = [unit_in(words) for words in (signs, written[1])]
            if all(units) and units[0] != units[1]:
                raise TableError(
                    f"column {quoted(name)} should be in {units[0]}, but is in {units[1]}; convert "
                    "it."
                )
            return pd.Series(written[0], index=values.index)
    numbers = as_numbers(name, values, remedy)
    if holds_whole(signs):
        _check_points_apart(name, numbers)
    return numbers


def holds_whole(signs: str) -> bool:
    """Tell whether a column held whole numbers with points between thousands."""
    return POINTS_BETWEEN in signs and DECIMAL_COMMA not in signs


def _check_points_apart(name: str, numbers: Any) -> None:
    """Refuse numbers that were texts such as 66.208, for 66208, before something else read them."""
    known = numbers.dropna()
    thousands = known * 1000
    fractions = known[known % 1 != 0]
    misread = (known.abs() < 1000).all() and ((thousands - thousands.round()).abs() < 1e-6).all()
    if misread and len(fractions):
        raise TableError(
            f"column {quoted(name)} held whole numbers with points between thousands, but row "
            f"{fractions.index[0] + 1} has the number {fractions.iloc[0]:g}; give the column as "
            f"text, by read_table(file, text=[{quoted(name)}]) or pandas.read_csv(file, dtype=str)."
        )


def as_numbers(name: str, values: Any, remedy: str) -> Any:
    """Return a column as float64; decimals of Parquet are numbers, too."""
    import pandas as pd
    from pandas.api import types

    try:
        if types.is_numeric_dtype(values):
            numbers = values.astype(float)
        else:
            plain = values.astype(object).where(values.notna(), np.nan)
            numbers = pd.to_numeric(plain).astype(float)
    except OverflowError as error:
        large = plain.map(lambda value: isinstance(value, int) and abs(value) > LARGEST)
        raise TableError(
            f"column {quoted(name)} has a number beyond {LARGEST:.2g} in row {large.argmax() + 1}; "
            "correct it, or leave the cell empty."
        ) from error
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


def as_text(values: Any) -> Any:
    """Return a column as text; whole numbers are written without a point.

    In a column of truth values alone, true is written as True is, however it was spelled.
    """

    def text(value: Any) -> str:
        whole = isinstance(value, float) and value.is_integer()
        return str(int(value)) if whole else str(value)

    texts = values.astype(object).where(values.notna(), np.nan).map(text, na_action="ignore")
    kinds = {kind: str(kind).strip().capitalize() for kind in texts.dropna().unique()}
    return texts.replace(kinds) if set(kinds.values()) <= TRUTH else texts


def known_text(values: Any, known: Sequence[Any]) -> Any:
    """Return a column of new rows as text, truth values spelled as the known ones are.

    Examples
    --------
    >>> import pandas as pd
    >>> known_text(pd.Series(["TRUE", "maybe"]), ["false", "maybe", "true"]).tolist()
    ['true', 'maybe']
    """
    spelled = {str(kind).strip().capitalize(): kind for kind in known}

    def text(value: str) -> str:
        truth = value.strip().capitalize()
        return spelled.get(truth, value) if value not in known and truth in TRUTH else value

    known = list(known)
    return as_text(values).map(text, na_action="ignore")


def is_constant(values: Any) -> bool:
    """Tell whether a feature has one value only."""
    if is_numeric(values):
        return bool(values.min() == values.max())
    return int(values.nunique()) < 2


def is_numeric(values: Any) -> bool:
    """Tell whether a feature is one of numbers, not of categories."""
    return bool(values.dtype == np.float64)


def _is_boolean(values: Any) -> bool:
    return bool(values.dropna().map(lambda value: isinstance(value, bool | np.bool_)).all())


def _has_text(values: Any) -> bool:
    return bool(values.dropna().map(lambda value: isinstance(value, str | bytes)).any())


def _check_categories(name: str, values: Any, *, declared: bool = False) -> None:
    """Refuse a text column that is no set of categories."""
    known = values.dropna().astype(str)
    odd = known[~known.str.fullmatch(PLAIN_NUMBER)]
    codes = declared or known.str.fullmatch(CODE).any()
    if not codes:
        units = mixed_units(values)
        if units:
            raise ColumnsError(
                [beside(name, f"has numbers with different units ({listed(units)}), write one")]
            )
        remedy = ""
        if len(odd) and odd.str.fullmatch(ODD_NUMBER).all():
            remedy = "write it with a decimal point and without other signs"
        elif 0 < len(odd) < len(known) / 2:
            remedy = (
                "correct it, leave the cell empty, or begin every cell with a letter if these are "
                "categories"
            )
        if remedy:
            words = (
                f"column {quoted(name)} seems to hold numbers, but row {odd.index[0] + 1} has "
                f"{quoted(odd.iloc[0])}; {remedy}"
            )
            raise ColumnsError([Problem(words, ("--info", name))])
    distinct = known.nunique()
    if distinct > max(FEW_CATEGORIES, min(MOST_CATEGORIES, len(known) // 2)):
        words = (
            f"has {distinct} different texts in {len(known)} rows, such as "
            f"{quoted(known.iloc[0])}, too many for categories"
        )
        raise ColumnsError([replace(beside(name, words), texts=True)])
