"""Results of long studies in files, so that a run that was stopped goes on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from patchfold.base.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


def kept(path: Path, compute: Callable[[], Any]) -> Any:
    """Return what a file holds, or compute and write it first."""
    if not path.exists():
        write_whole(path, json.dumps(compute()))
    return json.loads(path.read_text(encoding="utf-8"))


def kept_by_k(path: Path, degrees: Iterable[int], compute: Callable[[int], Any]) -> list[Any]:
    """Return what a file holds for every k, and compute and write what is missing there."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for k in degrees:
        if str(k) not in known:
            known[str(k)] = compute(k)
            write_whole(path, json.dumps(known))
    return [known[str(k)] for k in degrees]
