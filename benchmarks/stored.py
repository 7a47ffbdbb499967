"""The last stored table of :mod:`benchmarks.peers`, and what got slower since.

A ratio is the least processor time of the repeats by the least of the reference: on a busy machine,
ratios of wall time told the same program to be 70 % slower. A method is slower if its ratio rose by
more than the noise, which is how far the medians of the method and of the reference are above the
least, then and now, and at least NOISE.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("peers.json")
NOISE = 0.1


def rows_of(
    results: list[dict[str, Any]], references: dict[str, str]
) -> dict[str, dict[str, float]]:
    """Return ratio, noise and peak memory of each method whose reference was measured, too."""
    seconds = {result["method"]: result["processor"] for result in results}
    rows = {}
    for result in results:
        both = seconds[result["method"]], seconds.get(references[result["method"]])
        if both[1] is not None:
            rows[result["method"]] = {
                "ratio": round(min(both[0]) / min(both[1]), 4),
                "noise": round(sum(statistics.median(s) / min(s) - 1 for s in both), 4),
                "peak_gb": round(result["peak_gb"], 2),
            }
    return rows


def is_slower(now: dict[str, float], before: dict[str, float]) -> bool:
    """Tell whether a ratio rose by more than the noise.

    Examples
    --------
    >>> before = {"ratio": 0.5, "noise": 0.02}
    >>> is_slower({"ratio": 0.56, "noise": 0.01}, before)
    True
    >>> is_slower({"ratio": 0.56, "noise": 0.2}, before)
    False
    """
    noise = max(NOISE, now["noise"] + before["noise"])
    return now["ratio"] > (1 + noise) * before["ratio"]


def stored(setting: dict[str, int], file: Path = FILE) -> dict[str, Any] | None:
    """Return the table that is stored for a setting; the number of repeats does not matter."""
    return next((table for table in _tables(file) if table["setting"] == _size(setting)), None)


def store(
    setting: dict[str, int], rows: dict[str, dict[str, float]], origin: dict[str, Any], file: Path
) -> None:
    """Store a table in the place of the last one of its setting.

    Methods that were not measured now keep their rows. ``origin`` tells commit, machine and
    versions.
    """
    before = stored(setting, file)
    table = {
        "setting": _size(setting),
        **origin,
        "rows": {**({} if before is None else before["rows"]), **rows},
    }
    others = [other for other in _tables(file) if other["setting"] != table["setting"]]
    tables = sorted([*others, table], key=lambda one: sorted(one["setting"].items()))
    file.write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")


def _tables(file: Path) -> list[dict[str, Any]]:
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else []


def _size(setting: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in setting.items() if name != "repeats"}
