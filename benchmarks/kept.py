"""Results of long studies in files, so that a run that was stopped goes on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from patchfold.base.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def kept(path: Path, compute: Callable[[], Any]) -> Any:
    """Return what a file holds, or compute and write it first."""
    if not path.exists():
        write_whole(path, json.dumps(compute()))
    return json.loads(path.read_text(encoding="utf-8"))
