"""Rows drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

if TYPE_CHECKING:
    from patchfold.base.types import Indices


# Rows on which a width is chosen. It is a single number, and the time to try many grows with the
# square (GRNN) or the cube (kernel ridge) of the rows.
CHOICE_ROWS = 1000


def choice_rows(n: int, count: int) -> Indices:
    """Return a sample of at most ``count`` of ``n`` rows, sorted, the same in every run."""
    if n <= count:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, size=count, replace=False))


def drawn_rows(n: int, count: int, random_state: Any) -> Indices:
    """Draw ``count`` of ``n`` rows, each as likely as another, in their order."""
    return np.sort(check_random_state(random_state).permutation(n)[:count])
