from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from joblib import Parallel, delayed, parallel_config, register_parallel_backend
from joblib.parallel import ThreadingBackend
from threadpoolctl import threadpool_info, threadpool_limits

from patchfold import PatchIsomap
from patchfold.base import threads


@given(st.integers(0, 500), st.integers(0, 10**9), st.integers(1, 2000))
def test_blocks_cover_the_rows_once_within_the_budget(n_rows, row_bytes, working_memory):
    with sklearn.config_context(working_memory=working_memory):
        cut = threads.block_slices(n_rows, row_bytes)
    rows = [row for block in cut for row in range(block.start, block.stop)]
    assert rows == list(range(n_rows))
    budget = min(threads.CACHE_BYTES, working_memory * 2**20)
    longest = max((block.stop - block.start for block in cut), default=0)
    assert longest <= 1 or longest * row_bytes <= budget


def test_threads_share_the_working_memory():
    with sklearn.config_context(working_memory=1):
        alone, shared = (threads.block_slices(64, 2**18, n_jobs) for n_jobs in (1, 4))
    assert len(alone) == 64 // 4
    assert len(shared) == 64


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_back_in_order_with_one_blas_thread_each(n_jobs):
    def work(block):
        threads = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return block.start, max(threads)

    before = [pool["num_threads"] for pool in threadpool_info()]
    results = threads.map_blocks(work, 100, threads.CACHE_BYTES // 10, n_jobs)
    assert [start for start, _ in results] == list(range(0, 100, 10))
    assert {threads for _, threads in results} == {1}
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_an_error_in_a_block_reaches_the_caller():
    def fail(block):
        raise ZeroDivisionError

    for n_jobs in (None, 2):
        with pytest.raises(ZeroDivisionError):
            threads.map_blocks(fail, 3, 1, n_jobs)


def test_no_rows_make_no_blocks():
    assert threads.map_blocks(np.sum, 0, 8) == []


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_blocks_are_reported_as_they_are_done_and_those_within_them_are_not(n_jobs):
    seen = []

    def work(block):
        return sum(
            threads.map_slices(lambda part: part.start, [slice(0, 1), slice(0, 1)]), block.start
        )

    with threads.reported(lambda *counts: seen.append(counts)):
        results = threads.map_blocks(work, 4, threads.CACHE_BYTES, n_jobs)
    threads.map_blocks(work, 4, threads.CACHE_BYTES, n_jobs)
    assert results == [0, 1, 2, 3]
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def threads_of(n_jobs=None):
    """The threads that some work was done by."""
    everyone = threading.Barrier(2)

    def work(block):
        with contextlib.suppress(threading.BrokenBarrierError):
            everyone.wait(timeout=0.3)
        return threading.get_ident()

    return set(threads.map_slices(work, [slice(i, i + 1) for i in range(4)], n_jobs))


@pytest.mark.slow
def test_as_many_threads_work_as_are_asked_for():
    assert threads_of(1) == {threading.get_ident()}
    assert len(threads_of(2)) == 2
    with parallel_config(backend="threading", n_jobs=2):
        assert len(threads_of()) == 2
        assert len(threads_of(1)) == 1


def test_without_a_number_all_cores_are_used_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr(threads, "cpu_count", lambda: 6)
    assert threads.n_threads(None) == 6
    assert threads.n_threads(2) == 2


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("backend", [None, "loky", "threading"])
def test_a_context_of_joblib_says_how_many_threads_there_are(backend, n_jobs):
    named = {} if backend is None else {"backend": backend}
    with parallel_config(**named, n_jobs=n_jobs):
        assert threads.n_threads(None) == n_jobs


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_tasks_of_joblib_have_one_thread_each(backend):
    tasks = Parallel(2, backend=backend)(delayed(threads.n_threads)(None) for _ in range(2))
    assert tasks == [1, 1]


def test_fits_in_threads_of_the_user_share_the_cores(monkeypatch):
    monkeypatch.setattr(threads, "cpu_count", lambda: 6)
    all_at_work = threading.Barrier(3)

    def fit(_):
        def work(_):
            all_at_work.wait(timeout=30)
            found = threads.n_threads(None)
            all_at_work.wait(timeout=30)
            return found

        return threads.map_slices(work, [slice(0, 1)], 1)[0]

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(fit, range(3))) == [2, 2, 2]
    assert threads.n_threads(None) == 6


def test_work_within_work_within_threads_is_not_shared_out_again():
    two = [slice(0, 1), slice(1, 2)]

    def outer(block):
        return threads.map_slices(inner, two, 2)

    def inner(block):
        here = threading.get_ident()
        return threads.map_slices(lambda part: threading.get_ident() == here, two, 2)

    assert np.all(threads.map_slices(outer, two, 2))


def test_no_backend_of_joblib_gets_the_work_which_threads_share_memory_for():
    class Refusing(ThreadingBackend):
        def submit(self, func, callback=None):
            raise AssertionError("work was handed over")

    register_parallel_backend("refusing", Refusing)
    for backend in ("refusing", "loky", "multiprocessing", "threading"):
        written = np.zeros(40)

        def write(block, written=written):
            written[block] = block.start + 1

        with parallel_config(backend=backend, n_jobs=2):
            threads.map_slices(write, [slice(i, i + 1) for i in range(40)])
            threads.map_slices(write, [slice(i, i + 1) for i in range(40)], 2)
        np.testing.assert_array_equal(written, np.arange(1, 41))


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading", "dask"])
def test_an_embedding_has_the_same_bits_under_every_backend_of_joblib(backend):
    if backend == "dask":
        distributed = pytest.importorskip("distributed")
        started = distributed.Client(processes=False, dashboard_address=":0")
    else:
        started = contextlib.nullcontext()
    X = np.random.default_rng(0).normal(size=(90, 4))
    expected = PatchIsomap(n_neighbors=8).fit(X)
    with started, parallel_config(backend=backend, n_jobs=2):
        found = PatchIsomap(n_neighbors=8).fit(X)
        np.testing.assert_array_equal(found.transform(X + 0.01), expected.transform(X + 0.01))
    np.testing.assert_array_equal(found.embedding_, expected.embedding_)


def test_overlapping_work_leaves_blas_the_threads_it_had():
    def of_blas():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = of_blas()
        first, second = threads.one_blas_thread(), threads.one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert set(of_blas()) == {1}
        first.__exit__(None, None, None)  # the second is still at work
        assert set(of_blas()) == {1}
        second.__exit__(None, None, None)
        assert of_blas() == before
