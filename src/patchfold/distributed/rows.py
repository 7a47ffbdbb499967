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
from patchfold.neighbors.points import SearchedPoints
from patchfold.patches.fitting import (
    VARIANCE_ROWS,
    block_sums,
    column_means,
    largest_deviation,
    mean_squares,
    mean_variance,
)

if TYPE_CHECKING:
    from patchfold.base.types import Floats, Indices
    from patchfold.distributed.connection import Cluster


# Bytes of points that a part has at most; steps need some thirty times as much for a while.
PART_BYTES = 2**25

# Chunks are shared out together up to so many times the rows of a part: there is a task for every
# part and group of chunks, and workers remember tasks as long as what has come of them.
TOGETHER = 8

# Rows that a part has at least, if there are enough.
LEAST_ROWS = 32

# Rows of the sample for each part, and the bytes that the sample, which is gathered, has at most.
SAMPLE_ROWS, SAMPLE_BYTES = 200, 2**26

# The share of a worker's memory that the parts it works on at once may be, as points, once its
# modules and compiled code have taken so many bytes. Dask pauses a worker at 0.8 of its memory.
MEMORY_SHARE, MODULES_BYTES = 1 / 60, 5 * 10**8


class Rows(NamedTuple):
    """Some rows, in the order of the table: their numbers in it, and the points."""

    ids: Indices
    points: Floats


@dataclass(frozen=True, eq=False)
class Chunks:
    """The rows of a table as they were given.

    Attributes
    ----------
    futures : list of futures of arrays
        Checked points. All but the last have a multiple of 1024 rows.
    sizes : list of int
        Their rows.
    given : tuple of int or None
        The rows of the user's chunks; None for an array of numpy.
    n_features : int
    dtype : numpy dtype
    """

    futures: list[Any]
    sizes: list[int]
    given: tuple[int, ...] | None
    n_features: int
    dtype: Any

    @property
    def starts(self) -> list[int]:
        """The number of the first row of every chunk."""
        return [0, *np.cumsum(self.sizes)[:-1].tolist()]

    def __len__(self) -> int:
        return sum(self.sizes)


