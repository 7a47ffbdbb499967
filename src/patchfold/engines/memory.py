"""How much memory there is, asked before much of it is needed."""

from __future__ import annotations

import os
from pathlib import Path

# The limits and the use of the group of processes that this one belongs to, in a container.
_GROUP = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current"))
_SYSTEM = Path("/proc/meminfo")


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Raise MemoryError, with the figures and a remedy, where ``needed`` bytes are not there."""
    free = available_memory()
    if free is not None and needed > free:
        raise MemoryError(
            f"{what} needs about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are "
            f"available; {remedy}."
        )


def available_memory() -> int | None:
    """Return how many bytes can still be allocated; None where the system does not say."""
    known = [free for free in (_of_group(), _of_system()) if free is not None]
    return min(known, default=None)


def _of_group() -> int | None:
    try:
        limit, used = (path.read_text().strip() for path in _GROUP)
    except OSError:
        return None
    return int(limit) - int(used) if limit.isdigit() else None


def _of_system() -> int | None:
    try:
        lines = dict(line.split(":") for line in _SYSTEM.read_text().splitlines())
        return 1024 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:  # no /proc: what the machine has in all, rather than nothing
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
