"""Run one case and say what came of it.

- *right*: the result is sound, equal to its reference, and its relation holds;
- *clear error*: a ValueError, TypeError, MemoryError or NotFittedError whose message names what is
  wrong (a parameter, X, y, a row) and what to do (``REMEDY``: after a semicolon, or by a verb);
- *unclear error*: any other exception or message, or a warning of NumPy about its own arithmetic;
- *silent wrong*: a result that is not sound, unequal to its reference, or should not be there;
- *hang*, *crash*: said by the parent, of a worker that takes too long or ends (``workers.py``).
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError

from . import clusters, commands, given, libraries, methods, relations
from .data import ROWS, TABLES, classes, sheet
from .representations import COLUMNS, FAR, REFUSED, SAME
from .settings import BAD_PARAMETERS, ESTIMATORS, GaussianPatch, build
from .soundness import SilentlyWrongError, UnlikeError, dense, length, must, numbers

if TYPE_CHECKING:
    from .cases import Case
    from .data import Table

RIGHT, CLEAR, UNCLEAR, WRONG = "right", "clear error", "unclear error", "silent wrong"
HANG, CRASH = "hang", "crash"
VERDICTS = (RIGHT, CLEAR, UNCLEAR, WRONG, HANG, CRASH)
FINE = (RIGHT, CLEAR)

EXPECTED = (ValueError, TypeError, MemoryError, NotFittedError)

# What a message may name, beside parameters.
THINGS = {"X", "y", "Z", "row", "rows", "columns", "sources", "points", "labels", "adata"}
PARAMETERS = {name.removeprefix("patch__") for name in BAD_PARAMETERS}
PARAMETERS |= {name for kind in ESTIMATORS.values() for name in kind().get_params(deep=False)}
NAMED = re.compile(r"\b(" + "|".join(sorted(PARAMETERS | THINGS)) + r")\b")

REMEDY = re.compile(
    r"; \w|\b(allowed|call|choose|convert|did you mean|drop|encode|enlarge|fit|give|impute|leave"
    r"|lower|must be|pass|raise|rename|rescale|reshape|set|use)\b",
    re.IGNORECASE,
)

# A unit changes no more than this: rank correlation of distances.
SAME_IN_ANY_UNIT = 0.999

# A warning that says so allows two fits to differ.
ARBITRARY = "rounding decides"


class Verdict(NamedTuple):
    """One of ``VERDICTS``, and in one line why."""

    name: str
    detail: str = ""


def judge(case: Case) -> Verdict:
    """Run a case in this process."""
    random = np.random.default_rng(case.seed)
    with warnings.catch_warnings(record=True) as warned, np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("always")
        try:
            KINDS[case.kind](case.name, case.word, random)
        except SilentlyWrongError as error:
            told = any(ARBITRARY in str(warning.message) for warning in warned)
            silent = not (told and isinstance(error, UnlikeError))
            return Verdict(WRONG if silent else RIGHT, str(error))
        except commands.CommandError as error:
            names = {"refused": CLEAR, "silent": WRONG, "unclear": UNCLEAR}
            return Verdict(names[error.kind], str(error))
        except EXPECTED as error:
            return _judged(error)
        except Exception as error:  # noqa: BLE001  (this is what the campaign looks for)
            return Verdict(UNCLEAR, _line(error))
    for warning in warned:
        if issubclass(warning.category, RuntimeWarning) and "encountered" in str(warning.message):
            return Verdict(UNCLEAR, f"warning: {warning.message} ({warning.filename})")
    return Verdict(RIGHT)


def is_clear(message: str) -> bool:
    """Whether a message names what is wrong, and what to do about it."""
    return bool(NAMED.search(message) and REMEDY.search(message))


def _judged(error: Exception) -> Verdict:
    return Verdict(CLEAR if is_clear(str(error)) else UNCLEAR, _line(error))


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:400]


# ------------------------------------------------------------------------------------------- kinds


def _table(name: str, word: str, random: Any) -> None:
    table = TABLES[name](random)
    found = _sound(table, build(word, table.X))
    if table.plain is None:
        return
    X, new = table.plain
    expected = relations.places(build(word, X), X, table.y, new)
    if table.exact:
        wrong = relations.unequal(expected, found)
        must(wrong is None, f"not the result of the plain table: {wrong}")
    elif not word.startswith("tsne"):  # of which only equal numbers give equal places
        wrong = relations.unlike(expected, found, SAME_IN_ANY_UNIT)
        if wrong is not None:
            raise UnlikeError(f"not the result of the plain table: {wrong}")


def _new_points(name: str, word: str, random: Any) -> None:
    points = sheet(random)
    X, new = points[:ROWS], points[ROWS:]
    model = build(word, X).fit(X, classes(ROWS))
    if name in FAR:
        # At their place or refused, never without a number.
        numbers(model.transform(X[:5] + FAR[name] * np.eye(5, 3)), "transform")
        return
    if name in COLUMNS:
        model.transform(COLUMNS[name](new))
        must(False, "transform accepts other columns than were fitted")
    if name in SAME:
        a, b = (dense(model.transform(part)) for part in (new, SAME[name](new)))
        must(np.array_equal(a, b), "new points are mapped to other places than as a plain array")
        return
    model.transform(REFUSED[name](new))
    must(name == "one-row", "transform accepts what it has to refuse")


def _distances(name: str, word: str, random: Any) -> None:
    table = given.distances(name, random)
    _sound(table, build(word, table.X), points=False)


def _labels(name: str, word: str, random: Any) -> None:
    table, plain = given.labelled(name, random)
    found = _sound(table, build(word, table.X))
    if plain is not None:
        expected = relations.places(build(word, table.X), table.X, plain, table.new)
        wrong = relations.unequal(expected, found)
        must(wrong is None, f"not the result of plain labels: {wrong}")


def _relation(name: str, word: str, random: Any) -> None:
    wrong = relations.broken(name, word, random)
    if wrong is not None:
        kind = UnlikeError if name in relations.ALIKE else SilentlyWrongError
        raise kind(f"{name} changes the result: {wrong}")


def _parameter(name: str, word: str, random: Any) -> None:
    parameter, number = name.rsplit(":", 1)
    X = sheet(random)
    value = BAD_PARAMETERS[parameter][int(number)]
    model = build(word, X)
    if parameter.startswith("patch__"):
        model.set_params(patch=GaussianPatch())
    if parameter == "patch__rank":
        model.set_params(patch__covariance="low-rank")
    if parameter == "landmarks":
        model.set_params(n_components=2)
    model.set_params(**{parameter: value}).fit(X, classes(len(X)))
    must(False, f"{parameter}={value!r} is accepted")


def _command(name: str, word: str, random: Any) -> None:
    commands.run(name, word, REMEDY)


KINDS = {
    "table": _table,
    "new": _new_points,
    "distances": _distances,
    "labels": _labels,
    "relation": _relation,
    "parameter": _parameter,
    "command": _command,
    "method": methods.run,
    "library": libraries.run,
    "cluster": clusters.run,
}

NEW_POINTS = (*SAME, *REFUSED, *FAR, *COLUMNS)

# ------------------------------------------------------------------------------------------ checks


def _sound(table: Table, model: Any, *, points: bool = True) -> relations.Places:
    """Fit and map; the result has to have the right shape, numbers, and the places of fitted rows.

    Nothing may change the table.
    """
    before = table.X.copy() if isinstance(table.X, np.ndarray) else None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        fitted = model.fit_transform(table.X, table.y)
    for warning in warned:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    must(not table.refused, "fit accepts what it has to refuse")
    n, n_new = length(table.X), length(table.new)
    width = n if hasattr(fitted, "indptr") else model.n_components
    must(fitted.shape == (n, width), f"fit gives the shape {fitted.shape} for {n} rows")
    numbers(fitted, "fit")
    mapped = model.transform(table.new)
    must(mapped.shape == (n_new, width), f"transform gives {mapped.shape} for {n_new} rows")
    numbers(mapped, "transform")
    if before is not None:
        must(_equal(before, table.X), "fit or transform changes X")
    found = relations.Places(dense(fitted), dense(mapped), graph=hasattr(fitted, "indptr"))
    if points and not found.graph:
        _check_fitted_rows(model, table.X, found.fitted)
        if not any(warning.category is UserWarning for warning in warned):
            flat = bool((np.ptp(found.fitted, axis=0) == 0).all())
            equal = len(np.unique(np.asarray(table.X, dtype=np.float64), axis=0)) == 1
            must(equal or not flat, "all points are in one place, without a warning")
    return found


def _check_fitted_rows(model: Any, X: Any, fitted: Any) -> None:
    rows = np.asarray(X, dtype=np.float64)
    _, first = np.unique(rows, axis=0, return_index=True)  # copies have the place of the first
    again = model.transform(X)
    must(_equal(again[first], fitted[first]), "transform moves fitted rows")


def _equal(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
