"""From bytes to text: compression is undone, and the encoding found."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from dataclasses import dataclass

from patchfold.tables.problems import TableError

# Bytes that no text has: control characters other than tab, line ends and form feed.
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# Marks at the beginning of a text that tell its encoding; of two that begin alike the longer first.
BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "utf-8",
    b"\xff\xfe\x00\x00": "utf-32-le",
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
# What spreadsheets write on systems without UTF-8. Latin-1 comes last: it decodes any byte.
OLD_ENCODINGS = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}
# What is unpacked before its size is looked at.
PART_BYTES = 2**20


@dataclass(frozen=True)
class Limit:
    """How much an archive may unpack to: ``free`` bytes, or ``ratio`` times its size.

    A sparse table of 0 and 1 shrinks to a hundredth, and a bomb by deflate to a thousandth.

    Examples
    --------
    >>> Limit().of(1000) == 2**28, Limit().of(10**8)
    (True, 20000000000)
    """

    free: int = 2**28
    ratio: int = 200

    def of(self, packed: int) -> int:
        """Return how many bytes an archive of ``packed`` bytes may unpack to."""
        return max(self.free, self.ratio * packed)


LIMIT = Limit()


def decompress(data: bytes, limit: Limit = LIMIT) -> bytes:
    """Undo compression by gzip; other bytes are returned as they are."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    parts, size = [], 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while part := file.read(PART_BYTES):
                size += len(part)
                check_unpacked(size, len(data), limit)
                parts.append(part)
    except (EOFError, OSError, zlib.error) as error:
        raise TableError(f"the compressed file is damaged ({error}); make it anew.") from error
    return b"".join(parts)


def check_unpacked(unpacked: int, packed: int, limit: Limit = LIMIT) -> None:
    """Refuse an archive that unpacks to far more than it should, which fills the memory."""
    most = limit.of(packed)
    if unpacked > most:
        raise TableError(
            f"the file of {_size(packed)} unpacks to more than {_size(most)}, which is refused; if "
            "you trust it, unpack it yourself."
        )


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:.3g} MiB" if n_bytes >= 2**20 else f"{n_bytes} bytes"


def decode(data: bytes) -> tuple[str, list[str]]:
    """Return the text of the bytes, and a note where its encoding was guessed."""
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding), []
            except UnicodeDecodeError as error:
                raise TableError(
                    f"the file begins like {encoding}, and byte {error.start} is none of it; "
                    "save it as UTF-8."
                ) from error
    if CONTROL.search(data):
        if _looks_like_utf16(data):
            raise TableError(
                "this seems to be text in UTF-16 without the mark that says so; save it as UTF-8."
            )
        raise TableError(
            "this is no table but a binary file; give CSV, TSV, Parquet, ARFF, NPY or NPZ."
        )
    try:
        return data.decode(), []
    except UnicodeDecodeError:
        pass
    for encoding, name in OLD_ENCODINGS.items():
        try:
            return data.decode(encoding), [f"the text is not UTF-8 and was read as {name}"]
        except UnicodeDecodeError:
            continue
    raise AssertionError("Latin-1 reads every byte")  # pragma: no cover


def _looks_like_utf16(data: bytes) -> bool:
    """Whether every second byte is zero, as for Latin letters, and the others are text."""
    return any(
        not half.strip(b"\0") and not CONTROL.search(other)
        for half, other in ((data[::2], data[1::2]), (data[1::2], data[::2]))
    )
