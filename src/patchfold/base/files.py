"""Write files whole or not at all, even if the process is killed."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl

# The end of a file that is being written, and what stands before it. One that no process holds
# belongs to one that was killed.
UNFINISHED = ".part"
MARK = "patchfold-"


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file beside its place and move it there; folders on the way are made.

    A link is followed, so that what it points to is replaced and not the link. What is no ordinary
    file, such as a pipe or ``/dev/null``, is written to and never replaced. A file keeps its
    permissions, and one that cannot be written to stays. Leftovers of a killed process that wrote
    the same file are removed.
    """
    data = to_bytes(content)
    path = linked_to(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode if path.is_file() else None
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    _remove_leftovers(path)
    while True:
        unfinished = path.with_name(f"{path.name}.{MARK}{secrets.token_hex(8)}{UNFINISHED}")
        try:
            _write(unfinished, data, mode)
            try:
                unfinished.replace(path)
            except FileNotFoundError:
                # A run that started in the same folder meanwhile took it for a leftover.
                continue
        except BaseException as error:
            unfinished.unlink(missing_ok=True)
            if isinstance(error, OSError) and error.filename is None:
                error.filename = str(path)  # that of a full disk names none
            raise
        return


def linked_to(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path that links lead to, or raise an OSError where they go in circles."""
    found = Path(os.path.realpath(path))  # resolve() raises a RuntimeError, in some Pythons
    if any(place.is_symlink() for place in (found, *found.parents)):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return found


def _write(path: Path, data: bytes, mode: int | None) -> None:
    with path.open("xb") as file:  # never through a link that lies there
        _hold(file)
        if mode is not None:  # before anything is in it that others may not read
            path.chmod(stat.S_IMODE(mode))
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _remove_leftovers(path: Path) -> None:
    name = re.compile(rf"{re.escape(path.name)}\.{MARK}[0-9a-f]{{16}}{re.escape(UNFINISHED)}")
    with suppress(OSError):  # a folder that cannot be listed can still be written to
        for other in path.parent.iterdir():
            if name.fullmatch(other.name):
                _remove_unless_held(other)


def _remove_unless_held(path: Path) -> None:
    """Remove a file that no process is writing; the lock of a killed one is gone with it."""
    with suppress(OSError), path.open("rb") as file:
        _hold(file, wait=False)
        path.unlink(missing_ok=True)


def _hold(file: Any, *, wait: bool = True) -> None:
    if sys.platform == "win32":  # where a file that is open cannot be removed anyway
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if not wait:
            raise  # held by another; where there are no locks, leftovers stay


def to_bytes(content: str | bytes) -> bytes:
    r"""Return the bytes of a text; names of files may hold what no text can, and is spelled out.

    Examples
    --------
    >>> to_bytes("caf\udce9.csv")
    b'caf\\udce9.csv'
    """
    return content if isinstance(content, bytes) else content.encode(errors="backslashreplace")
