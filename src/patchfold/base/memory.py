"""How much memory is free: asked before a step allocates much of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Within a container: the limit of its group of processes, and what they use.
_GROUP = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current"))
# What of it is a copy of files, which the system drops when memory is short.
_GROUP_STATISTICS = Path("/sys/fs/cgroup/memory.stat")
_SYSTEM = Path("/proc/meminfo")
# The pages that this process has mapped.
_PROCESS = Path("/proc/self/statm")


def check_memory(
    needed: int, what: str, remedy: str, *, available: Callable[[], int | None] | None = None
) -> None:
    """Raise MemoryError, with the figures and a remedy, unless ``needed`` bytes are free.

    ``available`` tells how many are, or None if it does not know; by default the system is asked.
    """
    free = (available or available_memory)()
    if free is not None and needed > free:
        raise MemoryError(
            f"{what} needs about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are "
            f"available; {remedy}."
        )


def available_memory() -> int | None:
    """Return how many bytes can still be allocated; None if the system does not say."""
    known = [free for free in (_of_process(), _of_group(), _of_system()) if free is not None]
    return min(known, default=None)


def _of_process() -> int | None:
    try:
        import resource  # not on Windows

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        used = int(_PROCESS.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError):
        return None
    return None if limit == resource.RLIM_INFINITY else limit - used


def _of_group() -> int | None:
    try:
        limit, used = (path.read_text().strip() for path in _GROUP)
    except OSError:
        return None
    return int(limit) - int(used) + _file_cache() if limit.isdigit() else None


def _file_cache() -> int:
    try:
        rows = dict(line.split() for line in _GROUP_STATISTICS.read_text().splitlines())
        return int(rows["inactive_file"]) + int(rows["active_file"])
    except (OSError, KeyError, ValueError):
        return 0


def _of_system() -> int | None:
    try:
        lines = dict(line.split(":") for line in _SYSTEM.read_text().splitlines())
        return 1024 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:  # without /proc, all the memory of the machine
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
