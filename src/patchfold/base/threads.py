"""Blocks of rows, and threads to work on them."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any, TypeVar

import sklearn
from array_api_compat import is_torch_array
from joblib import cpu_count, effective_n_jobs, parallel, parallel_config
from joblib.parallel import SequentialBackend, get_active_backend
from sklearn.utils import gen_batches
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Report = Callable[[int, int], None]

T = TypeVar("T")

# Whether blocks take the whole working memory, one after the other: a GPU wants much work at once.
_large: ContextVar[bool] = ContextVar("_large", default=False)

# Called with the number of finished blocks and of all blocks. Threads begin with None, so blocks
# within a block are not reported.
_report: ContextVar[Report | None] = ContextVar("_report", default=None)

# A block about the size of the last-level cache is faster than one that fills the whole working
# memory; scikit-learn's `working_memory` (MiB) remains the upper bound.
CACHE_BYTES = 16 * 2**20


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` means.

    None means what a context of joblib says. Without one it means all cores that this process may
    use, shared by the threads that ask at the same time; within a task of joblib it means one.
    """
    backend, _ = get_active_backend(prefer="threads")
    if _large.get() or isinstance(backend, SequentialBackend):
        return 1
    if n_jobs is None:
        n_jobs = _configured_jobs()
    if n_jobs is None:
        return 1 if backend.nesting_level else max(1, cpu_count() // _callers.count())
    with parallel_config(backend="threading"):
        return int(effective_n_jobs(n_jobs))


def _configured_jobs() -> int | None:
    """Return the ``n_jobs`` of joblib's context; None where there is none.

    joblib's public functions answer 1 in both cases.
    """
    context = getattr(getattr(parallel, "_backend", None), "config", {})
    n_jobs = context.get("n_jobs")
    return n_jobs if isinstance(n_jobs, int) else None


def block_slices(n_rows: int, row_bytes: int, n_jobs: int | None = None) -> list[slice]:
    """Cut ``n_rows`` into consecutive slices whose temporaries stay within the working memory."""
    return list(gen_batches(n_rows, block_rows(row_bytes, n_jobs))) if n_rows else []


def block_rows(row_bytes: int, n_jobs: int | None = None) -> int:
    """Return how many rows a block has at most.

    ``row_bytes`` is what work on one row needs. The blocks of all threads together stay within
    ``sklearn.get_config()["working_memory"]``. Call it from the main thread: scikit-learn's setting
    does not reach the others.
    """
    working_bytes = sklearn.get_config()["working_memory"] * 2**20
    largest = working_bytes if _large.get() else CACHE_BYTES
    budget = min(largest, working_bytes / n_threads(n_jobs))
    return max(1, int(budget // max(1, row_bytes)))


def map_blocks(
    function: Callable[[slice], T], n_rows: int, row_bytes: int, n_jobs: int | None = None
) -> list[T]:
    """Map a function over the blocks of ``n_rows``, as :func:`block_slices` cuts them."""
    return map_slices(function, block_slices(n_rows, row_bytes, n_jobs), n_jobs)


def map_slices(
    function: Callable[[slice], T], blocks: list[slice], n_jobs: int | None = None
) -> list[T]:
    """Return ``[function(block) for block in blocks]``, computed by ``n_jobs`` threads.

    Threads, whatever backend of joblib is active: functions write into arrays that they share.
    """
    report = _report.get()
    with _callers, one_blas_thread(), reported(None):
        results = []
        for result in _mapped(function, blocks, n_jobs):
            results.append(result)
            if report is not None:
                report(len(results), len(blocks))
        return results


def _mapped(function: Callable[[slice], T], blocks: list[slice], n_jobs: int | None) -> Iterator[T]:
    workers = n_threads(n_jobs)
    if len(blocks) <= 1 or workers == 1:
        yield from map(function, blocks)
    else:
        # joblib asks its threads for results every hundredth of a second; many blocks take less.
        with ThreadPoolExecutor(workers) as threads:
            yield from threads.map(partial(_within, function), blocks)


def _within(function: Callable[[slice], T], block: slice) -> T:
    """Run a function in a thread without nesting another pool in it."""
    with parallel_config(backend="sequential"):
        return function(block)


@contextmanager
def large_blocks(array: Any) -> Iterator[None]:
    """Meanwhile, take large blocks one after the other if this is a tensor of torch."""
    before = _large.set(_large.get() or is_torch_array(array))
    try:
        yield
    finally:
        _large.reset(before)


@contextmanager
def reported(report: Report | None) -> Iterator[None]:
    """Meanwhile, call ``report(done, total)`` whenever :func:`map_slices` finishes a block."""
    before = _report.set(report)
    try:
        yield
    finally:
        _report.reset(before)


def progress(done: int, total: int) -> None:
    """Report progress from outside :func:`map_slices` to what :func:`reported` was given."""
    report = _report.get()
    if report is not None:
        report(done, total)


class _Callers:
    """The threads that run :func:`map_slices`: fits in a pool of the user share the cores."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._depths: Counter[int] = Counter()

    def count(self) -> int:
        """Return how many threads there are, this one among them."""
        with self._lock:
            return len(self._depths.keys() | {get_ident()})

    def __enter__(self) -> None:
        with self._lock:
            self._depths[get_ident()] += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depths[get_ident()] -= 1
            self._depths += Counter()  # without those that are done


_callers = _Callers()


class _BlasLimit:
    """One thread for BLAS while anyone asks for it: the limit is that of the whole process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._askers = 0
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if not self._askers:
                self._limit = _threadpools().limit(limits=1, user_api="blas")
            self._askers += 1

    def leave(self) -> None:
        with self._lock:
            self._askers -= 1
            if not self._askers:
                self._limit.restore_original_limits()


_blas_limit = _BlasLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Meanwhile, let BLAS use one thread.

    More would compete with ours for the cores, gain nothing on small matrices, and let the last
    bits of a sum depend on their number.
    """
    _blas_limit.enter()
    try:
        yield
    finally:
        _blas_limit.leave()


@lru_cache(maxsize=1)
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()
