"""Eigenvectors: every solver finds what a full decomposition finds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import coo_array, csr_array, eye_array
from scipy.sparse.linalg import eigsh
from sklearn.exceptions import ConvergenceWarning

from patchfold.graph import edges
from patchfold.solvers import eigenvectors
from patchfold.solvers.eigenvectors import Limits, bottom_eigenvectors

# Small matrices, too, are factorised.
FACTORS = Limits(dense=1)


def path_laplacian(lengths):
    """Laplacian of a path whose edges have the given weights: all eigenvalues are distinct."""
    n = len(lengths) + 1
    i = np.arange(n - 1)
    W = csr_array((np.r_[lengths, lengths], (np.r_[i, i + 1], np.r_[i + 1, i])), shape=(n, n))
    return edges.laplacian(W)[0]


def lle_matrix(rng, n, k):
    """(I - W)'(I - W) for random weights of sum one: its null vector is constant."""
    columns = np.array([rng.permutation(n - 1)[:k] for _ in range(n)])
    columns += columns >= np.arange(n)[:, None]
    weights = rng.uniform(0.2, 1, (n, k))
    weights /= weights.sum(axis=1, keepdims=True)
    W = csr_array((weights.ravel(), columns.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    R = eye_array(n, format="csr") - W
    return (R.T @ R).tocsr()


MATRICES = {
    "path": path_laplacian(np.ones(79)),
    "path of random weights": path_laplacian(np.random.default_rng(0).uniform(0.5, 1, 79)),
    "LLE": lle_matrix(np.random.default_rng(1), 80, 6),
}


@pytest.fixture(params=["dense", "iterative"])
def limits(request):
    """Run a test with either solver."""
    return Limits() if request.param == "dense" else Limits(dense=1)


# ------------------------------------------------------------------- leading eigenvectors


def squares_of(rng, values):
    """Return squared distances, maybe negative, and eigenvectors of B to the given values."""
    n = len(values) + 1
    Q = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, n - 1))]))[0][:, 1:]
    B = Q * values @ Q.T
    diagonal = np.diag(B)
    return diagonal[:, None] + diagonal - 2 * B, Q


SPECTRA = {
    "five above the rest": np.r_[np.full(5, 3.0) + np.arange(5), np.full(190, 1e-3)],
    "close together": np.linspace(1, 2, 200),
    "negative ones larger": np.r_[np.linspace(-20, -10, 100), np.linspace(0, 3, 100)],
    "many magnitudes": np.logspace(-9, 0, 200),
    "few": np.r_[np.zeros(197), 1.0, 2.0, 4.0],
}


@pytest.mark.parametrize("count", [1, 2, 3, 12])
@pytest.mark.parametrize("name", SPECTRA)
def test_the_block_solver_finds_the_leading_pairs_of_any_spectrum(name, count):
    squared, Q = squares_of(np.random.default_rng(0), SPECTRA[name])
    B = Q * SPECTRA[name] @ Q.T
    values, vectors, images = eigenvectors.leading(lambda V: B @ V, squared[:, :8], count)
    np.testing.assert_allclose(images, B @ vectors, atol=1e-12 * np.abs(values).max())
    np.testing.assert_allclose(values, np.sort(SPECTRA[name])[::-1][:count], atol=1e-10)
    np.testing.assert_allclose(B @ vectors, vectors * values, atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-12)


# ------------------------------------------------------------------- bottom eigenvectors


@pytest.mark.parametrize("skip", [0, 1, 2])
@pytest.mark.parametrize("name", MATRICES)
def test_bottom_eigenpairs_are_those_of_a_full_decomposition(name, skip, limits):
    M = MATRICES[name]
    expected, full = np.linalg.eigh(M.toarray())
    wanted = slice(skip, skip + 3)
    values, vectors = bottom_eigenvectors(M, 3, skip, limits=limits)
    np.testing.assert_allclose(values, expected[wanted], rtol=1e-8, atol=1e-12)
    # Up to sign: the eigenvectors of an even path have two largest entries, of opposite signs.
    agreement = np.sign(np.sum(vectors * full[:, wanted], axis=0))
    np.testing.assert_allclose(vectors, full[:, wanted] * agreement, atol=1e-8)


def test_the_iterative_solver_gives_the_same_bits_every_time():
    first, second = (bottom_eigenvectors(MATRICES["LLE"], 2, 1, limits=FACTORS) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["path of random weights", "LLE"])
