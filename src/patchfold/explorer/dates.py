"""Dates and times of a column as numbers, which a page shows as dates again."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from patchfold.tables.dates import TIME, as_days, order_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchfold.base.types import Doubles


def are_times(texts: Sequence[str]) -> bool:
    """Whether all texts are dates or times of the day, as the reader of tables knows them.

    Examples
    --------
    >>> are_times(["2024-01-02", "2024-02-29 12:30"]), are_times(["12:30"]), are_times(["1.5"])
    (True, True, False)
    """
    return len(texts) > 0 and all(re.fullmatch(TIME, text.strip()) for text in texts)


def as_times(texts: Sequence[str]) -> tuple[str, Doubles] | None:
    """Return what numbers stand for texts: days since 1970 ("day"), or hours ("clock").

    None where they are no dates, or some do not exist. Needs pandas; without it there are none.

    Examples
    --------
    >>> as_times(["2.1.1970", "13.1.1970"])
    ('day', array([ 1., 12.]))
    >>> as_times(["31.2.2020"]) is None
    True
    """
    if not are_times(texts) or find_spec("pandas") is None:
        return None
    import pandas as pd

    values = pd.Series(list(texts), dtype=object)
    order = order_of(values)
    try:
        numbers = as_days(values, order).to_numpy(dtype=np.float64)
    except (ValueError, OverflowError):
        return None
    return ("clock" if order == "clock" else "day"), numbers
