"""Columns beyond those that a page always shows: packed small, and unpacked when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.validation import is_sparse

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from patchfold.base.types import Doubles, Indices
    from patchfold.explorer.packing import ArrayStore

# All further columns together take at most so many letters of the page.
MOST_LETTERS = 6_000_000
# Edges that say how closely a column follows the map, and columns that are looked at together.
MOST_PAIRS, TOGETHER = 4000, 500
# Whole numbers of a smaller range are kept exactly.
CODES = 2**16
# How to get a column that the page has no room for.
REMEDY = "columns={name: values} adds others"


@dataclass(frozen=True, eq=False)
class Further:
    """Columns of numbers: their names, and an array or a sparse matrix with a column each."""

    names: Sequence[str]
    values: Any

    def without(self, taken: Container[str]) -> Further:
        """Leave out what is a column already, or the category of one, as in "colour = red"."""
        kept = [
            place
            for place, name in enumerate(self.names)
            if name not in taken and name.partition(" = ")[0] not in taken
        ]
        if len(kept) == len(self.names):
            return self
        return Further([self.names[place] for place in kept], self.values[:, kept])


def pack_further(
    parts: Sequence[Further],
    graph: csr_array,
    store: ArrayStore,
    most_letters: int = MOST_LETTERS,
) -> tuple[dict[str, Any], list[str]]:
    """Put columns into the store, those that follow the graph most closely first.

    Return their description, and a note where there is no room for all of them. ``graph`` has the
    edges above the diagonal.
    """
    parts = [part for part in parts if len(part.names)]
    described: dict[str, Any] = {"names": [], "whole": [], "values": []}
    if not parts:
        return described, []
    ends = _some_edges(graph)
    strength = np.concatenate([closeness(part.values, *ends) for part in parts])
    places = [
        (part.names, values, place)
        for part, values in zip(parts, [by_column(part.values) for part in parts], strict=True)
        for place in range(len(part.names))
    ]
    letters = 0
    for best in np.argsort(-strength, kind="stable"):
        names, values, place = places[best]
        column = column_of(values, place)
        before = len(store.texts)
        number, whole = pack_small(column, store)
        letters += sum(map(len, store.texts[before:]))
        described["names"].append(names[place])
        described["whole"].append(whole)
        described["values"].append(number)
        if letters > most_letters:
            break
    shown = len(described["names"])
    if shown == len(places):
        return described, []
    note = (
        f"{shown} of {len(places)} further columns are on the page to colour by, those that change "
        f"least from neighbour to neighbour; {REMEDY}"
    )
    return described, [note]


def closeness(values: Any, i: Indices, j: Indices) -> Doubles:
    """Return how closely columns follow edges ``(i, j)``: 1 - Geary's C, at most 1.

    It is 1 where the ends of every edge have equal values, 0 where they differ as any two rows do,
    and -1 for a constant. Missing values count as the mean.
    """
    if not len(i):
        return np.zeros(values.shape[1])
    rows, ends = np.unique(np.concatenate([i, j]), return_inverse=True)
    starts, stops = ends[: len(i)], ends[len(i) :]
    some = values.tocsr()[rows] if is_sparse(values) else values[rows]
    some = by_column(some)
    found = np.zeros(values.shape[1])
    for start in range(0, values.shape[1], TOGETHER):
        block = some[:, start : start + TOGETHER]
        block = np.array(block.toarray() if is_sparse(block) else block, dtype=np.float64)
        block[~np.isfinite(block)] = np.nan
        known = np.isfinite(block)
        largest = np.max(np.abs(block), axis=0, initial=0.0, where=known)
        block /= np.where(largest > 0, largest, 1.0)  # so that squares do not overflow
        count = np.maximum(known.sum(axis=0), 1)
        block -= np.sum(block, axis=0, where=known) / count
        block[~known] = 0.0
        variance = block[ends].var(axis=0)
        gaps = ((block[starts] - block[stops]) ** 2).mean(axis=0)
        share = np.divide(gaps, 2 * variance, out=np.full(len(gaps), 2.0), where=variance > 0)
        found[start : start + TOGETHER] = 1 - share
    return found


@np.errstate(over="ignore")  # what is beyond single precision is infinite
def pack_small(values: Doubles, store: ArrayStore) -> tuple[int, bool]:
    """Keep a column by 16 bits, whole numbers exactly; tell its number and whether it is whole."""
    known = values[np.isfinite(values)]
    whole = bool((known == np.round(known)).all())
    if len(known) < len(values) or not len(values):
        return store.add(values.astype(np.float32)), whole
    if whole and known.max() - known.min() < CODES:
        return store.add_codes(values - known.min(), float(known.min())), True
    return store.add_rounded(values), whole


def by_column(values: Any) -> Any:
    """Return a matrix in a form whose columns are quick to take."""
    return values.tocsc() if is_sparse(values) else values


def column_of(values: Any, place: int) -> Doubles:
    """Return a column as numbers."""
    column = values[:, [place]].toarray() if is_sparse(values) else np.asarray(values[:, place])
    return np.asarray(column, dtype=np.float64).ravel()


def _some_edges(graph: csr_array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the ends of at most MOST_PAIRS edges, spread evenly over the rows."""
    sources = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    some = np.linspace(0, max(len(sources) - 1, 0), min(len(sources), MOST_PAIRS)).astype(np.intp)
    return sources[some], graph.indices[some].astype(np.intp)
