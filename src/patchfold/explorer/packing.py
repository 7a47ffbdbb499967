"""Numbers and words in a form that a page can hold: nothing in it is read as markup."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# What could end a script element, start a comment or an entity, or end a line of a program; and
# halves of characters, which UTF-8 cannot write. All of it is inside strings.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
# More effort takes several times as long for a few percent.
COMPRESSION = 6
# The largest number of 16 bits.
LARGEST = 2**16 - 1
# Values are rounded to 16 bits where this many steps lie between their quantiles 0.01 and 0.99: a
# plot of all but the outermost points is then finer than the pixels of a screen.
LEAST_STEPS = 4000


def safe_json(value: Any) -> str:
    r"""Write a value as JSON that may stand in a script element, whatever its strings contain.

    Examples
    --------
    >>> safe_json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class ArrayStore:
    """The arrays of a page, each kept once however often it is used.

    An array becomes little-endian bytes; where ``delta``, of the differences of consecutive values;
    first the lowest byte of all values, then the next: similar bytes side by side compress well.
    Then zlib and base64, which the page reverses. Rounded values are integers of 16 bits, with the
    scale that makes them numbers again.
    """

    def __init__(self) -> None:
        self.kinds: list[dict[str, Any]] = []
        self.texts: list[str] = []
        self._known: dict[tuple[str, str, bytes], int] = {}

    def add(self, values: NDArray[Any], *, delta: bool = False) -> int:
        """Keep an array of float32, float64, uint8, uint16 or uint32 and return its number."""
        return self._keep(values, {"delta": delta})

    def add_rounded(self, values: NDArray[Any]) -> int:
        """Keep numbers by 16 bits, in equal steps from the least to the largest.

        Where outliers would make the steps too coarse for the others, keep them as float32.
        """
        low, high = (float(end(values)) if values.size else 0.0 for end in (np.min, np.max))
        step = (high - low) / LARGEST
        if step and np.diff(np.quantile(values, [0.01, 0.99]))[0] < LEAST_STEPS * step:
            return self.add(values.astype(np.float32))
        return self._codes(np.round((values - low) / (step or 1.0)), low, step)

    def add_codes(self, codes: NDArray[Any], low: float) -> int:
        """Keep whole numbers from 0 to 65535 that are added to ``low``."""
        return self._codes(codes, low, 1.0)

    def _codes(self, codes: NDArray[Any], low: float, step: float) -> int:
        return self._keep(codes.astype(np.uint16), {"delta": False, "scale": [low, step]})

    def add_positive(self, values: NDArray[Any]) -> int:
        """Keep numbers from zero on by 16 bits, in equal steps of their logarithm; 0 stays 0.

        The relative error is at most half a step: 0.0001 where the largest is a million times the
        least.
        """
        some = values[values > 0]
        low, high = (float(np.log(end(some))) if some.size else 0.0 for end in (np.min, np.max))
        step = (high - low) / (LARGEST - 1)
        codes = np.zeros(values.shape, dtype=np.uint16)
        codes[values > 0] = 1 + np.round((np.log(some) - low) / (step or 1.0)).astype(np.uint16)
        return self._keep(codes, {"delta": False, "powers": [low, step]})

    def _keep(self, values: NDArray[Any], meaning: dict[str, Any]) -> int:
        flat = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).ravel()
        if meaning["delta"]:
            flat = np.diff(flat, prepend=flat.dtype.type(0))  # modulo 2^32
        planes = flat.view(np.uint8).reshape(-1, flat.dtype.itemsize).T
        packed = zlib.compress(planes.tobytes(), COMPRESSION)
        kind = {"type": values.dtype.name, "length": flat.size, **meaning}
        # The same bytes may mean other values: the differences of 0, 1, 2 are the values 0, 1, 1.
        key = values.dtype.name, json.dumps(meaning), packed
        number = self._known.setdefault(key, len(self.texts))
        if number == len(self.texts):
            self.kinds.append(kind)
            self.texts.append(base64.b64encode(packed).decode())
        return number
