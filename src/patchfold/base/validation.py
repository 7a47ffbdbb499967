"""What every step asks of its input: numeric points and known parameter values.

Each error names the parameter, the value it met and what to do about it, and keeps the words
that scikit-learn's estimator checks look for.
"""

from __future__ import annotations

import difflib
import inspect
import numbers
import re
import warnings
from collections import Counter
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_random_state, validate_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Lists of columns in messages stop here: a frame with thousands of text columns is named by a few.
NAMED_COLUMNS = 5

# What polars and pyarrow call the types of columns with text or times.
TYPED = re.compile(
    r"date|time|duration|month|(dictionary<values=)?(large_)?(str|utf8|binary)|categorical|enum",
    re.IGNORECASE,
)

# Frames of these packages stand between the user's call and the place that warns.
_INNER = ("patchfold", "sklearn", "joblib", "numpy", "contextlib")

Warned = tuple[str, type[Warning]]

# What collects warnings in this thread; None where they go to the user.
_collected: ContextVar[list[Warned] | None] = ContextVar("_collected", default=None)

# Filters of warnings belong to the whole process: threads that change them have to take turns.
_ignoring = RLock()


def require(module: str, purpose: str, extra: str = "cli") -> Any:
    """Import a package of an extra, or say how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {module.split('.', maxsplit=1)[0]}; install it with: "
            f"pip install 'patchfold[{extra}]'"
        ) from error


def check_points(
    X: Any,
    *,
    accept_sparse: bool = False,
    name: str = "X",
    min_samples: int = 2,
    finite: bool = True,
) -> Any:
    """Return ``X`` as a finite 2-D floating point array, or say what is wrong with it.

    Points are an array, a data frame or a sparse matrix; messages call them by ``name``. float32
    and float64 keep their type, other numbers become float64. A dense array comes back in C order,
    the input itself or a view of it where nothing had to be changed, and a sparse matrix, if there
    may be one, as canonical CSR. Without ``finite``, dense data may have infinite and missing
    values.

    Examples
    --------
    >>> check_points([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    if is_sparse(X):
        if not accept_sparse:
            raise TypeError(
                f"{name} is a sparse matrix of shape {X.shape}, but dense data is required; use "
                f"{name}.toarray(), or reduce it with sklearn.decomposition.TruncatedSVD."
            )
        if X.ndim == 2:
            _check_shape(X.shape, name, min_samples)
        return _check_sparse(X, name)
    _refuse_typed_columns(X, name)
    raw = _as_array(X, name)
    _check_shape(raw.shape, name, min_samples)
    columns = _column_names(X)
    if raw.dtype.kind in "OUSTMm":
        _refuse_text(raw, columns, name)
    try:
        array = check_array(
            # A frame is handed over as it is: scikit-learn turns its missing values into NaN.
            X if columns else raw,
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
            input_name=name,
        )
    except (OverflowError, TypeError, ValueError) as error:
        if twice := [repr(column) for column, times in Counter(columns).items() if times > 1]:
            raise ValueError(
                f"{name} has several columns called {', '.join(twice[:NAMED_COLUMNS])}; give each "
                f"its own name by {name}.columns = [...], or leave names out by {name}.to_numpy()."
            ) from error
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"{name} has values that are not real numbers ({error}); encode or drop their columns."
        ) from error
    if finite:
        _check_finite(array, columns, name)
    return array


def check_choice(parameter: str, value: Any, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``allowed``, else suggest the nearest name.

    Examples
    --------
    >>> check_choice("divergence", "kl", ["kl", "jeffreys"])
    'kl'
    >>> check_choice("divergence", "kll", ["kl", "jeffreys"])
    Traceback (most recent call last):
        ...
    ValueError: divergence='kll' is not known; did you mean 'kl'? Allowed: 'kl', 'jeffreys'.
    """
    names = list(allowed)
    if isinstance(value, str):
        if value in names:
            return value
        lowered = {known.lower(): known for known in names}
        near = difflib.get_close_matches(value.lower(), lowered, n=1)
        hint = f"; did you mean '{lowered[near[0]]}'?" if near else "."
    else:
        hint = "."
    listed = ", ".join(repr(known) for known in names)
    raise ValueError(f"{parameter}={value!r} is not known{hint} Allowed: {listed}.")


def check_count(parameter: str, value: Any, *, minimum: int = 1) -> int:
    """Return ``value`` as an int of at least ``minimum``; bool and float are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(
            f"{parameter}={value!r} is not an integer; give a whole number of at least {minimum}."
        )
    if value < minimum:
        raise ValueError(f"{parameter}={value} is too small; give at least {minimum}.")
    return int(value)


def check_jobs(n_jobs: Any) -> int | None:
    """Return ``n_jobs`` if it is a whole number other than zero, or None."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool | np.bool_) or not isinstance(n_jobs, numbers.Integral):
        raise TypeError(
            f"n_jobs={n_jobs!r} is not an integer; give a number of threads, -1 for all, or None."
        )
    if n_jobs == 0:
        raise ValueError("n_jobs=0 is no number of threads; give at least 1, -1 for all, or None.")
    return int(n_jobs)


def check_seed(random_state: Any) -> Any:
    """Return ``random_state`` if random numbers can be drawn by it, used or not."""
    try:
        check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state={random_state!r} is no seed; give an integer from 0 to 2**32 - 1, a "
            "numpy.random.RandomState, or None."
        ) from error
    return random_state


def check_sources(sources: Any, n: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return ``sources`` as the indices of some of ``n`` points.

    Examples
    --------
    >>> check_sources([2, 0], 3)
    array([2, 0])
    """
    rows = np.asarray(sources)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
        raise ValueError(
            f"sources has shape {rows.shape} and dtype {rows.dtype}; give a list of the indices of "
            "points."
        )
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(
            f"sources has values from {rows.min()} to {rows.max()} for {n} points; give integers "
            f"from 0 to {n - 1}."
        )
    return rows.astype(np.intp)


def check_positive(parameter: str, value: Any) -> float:
    """Return ``value`` as a float if it is a positive finite number; bool is refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{parameter}={value!r} is not a number; give a positive finite one.")
    if not 0 < float(value) < np.inf:
        raise ValueError(f"{parameter}={value} is not positive and finite; give a value above 0.")
    return float(value)


def check_radius(radius: Any) -> float:
    """Return a radius as a float: a positive number, or infinity, within which all points are."""
    if isinstance(radius, numbers.Real) and float(radius) == np.inf:
        return float(radius)
    return check_positive("radius", radius)


def kept(points: Any, X: Any) -> Any:
    """Return checked points, or a copy that does not change when the user's ``X`` does."""
    if is_sparse(X) or isinstance(X, list) or not can_change(points):
        return points
    return points.copy() if np.may_share_memory(points, np.asarray(X)) else points


def can_change(array: Any) -> bool:
    """Tell whether the numbers of an array may change, also through one that it is a view of.

    Examples
    --------
    >>> X = np.zeros((2, 2))
    >>> fixed = X.view()
    >>> fixed.flags.writeable = False
    >>> can_change(fixed)
    True
    """
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return True
        array = array.base
    return False


def is_sparse(X: Any) -> bool:
    """Tell whether ``X`` is a sparse matrix or array (a bool, where SciPy narrows the type)."""
    return bool(sparse.issparse(X))


def _column_names(X: Any) -> list[str]:
    # pyarrow has them under another name: its columns are the values.
    names = getattr(X, "column_names", None)
    return [str(column) for column in (getattr(X, "columns", []) if names is None else names)]


def _refuse_typed_columns(X: Any, name: str) -> None:
    """Refuse text and dates by the types that polars and pyarrow declare.

    As arrays, dates would be numbers: of days, or of microseconds.
    """
    schema = getattr(X, "schema", None) if hasattr(X, "__array__") else None
    if schema is None:
        return
    # A schema of pyarrow has types, one of polars is a mapping.
    types = getattr(schema, "types", None)
    pairs = schema.items() if types is None else zip(schema.names, types, strict=True)
    _refuse_columns([str(column) for column, kind in pairs if TYPED.match(str(kind))], name)


def _as_array(X: Any, name: str) -> np.ndarray[Any, Any]:
    if hasattr(X, "obsm"):  # NumPy would take it apart, one cell after the other
        raise TypeError(
            f"{name} is an AnnData of shape {X.shape} and no array; give adata.obsm['X_pca'], or "
            "use patchfold.anndata.isomap(adata)."
        )
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)  # what is masked is missing
    try:
        raw = np.asarray(X)
    except ValueError as error:
        raise ValueError(
            f"{name} is not a rectangular array ({error}); give every row the same length."
        ) from error
    except (RuntimeError, TypeError) as error:  # of tensors that NumPy cannot read
        tensor = f"give e.g. {name}.detach().cpu().to_dense().double().numpy()"
        raise TypeError(f"{name} is no plain array ({error}); {tensor}.") from error
    if raw.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {name} has dtype {raw.dtype}; "
            f"use {name}.real, or stack real and imaginary parts as columns."
        )
    return raw


