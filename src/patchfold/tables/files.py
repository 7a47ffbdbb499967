"""Files that are there whole or not at all, whenever the process ends."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

# The end of a file that is being written. One that is left over belongs to a killed process.
UNFINISHED = ".part"


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file beside its place and move it there; folders on the way are made.

    A link is followed, so that what it points to is replaced and not the link. What is no ordinary
    file, such as a pipe or ``/dev/null``, is written to and never replaced. A file keeps its
    permissions, and one that cannot be written to stays.
    """
    data = to_bytes(content)
    path = Path(os.path.realpath(path))  # where links go in circles, resolve() raises
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode if path.is_file() else None
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    unfinished = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        while True:
            with unfinished.open("wb") as file:
                if mode is not None:  # before anything is in it that others may not read
                    unfinished.chmod(stat.S_IMODE(mode))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            try:
                unfinished.replace(path)
            except FileNotFoundError:
                # A run that started in the same folder meanwhile took it for a leftover.
                continue
            return
    except BaseException as error:
        unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # that of a full disk names none
        raise


def to_bytes(content: str | bytes) -> bytes:
    r"""Return the bytes of a text; names of files may hold what no text can, and is spelled out.

    Examples
    --------
    >>> to_bytes("caf\udce9.csv")
    b'caf\\udce9.csv'
    """
    return content if isinstance(content, bytes) else content.encode(errors="backslashreplace")


def remove_unfinished(folder: Path, start: str = "") -> None:
    """Remove what a killed process left of files whose names begin so."""
    for path in folder.glob(f"{start}*{UNFINISHED}"):
        path.unlink(missing_ok=True)
