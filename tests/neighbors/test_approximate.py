"""The approximate search finds nearly all neighbours, with exact distances."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn
from scipy import sparse

from neighbor_rows import DATA, SCAN, as_rows
from patchfold.neighbors import ApproximateNeighbors, ExactNeighbors, find_neighbors

# Numba compiles the descent for minutes. So "make test" has one test of it, in a process that
# compiles without optimising; "make test-all" runs the others, in one worker of xdist.
GROUP = pytest.mark.xdist_group("pynndescent")
UNOPTIMISED = {"NUMBA_OPT": "0", "NUMBA_CACHE_DIR": "."}
PROGRAM = """
import numpy as np
from patchfold.neighbors import ApproximateNeighbors, ExactNeighbors

X = np.random.default_rng(3).normal(size=(1200, 12)) * 0.01 + 1000
approximate = ApproximateNeighbors(10, random_state=0).build(X)
exact = ExactNeighbors(10).build(X)
for queries in (None, X[:200] + 1e-3):
    found, true = (
        set(zip(near.sources.tolist(), near.indices.tolist()))
        for near in (approximate.query(queries), exact.query(queries))
    )
    print(len(found & true) / len(true))
"""


def descends(test):
    return pytest.mark.long(GROUP(test))


@pytest.mark.slow
def test_the_real_descent_finds_nearly_all_neighbours_of_fitted_and_new_points(tmp_path):
    pytest.importorskip("pynndescent", reason="the approximate search is an optional extra")
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env=os.environ | UNOPTIMISED,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    shares = list(map(float, run.stdout.split()))
    assert len(shares) == 2
    assert min(shares) > 0.95


@pytest.fixture(scope="module")
def descent_data():
    pytest.importorskip("pynndescent", reason="the approximate search is an optional extra")
    X = np.random.default_rng(3).normal(size=(1500, 12)) * 0.01 + 1000
    return X, ExactNeighbors(10).build(X)


@descends
def test_approximate_distances_are_exact_and_sorted(descent_data):
    X, _ = descent_data
    found = find_neighbors(X, 10, knn="approximate", random_state=0)
    full = ExactNeighbors(len(X) - 1).build(X).query()
    exact = np.zeros((len(X), len(X)))
    exact[full.sources, full.indices] = full.distances
    assert np.array_equal(found.distances, exact[found.sources, found.indices])
    assert np.all(found.sources != found.indices)
    for row in as_rows(found):
        assert row == sorted(row)


@descends
def test_the_approximate_search_is_a_function_of_its_seed(descent_data):
    X, _ = descent_data
    first = find_neighbors(X, 10, knn="approximate", random_state=7)
    for n_jobs in (1, 2):
        again = find_neighbors(X, 10, knn="approximate", random_state=7, n_jobs=n_jobs)
        assert as_rows(again) == as_rows(first)


def test_the_approximate_search_of_few_points_is_exact():
    pytest.importorskip("pynndescent", reason="the approximate search is an optional extra")
    X = DATA["integers in a tree"]
    found = find_neighbors(X, 5, knn="approximate", random_state=0)
    assert as_rows(found) == as_rows(find_neighbors(X, 5, knn="exact"))


class Descent:
    """Stands in for ``pynndescent.NNDescent`` and compares all pairs of what it is given."""

    def __init__(self, data, n_neighbors, random_state, n_jobs):
        assert data.dtype == np.float32
        self.data = data
        self.neighbor_graph = self.query(data, n_neighbors, epsilon=0.0)

    def query(self, data, k, epsilon):
        assert sparse.issparse(data) == sparse.issparse(self.data)
        assert data.dtype == np.float32
        distances = sklearn.metrics.pairwise_distances(data, self.data)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return nearest, np.take_along_axis(distances, nearest, axis=1)


@pytest.fixture
def descent_stand_in(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", SimpleNamespace(NNDescent=Descent))
    monkeypatch.setattr(ApproximateNeighbors, "SMALLEST_DESCENT", 0)


@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e60])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_descent_gets_single_precision_near_one(descent_stand_in, container, scale):
    X = container(scale * np.random.default_rng(2).normal(size=(60, SCAN)))
    search = ApproximateNeighbors(5, random_state=0).build(X)
    values = np.abs(search._descent.data.data if sparse.issparse(X) else search._descent.data)
    assert 0.1 < values.max() < 10
    exact = ExactNeighbors(5).build(X)
    for queries in (None, X[:7]):
        assert as_rows(search.query(queries)) == as_rows(exact.query(queries))


def test_the_approximate_search_takes_sparse_points_and_duplicates(descent_stand_in):
    X = sparse.csr_array(np.repeat(np.eye(12), 10, axis=0))
    found = find_neighbors(X, 5, knn="approximate", random_state=0)
    assert np.all(found.sources != found.indices)
    assert found.degrees.tolist() == [5] * 120
    assert np.all(found.distances == 0)


def test_places_that_the_descent_left_empty_are_dropped(descent_stand_in, monkeypatch):
    def leave_empty(self, data, k, epsilon):
        graph = np.full((len(data), k), -1)
        graph[:, 0] = np.arange(len(data))
        graph[1:, 1] = 0
        return graph, None

    monkeypatch.setattr(Descent, "query", leave_empty)
    found = find_neighbors(np.arange(4.0)[:, None], 2, knn="approximate")
    assert as_rows(found) == [[], [(1.0, 0)], [(2.0, 0)], [(3.0, 0)]]


def test_a_missing_pynndescent_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[ann\]'"):
        find_neighbors(np.ones((5, 2)), 2, knn="approximate")
