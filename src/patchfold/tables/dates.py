"""Dates and times as numbers: days since the beginning of 1970, or hours of a day."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.tables.sniffing import MISSING_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Collection

CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?"
DAY = r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d\d))"
TIME = rf"{CLOCK}|{DAY}(?:[T ]+\d{{1,2}}:\d\d.*)?"
# How a text of a date begins: the day, the month and the year in some order.
PARTS = re.compile(r"(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,4})")
# The orders that a column may have, and what notes call them.
ORDERS = {
    "year first": "year first",
    "day first": "day before month",
    "month first": "month before day",
    "clock": "times of the day, in hours",
    "typed": "dates",
}
SECONDS_OF_DAY = 86400.0


def are_dates(values: Any) -> bool:
    """Whether all that is known of a column are dates or times, as such or as text."""
    from pandas.api import types

    if types.is_datetime64_any_dtype(values) or types.is_timedelta64_dtype(values):
        return True
    known = values.dropna()
    if not len(known):
        return False
    if types.is_object_dtype(values) and hasattr(known.iloc[0], "isoformat"):
        return True  # dates of Parquet
    texts = _texts(known)
    return len(texts) > 0 and bool(texts.str.fullmatch(TIME).all())


def order_of(values: Any) -> str:
    """Return how the dates of a column are written: a key of ORDERS.

    Where every day could be a month, ``1.2.2020`` has the day first, as its points say, and
    ``1/2/2020`` the month.

    Examples
    --------
    >>> import pandas as pd
    >>> order_of(pd.Series(["13/1/2020", "2/1/2020"])), order_of(pd.Series(["2/1/2020"]))
    ('day first', 'month first')
    """
    from pandas.api import types

    known = values.dropna()
    if not types.is_object_dtype(values) and not types.is_string_dtype(values):
        return "typed"
    if hasattr(known.iloc[0], "isoformat"):
        return "typed"
    texts = _texts(known)
    if texts.str.fullmatch(CLOCK).all():
        return "clock"
    found = texts.str.extract(PARTS)
    if found[0].str.len().max() == 4:
        return "year first"
    first, second = found[0].astype(float).max(), found[1].astype(float).max()
    if first > 12 or second > 12:
        return "day first" if first > 12 else "month first"
    return "month first" if texts.str.contains("/").any() else "day first"


def as_days(values: Any, order: str) -> Any:
    """Return dates as days since 1970, times of the day as hours, NaN where nothing is.

    Raises ValueError where a text is no date of this order.

    Examples
    --------
    >>> import pandas as pd
    >>> as_days(pd.Series(["2.1.1970", None]), "day first").tolist()
    [1.0, nan]
    """
    import pandas as pd
    from pandas.api import types

    values = values.mask(lacking(values, MISSING_NUMBERS))
    if types.is_timedelta64_dtype(values):
        return values.dt.total_seconds() / SECONDS_OF_DAY
    if order == "clock":
        return values.map(_hours, na_action="ignore").astype(float)
    plain = values
    if types.is_object_dtype(values) or types.is_string_dtype(values):
        plain = values.map(lambda value: _year_first(str(value), order), na_action="ignore")
        plain = plain.astype(object)
    moments = pd.to_datetime(plain, format="mixed", utc=True)
    days = (moments - pd.Timestamp(0, tz="UTC")).dt.total_seconds() / SECONDS_OF_DAY
    return days.where(values.notna(), np.nan).astype(float)


def lacking(values: Any, signs: Collection[str]) -> Any:
    """Tell where a column has a sign for a missing value."""
    from pandas.api import types

    if not (types.is_object_dtype(values) or types.is_string_dtype(values)):
        return np.zeros(len(values), dtype=bool)
    return values.map(lambda value: isinstance(value, str) and value.strip() in signs).to_numpy(
        dtype=bool
    )


def _texts(known: Any) -> Any:
    """Return what is known as text, without signs for missing values, such as "-"."""
    texts = known.astype(str).str.strip()
    return texts[~texts.isin(MISSING_NUMBERS)]


def _year_first(text: str, order: str) -> str:
    """Write a date with the year first, which nobody reads in two ways.

    Dates with the year first are read so in every column. Others are of the order of the column, or
    an error: pandas would exchange day and month where only that makes a date.
    """
    found = PARTS.match(text.strip())
    if found is None:
        return text
    year, month, day = found.groups()
    if len(year) < 4:
        if order not in {"day first", "month first"}:
            raise ValueError(f"{text!r} does not have the year first, as others of the column")
        first, second, year = found.groups()
        month, day = (second, first) if order == "day first" else (first, second)
    if len(year) == 2:  # as in POSIX: 69 is 1969, and 68 is 2068
        year = str((1900 if int(year) >= 69 else 2000) + int(year))
    if int(month) > 12:
        raise ValueError(f"{text!r} is not {ORDERS[order]}, as others of the column")
    return f"{year}-{month:0>2}-{day:0>2}{text.strip()[found.end() :]}"


def _hours(text: str) -> float:
    numbers = [float(part.replace(",", ".")) for part in re.findall(r"\d+(?:[.,]\d+)?", text)]
    hours = sum(number / 60.0**place for place, number in enumerate(numbers))
    half = text.strip()[-2:].lower()
    if half in {"am", "pm"}:
        hours = hours % 12 + (12 if half == "pm" else 0)
    return float(hours)
