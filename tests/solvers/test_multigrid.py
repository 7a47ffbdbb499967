"""Multigrid: a symmetric, positive approximation of the inverse of a graph's Laplacian."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import LinAlgError
from scipy.sparse import block_diag, coo_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components

from patchfold import PatchEigenmaps
from patchfold.graph import edges
from patchfold.neighbors import find_neighbors
from patchfold.solvers import eigenvectors, multigrid
from patchfold.solvers.eigenvectors import Limits, bottom_eigenvectors
from patchfold.solvers.multigrid import Multigrid


def grid_laplacian(n=900):
    """The Laplacian of the neighbours of points in a square, which is one piece."""
    points = np.random.default_rng(0).uniform(size=(n, 2))
    near = find_neighbors(points, 8)
    rows = near.sources, near.indices
    W = coo_array((np.exp(-near.distances / near.distances.mean()), rows), (n, n)).tocsr()
    W = W + W.T
    assert connected_components(W)[0] == 1
    return edges.laplacian(W)


def normalised(L, degrees):
    scale = diags_array(1 / np.sqrt(degrees))
    return csr_array(scale @ L @ scale), np.sqrt(degrees)


# A coarsest graph of ten points: even small graphs have several levels.
COARSEST = 10
FACTORS = Limits(dense=1)
LEVELS = Limits(dense=1, direct=1, coarsest=COARSEST)


def several_levels(L, kernel):
    return Multigrid(L, kernel, coarsest=COARSEST)


LAPLACIANS = {
    "plain": lambda: (grid_laplacian()[0], np.ones(900)),
    "normalised": lambda: normalised(*grid_laplacian()),
}


@pytest.mark.parametrize("name", LAPLACIANS)
def test_solutions_are_a_symmetric_positive_linear_map(name):
    L, kernel = LAPLACIANS[name]()
    solver = several_levels(L, kernel)
    inverse = solver.solve(np.eye(len(kernel)))
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-9 * np.abs(inverse).max())
    assert np.linalg.eigvalsh((inverse + inverse.T) / 2).min() > 0
    b = np.random.default_rng(1).standard_normal((len(kernel), 2))
    np.testing.assert_allclose(solver.solve(b), inverse @ b, atol=1e-9 * np.abs(inverse).max())


@pytest.mark.parametrize("n", [900, 9000])
@pytest.mark.parametrize("form", [lambda L, degrees: (L, np.ones(len(degrees))), normalised])
def test_repeated_corrections_solve_the_equations_however_many_points_there_are(form, n):
    L, kernel = form(*grid_laplacian(n))
    wanted = np.random.default_rng(1).standard_normal((n, 1))
    b, x = L @ wanted, np.zeros_like(wanted)
    solver = several_levels(L, kernel)
    for _ in range(80):
        x += solver.solve(b - L @ x)
    # A local average alone would leave a tenth.
    assert np.linalg.norm(b - L @ x) < 1e-6 * np.linalg.norm(b)


@pytest.mark.parametrize("name", LAPLACIANS)
def test_coarse_eigenvectors_are_near_the_true_ones(name):
    L, kernel = LAPLACIANS[name]()
    exact = np.linalg.eigvalsh(L.toarray())[:3]
    values, vectors = several_levels(L, kernel).coarse_eigenvectors(3)
    # A least value over fewer vectors is no smaller.
    assert (values >= exact - 1e-12).all()
    assert (values[1:] < 6 * exact[1:]).all()
    quotients = np.diag(vectors.T @ L @ vectors) / np.diag(vectors.T @ vectors)
    np.testing.assert_allclose(quotients, values, atol=1e-12)
    np.testing.assert_allclose(np.diag(vectors.T @ vectors), 1, rtol=1e-10)
    alignment = abs(vectors[:, 0] @ kernel) / np.linalg.norm(kernel)
    np.testing.assert_allclose(alignment, 1, rtol=1e-8)


def test_a_graph_that_is_small_already_is_solved_exactly():
    L, kernel = LAPLACIANS["normalised"]()
    wanted = np.random.default_rng(1).standard_normal((900, 1))
    found = Multigrid(L, kernel).solve(L @ wanted)
    np.testing.assert_allclose(L @ found, L @ wanted, atol=1e-10)


def test_nothing_is_random():
    L, kernel = LAPLACIANS["plain"]()
    b = np.random.default_rng(1).standard_normal((900, 2))
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first = several_levels(L, kernel).solve(b)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    np.testing.assert_array_equal(first, several_levels(L, kernel).solve(b))


@pytest.mark.parametrize("name", LAPLACIANS)
def test_bottom_eigenvectors_by_multigrid_are_those_by_factors(monkeypatch, name):
    L, kernel = LAPLACIANS[name]()
    values, vectors = bottom_eigenvectors(L, 3, 1, limits=FACTORS)
    monkeypatch.setattr(eigenvectors, "_shift_invert", None)  # it is not needed
    found_values, found = bottom_eigenvectors(L, 3, 1, kernel=kernel, limits=LEVELS)
    np.testing.assert_allclose(found_values, values, rtol=1e-8)
    np.testing.assert_allclose(found, vectors, atol=1e-5)


@pytest.mark.filterwarnings("ignore:the neighbourhood graph", "ignore:bandwidth")
def test_a_small_part_far_away_is_not_lost():
    """It becomes one group early, which no coarser graph knows."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(size=(1500, 2)), 3 + 0.02 * rng.uniform(size=(20, 2))])
    fitted = PatchEigenmaps(3, divergence="euclidean", bandwidth=1e-3).fit(X)
    W = fitted.graph_.copy()
    W.data = np.exp(-(W.data**2) / 1e-3)
    W.eliminate_zeros()
    n_parts, parts = connected_components(W)
    L, root = normalised(*edges.laplacian(W))
    values, _ = bottom_eigenvectors(L, 3, n_parts, kernel=root, parts=parts, limits=LEVELS)
    assert n_parts == 2
    np.testing.assert_allclose(values, fitted.eigenvalues_, rtol=1e-7)


