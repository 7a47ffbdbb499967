"""Values of pairs that several graphs of the same patches ask for."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Floats, Indices


class KnownPairs:
    """A symmetric function of pairs of ``n`` things that finds the value of each pair once.

    Examples
    --------
    >>> asked = []
    >>> def product(i, j):
    ...     asked.extend(zip(i.tolist(), j.tolist()))
    ...     return 1.0 * i * j
    >>> known = KnownPairs(5, product)
    >>> known(np.array([4, 1]), np.array([3, 2])), known(np.array([2, 2]), np.array([1, 3]))
    (array([12.,  2.]), array([2., 6.]))
    >>> asked
    [(1, 2), (3, 4), (2, 3)]
    """

    def __init__(self, n: int, find: Callable[[Indices, Indices], Floats]) -> None:
        self._n, self._find = n, find
        # In order; above every code stands one of no pair, so that each search ends at a place.
        self._codes = np.array([np.iinfo(np.int64).max])
        self._values: Floats = np.zeros(1)
        self._finding = Lock()  # two estimators at once

    def __call__(self, i: Indices, j: Indices) -> Floats:
        """Return the values of the pairs ``(i, j)``."""
        codes = np.minimum(i, j).astype(np.int64) * self._n + np.maximum(i, j)
        with self._finding:
            place = np.searchsorted(self._codes, codes)
            new = np.unique(codes[self._codes[place] != codes])
            if len(new):
                values = self._find(new // self._n, new % self._n)
                order = np.argsort(every := np.concatenate([self._codes, new]), kind="stable")
                self._values = np.concatenate([self._values, values])[order].astype(values.dtype)
                self._codes = every[order]
                place = np.searchsorted(self._codes, codes)
            return self._values[place]
