"""The cases of the campaign, drawn from a seed. The name of a case is enough to run it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from . import clusters, commands, libraries, methods, relations, settings
from .data import TABLES
from .given import DISTANCES, LABELS
from .judging import NEW_POINTS

if TYPE_CHECKING:
    from collections.abc import Iterator

# How many of 30 cases are of each kind.
SHARES = {
    "table": 8,
    "new": 3,
    "distances": 2,
    "labels": 2,
    "relation": 4,
    "parameter": 1,
    "command": 2,
    "method": 5,
    "library": 2,
    "cluster": 1,
}

NAMES: dict[str, tuple[str, ...]] = {
    "table": tuple(TABLES),
    "new": NEW_POINTS,
    "distances": tuple(DISTANCES),
    "labels": LABELS,
    "relation": relations.RELATIONS,
    "parameter": tuple(
        f"{name}:{number}"
        for name, values in settings.BAD_PARAMETERS.items()
        for number in range(len(values))
    ),
    "command": commands.NAMES,
    "method": methods.NAMES,
    "library": libraries.NAMES,
    "cluster": clusters.NAMES,
}


@dataclass(frozen=True)
class Case:
    """What is tried (``kind`` and ``name``), on which setting (``word``), with which seed."""

    kind: str
    name: str
    word: str
    seed: int

    @property
    def id(self) -> str:
        return f"{self.kind}/{self.name}/{self.word}/{self.seed}"

    @classmethod
    def from_id(cls, text: str) -> Case:
        parts = text.split("/")
        if len(parts) != 4 or parts[0] not in NAMES or parts[1] not in NAMES[parts[0]]:
            raise ValueError(f"{text!r} names no case; copy one from the report.")
        return cls(parts[0], parts[1], parts[2], int(parts[3]))


def drawn(count: int, seed: int = 0) -> list[Case]:
    """Return the first ``count`` cases of a seed; every name of a kind comes up in turn."""
    return list(islice(_all(seed), count))


def _all(seed: int) -> Iterator[Case]:
    kinds = [kind for kind, share in SHARES.items() for _ in range(share)]
    turns = dict.fromkeys(SHARES, 0)
    number = 0
    while True:
        random = np.random.default_rng([seed, number])
        kind = kinds[number % len(kinds)]
        name = NAMES[kind][turns[kind] % len(NAMES[kind])]
        turns[kind] += 1
        yield Case(kind, name, _word(kind, name, random), 100_000 * seed + number)
        number += 1


def _word(kind: str, name: str, random: Any) -> str:
    if kind == "command":
        return str(random.choice(commands.METHODS))
    if kind == "cluster":
        return str(random.choice(list(clusters.SETTINGS)))
    if kind == "method":
        return methods.suited(name, settings.draw(random, supervised=False))
    if kind == "parameter":
        return _default_with(name.split(":", maxsplit=1)[0], random)
    if kind == "relation":
        return relations.suited(name, settings.draw(random))
    supervised = {"labels": True, "library": False}.get(kind)
    word = settings.draw(random, precomputed=kind == "distances", supervised=supervised)
    return relations.suited(name, word) if name.startswith("unit") else word


def _default_with(parameter: str, random: Any) -> str:
    """Return the default setting of an estimator that has the parameter."""
    first = parameter.split("__", maxsplit=1)[0]
    able = [name for name, kind in settings.ESTIMATORS.items() if first in kind().get_params()]
    estimator = str(random.choice(able))
    mapping = "-" if estimator == "space" else "nystrom"
    return f"{estimator}.kl.recommended.pruned.none.{mapping}.auto"
