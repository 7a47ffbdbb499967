"""Keep every finished task on disk at once.

A result is one file, written beside its place and moved there, so it is there whole or not at all.
A run that was killed goes on with the tasks that have no file.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import patchfold
from patchfold.base.files import remove_unfinished, write_whole
from patchfold.papers.reproduction.cells import Outcome, Result, Task, check_outcome

if TYPE_CHECKING:
    from pathlib import Path

    from patchfold.papers.reproduction import Paper

# What numbers depend on, beside this package.
PACKAGES = ("numpy", "scipy", "scikit-learn", "umap-learn", "openTSNE")


@dataclass(frozen=True)
class Stamp:
    """What a stored number depends on beside its task."""

    protocol: int  # that of the paper's module
    versions: dict[str, str]  # package to version


def stamp(paper: Paper) -> Stamp:
    """Return the stamp of results that are computed now."""
    versions = {"patchfold": patchfold.__version__}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):  # what is not there computes nothing
            versions[package] = version(package)
    return Stamp(paper.PROTOCOL, versions)


class Store:
    """The finished tasks of one paper in a folder, one JSON file each.

    The folder is made when the first file is written. The stamp is in every file, and one with
    another stamp is not read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> store = Store(Path(tempfile.mkdtemp()), Stamp(1, {"numpy": "2.0"}))
    >>> task = Task("isomap-kl", "I", "iris", "ISO-KL", "published")
    >>> store.save(Outcome(task, (Result("iris", 0.576, note="K=20"),)))
    >>> found, ignored = store.load()
    >>> found[task].results[0].value, ignored
    (0.576, {})
    """

    def __init__(self, folder: Path, stamp: Stamp) -> None:
        self.folder = folder
        self.stamp = stamp

    def save(self, outcome: Outcome) -> None:
        """Write the file of a finished task."""
        content = {**asdict(outcome), **asdict(self.stamp)}
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(self.folder / file_name(outcome.task), text)

    def load(self) -> tuple[dict[Task, Outcome], dict[str, str]]:
        """Return every usable file's outcome, and the names of all others with what is wrong.

        What a killed run left unfinished is removed.
        """
        found: dict[Task, Outcome] = {}
        ignored = {}
        remove_unfinished(self.folder)
        for path in sorted(self.folder.glob("*")):
            try:
                outcome = self._read(path)
            except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
                ignored[path.name] = in_words(error)
            else:
                found[outcome.task] = outcome
        return found, ignored

    def _read(self, path: Path) -> Outcome:
        content = json.loads(path.read_text(encoding="utf-8"))
        task = Task(**content["task"])
        if file_name(task) != path.name:
            raise ValueError(f"the file of {task.paper} {task} has another name")
        if content["protocol"] != self.stamp.protocol:
            raise ValueError(
                f"protocol {content['protocol']}, and {self.stamp.protocol} is the current one"
            )
        for package, current in self.stamp.versions.items():
            if content["versions"].get(package) != current:
                raise ValueError(
                    f"computed with {package} {content['versions'].get(package)}, "
                    f"and {current} is installed"
                )
        results = [Result(**result) for result in content["results"]]
        return check_outcome(Outcome(task, tuple(results), str(content["error"])))


def file_name(task: Task) -> str:
    """Name the file of a task.

    Examples
    --------
    >>> file_name(Task("isomap-kl", "I", "iris", "ISO-KL", "published"))
    'I-iris-ISO_KL-published-...json'
    """
    parts = (task.paper, task.table, task.dataset, task.method, task.account)
    # The key keeps tasks apart whose names differ only in signs that a file name cannot have.
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]
    return "-".join([*(re.sub(r"[^A-Za-z0-9.]+", "_", part) for part in parts[1:]), f"{key}.json"])


def in_words(error: BaseException) -> str:
    """Return an error's kind, and its message, if it has one.

    Examples
    --------
    >>> in_words(ValueError("no")), in_words(KeyError())
    ('ValueError: no', 'KeyError')
    """
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
