"""Rows drawn at random: halves, folds and samples. The same seed draws the same rows.

And honest choice: what is scored on test rows was chosen without them.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from patchfold.base.types import Indices

    Split = tuple[Indices, Indices]

Candidate = TypeVar("Candidate")
Scored = TypeVar("Scored")


def halves(
    y: Any,
    count: int = 1,
    *,
    rows: Any = None,
    stratify: bool = True,
    random_state: Any = 0,
) -> list[Split]:
    """Split rows into a training and a test half, ``count`` times.

    The test half has one row more where their number is odd. ``y`` are the targets of all rows, of
    which only ``rows`` are split; with ``stratify``, both halves keep the shares of the classes
    ``y``.

    Examples
    --------
    >>> y = np.array([0] * 8 + [1] * 4)
    >>> [(train, test)] = halves(y)
    >>> np.bincount(y[train]).tolist(), np.bincount(y[test]).tolist()
    ([4, 2], [4, 2])
    """
    y, places = _taken(y, rows)
    kind = StratifiedShuffleSplit if stratify else ShuffleSplit
    splitter = kind(count, test_size=0.5, random_state=random_state)
    found = splitter.split(np.zeros(len(y)), y if stratify else None)
    return [(places[train], places[test]) for train, test in found]


def folds(y: Any, count: int, *, rows: Any = None, random_state: Any = 0) -> list[Split]:
    """Split rows into folds that keep the shares of the classes; each is the test rows once.

    There are at least two folds, and no more than the largest class has rows. A class with fewer
    rows than folds is missing in some of them. ``y`` are the classes of all rows, of which only
    ``rows`` are split.

    Examples
    --------
    >>> y = np.array([0] * 8 + [1] * 4)
    >>> [len(test) for _, test in folds(y, 4)]
    [3, 3, 3, 3]
    """
    y, places = _taken(y, rows)
    most = int(np.unique(y, return_counts=True)[1].max())
    splitter = StratifiedKFold(max(2, min(count, most)), shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        found = list(splitter.split(np.zeros(len(y)), y))
    return [(places[train], places[test]) for train, test in found]


def draw(n: int, size: int, random: Any = 0, *, strata: Any = None) -> Indices:
    """Draw ``size`` of ``n`` rows without replacement, or all rows where there are no more.

    ``random`` is a seed, or where random numbers come from. Classes ``strata`` of all rows keep
    their shares, each to within a row. Rows come in ascending order.

    Examples
    --------
    >>> y = np.array([0] * 8 + [1] * 4)
    >>> np.bincount(y[draw(12, 6, strata=y)]).tolist()
    [4, 2]
    """
    random = np.random.default_rng(random) if isinstance(random, int | np.integer) else random
    found: Indices = random.permutation(n)
    size = min(size, n)
    if strata is not None:
        found = found[np.argsort(np.asarray(strata)[found], kind="stable")]
        # Equal steps from a random start, through the rows class by class.
        found = found[((np.arange(size) + random.random()) * n / size).astype(int)]
    return np.sort(found[:size])


def _taken(y: Any, rows: Any) -> tuple[Any, Indices]:
    """Return the targets to split, and the rows they belong to."""
    y = np.asarray(y)
    if rows is None:
        return y, np.arange(len(y))
    return y[rows], np.asarray(rows)


def honest_scores(
    candidates: Sequence[Candidate],
    splits: Iterable[tuple[tuple[Any, Any], tuple[Any, Any]]],
    score: Callable[[Candidate, Any, Any], Scored],
    *,
    judge: Callable[[Candidate, Any, Any], Any] | None = None,
) -> tuple[list[Scored], list[int]]:
    """Let every training half choose a candidate, and score that one on the test half.

    Candidates are what is chosen from, for instance one embedding per number of neighbours. Splits
    are pairs (inner, outer) of pairs (train, test). The inner rows choose, and are among the outer
    training rows. ``score(candidate, train, test)`` scores a candidate, and ``judge``, which is
    ``score`` unless it is given, returns the number that chooses: the first of equally good
    candidates is chosen.

    Return the score of every split by its outer rows, and the place of the candidate that it chose.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(4)
    >>> splits = [((rows[:1], rows[1:2]), (rows[:2], rows[2:]))]
    >>> columns = [np.array([5, 1, 9, 9]), np.array([5, 2, 3, 4])]
    >>> honest_scores(columns, splits, lambda column, _, test: float(column[test].mean()))
    ([3.5], [1])
    """
    judge = judge or score
    scores, chosen = [], []
    for inner, outer in splits:
        place = 0
        if len(candidates) > 1:
            values: list[Any] = [judge(candidate, *inner) for candidate in candidates]
            place = values.index(max(values))
        scores.append(score(candidates[place], *outer))
        chosen.append(place)
    return scores, chosen
