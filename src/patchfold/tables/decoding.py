"""From bytes to text: compression is undone, and the encoding found."""

from __future__ import annotations

import gzip
import re
import zlib

from patchfold.tables._naming import TableError

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


def decompress(data: bytes) -> bytes:
    """Undo compression by gzip; other bytes are returned as they are."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise TableError(f"the compressed file is damaged ({error}); make it anew.") from error


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
