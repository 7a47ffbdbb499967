"""Block-wise work: the one place that cuts rows into blocks and maps a function over them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

import sklearn
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import ThreadingBackend, get_active_backend
from sklearn.utils import gen_batches
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    Report = Callable[[int, int], None]

T = TypeVar("T")

# Told how many of how many blocks are done. Threads begin with None, so the innermost work of a
# block that is itself cut into blocks is not reported.
_report: ContextVar[Report | None] = ContextVar("_report", default=None)

# A block that stays near the last-level cache is faster than one that fills the whole
# working memory; scikit-learn's `working_memory` (MiB) remains the upper bound.
CACHE_BYTES = 16 * 2**20


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` means, also within a worker process."""
    with parallel_config(backend="threading"):
        return int(effective_n_jobs(n_jobs))


def block_slices(n_rows: int, row_bytes: int, n_jobs: int | None = None) -> list[slice]:
    """Cut ``n_rows`` into consecutive slices whose temporaries stay within the working memory."""
    return list(gen_batches(n_rows, block_rows(row_bytes, n_jobs))) if n_rows else []


def block_rows(row_bytes: int, n_jobs: int | None = None) -> int:
    """Return how many rows a block has at most.

    ``row_bytes`` is what one row needs while it is being worked on; the blocks of all threads
    together stay within ``sklearn.get_config()["working_memory"]``. Threads themselves do not know
    what that is set to.
    """
    working_bytes = sklearn.get_config()["working_memory"] * 2**20
    budget = min(CACHE_BYTES, working_bytes / n_threads(n_jobs))
    return max(1, int(budget // max(1, row_bytes)))


def map_blocks(
    function: Callable[[slice], T], n_rows: int, row_bytes: int, n_jobs: int | None = None
) -> list[T]:
    """Map a function over the blocks of ``n_rows``, as :func:`block_slices` cuts them."""
    return map_slices(function, block_slices(n_rows, row_bytes, n_jobs), n_jobs)


def map_slices(
    function: Callable[[slice], T], blocks: list[slice], n_jobs: int | None = None
) -> list[T]:
    """Return ``[function(block) for block in blocks]``, in threads when ``n_jobs`` says so.

    Where another backend of joblib is active, it gets the work.
    """
    report = _report.get()
    with one_blas_thread(), reported(None):
        results = []
        for result in _mapped(function, blocks, n_jobs):
            results.append(result)
            if report is not None:
                report(len(results), len(blocks))
        return results


def _mapped(function: Callable[[slice], T], blocks: list[slice], n_jobs: int | None) -> Iterator[T]:
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    backend, _ = get_active_backend(prefer="threads")
    workers = backend.effective_n_jobs(parallel.n_jobs)
    if len(blocks) <= 1 or workers == 1:
        yield from map(function, blocks)
    elif type(backend) is ThreadingBackend:
        # joblib looks for the results of threads every hundredth of a second, which is longer
        # than many a block takes.
        with ThreadPoolExecutor(workers) as threads:
            yield from threads.map(partial(_within, backend, function), blocks)
    else:
        yield from parallel(delayed(function)(block) for block in blocks)


def _within(backend: Any, function: Callable[[slice], T], block: slice) -> T:
    """Call a function in a thread, so that work within is not shared out again and again."""
    nested, n_jobs = backend.get_nested_backend()
    with parallel_config(backend=nested, n_jobs=n_jobs):
        return function(block)


@contextmanager
def reported(report: Report | None) -> Iterator[None]:
    """Tell ``report`` meanwhile how many of how many blocks of :func:`map_slices` are done."""
    before = _report.set(report)
    try:
        yield
    finally:
        _report.reset(before)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let BLAS have one thread meanwhile.

    Its own would fight over the cores, gain nothing on small matrices, and let the last bits of a
    sum depend on how many there are.
    """
    limit: AbstractContextManager[Any] = _threadpools().limit(limits=1, user_api="blas")
    return limit


@lru_cache(maxsize=1)
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()