def _check_shape(shape: tuple[int, ...], name: str, min_samples: int) -> None:
    if len(shape) != 2:
        remedy = (
            f"use {name}.reshape(-1, 1) if it has a single feature or {name}.reshape(1, -1) "
            "if it is a single sample"
            if len(shape) < 2
            else f"use {name}.reshape(len({name}), -1) for one row per sample"
        )
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D array instead: {name} has shape {shape}. "
            f"Reshape your data: {remedy}."
        )
    n_samples, n_features = shape
    if n_features < 1:
        raise ValueError(
            f"{name} has 0 feature(s) (shape={shape}) while a minimum of 1 is required. "
            "Give at least one column."
        )
    if n_samples < min_samples:
        raise ValueError(
            f"{name} has {n_samples} sample(s) (shape={shape}) while a minimum of {min_samples} "
            "is required. Give more rows."
        )


def _check_sparse(X: Any, name: str) -> Any:
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {X.dtype}; use {name}.real")
    matrix = check_array(
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        ensure_min_samples=0,
        input_name=name,
    )
    if not matrix.has_canonical_format:
        matrix = matrix.copy() if matrix is X else matrix
        matrix.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        _refuse_values(matrix.data[bad], row, repr(int(matrix.indices[bad[0]])), name)
    return matrix