def test_both_solvers_give_eigenvectors_the_same_sign(name):
    dense = bottom_eigenvectors(MATRICES[name], 3, 1)[1]
    factors = bottom_eigenvectors(MATRICES[name], 3, 1, limits=FACTORS)[1]
    np.testing.assert_allclose(factors, dense, atol=1e-8)


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("between", [0.0, 1e-16])
def test_kernels_of_many_parts_are_skipped_without_being_sought(monkeypatch, between, normalised):
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2, 399)
    weights[3::4] = between  # a hundred parts of four points
    L = path_laplacian(weights)
    root = np.ones(400)
    if normalised:
        root = np.sqrt(L.diagonal())
        L = csr_array(L.multiply(1 / root[:, None]).multiply(1 / root[None, :]))
    expected, full = np.linalg.eigh(L.toarray())
    sought = []
    monkeypatch.setattr(
        eigenvectors,
        "eigsh",
        lambda M, count, **given: sought.append(count) or eigsh(M, count, **given),
    )
    parts = np.arange(400) // 4
    limits = Limits(dense=1, dense_of_many=1)
    values, vectors = bottom_eigenvectors(L, 3, 100, kernel=root, parts=parts, limits=limits)
    assert sought == [3]
    np.testing.assert_allclose(values, expected[100:103], rtol=1e-8)
    agreement = np.abs(np.sum(vectors * full[:, 100:103], axis=0))
    np.testing.assert_allclose(agreement, 1, rtol=1e-8)


def test_the_null_vector_of_a_laplacian_is_constant(limits):
    values, vectors = bottom_eigenvectors(MATRICES["path"], 1, 0, limits=limits)
    assert abs(values[0]) < 1e-12
    np.testing.assert_allclose(vectors[:, 0], 80**-0.5, atol=1e-9)


def test_the_spectrum_of_a_path_is_that_of_the_textbook(limits):
    values, vectors = bottom_eigenvectors(MATRICES["path"], 3, 1, limits=limits)
    order = np.arange(1, 4)
    np.testing.assert_allclose(values, 2 - 2 * np.cos(np.pi * order / 80), rtol=1e-8)
    waves = np.cos(np.pi * order * (np.arange(80)[:, None] + 0.5) / 80)
    waves /= np.linalg.norm(waves, axis=0)
    np.testing.assert_allclose(np.abs(np.sum(waves * vectors, axis=0)), 1, rtol=1e-12)


def test_small_matrices_are_solved_densely_whatever_is_wanted():
    M = path_laplacian(np.ones(5))
    values, _ = bottom_eigenvectors(M, 4, 1, limits=FACTORS)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(M.toarray())[1:5])


# ------------------------------------------------------------------- signs and residuals


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(0, 4)),
        elements=st.floats(-1e6, 1e6),
    )
)
def test_the_largest_entry_of_a_column_is_positive_and_only_signs_change(vectors):
    fixed = eigenvectors.fix_signs(vectors)
    np.testing.assert_array_equal(np.abs(fixed), np.abs(vectors))
    largest = np.take_along_axis(fixed, np.argmax(np.abs(fixed), axis=0)[None], axis=0)
    assert (largest >= 0).all()
    for before, after in zip(vectors.T, fixed.T, strict=True):
        assert np.array_equal(after, before) or np.array_equal(after, -before)
    np.testing.assert_array_equal(eigenvectors.fix_signs(fixed), fixed)
    np.testing.assert_array_equal(eigenvectors.fix_signs(-fixed), fixed)


def test_signs_keep_the_floating_point_type():
    assert eigenvectors.fix_signs(np.float32([[1, -2], [0.5, 1]])).dtype == np.float32


def wrong_pairs(*args, **kwargs):
    return np.array([0.5, 0.7]), np.linalg.qr(np.cos(np.arange(160.0)).reshape(80, 2))[0]


@pytest.mark.parametrize("solver", ["eigh", "eigsh"])
def test_vectors_that_are_none_of_the_matrix_are_reported(solver, monkeypatch):
    monkeypatch.setattr(eigenvectors, solver, wrong_pairs)
    limits = Limits() if solver == "eigh" else FACTORS
    with pytest.warns(ConvergenceWarning, match=r"residual of .* the embedding may be inaccurate"):
        bottom_eigenvectors(MATRICES["path"], 1, 1, limits=limits)


def test_a_solver_that_gives_up_names_the_parameters_to_change(monkeypatch):
    def gives_up(*args, **kwargs):
        raise eigenvectors.ArpackError(-9)

    monkeypatch.setattr(eigenvectors, "eigsh", gives_up)
    with pytest.raises(RuntimeError, match=r"did not converge; a larger n_neighbors, or reg"):
        bottom_eigenvectors(MATRICES["path"], 1, 1, limits=replace(FACTORS, fallback=1))
    values, vectors = bottom_eigenvectors(MATRICES["path"], 1, 1, limits=FACTORS)  # solved in full
    np.testing.assert_allclose(MATRICES["path"] @ vectors, vectors * values, atol=1e-9)


