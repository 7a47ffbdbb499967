"""Which of some points are equal to one of a set of points, coordinate by coordinate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from patchfold.base.threads import map_blocks
from patchfold.base.validation import is_sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patchfold.base.types import Floats, Indices, Mask


# An odd number whose bits are as good as random (the golden ratio times 2^64).
MIXER = np.uint64(0x9E3779B97F4A7C15)


class RowTable:
    """Points (n, m) of float32 or float64 that can be found again; they are kept, not copied.

    Dense, or sparse as CSR without stored zeros.

    Examples
    --------
    >>> import numpy as np
    >>> RowTable(np.array([[0.0, 1.0], [2.0, 3.0]])).find(np.array([[2.0, 3.0], [1.0, 0.0]]))
    array([ 1, -1])
    """

    def __init__(self, points: Any) -> None:
        self._points = points
        keys = _keys(points)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    @property
    def points(self) -> Any:
        """The points themselves."""
        return self._points

    def keys(self) -> NDArray[np.uint64]:
        """Return a number for every point, equal for equal ones in whatever table they are.

        Numbers that are equal in float32 and float64 have the same key.
        """
        return _keys(self._points, np.float64)

    def first(self) -> Indices:
        """Return the first point that each point equals: itself, or an earlier one."""
        rows = np.arange(len(self._keys))
        # Only rows whose key is there twice can be copies: others are not gathered.
        twice = self._keys[1:] == self._keys[:-1]
        asked = self._order[np.append(twice, False) | np.append(False, twice)]
        if len(asked):
            rows[asked] = self.find(self._points[asked])
        return rows

    def find(self, X: Any) -> Indices:
        """Return the first point that each row equals, -1 where there is none.

        Where one side is float32, numbers are equal that are equal in float32.
        """
        points, order, keys = self._points, self._order, self._keys
        if X.dtype.itemsize < points.dtype.itemsize:
            coarse = RowTable(points.astype(X.dtype))
            points, order, keys = coarse._points, coarse._order, coarse._keys
        X = X.astype(points.dtype, copy=False)
        wanted = _keys(X)
        rows = np.full(len(wanted), -1, dtype=np.intp)
        place = np.searchsorted(keys, wanted)
        left = np.arange(len(wanted))
        # Rows of the same key are equal but for a rare chance; then the next of the key may be.
        while len(left):
            left = left[place[left] < len(keys)]
            left = left[keys[place[left]] == wanted[left]]
            found = order[place[left]]
            equal = _equal(points[found], X[left])
            rows[left[equal]] = found[equal]
            left = left[~equal]
            place[left] += 1
        return rows


def _equal(a: Any, b: Any) -> Mask:
    """Tell which rows are equal, one by one."""
    if is_sparse(a):
        return np.asarray(np.diff(csr_array(a != b).indptr) == 0)
    return np.asarray((a == b).all(axis=1))


def _keys(X: Any, dtype: Any = None) -> NDArray[np.uint64]:
    """Return a number for every row: its mixed bits times random odd numbers, summed modulo 2^64.

    Sums of integers are exact, so that equal rows have equal keys wherever they are. Bits are mixed
    first: those of round numbers are mostly zeros at the end, and would be lost in the sum.
    ``dtype`` is the precision whose bits are taken; None: that of the rows.
    """
    dtype = np.dtype(dtype or X.dtype)
    bits = np.dtype(f"u{dtype.itemsize}")
    random = np.random.default_rng(0).integers(2**63, size=X.shape[1], dtype=np.uint64)
    factors = 2 * random + np.uint64(1)

    def mixed(values: Floats) -> NDArray[np.uint64]:
        # Adding zero turns -0.0, which has other bits, into 0.0.
        words = (values.astype(dtype, copy=False) + 0).view(bits).astype(np.uint64)
        words ^= words >> np.uint64(32)
        words *= MIXER
        words ^= words >> np.uint64(29)
        return words

    if is_sparse(X):  # a zero has the bits zero, and adds nothing
        sums = np.concatenate([[np.uint64(0)], np.cumsum(mixed(X.data) * factors[X.indices])])
        return np.asarray(sums[X.indptr[1:]] - sums[X.indptr[:-1]])

    def hashed(block: slice) -> NDArray[np.uint64]:
        return np.asarray(mixed(X[block]) @ factors)

    parts = map_blocks(hashed, len(X), 3 * 8 * X.shape[1])
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)
