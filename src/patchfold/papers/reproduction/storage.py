"""Keep every finished task on disk at once, in one CSV file a paper.

The file is written anew after every task, so it is there whole or not at all, and a run that was
killed goes on with the tasks that are not in it. Its first line says what the numbers depend on.
"""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import patchfold
from patchfold.base.files import write_whole
from patchfold.papers.reproduction.cells import Outcome, Result, Task

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from patchfold.papers.reproduction import Paper

# What numbers depend on, beside this package.
PACKAGES = ("numpy", "scipy", "scikit-learn", "umap-learn", "openTSNE")
COLUMNS = ("table", "data_set", "method", "account", "row", "value", "low", "high", "note")


@dataclass(frozen=True)
class Stamp:
    """What a stored number depends on beside its task."""

    protocol: int  # that of the paper's module
    versions: dict[str, str]  # package to version

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return f"{versions}; protocol {self.protocol}"


def stamp(paper: Paper) -> Stamp:
    """Return the stamp of results that are computed now."""
    versions = {"patchfold": patchfold.__version__}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):  # what is not there computes nothing
            versions[package] = version(package)
    return Stamp(paper.PROTOCOL, versions)


class Store:
    """The results of one paper in a file, a line each. A file of another stamp is not read.

    Tasks that failed are not kept: they are tried again.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> store = Store(Path(tempfile.mkdtemp()) / "isomap-kl.csv", Stamp(1, {"numpy": "2.0"}))
    >>> task = Task("isomap-kl", "I", "iris", "ISO-KL", "published")
    >>> store.save([Outcome(task, (Result("iris", 0.576, note="K=20"),))])
    >>> found, _ = store.load()
    >>> found[task].results[0].value
    0.576
    """

    def __init__(self, path: Path, stamp: Stamp) -> None:
        self.path = path
        self.stamp = stamp

    def save(self, outcomes: Iterable[Outcome]) -> None:
        """Add finished tasks to the file, or replace them there."""
        found, _ = self.load()
        found |= {outcome.task: outcome for outcome in outcomes}
        text = io.StringIO()
        text.write(f"# {self.stamp}\n")
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(COLUMNS)
        for task, outcome in found.items():
            of_task = (task.table, task.dataset, task.method, task.account)
            lines.writerows(
                (*of_task, r.row, r.value, r.low, r.high, r.note) for r in outcome.results
            )
        write_whole(self.path, text.getvalue())

    def load(self) -> tuple[dict[Task, Outcome], str]:
        """Return all outcomes of the file, and why there are none although there is a file."""
        found: dict[Task, Outcome] = {}
        try:
            first, *lines = self.path.read_text(encoding="utf-8").splitlines()
            if first != f"# {self.stamp}":
                return {}, f"its results are of {first.lstrip('# ')}, and now it is {self.stamp}"
            for line in csv.DictReader(lines):
                task = Task(
                    self.path.stem, line["table"], line["data_set"], line["method"], line["account"]
                )
                low, high = (float(line[end]) if line[end] else None for end in ("low", "high"))
                result = Result(line["row"], float(line["value"]), low, high, line["note"])
                before = found[task].results if task in found else ()
                found[task] = Outcome(task, (*before, result))
        except FileNotFoundError:
            return {}, ""
        except (KeyError, TypeError, ValueError) as error:
            return {}, in_words(error)
        return found, ""


def in_words(error: BaseException) -> str:
    """Return an error's kind, and its message, if it has one.

    Examples
    --------
    >>> in_words(ValueError("no")), in_words(KeyError())
    ('ValueError: no', 'KeyError')
    """
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
