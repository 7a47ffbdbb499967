"""The columns of a page: exact numbers, dates as numbers, or text by codes."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.tables.dates import TIME, as_days, order_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from numpy.typing import NDArray

    from patchfold.base.types import Doubles
    from patchfold.explorer.packing import ArrayStore

# The code of a missing text.
MISSING = 2**32 - 1
# Texts that repeat are classes to colour by while there are at most MOST_CLASSES.
MOST_CLASSES = 20
# Integers beyond are not exact as floating point numbers, and are shown as text.
LARGEST_EXACT = 2**53
# pandas' words for missing, known by name, as pandas need not be there.
_MISSING_TYPES = {"NAType", "NaTType"}


def pack_column(name: Any, values: Any, n: int, store: ArrayStore) -> dict[str, Any]:
    """Keep a column in the store and describe it; text is whatever is not all numbers or dates."""
    cells = _listed(f"column {str(name)!r}", values, n)
    numbers = _as_numbers(cells)
    if numbers is not None:
        whole = numbers[np.isfinite(numbers)]
        return {
            "name": str(name),
            "kind": "number",
            "whole": bool((whole == np.round(whole)).all()),
            "values": store.add(numbers),
        }
    codes, texts = _as_codes(cells)
    times = as_times(texts)
    if times is not None:
        unit, moments = times
        return {
            "name": str(name),
            "kind": "number",
            "time": unit,
            "whole": bool((moments == np.round(moments)).all()),
            "values": store.add(np.append(moments, np.nan)[np.minimum(codes, len(texts))]),
        }
    return {"name": str(name), "kind": "text", "texts": texts, "codes": store.add(codes)}


def pack_ids(name: str, ids: Any, n: int, store: ArrayStore) -> dict[str, Any]:
    """Keep the names of the points in the store: numbers of rows, or text, and describe them."""
    cells = _listed("ids", ids, n)
    if all(_is_whole(cell) and 0 <= cell < 2**32 for cell in cells):
        numbers = store.add(np.array(cells, dtype=np.uint32), delta=True)
        return {"name": name, "kind": "number", "whole": True, "values": numbers}
    codes, texts = _as_codes(cells)
    return {"name": name, "kind": "text", "texts": texts, "codes": store.add(codes)}


def with_text(text: Any, columns: dict[Any, Any]) -> tuple[dict[Any, Any], Any]:
    """Return the columns, with that of the texts among them, and its name, or None."""
    if text is None:
        return columns, None
    if isinstance(text, str):
        if text not in columns:
            known = ", ".join(repr(str(name)) for name in columns) or "none"
            raise ValueError(f"text={text!r} is none of the columns ({known}); give one, or texts.")
        return columns, text
    name = getattr(text, "name", None)
    name = unused("text" if name is None else name, columns, " (text)")
    return {**columns, name: text}, name


def numbers_of(name: Any, values: Any, n: int) -> Doubles | None:
    """Return a column as numbers, NaN for missing; None where it holds something else."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and values.shape == (n,):
        return values
    return _as_numbers(_listed(f"column {str(name)!r}", values, n))


def unused(name: Any, taken: Container[Any], ending: str) -> Any:
    """Return a name, with the ending as often as it takes to be none of those taken."""
    while name in taken:
        name = f"{name}{ending}"
    return name


def best_to_colour(columns: dict[Any, Any], n: int) -> dict[Any, Any]:
    """Put the column first that points are coloured by where nobody says which.

    The first of a few classes, or else the first whose values differ; names of points and free
    texts are neither.

    Examples
    --------
    >>> list(best_to_colour({"one": [1, 1, 1, 1], "two": [1, 2, 3, 4], "kind": list("abab")}, 4))
    ['kind', 'one', 'two']
    """
    fitness = {name: _fitness(f"column {str(name)!r}", cells, n) for name, cells in columns.items()}
    first = max(columns, key=lambda name: fitness[name], default=None)
    return dict(sorted(columns.items(), key=lambda item: item[0] != first))


def _fitness(name: str, values: Any, n: int) -> int:
    """Return how well a column colours points: 2 by classes, 1 by what differs, 0 hardly."""
    cells = [cell for cell in _listed(name, values, n) if cell is not None]
    numbers = all(map(_is_number, cells))
    found = set(cells if numbers else map(str, cells))
    different = len(found)
    if numbers or are_times([*found]):
        return int(different > 1)
    return 2 * int(1 < different <= min(MOST_CLASSES, n // 2))


def _listed(name: str, values: Any, n: int) -> list[Any]:
    """Return cells as values of their own, None for what is missing."""
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise TypeError(f"{name} is {str(values)[:60]!r}; give a sequence of {n} values.")
    cells = _cells(values)
    if len(cells) != n:
        raise ValueError(f"{name} has {len(cells)} values for {n} points; give one per point.")
    return [None if is_missing(cell) else cell for cell in cells]


def _cells(values: Iterable[Any]) -> list[Any]:
    if isinstance(values, np.ma.MaskedArray):
        return list(values.tolist())  # None where masked
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind in "mM":  # times: as Python objects they would be integers
        texts = np.asarray(values).astype(str)
        return [None if text == "NaT" else text for text in texts.tolist()]
    if kind == "f" and np.asarray(values).dtype.itemsize < 8:
        # A float32 of 0.1 is shown as 0.1, not by the digits of its neighbour in float64.
        return [float(text) for text in np.asarray(values).astype(str).tolist()]
    return list(values.tolist() if isinstance(values, np.ndarray) else values)


def is_missing(cell: Any) -> bool:
    """Whether a cell says that there is nothing, in the words of Python, NumPy or pandas."""
    if cell is None or type(cell).__name__ in _MISSING_TYPES:
        return True
    return isinstance(cell, float | np.floating) and bool(np.isnan(cell))


def _as_numbers(cells: list[Any]) -> Doubles | None:
    """Return numbers, NaN for missing; None where a cell is something else, or all are missing."""
    if all(cell is None for cell in cells):
        return None
    if not all(cell is None or _is_number(cell) for cell in cells):
        return None
    return np.array([np.nan if cell is None else float(cell) for cell in cells])


def _is_number(cell: Any) -> bool:
    if isinstance(cell, float | np.floating):
        return True
    return _is_whole(cell) and -LARGEST_EXACT <= cell <= LARGEST_EXACT


def _is_whole(cell: Any) -> bool:
    return isinstance(cell, int | np.integer) and not isinstance(cell, bool)


def _as_codes(cells: list[Any]) -> tuple[NDArray[np.uint32], list[str]]:
    known: dict[str, int] = {}
    codes = [MISSING if cell is None else known.setdefault(str(cell), len(known)) for cell in cells]
    return np.array(codes, dtype=np.uint32), list(known)


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