def test_a_part_that_belongs_to_no_group_is_noticed():
    L, kernel = LAPLACIANS["plain"]()
    pair = csr_array(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    both, kernel = csr_array(block_diag([L, pair])), np.ones(902)
    assert eigenvectors._by_multigrid(both, kernel, 3, LEVELS) is None
    assert eigenvectors._by_multigrid(L, kernel[:900], 3, LEVELS) is not None


def test_where_all_groups_meet_there_is_nothing_to_gain():
    rng = np.random.default_rng(0)
    n = 40_000
    i, j = rng.integers(0, n, (2, 8 * n))
    W = coo_array((np.ones(8 * n), (i, j)), (n, n)).tocsr()
    random = edges.laplacian(W + W.T)[0]
    assert not multigrid.has_sparse_groups(random)
    assert eigenvectors._by_multigrid(random, np.ones(n), 3, LEVELS) is None
    assert multigrid.has_sparse_groups(grid_laplacian(5000)[0])


@pytest.mark.parametrize("error", [ValueError, LinAlgError])
@pytest.mark.parametrize("place", ["Multigrid", "lobpcg"])
def test_factors_are_made_where_multigrid_fails(monkeypatch, place, error):
    L, kernel = LAPLACIANS["plain"]()
    expected = bottom_eigenvectors(L, 3, 1, limits=FACTORS)

    def fail(*given, **settings):
        raise error

    monkeypatch.setattr(multigrid if place == "Multigrid" else eigenvectors, place, fail)
    found = bottom_eigenvectors(L, 3, 1, kernel=kernel, limits=LEVELS)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_wide_graph_is_solved_by_multigrid_though_it_is_small(monkeypatch):
    L, kernel = LAPLACIANS["plain"]()
    expected = np.linalg.eigvalsh(L.toarray())[1:4]
    monkeypatch.setattr(eigenvectors, "_shift_invert", None)
    limits = Limits(dense=1, narrow=1, coarsest=COARSEST)
    values, _ = bottom_eigenvectors(L, 3, 1, kernel=kernel, limits=limits)
    np.testing.assert_allclose(values, expected, rtol=1e-8)


def test_more_eigenvectors_than_the_coarsest_graph_has(monkeypatch):
    L, kernel = LAPLACIANS["plain"]()
    expected = np.linalg.eigvalsh(L.toarray())[1:13]
    monkeypatch.setattr(eigenvectors, "_shift_invert", None)
    values, _ = bottom_eigenvectors(L, 12, 1, kernel=kernel, limits=LEVELS)
    np.testing.assert_allclose(values, expected, rtol=1e-7)


def test_many_eigenvectors_are_found_by_factors(monkeypatch):
    L, kernel = LAPLACIANS["plain"]()
    monkeypatch.setattr(eigenvectors, "_by_multigrid", None)
    limits = Limits(dense_of_many=1, direct=1)
    values, _ = bottom_eigenvectors(L, 30, 1, kernel=kernel, limits=limits)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(L.toarray())[1:31], rtol=1e-7)


def test_factors_are_made_where_multigrid_does_not_end():
    L, kernel = LAPLACIANS["plain"]()
    expected = bottom_eigenvectors(L, 3, 1, limits=FACTORS)
    short = replace(LEVELS, steps=1, rounds=2)
    found = bottom_eigenvectors(L, 3, 1, kernel=kernel, limits=short)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