def test_signs_do_not_depend_on_rounding_where_two_entries_are_equally_large():
    vector = np.array([[-0.7], [0.1], [0.7]])
    nudged = vector + np.array([[0.0], [0.0], [1e-15]])
    flipped = np.sign(eigenvectors.fix_signs(vector)[0, 0])
    assert flipped == np.sign(eigenvectors.fix_signs(nudged)[0, 0]) == 1


# ------------------------------------------------------------------ graphs without small cuts


def random_laplacian(n=600, n_edges=4000):
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, n, (2, n_edges))
    W = coo_array((rng.uniform(0.1, 1, n_edges), (i, j)), (n, n)).tocsr()
    return edges.laplacian(W + W.T)[0]


def test_the_iteration_for_graphs_without_small_cuts_finds_what_factors_find(monkeypatch):
    M = random_laplacian()
    values, vectors = bottom_eigenvectors(M, 3, 1, limits=FACTORS)
    monkeypatch.setattr(eigenvectors, "_shift_invert", None)  # it is not needed
    found_values, found = bottom_eigenvectors(M, 3, 1, limits=Limits(dense=1, wide=0))
    np.testing.assert_allclose(found_values, values, rtol=1e-8)
    np.testing.assert_allclose(found, vectors, atol=1e-5)


def test_factors_are_made_where_the_iteration_does_not_end():
    expected = bottom_eigenvectors(MATRICES["path"], 3, 1, limits=FACTORS)
    short = Limits(dense=1, wide=0, steps=2)
    found = bottom_eigenvectors(MATRICES["path"], 3, 1, limits=short)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_the_widest_level_is_counted_from_the_margin():
    assert eigenvectors._widest_level(MATRICES["path"]) == 1
    star = np.eye(9)
    star[0] = star[:, 0] = 1
    assert eigenvectors._widest_level(csr_array(star)) == 7


def test_a_factorisation_that_does_not_fit_is_refused_before_it_begins():
    little = Limits(dense=1, memory=lambda: 1000)
    with pytest.raises(MemoryError, match=r"600 points, which has no small cut, needs about"):
        bottom_eigenvectors(random_laplacian(), 3, 1, limits=little)


def test_a_tree_is_factorised_however_wide_it_is():
    n = 511
    child = np.arange(1, n)
    W = coo_array((np.ones(n - 1), (child, (child - 1) // 2)), (n, n)).tocsr()
    M = edges.laplacian(W + W.T)[0]
    expected = np.linalg.eigvalsh(M.toarray())[1:4]
    little = Limits(dense=1, memory=lambda: 1000)
    values, _ = bottom_eigenvectors(M, 3, 1, limits=little)
    np.testing.assert_allclose(values, expected, rtol=1e-8)


def test_the_widest_level_is_that_of_the_largest_part():
    triangle = np.ones((3, 3))
    ring = np.eye(8, k=1) + np.eye(8, k=-1) + np.eye(8, k=7) + np.eye(8, k=-7)
    both = csr_array(np.block([[triangle, np.zeros((3, 8))], [np.zeros((8, 3)), ring]]))
    assert eigenvectors._widest_level(both) == 2
    assert eigenvectors._widest_level(csr_array(ring)) == 2


def test_many_eigenvectors_of_few_points_are_found_by_the_direct_solver(monkeypatch):
    M = random_laplacian()
    monkeypatch.setattr(eigenvectors, "_shift_invert", None)
    values, _ = bottom_eigenvectors(M, 30, 1, limits=FACTORS)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(M.toarray())[1:31], rtol=1e-10)


def test_equal_eigenvalues_have_as_many_vectors_as_are_asked_for(monkeypatch):
    B = np.eye(60) - 1 / 60  # of equidistant points
    values, vectors = eigenvectors.dense(B.copy(), 58, 59)
    np.testing.assert_allclose(values, 1)
    np.testing.assert_allclose(B @ vectors, vectors, atol=1e-12)
    whole = eigenvectors.eigh

    def finds_none(M, subset_by_index=None):
        values, vectors = whole(M)
        return (values[:0], vectors[:, :0]) if subset_by_index else (values, vectors)

    monkeypatch.setattr(eigenvectors, "eigh", finds_none)
    M = np.diag([3.0, 1.0, 2.0])
    values, vectors = eigenvectors.dense(M, 1, 2)
    np.testing.assert_allclose(values, [2, 3])
    np.testing.assert_allclose(np.abs(vectors), [[0, 1], [0, 0], [1, 0]], atol=1e-12)
