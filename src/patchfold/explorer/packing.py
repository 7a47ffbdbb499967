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
    Then zlib and base64, which the page reverses.
    """

    def __init__(self) -> None:
        self.kinds: list[dict[str, Any]] = []
        self.texts: list[str] = []
        self._known: dict[tuple[str, bool, bytes], int] = {}

    def add(self, values: NDArray[Any], *, delta: bool = False) -> int:
        """Keep an array of float32, float64, uint8 or uint32 and return its number."""
        kind = values.dtype.name
        flat = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).ravel()
        if delta:
            flat = np.diff(flat, prepend=flat.dtype.type(0))  # modulo 2^32
        planes = flat.view(np.uint8).reshape(-1, flat.dtype.itemsize).T
        packed = zlib.compress(planes.tobytes(), COMPRESSION)
        # With delta: the differences of 0, 1, 2 are the values 0, 1, 1.
        number = self._known.setdefault((kind, delta, packed), len(self.texts))
        if number == len(self.texts):
            self.kinds.append({"type": kind, "length": flat.size, "delta": delta})
            self.texts.append(base64.b64encode(packed).decode())
        return number
