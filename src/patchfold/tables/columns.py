"""What a column of a table holds: numbers, categories, or what cannot be a feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.tables._naming import TableError, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

# A text column is taken for categories up to this many, or up to half as many as there are rows:
# beyond, it holds names, free text or numbers that could not be read.
FEW_CATEGORIES, MOST_CATEGORIES = 10, 1000
# Whole numbers in a text can be larger than any float64.
LARGEST = float(np.finfo(np.float64).max)
PLAIN_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
# Numbers with decimal commas, with signs between thousands, with a unit of money or a percent sign.
ODD_NUMBER = r"[+-]?[$€£]? ?\d[\d.,' ]*[%€]?"
# A number with a zero before others is a code.
CODE = r"[+-]?0\d+"
CLOCK = r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[AaPp][Mm])?"
DAY = r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d\d))"
TIME = rf"{CLOCK}|{DAY}([T ]+\d{{1,2}}:\d\d.*)?"


def features_of(frame: Any, names: Sequence[str]) -> Any:
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


def as_numbers(name: str, values: Any, remedy: str) -> Any:
    """Return a column as float64; True is 1, and decimals of Parquet are numbers, too."""
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
    """Return a column as text; whole numbers are written without a point."""

    def text(value: Any) -> str:
        whole = isinstance(value, float) and value.is_integer()
        return str(int(value)) if whole else str(value)

    return values.astype(object).where(values.notna(), np.nan).map(text, na_action="ignore")


def is_constant(values: Any) -> bool:
    """Tell whether a feature has one value only."""
    if is_numeric(values):
        return bool(values.min() == values.max())
    return int(values.nunique()) < 2


def is_numeric(values: Any) -> bool:
    """Tell whether a feature is one of numbers, not of categories."""
    return bool(values.dtype == np.float64)


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
        return as_numbers(name, values, f"correct it, or {_leave_out(name)}")
    _check_categories(name, values)
    return as_text(values)


def _has_text(values: Any) -> bool:
    return bool(values.dropna().map(lambda value: isinstance(value, str | bytes)).any())


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