def _check_finite(array: np.ndarray[Any, Any], columns: list[str], name: str) -> None:
    # One pass without a mask settles the common case; a sum that overflows is looked at closely.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):
            return
    finite = np.isfinite(array)
    if finite.all():
        return
    row, column = (int(place) for place in divmod(int(np.argmin(finite)), array.shape[1]))
    _refuse_values(array[~finite], row, repr(columns[column]) if columns else str(column), name)


def _refuse_values(values: np.ndarray[Any, Any], row: int, column: str, name: str) -> NoReturn:
    n_nan = int(np.isnan(values).sum())
    found = [
        f"{kind} ({count} value{'s' if count > 1 else ''})"
        for kind, count in (("NaN", n_nan), ("infinity", len(values) - n_nan))
        if count
    ]
    raise ValueError(
        f"{name} contains {' and '.join(found)}, the first in row {row}, column {column}; drop "
        "these rows or impute them, e.g. with sklearn.impute.SimpleImputer "
        "(infinity first has to become NaN)."
    )


def _refuse_text(raw: np.ndarray[Any, Any], columns: list[str], name: str) -> None:
    kinds = (str, bytes, np.datetime64, np.timedelta64)
    # pandas holds dates of a mixed frame as Timestamp, which only has `isoformat` to know it by.
    bad = [
        column
        for column in range(raw.shape[1])
        if raw.dtype.kind != "O"
        or any(isinstance(value, kinds) or hasattr(value, "isoformat") for value in raw[:, column])
    ]
    _refuse_columns([columns[column] if columns else column for column in bad], name)


def _refuse_columns(bad: list[Any], name: str) -> None:
    if bad:
        named = ", ".join(repr(column) for column in bad[:NAMED_COLUMNS])
        more = f" and {len(bad) - NAMED_COLUMNS} more" if len(bad) > NAMED_COLUMNS else ""
        raise ValueError(
            f"{name} has text or dates in column{'s' if len(bad) > 1 else ''} {named}{more}; "
            "encode them with sklearn.preprocessing.OrdinalEncoder or OneHotEncoder, or drop them."
        )


def checked_points(estimator: Any, X: Any, *, y: Any = "no_validation", reset: bool = True) -> Any:
    """Check points for an estimator; scikit-learn keeps columns, and refuses a missing ``y``."""
    points = check_points(X, min_samples=1)
    check_columns(estimator, X, y, reset=reset)
    return points


def check_columns(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool) -> None:
    """Remember the columns of ``X`` on an estimator, or refuse others than it was fitted on."""
    if reset and getattr(getattr(X, "columns", None), "nlevels", 1) > 1:
        warn_user(
            "X has column names of several levels, which are not remembered: new data in another "
            "order of columns would go unnoticed; flatten them, e.g. by X.columns = "
            "['_'.join(map(str, names)) for names in X.columns]."
        )
    try:
        validate_data(estimator, X, y, reset=reset, skip_check_array=True)
    except ValueError as error:
        if reset:
            raise
        between = "" if str(error).endswith("\n") else " "  # a list of columns ends its last line
        raise ValueError(f"{error}{between}Give X the columns of the fit.") from error


@contextmanager
def collected_warnings() -> Iterator[list[Warned]]:
    """Meanwhile, collect what :func:`warn_user` is given, in this thread alone.

    Python's own way switches the warnings of all threads on and off.
    """
    found: list[Warned] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


@contextmanager
def ignored_warnings() -> Iterator[None]:
    """Meanwhile, ignore warnings of other libraries; one thread after the other."""
    with _ignoring, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside the library."""
    collected = _collected.get()
    if collected is not None:
        collected.append((message, category))
        return
    level = 1
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in _INNER:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
