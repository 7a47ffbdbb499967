"""Blocks of rows, and threads to work on them."""

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

# Called with the number of finished blocks and of all blocks. Threads begin with None, so blocks
# within a block are not reported.
_report: ContextVar[Report | None] = ContextVar("_report", default=None)

# A block about the size of the last-level cache is faster than one that fills the whole working
# memory; scikit-learn's `working_memory` (MiB) remains the upper bound.
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

    ``row_bytes`` is what work on one row needs. The blocks of all threads together stay within
    ``sklearn.get_config()["working_memory"]``. Call it from the main thread: scikit-learn's setting
    does not reach the others.
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
    """Return ``[function(block) for block in blocks]``, computed by ``n_jobs`` threads.

    If another backend of joblib is active, it gets the work.
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
        # joblib asks its threads for results every hundredth of a second; many blocks take less.
        with ThreadPoolExecutor(workers) as threads:
            yield from threads.map(partial(_within, backend, function), blocks)
    else:
        yield from parallel(delayed(function)(block) for block in blocks)


def _within(backend: Any, function: Callable[[slice], T], block: slice) -> T:
    """Run a function in a thread without nesting another pool in it."""
    nested, n_jobs = backend.get_nested_backend()
    with parallel_config(backend=nested, n_jobs=n_jobs):
        return function(block)


@contextmanager
def reported(report: Report | None) -> Iterator[None]:
    """Meanwhile, call ``report(done, total)`` whenever :func:`map_slices` finishes a block."""
    before = _report.set(report)
    try:
        yield
    finally:
        _report.reset(before)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Meanwhile, let BLAS use one thread.

    More would compete with ours for the cores, gain nothing on small matrices, and let the last
    bits of a sum depend on their number.
    """
    limit: AbstractContextManager[Any] = _threadpools().limit(limits=1, user_api="blas")
    return limit


@lru_cache(maxsize=1)
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()
