"""Rows on their way: from the user's chunks into parts of space, and back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from operator import getitem
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from patchfold.base.validation import check_points
from patchfold.distributed.planes import grown, part_of, renumbered
from patchfold.neighbors.copies import Copies
from patchfold.neighbors.fitted_rows import RowTable

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.connection import Cluster


# Bytes of points that a part has at most; steps need some thirty times as much for a while.
PART_BYTES = 2**25

# Chunks have TOGETHER times the rows of a part, where that leaves one for every thread: there is a
# task for every part and chunk, and workers remember tasks as long as what has come of them.
TOGETHER = 8

# Rows that a part has at least, if there are enough.
LEAST_ROWS = 32

# Rows of the sample for each part, and the bytes that the sample, which is gathered, has at most.
SAMPLE_ROWS, SAMPLE_BYTES = 200, 2**26

# The share of a worker's memory that the parts it works on at once may be, as points, once its
# modules and compiled code have taken MODULES_BYTES. Dask pauses a worker at 0.8 of its memory.
MEMORY_SHARE, MODULES_BYTES = 1 / 60, 5 * 10**8


class Rows(NamedTuple):
    """Some rows, in the order of the table: which rows of it they are, and the points."""

    ids: Indices
    points: Floats


@dataclass(frozen=True, eq=False)
class Chunks:
    """The rows of a table as they were given."""

    futures: list[Any]  # of arrays: checked points
    sizes: list[int]  # their rows
    given: tuple[int, ...] | None  # the rows of the user's chunks; None for an array of numpy
    n_features: int
    dtype: Any

    @property
    def starts(self) -> list[int]:
        """The number of the first row of every chunk."""
        return [0, *np.cumsum(self.sizes)[:-1].tolist()]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), self.n_features

    def __len__(self) -> int:
        return sum(self.sizes)


def read(cluster: Cluster, X: Any, *, fitted: bool = True) -> Chunks:
    """Let workers read and check rows; those to be ``fitted`` get chunks of other sizes."""
    da = import_module("dask.array")
    given = None
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if hasattr(X, "dask"):
        X = X.compute_chunk_sizes() if np.isnan(X.shape[0]) else X
        given = X.chunks[0]
    else:
        X = da.from_array(X, chunks=(max(1024, len(X) // 8), -1))
    n, m = int(X.shape[0]), int(X.shape[1])
    least = 2 if fitted else 1
    if n < least or m < 1:
        raise ValueError(f"X has shape {X.shape}; give at least {least} rows and one column.")
    sizes = [int(size) for size in X.chunks[0] if size]
    if fitted:
        workers = cluster.workers()
        chunks = max(n_parts(n, 8 * m, workers) // TOGETHER, sum(threads for threads, _ in workers))
        sizes = np.diff(np.linspace(0, n, min(n, chunks) + 1, dtype=int)).tolist()
    X = X.rechunk((tuple(sizes), -1))
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    blocks = cluster.client.compute(list(X.to_delayed()[:, 0]))
    futures = cluster.each(checked_chunk, blocks, starts)
    dtypes = set(cluster.get(cluster.fields(futures, "dtype")))
    dtype = np.result_type(*dtypes)
    if len(dtypes) > 1:
        futures = cluster.each(np.asarray, futures, dtype=dtype)
    return Chunks(futures, sizes, given, m, dtype)


def checked_chunk(block: Any, start: int) -> Floats:
    """Return a chunk of rows as a finite array; say in which rows it is none."""
    stop = start + block.shape[0]
    name = f"X (in its rows {start} to {stop - 1})"
    return np.asarray(check_points(np.asarray(block), name=name, min_samples=0))


def n_parts(n: int, row_bytes: int, workers: list[Any]) -> int:
    """Return into how many parts to share rows out; refuse a cluster that is too small."""
    limited = [(threads, memory) for threads, memory in workers if memory]
    least = min(((memory - MODULES_BYTES) / threads for threads, memory in limited), default=np.inf)
    if least * MEMORY_SHARE < LEAST_ROWS * row_bytes:
        raise RuntimeError(
            f"a worker has {min(memory for _, memory in limited) / 1e9:.2g} GB of memory, too few "
            f"for rows of {row_bytes} bytes; give workers more (dask worker --memory-limit), or "
            "fewer threads."
        )
    room = min(PART_BYTES, least * MEMORY_SHARE)
    wanted = max(n * row_bytes / room, sum(threads for threads, _ in workers))
    doublings = int(np.ceil(np.log2(max(wanted, 1))))
    return 1 << max(0, min(doublings, int(np.log2(max(n // LEAST_ROWS, 1)))))


class Places(NamedTuple):
    """The rows of a part, copies among them."""

    ids: Indices  # which rows of the table they are
    first: Indices  # the places of those that are kept, which are no copies of earlier ones
    point: Indices  # which of these every row is
    copies: Indices  # rows of the table with the coordinates of earlier ones, kept or not


@dataclass(frozen=True, eq=False)
class Shared:
    """Rows that were shared out to parts, copies of a row once.

    Lists have futures, one for each part. Most steps ask for numbers alone, and points may be on
    disk.
    """

    ids: list[Any]  # arrays: which rows of the table the rows of a part are, in order
    points: list[Any]  # arrays: where they are
    firsts: Indices  # the number of the first row of every part, and that of all rows
    tree: Any  # future of planes: which part a row belongs to
    given: Chunks  # how all rows were given, but no points
    places: list[Any]  # Places of all rows
    codes: list[Any] | None  # arrays: the classes of rows
    copies: Indices  # the rows of the table that have the coordinates of earlier ones

    @property
    def n(self) -> int:
        """How many rows the parts have together."""
        return int(self.firsts[-1])

    def returned(self, cluster: Cluster, values: list[Any], width: int, dtype: Any) -> Any:
        """Return values of the rows of parts as those of the table, in what the user gave."""
        ids, point = (cluster.fields(self.places, name) for name in ("ids", "point"))
        every = cluster.each(getitem, values, point)
        sizes, bounds = self.given.sizes, [*self.given.starts, len(self.given)]
        cut = cluster.each(_cut, every, ids, bounds=bounds)
        # Part by part, so that each is read from disk once.
        pieces = [cluster.items(part, range(len(sizes))) for part in cut]
        columns = map(list, zip(*pieces, strict=True))
        return as_given(cluster, cluster.each(_filled, columns, sizes), self.given, width, dtype)


def share_out(cluster: Cluster, given: Chunks, *, merge: bool = True, codes: Any = None) -> Shared:
    """Share rows out to parts; with ``merge``, rows that are copies of others only once.

    ``codes`` are the classes of all rows, or None: a copy has the same class.
    """
    row_bytes = np.dtype(given.dtype).itemsize * given.n_features
    parts = n_parts(len(given), row_bytes, cluster.workers())
    step = max(1, len(given) // min(SAMPLE_ROWS * parts, max(parts, SAMPLE_BYTES // row_bytes)))
    tree = grown(sampled(cluster, given, step).astype(np.float64), parts)
    planes = cluster.send(tree)
    tasks = cluster.each(_split, given.futures, given.starts, tree=planes, parts=parts)
    counts = np.sum(cluster.get(cluster.each(_counts, tasks)), axis=0)
    kept = np.flatnonzero(counts).tolist()
    # Chunk by chunk, so that each is read from disk once.
    pieces = [cluster.items(task, kept) for task in tasks]
    rows = cluster.each(_stacked_rows, map(list, zip(*pieces, strict=True)))
    del tasks, pieces  # workers forget those that are done with
    planes = cluster.send(renumbered(tree, {part: place for place, part in enumerate(kept)}))
    # Copies are in one part: where a row goes depends on its coordinates alone.
    known = None if codes is None else cluster.send(codes)
    places = cluster.each(_places, rows, merge=merge, codes=known)
    first = cluster.fields(places, "first")
    firsts = np.cumsum([0, *cluster.get(cluster.each(len, first))])
    if merge and firsts[-1] < 2:  # a single point has no neighbours
        return share_out(cluster, given, merge=False, codes=codes)
    ids, points = (
        cluster.each(getitem, cluster.fields(rows, name), first) for name in ("ids", "points")
    )
    labels = None if codes is None else [cluster.run(getitem, known, some) for some in ids]
    copies = np.sort(np.concatenate(cluster.get(cluster.fields(places, "copies"))))
    # The points as they were given are needed no more.
    return Shared(ids, points, firsts, planes, replace(given, futures=[]), places, labels, copies)


def sampled(cluster: Cluster, chunks: Chunks, step: int) -> Floats:
    """Return a sample of rows: one in ``step`` of each chunk."""
    every = slice(None, None, step)
    return np.concatenate(cluster.get([cluster.run(getitem, one, every) for one in chunks.futures]))


def as_given(cluster: Cluster, blocks: list[Any], chunks: Chunks, width: int, dtype: Any) -> Any:
    """Return futures of blocks of rows as what the user gave: a dask array, or one of numpy."""
    if chunks.given is None:
        return np.concatenate(cluster.get(blocks))
    da, delayed = import_module("dask.array"), import_module("dask").delayed
    sizes = cluster.get(cluster.each(len, blocks))
    arrays = [
        da.from_delayed(delayed(block), shape=(size, width), dtype=dtype)
        for block, size in zip(blocks, sizes, strict=True)
    ]
    return da.concatenate(arrays).rechunk((chunks.given, -1))


def _places(rows: Rows, merge: bool, codes: Any) -> Places:
    table = RowTable(rows.points)
    alike = Copies.of(table)
    kept = alike if codes is None else Copies.of(table, codes[rows.ids])
    if not merge:
        kept = Copies(np.arange(len(rows.ids)), np.arange(len(rows.ids)))
    return Places(rows.ids, kept.first, kept.point, np.delete(rows.ids, alike.first))


def _split(X: Floats, start: int, tree: Any, parts: int) -> list[Rows]:
    """Return the rows of a chunk that go to each part."""
    home = part_of(X, tree)
    order = np.argsort(home, kind="stable")
    ends = np.cumsum(np.bincount(home, minlength=parts))
    return [Rows(start + rows, X[rows]) for rows in np.split(order, ends[:-1])]


def _counts(split: list[Rows]) -> list[int]:
    return [len(rows.ids) for rows in split]


def _stacked_rows(pieces: list[Rows]) -> Rows:
    return Rows(*(np.concatenate(column) for column in zip(*pieces, strict=True)))


def _cut(values: Any, ids: Indices, bounds: list[int]) -> list[tuple[Indices, Any]]:
    """Return the values of a part that go to each group of chunks, and where they go."""
    ends = np.searchsorted(ids, bounds)
    return [
        (ids[first:last] - start, values[first:last])
        for start, first, last in zip(bounds, ends, ends[1:], strict=False)
    ]


def _filled(pieces: list[tuple[Indices, Any]], size: int) -> Any:
    found = np.empty((size, *pieces[0][1].shape[1:]), dtype=pieces[0][1].dtype)
    for places, values in pieces:
        found[places] = values
    return found
