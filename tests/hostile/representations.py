"""Ways to hand over the same numbers, numbers of another kind, or what is no table at all."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Points = np.ndarray[Any, Any]


def _memmap(points: Points) -> Any:
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file.name, points)
        return np.load(file.name, mmap_mode="r")  # the mapping outlives the name


def _read_only(points: Points) -> Points:
    points = points.copy()
    points.flags.writeable = False
    return points


def _strided(points: Points) -> Points:
    return np.repeat(np.repeat(points, 2, axis=0), 3, axis=1)[::2, ::3]


def _reversed(points: Points) -> Points:
    return points[::-1, ::-1].copy()[::-1, ::-1]


def _frame(points: Points, **arguments: Any) -> Any:
    import pandas as pd

    names = arguments.pop("columns", [f"c{i}" for i in range(points.shape[1])])
    return pd.DataFrame(points, columns=names, **arguments)


def _multi(points: Points) -> Any:
    import pandas as pd

    pairs = pd.MultiIndex.from_tuples([("a", i) for i in range(points.shape[1])])
    rows = pd.MultiIndex.from_tuples([(i // 2, i % 2) for i in range(len(points))])
    return pd.DataFrame(points, columns=pairs, index=rows)


def _nullable_with_missing(points: Points) -> Any:
    import pandas as pd

    frame = _frame(points).astype("Float64")
    frame.iloc[1, 0] = pd.NA
    return frame


def _dates(points: Points) -> Any:
    import pandas as pd

    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(points)), unit="D")
    return _frame(points).assign(day=days)


def _polars(points: Points) -> Any:
    import polars as pl

    return pl.DataFrame({f"c{i}": column for i, column in enumerate(points.T)})


def _polars_dates(points: Points) -> Any:
    import polars as pl

    days = np.arange(len(points)).astype("datetime64[D]")
    return _polars(points).with_columns(pl.Series("day", days))


def _arrow(points: Points) -> Any:
    import pyarrow as pa

    return pa.table({f"c{i}": column for i, column in enumerate(points.T)})


def _mixed_text(points: Points) -> Any:
    cells = points.astype(object)
    cells[0, 0] = "a"
    return cells


def _masked(points: Points, *, some: bool) -> Any:
    mask = np.zeros(points.shape, dtype=bool)
    mask[2, 1] = some
    return np.ma.MaskedArray(points, mask)


def _with(value: float) -> Callable[[Points], Points]:
    def put(points: Points) -> Points:
        points = points.copy()
        points[3, 1] = value
        return points

    return put


# Each has to give the result of the plain table, bit for bit.
SAME: dict[str, Callable[[Points], Any]] = {
    "list": lambda points: points.tolist(),
    "fortran": np.asfortranarray,
    "strided": _strided,
    "reversed-strides": _reversed,
    "big-endian": lambda points: points.astype(">f8"),
    "read-only": _read_only,
    "memmap": _memmap,
    "longdouble": lambda points: points.astype(np.longdouble),
    "object": lambda points: points.astype(object),
    "masked-nowhere": lambda points: _masked(points, some=False),
    "pandas": _frame,
    "pandas-nullable": lambda points: _frame(points).astype("Float64"),
    "pandas-object": lambda points: _frame(points).astype(object),
    "pandas-multiindex": _multi,
    "pandas-same-names": lambda points: _frame(points, columns=["c"] * points.shape[1]),
    "pandas-integer-names": lambda points: _frame(points, columns=range(points.shape[1])),
    "polars": _polars,
    "pyarrow": _arrow,
    "matrix-of-rows": lambda points: [tuple(row) for row in points],
}

# Other numbers: the plain table is what they are as float64.
ROUNDED: dict[str, Callable[[Points], Any]] = {
    "float16": lambda points: points.astype(np.float16),
    "int64": lambda points: np.rint(40 * points).astype(np.int64),
    "int8": lambda points: np.rint(20 * points).astype(np.int8),
    "uint8": lambda points: np.rint(40 * points - 40 * points.min()).astype(np.uint8),
    "uint64": lambda points: np.rint(400 * points - 400 * points.min()).astype(np.uint64),
    "bool": lambda points: points > np.median(points),
    "pandas-int64": lambda points: _frame(np.rint(40 * points)).astype("Int64"),
    "pandas-bool": lambda points: _frame(points > 0.5).astype("boolean"),
}

# Each has to be refused.
REFUSED: dict[str, Callable[[Points], Any]] = {
    "text": lambda points: points.astype(str),
    "bytes": lambda points: points.astype("S8"),
    "text-in-object": _mixed_text,
    "complex": lambda points: points + 1j,
    "nan": _with(np.nan),
    "inf": _with(np.inf),
    "minus-inf": _with(-np.inf),
    "masked": lambda points: _masked(points, some=True),
    "datetime": lambda points: np.rint(points).astype("datetime64[D]"),
    "timedelta": lambda points: np.rint(points).astype("timedelta64[s]"),
    "pandas-missing": _nullable_with_missing,
    "pandas-categorical": lambda points: _frame(points.round()).astype(str).astype("category"),
    "pandas-dates": _dates,
    "polars-dates": _polars_dates,
    "one-dimensional": lambda points: points[:, 0],
    "three-dimensional": lambda points: points[None],
    "ragged": lambda points: [list(row[: 1 + i % 2]) for i, row in enumerate(points)],
    "no-rows": lambda points: points[:0],
    "one-row": lambda points: points[:1],
    "no-columns": lambda points: points[:, :0],
    "nothing": lambda points: np.empty((0, 0)),
    "none": lambda points: None,
    "a-number": lambda points: 3.0,
    "a-dict": lambda points: {"a": points},
    "huge-integers": lambda points: [[10**400, 1], [2, 3], [4, 5]],
}

# How far new points lie from the fitted ones, in widths of the sheet.
FAR = {"far-10": 10.0, "far-1e6": 1e6, "far-1e12": 1e12, "far-1e150": 1e150, "far-1e300": 1e300}
COLUMNS: dict[str, Callable[[Points], Any]] = {
    "fewer-columns": lambda new: new[:, 1:],
    "more-columns": lambda new: np.column_stack([new, new]),
}
