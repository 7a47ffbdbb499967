"""Honest choice: what is scored on test rows was chosen without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Candidate = TypeVar("Candidate")
Scored = TypeVar("Scored")


def honest_scores(
    candidates: Sequence[Candidate],
    splits: Iterable[tuple[tuple[Any, Any], tuple[Any, Any]]],
    score: Callable[[Candidate, Any, Any], Scored],
    *,
    judge: Callable[[Candidate, Any, Any], Any] | None = None,
) -> tuple[list[Scored], list[int]]:
    """Let every training half choose a candidate, and score that one on the test half.

    Parameters
    ----------
    candidates : sequence
        What is chosen from, for instance one embedding per number of neighbours. The first of
        equally good ones is chosen.
    splits : iterable of (inner, outer)
        Both are (train, test). The inner rows choose, and are among the outer training rows.
    score : callable
        Scores a candidate, given training and test rows.
    judge : callable or None
        Takes the same and returns the number that chooses; None means ``score``.

    Returns
    -------
    scores : list
        The score of every split, by its outer rows.
    chosen : list of int
        The candidate that every split chose.

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