def read(cluster: Cluster, X: Any, *, fitted: bool = True) -> Chunks:
    """Let workers read and check the rows of an array or a data frame, to be ``fitted`` or not."""
    da = import_module("dask.array")
    given = None
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if hasattr(X, "dask"):
        if X.ndim != 2:
            raise ValueError(f"X is a dask array of shape {X.shape}; give rows and columns.")
        X = X.compute_chunk_sizes() if np.isnan(X.shape[0]) else X
        given = X.chunks[0]
    else:
        X = da.from_array(X, chunks=(max(VARIANCE_ROWS, len(X) // 8), -1))
    n, m = int(X.shape[0]), int(X.shape[1])
    least = 2 if fitted else 1
    if n < least or m < 1:
        raise ValueError(f"X has shape {X.shape}; give at least {least} rows and one column.")
    # New rows are no chunks of 1024, but no chunk is empty.
    sizes = [size for size in X.chunks[0] if size]
    X = X.rechunk((_aligned(sizes) if fitted else tuple(sizes), -1))
    sizes = [int(size) for size in X.chunks[0]]
    starts = np.cumsum([0, *sizes]).tolist()
    blocks = cluster.client.compute(list(X.to_delayed()[:, 0]))
    futures = cluster.each(checked_chunk, blocks, starts[:-1])
    dtypes = set(cluster.get(cluster.each(_dtype, futures)))
    dtype = np.result_type(*dtypes)
    if len(dtypes) > 1:
        futures = cluster.each(_as_type, futures, dtype=dtype)
    return Chunks(futures, sizes, given, m, dtype)


def checked_chunk(block: Any, start: int) -> Floats:
    """Return a chunk of rows as a finite array; say in which rows it is none."""
    stop = start + block.shape[0]
    name = f"X (in its rows {start} to {stop - 1})"
    return np.asarray(check_points(np.asarray(block), name=name, min_samples=0))


def _aligned(sizes: list[int]) -> tuple[int, ...]:
    """Return sizes of chunks near those given, but multiples of 1024."""
    n = int(np.sum(sizes))
    ends = np.unique(-(-np.cumsum(sizes) // VARIANCE_ROWS) * VARIANCE_ROWS)
    ends = ends[ends > 0]  # no chunk is empty
    return tuple(np.diff(np.minimum(np.append(0, ends), n)).tolist())


def _dtype(X: Floats) -> Any:
    return X.dtype


def _as_type(X: Floats, dtype: Any) -> Floats:
    return X.astype(dtype, copy=False)


def mean_variance_of(cluster: Cluster, chunks: Chunks) -> float:
    """Return the mean variance of the features, as for points in one place."""
    n = len(chunks)
    ranges = cluster.get(cluster.each(_range, chunks.futures))
    low, high = (np.stack(ends) for ends in zip(*ranges, strict=True))
    SearchedPoints(np.stack([low.min(axis=0), high.max(axis=0)]), None)  # refuses what overflows
    means = column_means(cluster.get(cluster.each(block_sums, chunks.futures)), n)
    largest = max(cluster.get(cluster.each(largest_deviation, chunks.futures, mean=means)))
    parts = cluster.each(mean_squares, chunks.futures, mean=means, largest=largest, n=n)
    squares = [square for part in cluster.get(parts) for square in part]
    return mean_variance(largest, squares, chunks.dtype)


def _range(X: Floats) -> tuple[Floats, Floats]:
    return X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)


def n_parts(chunks: Chunks, workers: list[Any]) -> int:
    """Return into how many parts to share the rows out; refuse a cluster that is too small."""
    n, row_bytes = len(chunks), chunks.n_features * np.dtype(chunks.dtype).itemsize
    limited = [(threads, memory) for threads, memory in workers if memory]
    least = min(((memory - MODULES_BYTES) / threads for threads, memory in limited), default=np.inf)
    if least * MEMORY_SHARE < LEAST_ROWS * row_bytes:
        raise RuntimeError(
            f"a worker has {min(memory for _, memory in limited) / 1e9:.2g} GB of memory, too few "
            f"for rows of {chunks.n_features} columns; give workers more (dask worker "
            "--memory-limit), or fewer threads."
        )
    room = min(PART_BYTES, least * MEMORY_SHARE)
    wanted = max(n * row_bytes / room, sum(threads for threads, _ in workers))
    doublings = int(np.ceil(np.log2(max(wanted, 1))))
    return 1 << max(0, min(doublings, int(np.log2(max(n // LEAST_ROWS, 1)))))


class Places(NamedTuple):
    """The rows of a part, copies among them: their numbers, and which distinct row each is."""

    ids: Indices
    point: Indices


@dataclass(frozen=True, eq=False)
class Shared:
    """Rows that were shared out to parts, copies of a row once.

    Attributes
    ----------
    ids : list of futures of arrays of integers
        The distinct rows of every part, in order, numbered without the copies.
    points : list of futures of arrays
        Their points. Most steps ask for numbers alone, and points may be on disk.
    tree : future of Plane or int
        Which part a row belongs to.
    n : int
        How many distinct rows there are.
    chunks : Chunks
        The distinct rows again, in their order.
    given : Chunks
        All rows.
    places : list of futures of Places
        All rows of every part.
    copies : array of integers
        The rows that are copies of earlier ones.
    """

    ids: list[Any]
    points: list[Any]
    tree: Any
    n: int
    chunks: Chunks
    given: Chunks
    places: list[Any]
    copies: Indices

    def original(self, ids: Indices) -> Indices:
        """Return the numbers of distinct rows among all rows."""
        before = self.copies - np.arange(len(self.copies))
        return np.asarray(ids + np.searchsorted(before, ids, "right"))

    def returned(self, cluster: Cluster, values: list[Any]) -> list[Any]:
        """Return values of distinct rows, by part, as those of all rows, by chunk: as futures."""
        every = cluster.each(_of_copies, values, self.places)
        return returned(cluster, every, cluster.each(_ids, self.places), self.given)

    def numbers(self, cluster: Cluster) -> Indices:
        """Return which distinct row each row is."""
        return np.concatenate(cluster.get(self.returned(cluster, self.ids)))


def share_out(cluster: Cluster, given: Chunks, *, merge: bool = True) -> Shared:
    """Share rows out to parts; with ``merge``, rows that are copies of others only once."""
    workers = cluster.workers()
    parts = n_parts(given, workers)
    row_bytes = 8 * given.n_features
    step = max(1, len(given) // min(SAMPLE_ROWS * parts, max(parts, SAMPLE_BYTES // row_bytes)))
    sample = np.concatenate(cluster.get(cluster.each(_every, given.futures, step=step)))
    tree, _ = grown(sample.astype(np.float64), parts, 0)
    planes = cluster.send(tree)
    threads = sum(threads for threads, _ in workers)
    most = min(TOGETHER * len(given) // parts, len(given) // threads)  # work for all threads
    tasks = [
        cluster.run(_split, given.futures[some], given.starts[some], tree=planes, parts=parts)
        for some in _groups(given.sizes, most)
    ]
    counts = np.sum(cluster.get(cluster.each(_counts, tasks)), axis=0)
    kept = np.flatnonzero(counts)
    # Group by group, so that each is read from disk once.
    pieces = [[cluster.run(getitem, task, int(part)) for part in kept] for task in tasks]
    ids, points = [], []
    for column in zip(*pieces, strict=True):
        rows = cluster.run(_stacked_rows, list(column))
        ids.append(cluster.run(_ids, rows))
        points.append(cluster.run(_points, rows))
    del tasks, pieces, column, rows  # workers forget those that are done with
    numbers = {int(part): place for place, part in enumerate(kept)}
    planes = cluster.send(renumbered(tree, numbers))
    # Copies are in one part: where a row goes depends on its numbers alone.
    places = cluster.each(_places, ids, points, merge=merge)
    copies = np.sort(np.concatenate(cluster.get(cluster.each(_copies, places))))
    n = len(given) - len(copies)
    if n < 2:
        return share_out(cluster, given, merge=False)
    if not len(copies):
        return Shared(ids, points, planes, n, given, given, places, copies)
    ids = cluster.each(_distinct_ids, ids, places, copies=cluster.send(copies))
    points = cluster.each(_distinct_points, points, places)
    sizes = _aligned(
        [
            n * (chunk + 1) // len(given.sizes) - n * chunk // len(given.sizes)
            for chunk in range(len(given.sizes))
        ]
    )
    chunks = replace(given, sizes=list(sizes), futures=[])
    again = returned(cluster, points, ids, chunks)
    return Shared(ids, points, planes, n, replace(chunks, futures=again), given, places, copies)


def are_equal(cluster: Cluster, chunks: Chunks) -> bool:
    """Tell whether all rows are equal."""
    rows = np.concatenate(cluster.get(cluster.each(_unequal, chunks.futures)))
    return bool((rows == rows[0]).all())


def _unequal(X: Floats) -> Floats:
    """Return the first row, and another one that is not equal to it, if there is one."""
    other = int(np.argmax((X[0] != X).any(axis=1)))
    return X[[0, other]]


def _places(ids: Indices, points: Floats, merge: bool) -> Places:
    return Places(ids, Copies.of(RowTable(points)).point if merge else np.arange(len(ids)))


def _copies(places: Places) -> Indices:
    """Return the numbers of the rows that are copies of earlier ones."""
    _, first = np.unique(places.point, return_index=True)
    return np.delete(places.ids, first)


def _distinct_ids(ids: Indices, places: Places, copies: Indices) -> Indices:
    """Return the numbers of the distinct rows of a part, without the copies."""
    _, first = np.unique(places.point, return_index=True)
    return np.asarray(ids[first] - np.searchsorted(copies, ids[first]))


def _distinct_points(points: Floats, places: Places) -> Floats:
    return points[np.unique(places.point, return_index=True)[1]]


def _points(rows: Rows) -> Floats:
    return rows.points


def _ids(rows: Rows | Places) -> Indices:
    return rows.ids


def _of_copies(values: Any, places: Places) -> Any:
    return values[places.point]


def _every(X: Floats, step: int) -> Floats:
    return X[::step]


def _groups(sizes: list[int], most: int) -> list[slice]:
    """Return groups of chunks in order, of at most so many rows, or of one chunk."""
    groups, first, rows = list[slice](), 0, 0
    for chunk, size in enumerate(sizes):
        if rows and rows + size > most:
            groups.append(slice(first, chunk))
            first, rows = chunk, 0
        rows += size
    return [*groups, slice(first, len(sizes))]


def _split(chunks: list[Floats], starts: list[int], tree: Any, parts: int) -> list[Rows]:
    """Return the rows of some chunks that go to each part."""
    pieces: list[list[Rows]] = [[] for _ in range(parts)]
    for X, start in zip(chunks, starts, strict=True):
        home = part_of(X, tree)
        order = np.argsort(home, kind="stable")
        ends = np.cumsum(np.bincount(home, minlength=parts))
        for part, rows in enumerate(np.split(order, ends[:-1])):
            pieces[part].append(Rows(start + rows, X[rows]))
    return [_stacked_rows(some) for some in pieces]


def _counts(split: list[Rows]) -> list[int]:
    return [len(rows.ids) for rows in split]


def _stacked_rows(pieces: list[Rows]) -> Rows:
    return Rows(*(np.concatenate(column) for column in zip(*pieces, strict=True)))


def returned(cluster: Cluster, values: list[Any], ids: list[Any], chunks: Chunks) -> list[Any]:
    """Return arrays with one entry for every row of the parts, chunk by chunk, as futures."""
    groups = _groups(chunks.sizes, TOGETHER * len(chunks) // len(ids))
    bounds = [*(chunks.starts[some.start] for some in groups), len(chunks)]
    cut = cluster.each(_cut, values, ids, bounds=bounds)
    # Part by part, so that each is read from disk once.
    pieces = [[cluster.run(getitem, part, group) for group in range(len(groups))] for part in cut]
    found = []
    for some, start, *column in zip(groups, bounds, *pieces, strict=False):
        sizes = chunks.sizes[some]
        filled = cluster.run(_filled, column, sum(sizes))
        for first, size in zip(chunks.starts[some], sizes, strict=True):
            found.append(cluster.run(_chunk, filled, first - start, first - start + size))
    return found


def _chunk(filled: Any, first: int, last: int) -> Any:
    """Return some rows, but no view that would keep the others."""
    return filled[first:last].copy()


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


def as_given(cluster: Cluster, futures: list[Any], chunks: Chunks, width: int, dtype: Any) -> Any:
    """Return futures of chunks as what the user gave: a dask array, or one of numpy."""
    if chunks.given is None:
        return np.concatenate(cluster.get(futures))
    da, delayed = import_module("dask.array"), import_module("dask").delayed
    cluster.wait(futures)
    blocks = [
        da.from_delayed(delayed(future), shape=(size, width), dtype=dtype)
        for future, size in zip(futures, chunks.sizes, strict=True)
    ]
    return da.concatenate(blocks).rechunk((chunks.given, -1))
