"""What is known of each data set before it is loaded: one line of ``registry.csv`` each.

``papers`` names the papers that use the set; ``classes`` has its labels and their counts in
declared order, or only the number of classes where no more is known; ``target`` is the column of
the classes where OpenML has another default; ``drop`` names columns that only number the rows;
``checksum`` stands for the values (see :func:`checksum`). A set without ``openml_name`` is not on
OpenML. Labels are spelled as in the files the values were taken from, and OpenML can differ.
"""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Entry:
    """A registered data set.

    Attributes
    ----------
    name : str
        The name for :func:`patchfold.datasets.load`.
    papers : tuple of str
        The papers that use it; empty for other versions of their sets and for larger sets.
    shape : tuple of int
        Numbers of rows and of features.
    n_classes : int
        Number of classes.
    classes : dict
        Class label to number of rows; empty where only the number of classes is known.
    openml : tuple (str, int) or None
        Name and version on OpenML.
    target : str
        The column of the classes on OpenML, empty for the default one.
    drop : tuple of str
        Columns that only number the rows, and are left out.
    checksum : str
        What :func:`checksum` gives for the values, empty where it is not known.
    """

    name: str
    papers: tuple[str, ...]
    shape: tuple[int, int]
    n_classes: int
    classes: dict[str, int]
    openml: tuple[str, int] | None
    target: str
    drop: tuple[str, ...]
    checksum: str


@cache
def registry() -> dict[str, Entry]:
    """Return every registered data set by name."""
    path = resources.files(__package__) / "registry.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    return {row["name"]: _entry(row) for row in csv.DictReader(lines)}


def checksum(X: np.ndarray[Any, Any], labels: Sequence[str]) -> str:
    """Return a digest of points and classes that knows neither order of rows nor names of classes.

    Sources agree on the values, but not on the order of rows or on how a class is spelled.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0]])
    >>> checksum(X, ["no", "yes"]) == checksum(X[::-1], ["0", "1"])
    True
    >>> checksum(X, ["no", "yes"]) == checksum(X, ["no", "no"])
    False
    """
    # Adding zero turns -0.0 into 0.0.
    rows = [row.tobytes() for row in np.ascontiguousarray(X, dtype="<f8") + 0.0]
    classes: dict[str, list[bytes]] = {}
    for row, label in zip(rows, labels, strict=True):
        classes.setdefault(label, []).append(_digest(row))
    # Sixteen digits tell values that changed by accident from the same values.
    return _digest(*sorted(_digest(*sorted(rows)) for rows in classes.values())).hex()[:16]


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def _entry(row: dict[str, str]) -> Entry:
    pairs = (pair.rpartition("=") for pair in row["classes"].split(";"))
    classes = {label: int(count) for label, _, count in pairs if label}
    return Entry(
        name=row["name"],
        papers=_split(row["papers"]),
        shape=(int(row["n_samples"]), int(row["n_features"])),
        n_classes=len(classes) or int(row["classes"]),
        classes=classes,
        openml=(row["openml_name"], int(row["openml_version"])) if row["openml_name"] else None,
        target=row["target"],
        drop=_split(row["drop"]),
        checksum=row["checksum"],
    )


def _split(cell: str) -> tuple[str, ...]:
    return tuple(cell.split(";")) if cell else ()
